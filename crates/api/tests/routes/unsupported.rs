//! Unknown paths, and requests without a database.

use http_server::route::Access;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Method, StatusCode};
use serde_json::Value;
use testkit::{Database, TestApp, databases};

use super::examples::examples;
use super::fixture::{Fixture, People, SERVICE_ROLE_KEY};

#[tokio::test]
async fn a_path_that_is_no_call_is_not_found_by_any_method() {
    let app = TestApp::start().await;
    for path in [
        "/auth/v1/no",
        "/rest/v1/no/no",
        "/functions/v1/no",
        "/v1/no",
        "/functions/no",
        "/api/no",
        "/mcp/no",
        "/health/no",
    ] {
        for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let answer =
                app.http.request(method.clone(), format!("{}{path}", app.url)).body("{}").send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{method} {path}");
            let body: Value = answer.json().await.unwrap();
            let says =
                ["/error/message", "/error", "/message"].into_iter().find_map(|field| body.pointer(field)?.as_str());
            assert!(says.is_some(), "{method} {path}: {body}");
        }
    }
    let page = app.http.post(&app.url).send().await.unwrap();
    assert_eq!(
        (page.status(), &page.headers()["allow"]),
        (StatusCode::METHOD_NOT_ALLOWED, &"GET, HEAD".parse().unwrap())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_database_the_server_says_that_it_is_worth_another_try() {
    futures_util::future::join_all(databases().into_iter().map(go_without)).await;
}

async fn go_without(database: Database) {
    let fixture = Fixture::new(database).await;
    let people = People::new(&fixture).await;
    fixture.app.state.storage.close().await;
    for entry in api::entries() {
        for example in examples(&entry, &people) {
            let token = if entry.access == Access::Admin { SERVICE_ROLE_KEY } else { &people.owner.token };
            let answer = example.request(&fixture, Some(token)).send().await.unwrap();
            let (status, at) = (answer.status(), example.name());
            let needs_it = !matches!(entry.access, Access::Anyone | Access::Admin);
            assert!(status != StatusCode::INTERNAL_SERVER_ERROR, "{at}");
            assert!(status == StatusCode::SERVICE_UNAVAILABLE || !needs_it, "{at}: {status}");
            if status == StatusCode::SERVICE_UNAVAILABLE && entry.path != "/health/ready" {
                assert!(answer.headers().contains_key(RETRY_AFTER), "{at}");
                assert!(answer.headers()[CONTENT_TYPE].to_str().unwrap().starts_with("application/json"), "{at}");
            }
        }
    }
    fixture.app.stop().await;
}
