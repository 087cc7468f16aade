//! Second factors: enrolling an authenticator app, verifying codes, removing it.

use accounts::totp::TotpSecret;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Database, MockClock, Person, TestApp, databases};

use super::caller::{Answer, another_device, get_user, post, put_user, refresh, refused, request, send, sign_in};
use super::caller::{PASSWORD, claims_of, enroll, secret_of};

async fn start(database: Database) -> (std::sync::Arc<MockClock>, TestApp, Person) {
    let clock = MockClock::new();
    let app = TestApp::builder().database(database).clock(&clock).start().await;
    let person = app.person().await;
    (clock, app, person)
}

async fn challenge(app: &TestApp, token: &str, factor: &str) -> Answer {
    send(request(app, Method::POST, &format!("/factors/{factor}/challenge")).bearer_auth(token)).await
}

async fn verify(app: &TestApp, token: &str, factor: &str, challenge: &str, code: &str) -> Answer {
    let body = json!({ "challenge_id": challenge, "code": code });
    send(request(app, Method::POST, &format!("/factors/{factor}/verify")).bearer_auth(token).json(&body)).await
}

/// Requests a challenge and verifies it with a code.
async fn show(app: &TestApp, token: &str, factor: &str, code: &str) -> Answer {
    let challenge = challenge(app, token, factor).await.text("/id");
    verify(app, token, factor, &challenge, code).await
}

async fn unenroll(app: &TestApp, token: &str, factor: &str) -> Answer {
    send(request(app, Method::DELETE, &format!("/factors/{factor}")).bearer_auth(token)).await
}

fn code_of(secret: &TotpSecret, app: &TestApp) -> String {
    secret.code_at(app.state.clock.now().as_seconds())
}

#[tokio::test]
async fn a_code_raises_the_sign_in_and_ends_the_lower_ones() {
    for database in databases() {
        let (clock, app, person) = start(database).await;
        let other = another_device(&app, &person.email).await;
        let enrolled = enroll(&app, &person.token, "phone").await;
        assert_eq!((enrolled.text("/type"), enrolled.text("/friendly_name")), ("totp".into(), "phone".into()));
        assert!(enrolled.text("/totp/qr_code").starts_with("<svg "));
        let uri = enrolled.text("/totp/uri");
        assert!(
            uri.starts_with("otpauth://totp/localhost%3A") && uri.contains(&enrolled.text("/totp/secret")),
            "{uri}"
        );
        let (factor, secret) = (enrolled.text("/id"), secret_of(&enrolled));
        enroll(&app, &person.token, "never finished").await;

        let seen = get_user(&app, &person.token).await;
        assert_eq!((seen.text("/factors/0/id"), seen.text("/factors/0/status")), (factor.clone(), "unverified".into()));
        assert_eq!(
            (&seen.body["factors"][0]["last_challenged_at"], seen.text("/factors/0/factor_type")),
            (&Value::Null, "totp".into())
        );

        clock.advance_seconds(5);
        let raised = show(&app, &person.token, &factor, &code_of(&secret, &app)).await;
        assert_eq!(raised.status, 200, "{}", raised.body);
        let claims = claims_of(&raised.text("/access_token"));
        assert_eq!(claims["aal"], "aal2");
        let methods: Vec<&Value> = claims["amr"].as_array().unwrap().iter().map(|proof| &proof["method"]).collect();
        assert_eq!(methods, ["totp", "password"], "newest first");
        assert_eq!(raised.body["user"]["factors"].as_array().unwrap().len(), 1, "what was never finished is gone");
        assert_eq!(raised.text("/user/factors/0/status"), "verified");

        assert_eq!(get_user(&app, &other).await.refusal(), refused(403, "session_not_found"));
        let refreshed = refresh(&app, &raised.text("/refresh_token")).await;
        assert_eq!(claims_of(&refreshed.text("/access_token"))["aal"], "aal2", "refreshing keeps the level");

        let again = sign_in(&app, &person.email, PASSWORD).await;
        assert_eq!(claims_of(&again.text("/access_token"))["aal"], "aal1");
        assert_eq!(again.text("/user/factors/0/id"), factor, "the client learns that a code is due");
    }
}

