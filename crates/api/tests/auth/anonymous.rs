//! Anonymous users.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Database, TestApp, databases};

use super::caller::{Answer, PASSWORD, enroll, get_user, post, put_user, refresh, refused, request, send, sign_in};

async fn start(database: Database) -> TestApp {
    TestApp::builder().database(database).set("CHAT_ANONYMOUS_SIGN_IN", "on").start().await
}

async fn come(app: &TestApp) -> Answer {
    let answer = post(app, "/signup", &json!({ "data": { "theme": "dark" } })).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer
}

#[tokio::test]
async fn nobody_needs_an_address_where_that_is_allowed() {
    for database in databases() {
        let app = start(database).await;
        let session = come(&app).await;
        let user = &session.body["user"];
        assert_eq!((&user["is_anonymous"], &user["email"], &user["phone"]), (&json!(true), &json!(""), &json!("")));
        assert_eq!((&user["user_metadata"], &user["app_metadata"]), (&json!({ "theme": "dark" }), &json!({})));
        assert_eq!(user["identities"], json!([]));
        let claims = super::caller::claims_of(&session.text("/access_token"));
        assert_eq!((&claims["is_anonymous"], &claims["amr"][0]["method"]), (&json!(true), &json!("anonymous")));
        assert_eq!(refresh(&app, &session.text("/refresh_token")).await.text("/user/id"), session.text("/user/id"));
        assert_ne!(come(&app).await.text("/user/id"), session.text("/user/id"), "everybody is somebody else");

        let rows =
            app.http.get(format!("{}/rest/v1/ai_chat_sessions", app.url)).bearer_auth(session.text("/access_token"));
        assert_eq!(rows.send().await.unwrap().json::<Value>().await.unwrap(), json!([]), "they use the chat");
        let settings = send(request(&app, Method::GET, "/settings")).await;
        assert_eq!(settings.body["external"]["anonymous_users"], true);
    }
}

#[tokio::test]
async fn where_it_is_not_allowed_it_is_refused() {
    let app = TestApp::start().await;
    let answer = post(&app, "/signup", &json!({ "data": {} })).await;
    assert_eq!(answer.refusal(), refused(422, "anonymous_provider_disabled"));
    assert_eq!(answer.text("/message"), "Anonymous sign-ins are disabled");
}

#[tokio::test]
async fn an_address_and_a_password_make_it_a_lasting_account() {
    for database in databases() {
        let app = start(database).await;
        let session = come(&app).await;
        let token = session.text("/access_token");
        let alone = put_user(&app, &token, &json!({ "password": PASSWORD })).await;
        assert_eq!(alone.refusal(), refused(422, "validation_failed"));
        assert_eq!(
            alone.text("/message"),
            "Updating password of an anonymous user without an email or phone is not allowed"
        );
        let taken = app.person().await;
        let answer = put_user(&app, &token, &json!({ "email": taken.email, "password": PASSWORD })).await;
        assert_eq!(answer.refusal(), refused(422, "email_exists"));
        assert_eq!(get_user(&app, &token).await.body["is_anonymous"], true);

        let body = json!({ "email": "ann@example.com", "password": PASSWORD });
        let lasting = put_user(&app, &token, &body).await;
        assert_eq!((lasting.status, &lasting.body["is_anonymous"]), (200, &json!(false)));
        assert_eq!(lasting.body["app_metadata"], json!({ "provider": "email", "providers": ["email"] }));
        assert_eq!(lasting.text("/identities/0/identity_data/email"), "ann@example.com");
        assert_eq!(lasting.body["user_metadata"]["theme"], "dark");
        let again = sign_in(&app, "ann@example.com", PASSWORD).await;
        assert_eq!(again.text("/user/id"), session.text("/user/id"));
        let claims =
            super::caller::claims_of(&refresh(&app, &session.text("/refresh_token")).await.text("/access_token"));
        assert_eq!(claims["is_anonymous"], false);
    }
}

#[tokio::test]
async fn whoever_never_said_who_they_are_has_no_factors() {
    for database in databases() {
        let app = start(database).await;
        let token = come(&app).await.text("/access_token");
        let answer = enroll(&app, &token, "phone").await;
        assert_eq!(answer.refusal(), refused(403, "no_authorization"));
        assert_eq!(answer.text("/message"), "Anonymous user not allowed to perform these actions");
    }
}

#[tokio::test]
async fn thirty_in_an_hour_come_from_one_address() {
    let app = TestApp::builder().set("CHAT_ANONYMOUS_SIGN_IN", "on").set("CHAT_RATE_LIMITS", "on").start().await;
    for _ in 0..30 {
        come(&app).await;
    }
    let answer = post(&app, "/signup", &json!({})).await;
    assert_eq!(answer.refusal(), refused(429, "over_request_rate_limit"));
    let named = post(&app, "/signup", &json!({ "email": "a@example.com", "password": PASSWORD })).await;
    assert_eq!(named.status, 200, "people with a name are counted apart");
}
