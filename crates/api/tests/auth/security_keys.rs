//! Security keys as second factors: enrolling them, signing in with them, and responses that must be rejected.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Database, TestApp, databases};

use super::authenticator::{Authenticator, Lie, SITE, USER_PRESENT, USER_VERIFIED, encode, start};
use super::caller::{
    Answer, PASSWORD, another_device, claims_of, enroll, get_user, refresh, refused, request, secret_of, send, sign_in,
};

async fn call(app: &TestApp, token: &str, method: Method, path: &str, body: Value) -> Answer {
    send(request(app, method, &format!("/factors{path}")).bearer_auth(token).json(&body)).await
}

async fn enroll_key(app: &TestApp, token: &str, name: &str) -> Answer {
    call(app, token, Method::POST, "", json!({ "factor_type": "webauthn", "friendly_name": name })).await
}

/// Requests a challenge with the body that the official client sends.
async fn challenge(app: &TestApp, token: &str, factor: &str) -> Answer {
    let site = json!({ "rpId": "chat.example.com", "rpOrigins": [SITE] });
    call(app, token, Method::POST, &format!("/{factor}/challenge"), json!({ "factorId": factor, "webauthn": site }))
        .await
}

async fn verify(app: &TestApp, token: &str, factor: &str, challenge: &Answer, response: Value) -> Answer {
    let webauthn = json!({
        "type": challenge.body["webauthn"]["type"],
        "rpId": "chat.example.com",
        "rpOrigins": [SITE],
        "credential_response": response,
    });
    let body = json!({ "challenge_id": challenge.body["id"], "webauthn": webauthn });
    call(app, token, Method::POST, &format!("/{factor}/verify"), body).await
}

/// Reads from the product's API.
async fn get_as(app: &TestApp, token: &str, path: &str) -> Value {
    app.http.get(format!("{}{path}", app.url)).bearer_auth(token).send().await.unwrap().json().await.unwrap()
}

fn options_of(challenge: &Answer) -> &Value {
    &challenge.body["webauthn"]["credential_options"]["publicKey"]
}

/// Enrols a security key and answers its first challenge. Returns the id of the factor and the raised session.
async fn register(app: &TestApp, token: &str, name: &str, key: &mut Authenticator) -> (String, Answer) {
    let enrolled = enroll_key(app, token, name).await;
    assert_eq!(enrolled.status, 200, "{}", enrolled.body);
    let factor = enrolled.text("/id");
    let asked = challenge(app, token, &factor).await;
    let created = key.create(options_of(&asked));
    let session = verify(app, token, &factor, &asked, created).await;
    (factor, session)
}

/// Answers a new challenge of a factor with a key.
async fn touch(app: &TestApp, token: &str, factor: &str, key: &mut Authenticator) -> Answer {
    let asked = challenge(app, token, factor).await;
    let signed = key.sign(options_of(&asked));
    verify(app, token, factor, &asked, signed).await
}

fn rejected() -> (u16, String) {
    refused(422, "mfa_verification_failed")
}

