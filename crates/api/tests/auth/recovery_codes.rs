//! Recovery codes: issuing, using, renewing and removing them.

use std::collections::BTreeSet;
use std::sync::Arc;

use accounts::totp::TotpSecret;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Builder, Database, MockClock, Person, TestApp, databases};

use super::caller::{
    Answer, PASSWORD, another_device, claims_of, enroll, get_user, refused, request, secret_of, send, sign_in,
};

const CODES: &str = "/factors/recovery-codes";

/// A user with an authenticator.
struct Guarded {
    app: TestApp,
    clock: Arc<MockClock>,
    person: Person,
    factor: String,
    secret: TotpSecret,
    /// Access token of a session at `aal2`.
    token: String,
}

impl Guarded {
    async fn start(database: Database) -> Self {
        Self::start_with(TestApp::builder().database(database)).await
    }

    async fn start_with(builder: Builder) -> Self {
        let clock = MockClock::new();
        let app = builder.clock(&clock).start().await;
        let person = app.person().await;
        let enrolled = enroll(&app, &person.token, "phone").await;
        let (factor, secret) = (enrolled.text("/id"), secret_of(&enrolled));
        let mut guarded = Self { app, clock, token: person.token.clone(), person, factor, secret };
        let raised = guarded.show_code(&guarded.token).await;
        guarded.token = raised.text("/access_token");
        guarded
    }

    async fn call(&self, method: Method, path: &str, token: &str) -> Answer {
        send(request(&self.app, method, path).bearer_auth(token)).await
    }

    /// Verifies the current code of the authenticator.
    async fn show_code(&self, token: &str) -> Answer {
        let path = format!("/factors/{}", self.factor);
        let challenge = self.call(Method::POST, &format!("{path}/challenge"), token).await.text("/id");
        let code = self.secret.code_at(self.app.state.clock.now().as_seconds());
        let body = json!({ "challenge_id": challenge, "code": code });
        send(request(&self.app, Method::POST, &format!("{path}/verify")).bearer_auth(token).json(&body)).await
    }

    async fn recover(&self, token: &str, code: &str) -> Answer {
        let body = json!({ "code": code });
        send(request(&self.app, Method::POST, &format!("{CODES}/verify")).bearer_auth(token).json(&body)).await
    }

    /// Signs in with the password alone.
    async fn sign_in(&self) -> String {
        sign_in(&self.app, &self.person.email, PASSWORD).await.text("/access_token")
    }

    /// Returns how many codes there are, and how many are left.
    async fn count(&self) -> (Value, Value) {
        let status = self.call(Method::GET, CODES, &self.token).await;
        (status.body["total"].clone(), status.body["remaining"].clone())
    }
}

fn codes_of(issued: &Answer) -> Vec<String> {
    assert_eq!(issued.status, 200, "{}", issued.body);
    let codes = issued.body["codes"].as_array().unwrap().iter();
    codes.map(|code| code.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_recovery_code_replaces_the_authenticator_once() {
    for database in databases() {
        let guarded = Guarded::start(database).await;
        let name = json!({ "friendly_name": "Backup codes" });
        let issued = send(request(&guarded.app, Method::POST, CODES).bearer_auth(&guarded.token).json(&name)).await;
        let codes = codes_of(&issued);
        assert_eq!(
            (issued.text("/type"), issued.text("/friendly_name")),
            ("recovery_code".into(), "Backup codes".into())
        );
        assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), 10);
        assert!(codes.iter().all(|code| code.len() == 16), "{codes:?}");
        assert_eq!(guarded.count().await, (json!(10), json!(10)));

        let (token, other) = (guarded.sign_in().await, another_device(&guarded.app, &guarded.person.email).await);
        assert_eq!(guarded.call(Method::GET, CODES, &token).await.body["remaining"], 10, "at any level");
        let typed = codes[0].to_uppercase();
        let typed = format!(" {}-{} {}", &typed[..4], &typed[4..8], &typed[8..]);
        let raised = guarded.recover(&token, &typed).await;
        assert_eq!(raised.status, 200, "{}", raised.body);
        let claims = claims_of(&raised.text("/access_token"));
        assert_eq!((&claims["aal"], &claims["amr"][0]["method"]), (&json!("aal2"), &json!("mfa/recovery_code")));
        assert_eq!(guarded.call(Method::GET, "/user", &other).await.refusal(), refused(403, "session_not_found"));
        assert_eq!(guarded.count().await, (json!(10), json!(9)));

        let token = guarded.sign_in().await;
        let refusal = refused(422, "mfa_verification_failed");
        assert_eq!(guarded.recover(&token, &codes[0]).await.refusal(), refusal, "it was used");
        assert_eq!(guarded.recover(&token, "").await.refusal(), refusal);
        assert_eq!(guarded.recover(&token, &codes[1]).await.status, 200, "the next one works");
        guarded.app.stop().await;
    }
}