#[tokio::test]
async fn the_token_from_before_a_code_gets_no_raised_one() {
    for database in databases() {
        let (clock, app, person) = start(database).await;
        let enrolled = enroll(&app, &person.token, "").await;
        clock.advance_seconds(60);
        let raised = show(&app, &person.token, &enrolled.text("/id"), &code_of(&secret_of(&enrolled), &app)).await;
        assert_eq!(raised.status, 200);
        let old = refresh(&app, &person.refresh_token).await;
        assert_eq!(old.refusal(), refused(400, "refresh_token_already_used"));
    }
}

#[tokio::test]
async fn a_code_is_good_once() {
    for database in databases() {
        let (clock, app, person) = start(database).await;
        let enrolled = enroll(&app, &person.token, "phone").await;
        let (factor, secret) = (enrolled.text("/id"), secret_of(&enrolled));
        let code = code_of(&secret, &app);
        let challenges = [challenge(&app, &person.token, &factor).await, challenge(&app, &person.token, &factor).await];
        let [first, second] = challenges.map(|challenge| challenge.text("/id"));
        let (one, other) = tokio::join!(
            verify(&app, &person.token, &factor, &first, &code),
            verify(&app, &person.token, &factor, &second, &code)
        );
        let mut answers = [one, other];
        answers.sort_by_key(|answer| answer.status);
        assert_eq!(answers[0].status, 200);
        assert_eq!(answers[1].refusal(), refused(422, "mfa_verification_failed"));
        assert_eq!(answers[1].text("/message"), "Invalid TOTP code entered");

        let token = answers[0].text("/access_token");
        clock.advance_seconds(30);
        assert_eq!(show(&app, &token, &factor, &code).await.refusal(), refused(422, "mfa_verification_failed"));
        let earlier = secret.code_at(app.state.clock.now().as_seconds() - 60);
        assert_eq!(show(&app, &token, &factor, &earlier).await.status, 422, "nor is one from before it");
        assert_eq!(show(&app, &token, &factor, &code_of(&secret, &app)).await.status, 200);
    }
}

#[tokio::test]
async fn a_challenge_is_answered_once_in_time_for_its_own_factor() {
    for database in databases() {
        let (clock, app, person) = start(database).await;
        let (phone, tablet) = (enroll(&app, &person.token, "phone").await, enroll(&app, &person.token, "tablet").await);
        let (factor, secret) = (phone.text("/id"), secret_of(&phone));
        let made = challenge(&app, &person.token, &factor).await;
        let now = app.state.clock.now().as_seconds();
        assert_eq!((made.text("/type"), &made.body["expires_at"]), ("totp".into(), &json!(now + 300)));
        let id = made.text("/id");

        let elsewhere = verify(&app, &person.token, &tablet.text("/id"), &id, &code_of(&secret, &app)).await;
        assert_eq!(elsewhere.refusal(), refused(422, "mfa_factor_not_found"));
        let nothing = verify(&app, &person.token, &factor, &id, "").await;
        assert_eq!(
            (nothing.refusal(), nothing.text("/message")),
            (refused(400, "validation_failed"), "Code needs to be non-empty".into())
        );
        assert_eq!(verify(&app, &person.token, &factor, "no id", "123456").await.refusal(), refused(400, "bad_json"));
        assert_eq!(
            verify(&app, &person.token, &factor, &id, "12345x").await.refusal(),
            refused(422, "mfa_verification_failed")
        );

        clock.advance_seconds(301);
        let late = verify(&app, &person.token, &factor, &id, &code_of(&secret, &app)).await;
        assert_eq!(late.refusal(), refused(422, "mfa_challenge_expired"));
        assert!(late.text("/message").starts_with(&format!("MFA challenge {id} has expired")));
        let gone = verify(&app, &person.token, &factor, &id, &code_of(&secret, &app)).await;
        assert_eq!(gone.refusal(), refused(422, "mfa_factor_not_found"));

        let id = challenge(&app, &person.token, &factor).await.text("/id");
        let raised = verify(&app, &person.token, &factor, &id, &code_of(&secret, &app)).await;
        clock.advance_seconds(30);
        let again = verify(&app, &raised.text("/access_token"), &factor, &id, &code_of(&secret, &app)).await;
        assert_eq!(again.refusal(), refused(422, "mfa_ip_address_mismatch"), "it was answered");
    }
}