#[tokio::test]
async fn a_security_key_raises_the_sign_in_after_the_password() {
    for database in databases() {
        let (clock, app, person) = start(database).await;
        let other = another_device(&app, &person.email).await;
        let enrolled = enroll_key(&app, &person.token, "Blue key").await;
        assert_eq!(enrolled.body["type"], "webauthn", "{}", enrolled.body);
        assert_eq!((enrolled.text("/friendly_name"), &enrolled.body["totp"]), ("Blue key".into(), &Value::Null));
        let factor = enrolled.text("/id");
        let seen = get_user(&app, &person.token).await;
        assert_eq!(
            (seen.text("/factors/0/factor_type"), seen.text("/factors/0/status")),
            ("webauthn".into(), "unverified".into())
        );

        let asked = challenge(&app, &person.token, &factor).await;
        let expiry = app.state.clock.now().as_seconds() + 300;
        assert_eq!((asked.text("/type"), &asked.body["expires_at"]), ("webauthn".into(), &json!(expiry)));
        assert_eq!(asked.body["webauthn"]["type"], "create");
        let options = options_of(&asked);
        assert_eq!(options["rp"], json!({ "id": "chat.example.com", "name": "AI Chat MCP" }));
        assert_eq!(options["user"]["name"], person.email);
        assert_ne!(options["user"]["id"], encode(person.id.as_bytes()), "no passkey of the user is replaced");
        assert_eq!(options["authenticatorSelection"]["residentKey"], "discouraged");
        let mut key = Authenticator::es256(SITE);
        let created = key.create(options);
        clock.advance_seconds(5);
        let raised = verify(&app, &person.token, &factor, &asked, created).await;
        assert_eq!(raised.status, 200, "{}", raised.body);
        let claims = claims_of(&raised.text("/access_token"));
        let methods: Vec<&Value> = claims["amr"].as_array().unwrap().iter().map(|proof| &proof["method"]).collect();
        assert_eq!((&claims["aal"], methods), (&json!("aal2"), vec![&json!("mfa/webauthn"), &json!("password")]));
        assert_eq!(raised.text("/user/factors/0/status"), "verified");
        assert_eq!(get_user(&app, &other).await.refusal(), refused(403, "session_not_found"));

        let again = sign_in(&app, &person.email, PASSWORD).await;
        let token = again.text("/access_token");
        assert_eq!(claims_of(&token)["aal"], "aal1");
        let rows = app.http.get(format!("{}/rest/v1/ai_chat_sessions", app.url)).bearer_auth(&token);
        assert_eq!(rows.send().await.unwrap().status(), 403, "the key is asked for before any data");
        let asked = challenge(&app, &token, &factor).await;
        let options = options_of(&asked);
        assert_eq!(
            (&asked.body["webauthn"]["type"], &options["rpId"]),
            (&json!("request"), &json!("chat.example.com"))
        );
        let allowed = json!([{ "type": "public-key", "id": encode(&key.credential_id) }]);
        assert_eq!(options["allowCredentials"], allowed);
        // A touch is enough after a password.
        key.flags = USER_PRESENT;
        let signed = key.sign(options);
        let raised = verify(&app, &token, &factor, &asked, signed).await;
        assert_eq!(raised.status, 200, "{}", raised.body);
        let refreshed = refresh(&app, &raised.text("/refresh_token")).await.text("/access_token");
        assert_eq!(claims_of(&refreshed)["aal"], "aal2", "refreshing keeps the level");

        let codes = call(&app, &refreshed, Method::POST, "/recovery-codes", json!({})).await;
        assert_eq!(codes.status, 200, "{}", codes.body);
        let lower = another_device(&app, &person.email).await;
        let body = json!({ "code": codes.text("/codes/0") });
        let recovered = call(&app, &lower, Method::POST, "/recovery-codes/verify", body).await;
        assert_eq!(claims_of(&recovered.text("/access_token"))["aal"], "aal2", "a recovery code replaces the key");
    }
}

#[tokio::test]
async fn any_key_of_the_user_answers_and_a_session_falls_with_the_one_that_did() {
    for database in databases() {
        let (_, app, person) = start(database).await;
        let (mut blue, mut red) = (Authenticator::es256(SITE), Authenticator::ed25519(SITE));
        let (first, session) = register(&app, &person.token, "Blue key", &mut blue).await;
        let token = session.text("/access_token");
        let asked = challenge(&app, &token, &enroll_key(&app, &token, "unfinished").await.text("/id")).await;
        let known = options_of(&asked)["excludeCredentials"].as_array().unwrap().len();
        assert_eq!(known, 1, "a key that is a factor becomes no second one");
        let (second, session) = register(&app, &token, "Red key", &mut red).await;
        assert_eq!(session.body["user"]["factors"].as_array().unwrap().len(), 2, "what was never finished is gone");

        let lower = another_device(&app, &person.email).await;
        let raised = touch(&app, &lower, &first, &mut red).await;
        assert_eq!(raised.status, 200, "{}", raised.body);
        let token = raised.text("/access_token");
        let removed = call(&app, &token, Method::DELETE, &format!("/{first}"), json!({})).await;
        assert_eq!(removed.body, json!({ "id": first }));
        assert_eq!(refresh_level(&app, &raised).await, "aal2", "the session used the other key");
        assert_eq!(touch(&app, &token, &second, &mut blue).await.refusal(), rejected(), "the key is removed");
        call(&app, &token, Method::DELETE, &format!("/{second}"), json!({})).await;
        let again = sign_in(&app, &person.email, PASSWORD).await;
        assert_eq!(again.body["user"]["factors"], Value::Null);
        assert_eq!(get_user(&app, &again.text("/access_token")).await.status, 200, "the password is enough again");
    }
}