#[tokio::test]
async fn parallel_requests_use_a_recovery_code_once() {
    for database in databases() {
        let guarded = Guarded::start(database).await;
        let codes = codes_of(&guarded.call(Method::POST, CODES, &guarded.token).await);
        let (one, two) = (guarded.sign_in().await, guarded.sign_in().await);
        let (first, second) = futures_util::join!(guarded.recover(&one, &codes[0]), guarded.recover(&two, &codes[0]));
        let mut statuses = [first.status, second.status];
        statuses.sort_unstable();
        assert_eq!(statuses[0], 200, "{} {}", first.body, second.body);
        assert!(statuses[1] >= 400, "{} {}", first.body, second.body);
        assert_eq!(guarded.count().await, (json!(10), json!(9)));
        guarded.app.stop().await;
    }
}

#[tokio::test]
async fn renewed_recovery_codes_replace_the_old_ones() {
    for database in databases() {
        let guarded = Guarded::start(database).await;
        let missing = refused(404, "mfa_factor_not_found");
        let renew = format!("{CODES}/regenerate");
        for (method, path) in [(Method::GET, CODES), (Method::DELETE, CODES), (Method::POST, renew.as_str())] {
            assert_eq!(guarded.call(method.clone(), path, &guarded.token).await.refusal(), missing, "{method} {path}");
        }
        let issued = guarded.call(Method::POST, CODES, &guarded.token).await;
        let old = codes_of(&issued);
        assert_eq!(issued.text("/friendly_name"), "Recovery codes");
        let again = guarded.call(Method::POST, CODES, &guarded.token).await;
        assert_eq!(again.refusal(), refused(422, "mfa_verified_factor_exists"));
        let renewed = guarded.call(Method::POST, &renew, &guarded.token).await;
        let new = codes_of(&renewed);
        assert_eq!(renewed.text("/id"), issued.text("/id"));

        let token = guarded.sign_in().await;
        assert_eq!(guarded.recover(&token, &old[0]).await.refusal(), refused(422, "mfa_verification_failed"));
        let raised = guarded.recover(&token, &new[0]).await.text("/access_token");
        let removed = guarded.call(Method::DELETE, CODES, &guarded.token).await;
        assert_eq!((removed.status, removed.text("/id")), (200, issued.text("/id")));
        assert_eq!(guarded.call(Method::GET, CODES, &guarded.token).await.refusal(), missing);
        assert_eq!(
            guarded.call(Method::POST, CODES, &raised).await.refusal(),
            refused(403, "insufficient_aal"),
            "the session that a code has raised is lowered"
        );
        guarded.app.stop().await;
    }
}

