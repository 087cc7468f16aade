//! Rate limits per network address and per account.

use std::sync::Arc;

use domain::Timestamp;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use testkit::{Database, MockClock, TestApp, databases};

use super::caller::{PASSWORD, post, refused, request, sign_in};

async fn limited(database: Database, clock: &Arc<MockClock>) -> TestApp {
    let app = TestApp::builder().database(database).clock(clock).set("CHAT_RATE_LIMITS", "on");
    app.set("CHAT_TRUSTED_PROXIES", "127.0.0.0/8 10.0.0.0/8").start().await
}

/// Signs in through a proxy that reports the client's `address`.
async fn sign_in_from(app: &TestApp, address: &str, email: &str, password: &str) -> Response {
    request(app, Method::POST, "/token?grant_type=password")
        .header("x-forwarded-for", format!("203.0.113.77, {address}, 10.0.0.1"))
        .json(&json!({ "email": email, "password": password }))
        .send()
        .await
        .unwrap()
}

/// Returns the seconds to wait, which the error must state.
async fn wait_of(answer: Response) -> i64 {
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.headers()["x-sb-error-code"], "over_request_rate_limit");
    let seconds = answer.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    let body: Value = answer.json().await.unwrap();
    assert_eq!(
        (&body["error_code"], &body["msg"]),
        (&json!("over_request_rate_limit"), &json!("Request rate limit reached"))
    );
    seconds
}

#[tokio::test]
async fn one_address_can_only_call_so_often() {
    for database in databases() {
        let clock = MockClock::new();
        let app = limited(database, &clock).await;
        let weak = json!({ "email": "a@b.c", "password": "12345" });
        let sign_up = async || request(&app, Method::POST, "/signup").json(&weak).send().await.unwrap();
        for _ in 0..30 {
            assert_eq!(sign_up().await.status(), 422);
        }
        let wait = wait_of(sign_up().await).await;
        clock.advance_seconds(wait);
        assert_eq!(sign_up().await.status(), 422, "who waits as long as was said is heard");
        assert_eq!(sign_up().await.status(), 429);
        let other = post(&app, "/token?grant_type=refresh_token", &json!({ "refresh_token": "x" })).await;
        assert_eq!(other.status, 400, "every call has a limit of its own");
    }
}

#[tokio::test]
async fn throttled_attempts_are_recorded_once_an_hour() {
    for database in databases() {
        let clock = MockClock::new();
        let app = limited(database, &clock).await;
        let person = app.person().await;
        let recorded = async || {
            let events = app.state.storage.audit_events().list(None, Timestamp(0), None, 1000).await.unwrap();
            let throttled = events.into_iter().filter(|event| event.kind == "sign_in_throttled");
            throttled.map(|event| event.user.map(|user| user.to_string())).collect::<Vec<_>>()
        };
        let throttle = async |email: &str| {
            let mut last = 400;
            for _ in 0..14 {
                last = sign_in_from(&app, "198.51.100.7", email, "wrong").await.status().as_u16();
            }
            assert_eq!(last, 429);
        };
        throttle(&person.email).await;
        throttle("nobody@example.com").await;
        assert_eq!(recorded().await, [Some(person.id.clone()), None]);
        clock.advance_seconds(3600);
        throttle(&person.email).await;
        assert_eq!(recorded().await, [Some(person.id.clone()), None, Some(person.id.clone())]);
        app.stop().await;
    }
}

#[tokio::test]
async fn behind_a_proxy_each_client_has_its_own_limit() {
    let clock = MockClock::new();
    let app = limited(Database::Sqlite, &clock).await;
    for number in 0..40 {
        let answer = sign_in_from(&app, &format!("198.51.100.{number}"), "nobody@example.com", PASSWORD).await;
        assert_eq!(answer.status(), 400);
    }
    let direct = TestApp::builder().clock(&clock).set("CHAT_RATE_LIMITS", "on").start().await;
    let mut statuses = Vec::new();
    for number in 0..40 {
        let email = format!("nobody{number}@example.com");
        statuses.push(sign_in_from(&direct, &format!("198.51.100.{number}"), &email, PASSWORD).await.status().as_u16());
    }
    assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 30, "a stranger's word about itself");
}

