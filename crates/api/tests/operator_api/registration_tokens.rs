//! Registration tokens.

use axum::http::Method;
use domain::{Timestamp, ids};
use serde_json::{Value, json};
use testkit::{Database, MockClock, TestApp, databases};

use super::{Operator, builder};

const DAY: i64 = 24 * 60 * 60;

/// Returns the status of a sign-up with a token.
async fn sign_up(app: &TestApp, email: &str, token: &Value) -> u16 {
    let body = json!({ "email": email, "password": "correct horse", "data": { "registration_token": token } });
    app.http.post(format!("{}/auth/v1/signup", app.url)).json(&body).send().await.unwrap().status().as_u16()
}

impl Operator<'_> {
    async fn create_token(&self, body: &Value) -> Value {
        self.call(Method::POST, "/registration-tokens", body).await
    }

    async fn list_tokens(&self) -> Vec<Value> {
        self.get("/registration-tokens").await["tokens"].as_array().unwrap().clone()
    }
}

/// Returns fields of a token as a list.
fn fields<const N: usize>(token: &Value, names: [&str; N]) -> Value {
    json!(names.map(|name| &token[name]).as_slice())
}

#[tokio::test]
async fn creates_lists_and_revokes_tokens() {
    for database in databases() {
        let clock = MockClock::new();
        let builder = builder(database).clock(&clock).set("CHAT_SIGNUPS", "invite");
        let app = builder.set("CHAT_SITE_URL", "http://chat.example.com").start().await;
        let operator = Operator { app: &app };
        assert!(operator.list_tokens().await.is_empty());

        let first = operator.create_token(&json!({})).await;
        let shown = ["state", "note", "domain", "uses", "maxUses"];
        assert_eq!(fields(&first, shown), json!(["valid", "", null, 0, 1]));
        let link = format!("http://chat.example.com/auth#registration_token={}", first["token"].as_str().unwrap());
        assert_eq!(first["link"], link);
        let time = |name: &str| first[name].as_str().unwrap().parse::<Timestamp>().unwrap();
        assert_eq!(time("expiresAt"), time("createdAt").plus_seconds(7 * DAY));

        let body = json!({ "maxUses": 5, "lifetimeSeconds": DAY, "domain": "Example.org", "note": " Team A " });
        let second = operator.create_token(&body).await;
        assert_eq!(fields(&second, shown), json!(["valid", "Team A", "example.org", 0, 5]));
        for (email, token, status) in [
            ("ann@example.com", &first, 200),
            ("bob@example.com", &first, 422),
            ("bob@example.com", &second, 400),
            ("bob@example.org", &second, 200),
        ] {
            assert_eq!(sign_up(&app, email, &token["token"]).await, status, "{email}");
        }
        let tokens = operator.list_tokens().await;
        assert_eq!(tokens.len(), 2);
        assert_eq!(fields(&tokens[0], ["id", "state", "uses"]), json!([second["id"], "valid", 1]), "newest first");
        assert_eq!(fields(&tokens[1], ["id", "state", "uses"]), json!([first["id"], "used-up", 1]));
        for secret in ["token", "link"] {
            assert!(tokens.iter().all(|token| token.get(secret).is_none()), "{tokens:?}");
        }

        let third = operator.create_token(&body).await;
        let path = |token: &Value| format!("/registration-tokens/{}", token["id"].as_str().unwrap());
        operator.call(Method::DELETE, &path(&third), &json!({})).await;
        assert_eq!(sign_up(&app, "eve@example.org", &third["token"]).await, 422);
        for path in
            [path(&third), format!("/registration-tokens/{}", ids::fresh()), "/registration-tokens/x".to_owned()]
        {
            let (status, error) = operator.send(Method::DELETE, &path, &json!({})).await;
            assert_eq!((status.as_u16(), &error["error"]["code"]), (404, &json!("not_found")), "{path}");
        }
        clock.advance_seconds(DAY);
        let states: Vec<Value> =
            operator.list_tokens().await.into_iter().map(|mut token| token["state"].take()).collect();
        assert_eq!(states, ["revoked", "expired", "used-up"]);

        let count = async |kind: &str| {
            let page = operator.get(&format!("/audit-events?kind={kind}")).await;
            page["events"].as_array().unwrap().iter().filter(|event| event["actor"] == "admin").count()
        };
        let counts = (count("registration_token_created").await, count("registration_token_revoked").await);
        assert_eq!(counts, (3, 1));
        app.stop().await;
    }
}

#[tokio::test]
async fn rejects_useless_tokens() {
    for database in databases() {
        let app = builder(database).set("CHAT_SIGNUPS", "invite").start().await;
        let operator = Operator { app: &app };
        for (body, status, message) in [
            (json!({ "maxUses": 0 }), 400, None),
            (json!({ "maxUses": -1 }), 400, None),
            (json!({ "lifetimeSeconds": -1 }), 400, None),
            (json!({ "lifetimeSeconds": 0 }), 422, Some("the token would have expired already")),
            (json!({ "domain": "a@b" }), 422, Some("a@b is not a domain such as example.com")),
            (json!({ "note": "n".repeat(201) }), 422, Some("a note has at most 200 characters")),
            (json!({ "note": "two\nlines" }), 422, Some("a note is one line of text")),
        ] {
            let (answered, error) = operator.send(Method::POST, "/registration-tokens", &body).await;
            assert_eq!(answered.as_u16(), status, "{body}: {error}");
            if let Some(message) = message {
                assert_eq!(error["error"]["message"], message);
            }
        }
        assert!(operator.list_tokens().await.is_empty());
        app.stop().await;
    }
    for policy in ["open", "closed"] {
        let app = builder(Database::Sqlite).set("CHAT_SIGNUPS", policy).start().await;
        let (status, error) = Operator { app: &app }.send(Method::POST, "/registration-tokens", &json!({})).await;
        assert_eq!(status, 422);
        assert_eq!(error["error"]["message"], "registration tokens need CHAT_SIGNUPS=invite");
        app.stop().await;
    }
}