async fn refresh_level(app: &TestApp, session: &Answer) -> String {
    let refreshed = refresh(app, &session.text("/refresh_token")).await;
    claims_of(&refreshed.text("/access_token"))["aal"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn hostile_responses_are_rejected_and_recorded() {
    for database in databases() {
        let (_, app, person) = start(database).await;
        let stranger = app.person().await;
        let (mut key, mut foreign) = (Authenticator::es256(SITE), Authenticator::es256(SITE));

        let enrolled = enroll_key(&app, &person.token, "key").await.text("/id");
        for (lie, change) in lies() {
            let mut liar = Authenticator::es256(SITE);
            change(&mut liar);
            let asked = challenge(&app, &person.token, &enrolled).await;
            let created = liar.create(options_of(&asked));
            let answer = verify(&app, &person.token, &enrolled, &asked, created).await;
            assert_eq!(answer.refusal(), rejected(), "creation: {lie}");
        }
        let (factor, session) = register(&app, &person.token, "Blue key", &mut key).await;
        let (_, strangers) = register(&app, &stranger.token, "Blue key", &mut foreign).await;
        let token = session.text("/access_token");

        for (lie, change) in lies() {
            let truth = (key.origin.clone(), key.domain.clone(), key.flags);
            change(&mut key);
            assert_eq!(touch(&app, &token, &factor, &mut key).await.refusal(), rejected(), "{lie}");
            (key.origin, key.domain, key.flags) = truth;
            key.is_cross_origin = false;
        }
        assert_eq!(touch(&app, &token, &factor, &mut foreign).await.refusal(), rejected(), "another user's key");
        let mut forger = Authenticator::es256(SITE);
        forger.credential_id.clone_from(&key.credential_id);
        forger.user_handle.clone_from(&key.user_handle);
        forger.sign_count = key.sign_count;
        assert_eq!(touch(&app, &token, &factor, &mut forger).await.refusal(), rejected(), "a forged signature");
        let handle = std::mem::replace(&mut key.user_handle, foreign.user_handle.clone());
        assert_eq!(touch(&app, &token, &factor, &mut key).await.refusal(), rejected(), "another user's handle");
        key.user_handle = handle;

        let owned = challenge(&app, &token, &factor).await;
        let signed = key.sign(options_of(&owned));
        let foreign_token = strangers.text("/access_token");
        let not_found = refused(404, "mfa_factor_not_found");
        assert_eq!(challenge(&app, &foreign_token, &factor).await.refusal(), not_found);
        assert_eq!(verify(&app, &foreign_token, &factor, &owned, signed.clone()).await.refusal(), not_found);
        assert_eq!(verify(&app, &token, &factor, &owned, signed).await.status, 200, "the true one still does");

        let events = get_as(&app, &token, "/api/account/events").await;
        let count = |kind: &str| {
            let events = events["events"].as_array().unwrap();
            events.iter().filter(|event| event["kind"] == kind).count()
        };
        assert_eq!((count("factor_added"), count("factor_failed")), (1, 2 * lies().len() + 3));
    }
}

fn lies() -> [Lie; 5] {
    [
        ("a page of another site", |it| it.origin = "http://chat.example.org".into()),
        ("another port", |it| it.origin = "http://chat.example.com:8080".into()),
        ("a frame", |it| it.is_cross_origin = true),
        ("a credential of another site", |it| it.domain = "example.com".into()),
        ("nobody there", |it| it.flags = USER_VERIFIED),
    ]
}

#[tokio::test]
async fn a_challenge_is_answered_once_in_time_and_for_its_own_factor() {
    for database in databases() {
        let (clock, app, person) = start(database).await;
        let (mut key, mut other) = (Authenticator::es256(SITE), Authenticator::es256(SITE));
        let (factor, session) = register(&app, &person.token, "Blue key", &mut key).await;
        let (second, session) = register(&app, &session.text("/access_token"), "Red key", &mut other).await;
        let token = session.text("/access_token");

        let asked = challenge(&app, &token, &factor).await;
        let signed = key.sign(options_of(&asked));
        let elsewhere = verify(&app, &token, &second, &asked, signed.clone()).await;
        assert_eq!(elsewhere.refusal(), refused(422, "mfa_factor_not_found"), "of another factor");
        assert_eq!(verify(&app, &token, &factor, &asked, signed.clone()).await.status, 200);
        let replayed = verify(&app, &token, &factor, &asked, signed).await;
        assert_eq!(replayed.refusal(), refused(422, "mfa_ip_address_mismatch"), "it was answered");

        let asked = challenge(&app, &token, &factor).await;
        let mut forged = key.sign(options_of(&asked));
        forged["response"]["signature"] = json!(encode(&[0; 64]));
        assert_eq!(verify(&app, &token, &factor, &asked, forged).await.refusal(), rejected());
        let signed = key.sign(options_of(&asked));
        let second_try = verify(&app, &token, &factor, &asked, signed).await;
        assert_eq!(second_try.refusal(), refused(422, "mfa_ip_address_mismatch"), "a wrong answer uses it up");

        let (asked, unrelated) = (challenge(&app, &token, &factor).await, challenge(&app, &token, &factor).await);
        let signed = key.sign(options_of(&unrelated));
        assert_eq!(verify(&app, &token, &factor, &asked, signed).await.refusal(), rejected(), "of another challenge");

        let asked = challenge(&app, &token, &factor).await;
        let signed = key.sign(options_of(&asked));
        clock.advance_seconds(301);
        let late = verify(&app, &token, &factor, &asked, signed).await;
        assert_eq!(late.refusal(), refused(422, "mfa_challenge_expired"));
        assert_eq!(touch(&app, &token, &factor, &mut key).await.status, 200);
    }
}

#[tokio::test]
async fn a_copied_key_is_noticed_by_its_counter() {
    for database in databases() {
        let (_, app, person) = start(database).await;
        let mut key = Authenticator::es256(SITE);
        key.sign_count = 5;
        let (factor, session) = register(&app, &person.token, "key", &mut key).await;
        let token = session.text("/access_token");
        assert_eq!(touch(&app, &token, &factor, &mut key).await.status, 200);
        for earlier in [5, 3] {
            let count = std::mem::replace(&mut key.sign_count, earlier);
            assert_eq!(touch(&app, &token, &factor, &mut key).await.refusal(), rejected(), "{earlier}");
            key.sign_count = count;
        }
        assert_eq!(touch(&app, &token, &factor, &mut key).await.status, 200, "the one that went on");

        let stranger = app.person().await;
        let (_, taken) = register(&app, &stranger.token, "key", &mut key).await;
        assert_eq!(taken.refusal(), refused(422, "webauthn_credential_exists"));
    }
}

#[tokio::test]
async fn the_site_is_the_servers_and_requests_are_checked() {
    let (_, app, person) = start(Database::Sqlite).await;
    let mut key = Authenticator::es256(SITE);
    let (factor, session) = register(&app, &person.token, "key", &mut key).await;
    let token = session.text("/access_token");
    let invalid = refused(400, "validation_failed");
    for (site, part) in [
        (json!({ "rpId": "example.com" }), "rpId is \"example.com\", but this server is \"chat.example.com\""),
        (
            json!({ "rpId": "chat.example.com", "rpOrigins": [SITE, "http://chat.example.org"] }),
            "http://chat.example.org",
        ),
        (json!({ "rpOrigins": ["http://chat.example.com:8080"] }), "which is no origin of this server"),
    ] {
        let answer =
            call(&app, &token, Method::POST, &format!("/{factor}/challenge"), json!({ "webauthn": site.clone() }))
                .await;
        assert_eq!(answer.refusal(), invalid, "{site}");
        assert!(answer.text("/message").contains(part), "{}", answer.body);
        let asked = challenge(&app, &token, &factor).await;
        let mut webauthn = site;
        webauthn["type"] = json!("request");
        webauthn["credential_response"] = key.sign(options_of(&asked));
        let body = json!({ "challenge_id": asked.body["id"], "webauthn": webauthn });
        let answer = call(&app, &token, Method::POST, &format!("/{factor}/verify"), body).await;
        assert_eq!(answer.refusal(), invalid);
    }
    let asked = call(&app, &token, Method::POST, &format!("/{factor}/challenge"), json!({})).await;
    assert_eq!(asked.status, 200, "a client need not name it");

    for webauthn in [
        Value::Null,
        json!({ "type": "smell", "credential_response": {} }),
        json!({ "type": "create", "credential_response": {} }),
        json!({ "type": "request" }),
        json!({ "type": "request", "credential_response": { "rawId": 1 } }),
    ] {
        let asked = challenge(&app, &token, &factor).await;
        let body = json!({ "challenge_id": asked.body["id"], "code": "123456", "webauthn": webauthn });
        let answer = call(&app, &token, Method::POST, &format!("/{factor}/verify"), body).await;
        assert_eq!(answer.refusal(), invalid, "{webauthn}");
    }
    let app_factor = enroll(&app, &token, "phone").await.text("/id");
    let asked = challenge(&app, &token, &app_factor).await;
    let signed = key.sign(&json!({ "challenge": encode(&[0; 32]) }));
    let answer = verify(&app, &token, &app_factor, &asked, signed).await;
    assert_eq!(answer.refusal(), invalid, "an authenticator app has codes");
}

#[tokio::test]
async fn a_key_is_a_proof_of_identity_beside_an_authenticator_app() {
    for database in databases() {
        let (clock, app, person) = start(database).await;
        let enrolled = enroll(&app, &person.token, "phone").await;
        let asked = challenge(&app, &person.token, &enrolled.text("/id")).await;
        let code = secret_of(&enrolled).code_at(app.state.clock.now().as_seconds());
        let body = json!({ "challenge_id": asked.body["id"], "code": code });
        let path = format!("/{}/verify", enrolled.text("/id"));
        let token = call(&app, &person.token, Method::POST, &path, body).await.text("/access_token");
        let mut key = Authenticator::es256(SITE);
        let (factor, session) = register(&app, &token, "key", &mut key).await;
        let token = session.text("/access_token");
        let methods: Vec<Value> = claims_of(&token)["amr"].as_array().unwrap().clone();
        assert_eq!(methods.len(), 2, "the key took the place of the code: {methods:?}");

        clock.advance_seconds(16 * 60);
        let needed = refused(400, "reauthentication_needed");
        let third = enroll_key(&app, &token, "another key").await;
        assert_eq!(third.refusal(), needed);
        let options = get_as(&app, &token, "/api/account/reauthentication").await;
        assert_eq!(options["methods"], json!(["password", "totp", "webauthn"]));
        let token = touch(&app, &token, &factor, &mut key).await.text("/access_token");
        assert_eq!(enroll_key(&app, &token, "another key").await.status, 200, "the touch is a proof");
        let lower = another_device(&app, &person.email).await;
        assert_eq!(enroll_key(&app, &lower, "mine").await.refusal(), refused(403, "insufficient_aal"));
    }
}

#[tokio::test]
async fn keys_are_off_where_browsers_have_none() {
    let app = TestApp::builder().set("CHAT_SITE_URL", "http://192.0.2.1").start().await;
    let person = app.person().await;
    let answer = enroll_key(&app, &person.token, "key").await;
    assert_eq!(
        (answer.refusal(), answer.text("/message")),
        (refused(422, "mfa_webauthn_enroll_not_enabled"), "MFA enroll is disabled for WebAuthn".into())
    );
}