#[tokio::test]
async fn recovery_codes_need_the_second_factor_and_a_recent_proof() {
    for database in databases() {
        let guarded = Guarded::start(database).await;
        let stranger = guarded.app.person().await;
        let alone = guarded.call(Method::POST, CODES, &stranger.token).await;
        assert_eq!(alone.refusal(), refused(422, "mfa_recovery_codes_sole_factor"));
        let codes = codes_of(&guarded.call(Method::POST, CODES, &guarded.token).await);
        let refusal = refused(422, "mfa_verification_failed");
        assert_eq!(guarded.recover(&stranger.token, &codes[0]).await.refusal(), refusal, "of another user");

        let token = guarded.sign_in().await;
        let renew = format!("{CODES}/regenerate");
        let calls = [(Method::POST, CODES), (Method::POST, renew.as_str()), (Method::DELETE, CODES)];
        for (method, path) in calls.clone() {
            let refusal = guarded.call(method.clone(), path, &token).await.refusal();
            assert_eq!(refusal, refused(403, "insufficient_aal"), "{method} {path}");
        }
        guarded.clock.advance_seconds(16 * 60);
        for (method, path) in calls {
            let refusal = guarded.call(method.clone(), path, &guarded.token).await.refusal();
            assert_eq!(refusal, refused(400, "reauthentication_needed"), "{method} {path}");
        }
        guarded.app.stop().await;
    }
}

#[tokio::test]
async fn recovery_codes_end_with_the_last_authenticator() {
    for database in databases() {
        let guarded = Guarded::start(database).await;
        let codes = codes_of(&guarded.call(Method::POST, CODES, &guarded.token).await);
        let raised = guarded.recover(&guarded.sign_in().await, &codes[0]).await.text("/access_token");
        let removed = guarded.call(Method::DELETE, &format!("/factors/{}", guarded.factor), &raised).await;
        assert_eq!(removed.status, 200, "a user without the authenticator can replace it: {}", removed.body);
        assert_eq!(guarded.call(Method::GET, CODES, &raised).await.refusal(), refused(404, "mfa_factor_not_found"));
        assert_eq!(guarded.recover(&raised, &codes[1]).await.refusal(), refused(422, "mfa_verification_failed"));
        let user = get_user(&guarded.app, &raised).await;
        assert_eq!(user.body["factors"].as_array().map_or(0, Vec::len), 0);
        guarded.app.stop().await;
    }
}

#[tokio::test]
async fn wrong_recovery_codes_wait_and_are_recorded() {
    for database in databases() {
        let builder = TestApp::builder().database(database).set("CHAT_RATE_LIMITS", "on");
        let guarded = Guarded::start_with(builder).await;
        let codes = codes_of(&guarded.call(Method::POST, CODES, &guarded.token).await);
        let token = guarded.sign_in().await;
        let mut refusals = Vec::new();
        while refusals.last() != Some(&429) && refusals.len() < 12 {
            refusals.push(guarded.recover(&token, "0000-0000-0000-0000").await.refusal().0);
        }
        assert_eq!((refusals.first(), refusals.last()), (Some(&422), Some(&429)), "{refusals:?}");
        assert_eq!(guarded.recover(&token, &codes[0]).await.status, 429, "the right one has to wait as well");
        assert_eq!(guarded.show_code(&token).await.status, 429, "they are counted together with an authenticator's");
        guarded.clock.advance_seconds(15 * 60);
        let raised = guarded.recover(&token, &codes[0]).await;
        assert_eq!(raised.status, 200, "{}", raised.body);

        let url = format!("{}/api/account/events", guarded.app.url);
        let listed = guarded.app.http.get(url).bearer_auth(raised.text("/access_token")).send().await.unwrap();
        let listed: Value = listed.json().await.unwrap();
        let kinds: Vec<&str> =
            listed["events"].as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
        for kind in ["recovery_codes_created", "factor_failed", "recovery_code_used"] {
            assert!(kinds.contains(&kind), "{kind} of {kinds:?}");
        }
        guarded.app.stop().await;
    }
}

#[tokio::test]
async fn the_audit_log_records_codes_until_they_are_removed() {
    for database in databases() {
        let guarded = Guarded::start(database).await;
        assert_eq!(guarded.call(Method::POST, CODES, &guarded.token).await.status, 200);
        assert_eq!(guarded.call(Method::DELETE, CODES, &guarded.token).await.status, 200);
        let log = guarded.app.state.storage.audit_events();
        let events = log.list_of_user(guarded.person.id.parse().unwrap(), None, 2).await.unwrap();
        let told: Vec<_> = events.iter().map(|event| (event.actor.as_str(), event.kind.as_str())).collect();
        assert_eq!(told, [("user", "recovery_codes_removed"), ("user", "recovery_codes_created")]);
    }
}