#[tokio::test]
async fn only_the_address_that_asked_may_answer() {
    let app = TestApp::builder().set("CHAT_TRUSTED_PROXIES", "127.0.0.0/8").start().await;
    let person = app.person().await;
    let enrolled = enroll(&app, &person.token, "phone").await;
    let id = challenge(&app, &person.token, &enrolled.text("/id")).await.text("/id");
    let body = json!({ "challenge_id": id, "code": code_of(&secret_of(&enrolled), &app) });
    let path = format!("/factors/{}/verify", enrolled.text("/id"));
    let from = |address: &str| {
        send(
            request(&app, Method::POST, &path)
                .bearer_auth(&person.token)
                .header("x-forwarded-for", address)
                .json(&body),
        )
    };
    let answer = from("192.0.2.1").await;
    assert_eq!(answer.refusal(), refused(422, "mfa_ip_address_mismatch"));
    assert_eq!(answer.text("/message"), "Challenge and verify IP addresses mismatch.");
}

#[tokio::test]
async fn names_are_unique_and_there_are_ten_at_most() {
    for database in databases() {
        let (clock, app, person) = start(database).await;
        for n in 0..10 {
            assert_eq!(enroll(&app, &person.token, &format!("factor {n}")).await.status, 200);
        }
        let twice = enroll(&app, &person.token, "factor 3").await;
        assert_eq!(twice.refusal(), refused(422, "mfa_factor_name_conflict"));
        assert_eq!(twice.text("/message"), "A factor with the friendly name \"factor 3\" for this user already exists");
        let eleventh = enroll(&app, &person.token, "one more").await;
        assert_eq!(eleventh.refusal(), refused(422, "too_many_enrolled_mfa_factors"));
        clock.advance_seconds(301);
        assert_eq!(enroll(&app, &person.token, "one more").await.status, 200, "what nobody finished makes room");
        let seen = get_user(&app, &person.token).await;
        assert_eq!(seen.body["factors"].as_array().unwrap().len(), 1);
        clock.advance_seconds(301);
        assert_eq!(enroll(&app, &person.token, "one more").await.status, 200, "nor does it keep its name");
    }
}

#[tokio::test]
async fn too_many_is_said_before_a_missing_code() {
    for database in databases() {
        let (clock, app, person) = start(database).await;
        let first = enroll(&app, &person.token, "first").await;
        let raised = show(&app, &person.token, &first.text("/id"), &code_of(&secret_of(&first), &app)).await;
        let lower = another_device(&app, &person.email).await;
        assert_eq!(enroll(&app, &lower, "mine").await.refusal(), refused(403, "insufficient_aal"));
        for n in 1..10 {
            assert_eq!(enroll(&app, &raised.text("/access_token"), &format!("factor {n}")).await.status, 200);
        }
        assert_eq!(enroll(&app, &lower, "mine").await.refusal(), refused(422, "too_many_enrolled_mfa_factors"));
        assert_eq!(enroll(&app, &lower, "first").await.refusal(), refused(422, "mfa_factor_name_conflict"));
        clock.advance_seconds(301);
        assert_eq!(enroll(&app, &lower, "mine").await.refusal(), refused(403, "insufficient_aal"));
    }
}

#[tokio::test]
async fn what_a_factor_guards_needs_it() {
    for database in databases() {
        let (clock, app, person) = start(database).await;
        let enrolled = enroll(&app, &person.token, "phone").await;
        let (factor, secret) = (enrolled.text("/id"), secret_of(&enrolled));
        let raised = show(&app, &person.token, &factor, &code_of(&secret, &app)).await.text("/access_token");
        let lower = another_device(&app, &person.email).await;

        for change in [json!({ "password": "another horse" }), json!({ "email": "new@example.com" })] {
            assert_eq!(put_user(&app, &lower, &change).await.refusal(), refused(401, "insufficient_aal"), "{change}");
        }
        assert_eq!(put_user(&app, &lower, &json!({ "data": { "a": 1 } })).await.status, 200);
        assert_eq!(enroll(&app, &lower, "mine").await.refusal(), refused(403, "insufficient_aal"));
        assert_eq!(unenroll(&app, &lower, &factor).await.refusal(), refused(422, "insufficient_aal"));

        let removed = unenroll(&app, &raised, &factor).await;
        assert_eq!((removed.status, &removed.body), (200, &json!({ "id": factor })));
        let fallen = claims_of(
            &refresh(&app, &sign_in(&app, &person.email, PASSWORD).await.text("/refresh_token"))
                .await
                .text("/access_token"),
        );
        assert_eq!(fallen["aal"], "aal1");
        assert_eq!(put_user(&app, &lower, &json!({ "password": "another horse" })).await.status, 200);
        clock.advance_seconds(1);
    }
}

