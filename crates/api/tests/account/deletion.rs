//! Deletion of an account.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{ScriptedModel, Step, TestApp, databases};

use super::visitor::{Page, another_device, call, with_factor};

const DELETE: &str = "/api/account/delete";

#[tokio::test]
async fn everything_of_the_person_goes_and_everybody_else_stays() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let (person, neighbour) = (app.person().await, app.person().await);
        let other = another_device(&app, &person, "Browser/1").await;
        person.new_chat().await;
        let kept = neighbour.new_chat().await;
        let pages = [Page::open(&person).await, Page::open(&other).await];

        for wrong in [neighbour.email.as_str(), "", "somebody@example.com"] {
            let (status, body) = call(&person, Method::POST, DELETE, Some(json!({ "email": wrong }))).await;
            assert_eq!((status, &body["error"]["code"]), (422, &json!("email_mismatch")));
        }
        assert_eq!(call(&person, Method::POST, DELETE, Some(json!({}))).await.0, 400);

        let typed = format!(" {} ", person.email.to_uppercase());
        assert_eq!(call(&person, Method::POST, DELETE, Some(json!({ "email": typed }))).await.0, 204);
        for page in pages {
            assert!(page.rest().await.ends_with("data: {\"type\":\"devices\"}\n\n"), "every page hears it");
        }
        for token in [&person, &other] {
            assert_eq!(call(token, Method::GET, "/api/models", None).await.0, 401);
            assert_eq!(call(token, Method::GET, "/auth/v1/user", None).await.1["error_code"], "session_not_found");
        }
        let body = json!({ "refresh_token": other.refresh_token });
        let (_, refused) = call(&other, Method::POST, "/auth/v1/token?grant_type=refresh_token", Some(body)).await;
        assert_eq!(refused["error_code"], "refresh_token_not_found");

        assert_eq!(neighbour.get("/rest/v1/ai_chat_sessions").await[0]["id"], json!(kept));
        let again = json!({ "email": person.email, "password": "correct horse" });
        let (status, made) = call(&person, Method::POST, "/auth/v1/signup", Some(again)).await;
        assert_eq!(status, 200, "the address is free");
        assert_ne!(made["user"]["id"], json!(person.id));
    }
}

#[tokio::test]
async fn an_answer_that_is_being_written_ends_with_the_account() {
    for database in databases() {
        let model = ScriptedModel::start([Step::Hang("Once upon a time".into())]).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let stream = person.ask_streaming(&chat, "Hello", json!([])).await;
        assert_eq!(call(&person, Method::POST, DELETE, Some(json!({ "email": person.email }))).await.0, 204);
        let said = stream.text().await.unwrap();
        assert!(said.contains("\"type\":\"abort\"") && said.ends_with("data: [DONE]\n\n"), "{said}");
    }
}

#[tokio::test]
async fn a_second_factor_guards_it() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let raised = with_factor(&app, &person).await;
        let lower = another_device(&app, &person, "Browser/1").await;
        let body = json!({ "email": person.email });
        assert_eq!(call(&lower, Method::POST, DELETE, Some(body.clone())).await.0, 403);
        assert_eq!(call(&raised, Method::POST, DELETE, Some(body)).await.0, 204);
    }
}

#[tokio::test]
async fn whoever_has_no_address_types_none() {
    for database in databases() {
        let app = TestApp::builder().database(database).set("CHAT_ANONYMOUS_SIGN_IN", "on").start().await;
        let answer = app.http.post(format!("{}/auth/v1/signup", app.url)).json(&json!({})).send().await.unwrap();
        let session: Value = answer.json().await.unwrap();
        let delete = |email: &str| {
            let request = app.http.post(format!("{}{DELETE}", app.url));
            request.bearer_auth(session["access_token"].as_str().unwrap()).json(&json!({ "email": email })).send()
        };
        assert_eq!(delete("a@example.com").await.unwrap().status(), 422);
        assert_eq!(delete("").await.unwrap().status(), 204);
    }
}