#[tokio::test]
async fn wrong_passwords_make_an_address_wait_whether_there_is_an_account_or_not() {
    for database in databases() {
        let clock = MockClock::new();
        let app = limited(database, &clock).await;
        let person = app.person().await;
        for email in [person.email.as_str(), "nobody@example.com"] {
            for _ in 0..10 {
                let answer = sign_in_from(&app, "198.51.100.1", email, "wrong").await;
                assert_eq!(answer.status(), 400, "{email}");
            }
            assert_eq!(wait_of(sign_in_from(&app, "198.51.100.1", email, "wrong").await).await, 1, "{email}");
            clock.advance_seconds(1);
            assert_eq!(sign_in_from(&app, "198.51.100.1", email, "wrong").await.status(), 400, "{email}");
            assert_eq!(wait_of(sign_in_from(&app, "198.51.100.1", email, "wrong").await).await, 2, "{email}");
        }
        let early = sign_in_from(&app, "198.51.100.1", &person.email.to_uppercase(), PASSWORD).await;
        assert_eq!(wait_of(early).await, 1, "the right password has to wait too");
        assert_eq!(
            sign_in_from(&app, "198.51.100.2", &person.email, PASSWORD).await.status(),
            200,
            "from elsewhere not"
        );
        clock.advance_seconds(2);
        assert_eq!(sign_in_from(&app, "198.51.100.1", &person.email, PASSWORD).await.status(), 200);
        assert_eq!(sign_in_from(&app, "198.51.100.1", &person.email, "wrong").await.status(), 400, "it begins anew");
    }
}

#[tokio::test]
async fn without_limits_nobody_waits() {
    let app = TestApp::start().await;
    for _ in 0..12 {
        assert_eq!(sign_in(&app, "nobody@example.com", "wrong").await.refusal(), refused(400, "invalid_credentials"));
    }
}

#[tokio::test]
async fn two_nodes_count_together() {
    if !databases().contains(&Database::Postgres) {
        return;
    }
    let clock = MockClock::new();
    let first = limited(Database::Postgres, &clock).await;
    let second = TestApp::builder().on_data_of(&first.folder, &first.database_url).clock(&clock);
    let second = second.set("CHAT_RATE_LIMITS", "on").set("CHAT_TRUSTED_PROXIES", "127.0.0.0/8 10.0.0.0/8");
    let second = second.start().await;
    let person = first.person().await;
    let nodes = [&first, &second];

    // Wrong passwords, each on the other node, from one address at one account.
    for number in 0..10 {
        let answer = sign_in_from(nodes[number % 2], "192.0.2.1", &person.email, "wrong").await;
        assert_eq!(answer.status(), 400, "{number}");
    }
    for node in nodes {
        assert_eq!(wait_of(sign_in_from(node, "192.0.2.1", &person.email, PASSWORD).await).await, 1);
    }
    clock.advance_seconds(1);
    assert_eq!(sign_in_from(&second, "192.0.2.1", &person.email, PASSWORD).await.status(), 200);
    assert_eq!(
        sign_in_from(&first, "192.0.2.1", &person.email, "wrong").await.status(),
        400,
        "the success counts here, too"
    );

    // Requests of one address.
    let weak = json!({ "email": "a@b.c", "password": "12345" });
    let sign_up = async |node: &TestApp| {
        let request = request(node, Method::POST, "/signup").header("x-forwarded-for", "192.0.2.7, 10.0.0.1");
        request.json(&weak).send().await.unwrap()
    };
    for number in 0..30 {
        assert_eq!(sign_up(nodes[number % 2]).await.status(), 422, "{number}");
    }
    for node in nodes {
        assert_eq!(sign_up(node).await.status(), 429);
    }
    second.stop().await;
    first.stop().await;
}

#[tokio::test]
async fn a_restart_forgets_no_failure() {
    for database in databases() {
        let clock = MockClock::new();
        let app = limited(database, &clock).await;
        let person = app.person().await;
        for _ in 0..10 {
            assert_eq!(sign_in_from(&app, "192.0.2.1", &person.email, "wrong").await.status(), 400);
        }
        let (folder, url) = app.stop().await;
        let app = TestApp::builder().on_data_of(&folder, &url).clock(&clock).set("CHAT_RATE_LIMITS", "on");
        let app = app.set("CHAT_TRUSTED_PROXIES", "127.0.0.0/8 10.0.0.0/8").start().await;
        assert_eq!(wait_of(sign_in_from(&app, "192.0.2.1", &person.email, PASSWORD).await).await, 1);
        assert_eq!(sign_in_from(&app, "192.0.2.2", &person.email, PASSWORD).await.status(), 200);
        let deleted = app.state.accounts.delete_old_counts().await.unwrap();
        clock.advance_seconds(31 * 24 * 3600);
        let later = app.state.accounts.delete_old_counts().await.unwrap();
        assert!(deleted == 0 && later > 0, "{deleted} {later}");
        app.stop().await;
    }
}