#[tokio::test]
async fn a_sign_in_falls_back_with_its_factor() {
    for database in databases() {
        let (_clock, app, person) = start(database).await;
        let enrolled = enroll(&app, &person.token, "phone").await;
        let factor = enrolled.text("/id");
        let raised = show(&app, &person.token, &factor, &code_of(&secret_of(&enrolled), &app)).await;
        unenroll(&app, &raised.text("/access_token"), &factor).await;
        let claims = claims_of(&refresh(&app, &raised.text("/refresh_token")).await.text("/access_token"));
        assert_eq!(
            (&claims["aal"], &claims["amr"][0]["method"], &claims["amr"][1]),
            (&json!("aal1"), &json!("password"), &Value::Null)
        );
    }
}

#[tokio::test]
async fn others_have_no_part_in_a_factor() {
    for database in databases() {
        let (_clock, app, person) = start(database).await;
        let stranger = app.person().await;
        let enrolled = enroll(&app, &person.token, "phone").await;
        let (factor, secret) = (enrolled.text("/id"), secret_of(&enrolled));
        let id = challenge(&app, &person.token, &factor).await.text("/id");
        let code = code_of(&secret, &app);
        let not_found = refused(404, "mfa_factor_not_found");
        assert_eq!(challenge(&app, &stranger.token, &factor).await.refusal(), not_found);
        assert_eq!(verify(&app, &stranger.token, &factor, &id, &code).await.refusal(), not_found);
        assert_eq!(unenroll(&app, &stranger.token, &factor).await.refusal(), not_found);
        assert_eq!(unenroll(&app, &stranger.token, "phone").await.refusal(), refused(404, "validation_failed"));
        let path = format!("/factors/{factor}/verify");
        let unread = request(&app, Method::POST, &path).bearer_auth(&stranger.token).body("no JSON");
        assert_eq!(send(unread).await.refusal(), not_found, "the factor is looked for first");
        let unread = request(&app, Method::POST, &path).bearer_auth(&person.token).body("no JSON");
        assert_eq!(send(unread).await.refusal(), refused(400, "bad_json"));
        assert_eq!(verify(&app, &person.token, &factor, &id, &code).await.status, 200);
    }
}

#[tokio::test]
async fn other_kinds_of_factors_are_refused_in_the_protocols_words() {
    let app = TestApp::start().await;
    let person = app.person().await;
    let table = [
        (json!({ "factor_type": "phone", "phone": "+123456789" }), 422, "mfa_phone_enroll_not_enabled"),
        (json!({ "factor_type": "webauthn", "friendly_name": "x".repeat(101) }), 400, "validation_failed"),
        (json!({ "factor_type": "smell" }), 400, "validation_failed"),
        (json!({}), 400, "validation_failed"),
        (json!({ "factor_type": "totp", "friendly_name": "x".repeat(101) }), 400, "validation_failed"),
        (json!([]), 400, "bad_json"),
    ];
    for (body, status, code) in table {
        let answer = send(request(&app, Method::POST, "/factors").bearer_auth(&person.token).json(&body)).await;
        assert_eq!(answer.refusal(), refused(status, code), "{body}");
    }
    assert_eq!(
        post(&app, "/factors", &json!({ "factor_type": "totp" })).await.refusal(),
        refused(401, "no_authorization")
    );
}

#[tokio::test]
async fn guessing_has_to_wait() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).set("CHAT_RATE_LIMITS", "on").start().await;
        let person = app.person().await;
        let enrolled = enroll(&app, &person.token, "phone").await;
        let (factor, secret) = (enrolled.text("/id"), secret_of(&enrolled));
        let id = challenge(&app, &person.token, &factor).await.text("/id");
        let mut refusals = Vec::new();
        for _ in 0..12 {
            refusals.push(verify(&app, &person.token, &factor, &id, "000000").await.refusal());
        }
        assert_eq!(refusals[0], refused(422, "mfa_verification_failed"));
        assert_eq!(refusals[11], refused(429, "over_request_rate_limit"));
        clock.advance_seconds(60);
        let right = verify(&app, &person.token, &factor, &id, &code_of(&secret, &app)).await;
        assert_eq!(right.status, 200, "who waits gets in");
    }
}
