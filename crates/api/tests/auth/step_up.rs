//! Step-up: credentials change only after a recent proof of identity.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use storage::one_time_tokens::TokenKind;
use storage::users::{Along, Written};
use testkit::{Database, MockClock, Person, TestApp, databases};

use super::caller::{PASSWORD, claims_of, enroll, post, put_user, refresh, refused, request, secret_of, send, sign_in};

const MINUTE: i64 = 60;
const PROOF: &str = "/api/account/reauthentication";

async fn start(database: Database) -> (Arc<MockClock>, TestApp) {
    let clock = MockClock::new();
    let app = TestApp::builder().database(database).clock(&clock).start().await;
    (clock, app)
}

async fn make_key(person: &Person) -> (StatusCode, Value) {
    person.post("/api/keys", &json!({ "name": "program", "scopes": ["chat"] })).await
}

/// Calls the product's API with another token than the user's first one.
async fn prove(app: &TestApp, token: &str, proof: Value) -> (u16, Value) {
    let answer = app.http.post(format!("{}{PROOF}", app.url)).bearer_auth(token).json(&proof).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

async fn verify_code(app: &TestApp, token: &str, factor: &str, code: &str) -> super::caller::Answer {
    let challenge = request(app, Method::POST, &format!("/factors/{factor}/challenge")).bearer_auth(token);
    let body = json!({ "challenge_id": send(challenge).await.text("/id"), "code": code });
    send(request(app, Method::POST, &format!("/factors/{factor}/verify")).bearer_auth(token).json(&body)).await
}

#[tokio::test]
async fn old_sign_in_changes_nothing_that_guards_the_account() {
    for database in databases() {
        let (clock, app) = start(database).await;
        let person = app.person().await;
        clock.advance_seconds(15 * MINUTE);
        assert_eq!(make_key(&person).await.0, StatusCode::CREATED, "15 minutes are recent");
        clock.advance_seconds(1);

        let needed = refused(400, "reauthentication_needed");
        assert_eq!(put_user(&app, &person.token, &json!({ "password": "another horse" })).await.refusal(), needed);
        assert_eq!(put_user(&app, &person.token, &json!({ "email": "new@example.com" })).await.refusal(), needed);
        assert_eq!(enroll(&app, &person.token, "phone").await.refusal(), needed);
        let (status, body) = make_key(&person).await;
        assert_eq!((status.as_u16(), &body["error"]["code"]), (403, &json!("reauthentication_needed")));
        let (status, _) = person.post("/api/account/delete", &json!({ "email": person.email })).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        assert_eq!(put_user(&app, &person.token, &json!({ "data": { "a": 1 } })).await.status, 200);

        let refreshed = refresh(&app, &person.refresh_token).await.text("/access_token");
        assert_eq!(enroll(&app, &refreshed, "phone").await.refusal(), needed, "refreshing proves nothing");
        let again = sign_in(&app, &person.email, PASSWORD).await.text("/access_token");
        assert_eq!(enroll(&app, &again, "phone").await.status, 200, "a new sign-in does");
    }
}

#[tokio::test]
async fn password_makes_a_sign_in_recent_again() {
    for database in databases() {
        let (clock, app) = start(database).await;
        let person = app.person().await;
        clock.advance_seconds(16 * MINUTE);
        let ways = person.get(PROOF).await;
        assert_eq!(ways, json!({ "methods": ["password"], "hasPassword": true }));
        let (status, body) = prove(&app, &person.token, json!({ "password": "wrong horse" })).await;
        assert_eq!((status, &body["error"]["code"]), (422, &json!("current_password_invalid")));
        for unclear in [json!({}), json!({ "password": PASSWORD, "nonce": "123456" })] {
            assert_eq!(prove(&app, &person.token, unclear).await.0, 400);
        }
        assert_eq!(make_key(&person).await.0, StatusCode::FORBIDDEN);

        assert_eq!(prove(&app, &person.token, json!({ "password": PASSWORD })).await.0, 204);
        assert_eq!(make_key(&person).await.0, StatusCode::CREATED);
        let token = refresh(&app, &person.refresh_token).await.text("/access_token");
        let claims = claims_of(&token);
        assert_eq!(claims["amr"][0]["timestamp"].as_i64().unwrap(), app.state.clock.now().as_seconds());

        clock.advance_seconds(16 * MINUTE);
        let change = json!({ "password": "another horse", "current_password": "wrong horse" });
        assert_eq!(put_user(&app, &token, &change).await.refusal(), refused(400, "current_password_invalid"));
        let change = json!({ "password": "another horse", "current_password": PASSWORD });
        assert_eq!(put_user(&app, &token, &change).await.status, 200, "the present password is a proof");
    }
}

#[tokio::test]
async fn guesses_of_the_present_password_have_to_wait() {
    let clock = MockClock::new();
    let app = TestApp::builder().clock(&clock).set("CHAT_RATE_LIMITS", "on").start().await;
    let person = app.person().await;
    let mut statuses = Vec::new();
    for _ in 0..12 {
        statuses.push(prove(&app, &person.token, json!({ "password": "wrong horse" })).await.0);
    }
    assert_eq!((statuses[0], statuses[11]), (422, 429), "{statuses:?}");
}

#[tokio::test]
async fn code_of_a_factor_is_a_proof_and_guards_factors() {
    for database in databases() {
        let (clock, app) = start(database).await;
        let person = app.person().await;
        let enrolled = enroll(&app, &person.token, "phone").await;
        let (factor, secret) = (enrolled.text("/id"), secret_of(&enrolled));
        let code = |app: &TestApp| secret.code_at(app.state.clock.now().as_seconds());
        let token = verify_code(&app, &person.token, &factor, &code(&app)).await.text("/access_token");
        let second = enroll(&app, &token, "tablet").await;

        clock.advance_seconds(16 * MINUTE);
        let needed = refused(400, "reauthentication_needed");
        let other_code = secret_of(&second).code_at(app.state.clock.now().as_seconds());
        let unenroll = |token: String| {
            let factor = factor.clone();
            send(request(&app, Method::DELETE, &format!("/factors/{factor}")).bearer_auth(token))
        };
        assert_eq!(unenroll(token.clone()).await.refusal(), needed);
        let new = verify_code(&app, &token, &second.text("/id"), &other_code).await;
        assert_eq!(new.refusal(), needed, "a new factor beside one that counts");

        let proven = verify_code(&app, &token, &factor, &code(&app)).await;
        assert_eq!(proven.status, 200, "{}", proven.body);
        assert_eq!(unenroll(proven.text("/access_token")).await.status, 200);
    }
}

#[tokio::test]
async fn mailed_code_is_a_proof_for_accounts_without_a_password() {
    for database in databases() {
        let clock = MockClock::new();
        let builder = TestApp::builder().database(database).clock(&clock);
        let app = builder.set("SMTP_URL", "smtp://127.0.0.1:9").set("CHAT_AUTOCONFIRM", "on").start().await;
        let person = app.person().await;
        let (storage, auth) = (&app.state.storage, &app.state.accounts);
        let mut user = storage.users().get_by_email(&person.email).await.unwrap().unwrap();
        let seen = user.updated_at;
        user.password_hash = None;
        user.updated_at = seen.plus_seconds(1);
        let issued = auth.issue_one_time_token(user.id, TokenKind::Reauthentication, &person.email, None).unwrap();
        let along = Along { issue: std::slice::from_ref(&issued.token), ..Along::default() };
        assert_eq!(storage.users().update_with(&user, seen, &along).await.unwrap(), Written::Done);

        clock.advance_seconds(16 * MINUTE);
        assert_eq!(person.get(PROOF).await, json!({ "methods": ["email"], "hasPassword": false }));
        assert_eq!(make_key(&person).await.0, StatusCode::FORBIDDEN);
        assert_eq!(prove(&app, &person.token, json!({ "password": "" })).await.0, 422);
        assert_eq!(prove(&app, &person.token, json!({ "nonce": "000000" })).await.0, 422);
        assert_eq!(prove(&app, &person.token, json!({ "nonce": issued.code })).await.0, 204);
        assert_eq!(make_key(&person).await.0, StatusCode::CREATED);
        assert_eq!(prove(&app, &person.token, json!({ "nonce": issued.code })).await.0, 422, "it is used up");
    }
}

#[tokio::test]
async fn users_without_any_proof_are_not_asked() {
    let clock = MockClock::new();
    let app = TestApp::builder().clock(&clock).set("CHAT_ANONYMOUS_SIGN_IN", "on").start().await;
    let token = post(&app, "/signup", &json!({})).await.text("/access_token");
    clock.advance_seconds(16 * MINUTE);
    let upgraded = put_user(&app, &token, &json!({ "email": "ada@example.com", "password": "another horse" })).await;
    assert_eq!(upgraded.status, 200, "{}", upgraded.body);
    assert_eq!(put_user(&app, &token, &json!({ "email": "eve@example.com" })).await.status, 400, "now there is one");
}

#[tokio::test]
async fn the_operator_chooses_how_recent_a_proof_must_be() {
    let clock = MockClock::new();
    let app = TestApp::builder().clock(&clock).set("CHAT_REAUTHENTICATION_MINUTES", "0").start().await;
    let person = app.person().await;
    clock.advance_seconds(59 * MINUTE);
    assert_eq!(make_key(&person).await.0, StatusCode::CREATED);
}

#[tokio::test]
async fn api_keys_expire_and_end_together() {
    for database in databases() {
        let (clock, app) = start(database).await;
        let (mut person, mut other) = (app.person().await, app.person().await);
        let make = |name: &str, days: Value| {
            let body = json!({ "name": name, "scopes": ["chat"], "expiresInDays": days });
            let person = person.clone();
            async move { person.post("/api/keys", &body).await }
        };
        for bad in [json!(0), json!(3651), json!("30")] {
            assert_eq!(make("bad", bad).await.0, StatusCode::BAD_REQUEST);
        }
        let (_, month) = make("month", json!(30)).await;
        let (_, never) = make("never", Value::Null).await;
        assert!(month["key"]["expiresAt"].is_string() && never["key"]["expiresAt"].is_null());
        make_key(&other).await;
        let models = |key: &Value| {
            let secret = key["secret"].as_str().unwrap().to_owned();
            let asked = app.http.get(format!("{}/v1/models", app.url)).bearer_auth(secret).send();
            async move { asked.await.unwrap().status().as_u16() }
        };
        assert_eq!((models(&month).await, models(&never).await), (200, 200));
        clock.advance_seconds(30 * 24 * 3600);
        assert_eq!((models(&month).await, models(&never).await), (401, 200));

        person.token = sign_in(&app, &person.email, PASSWORD).await.text("/access_token");
        let ended = person.request(Method::DELETE, "/api/keys").send().await.unwrap();
        assert_eq!(ended.json::<Value>().await.unwrap(), json!({ "ended": 2 }));
        assert_eq!(models(&never).await, 401);
        other.token = sign_in(&app, &other.email, PASSWORD).await.text("/access_token");
        assert_eq!(other.get("/api/keys").await["keys"].as_array().unwrap().len(), 1, "nobody else's");
    }
}

#[tokio::test]
async fn common_passwords_are_refused_where_other_machines_can_sign_in() {
    let app = TestApp::builder().set("CHAT_REFUSE_COMMON_PASSWORDS", "on").start().await;
    for password in ["password1", "Ada.Byron", "ada.byron@example.com"] {
        let answer = post(&app, "/signup", &json!({ "email": "ada.byron@example.com", "password": password })).await;
        assert_eq!(answer.refusal(), refused(422, "weak_password"), "{password}");
        assert_eq!(answer.body["weak_password"], json!({ "reasons": ["pwned"] }));
    }
    let person = app.person().await;
    let own = person.email.split('@').next().unwrap();
    for password in ["iloveyou", own] {
        let answer = put_user(&app, &person.token, &json!({ "password": password })).await;
        assert_eq!(answer.refusal(), refused(422, "weak_password"), "{password}");
    }
    assert_eq!(put_user(&app, &person.token, &json!({ "password": "another horse" })).await.status, 200);

    let open = TestApp::start().await;
    let person = open.person().await;
    assert_eq!(put_user(&open, &person.token, &json!({ "password": "password1" })).await.status, 200, "on loopback");
}
