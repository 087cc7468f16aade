//! Helpers for tests of accounts.

use accounts::totp::TotpSecret;
use futures_util::StreamExt;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use testkit::{Person, TestApp};

/// Signs in again, as another device.
pub async fn another_device(app: &TestApp, person: &Person, user_agent: &str) -> Person {
    let body = json!({ "email": person.email, "password": "correct horse" });
    let request = app.http.post(format!("{}/auth/v1/token?grant_type=password", app.url));
    let answer = request.header("user-agent", user_agent).json(&body).send().await.unwrap();
    let session: Value = answer.json().await.unwrap();
    let text = |name: &str| session[name].as_str().unwrap().to_owned();
    let mut device = person.clone();
    device.token = text("access_token");
    device.refresh_token = text("refresh_token");
    device
}

/// Sends a request and returns status and JSON body.
pub async fn call(person: &Person, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
    let mut request = person.request(method, path);
    if let Some(body) = body {
        request = request.json(&body);
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// Enrols an authenticator app and verifies its first code, which raises the user's session to `aal2`.
pub async fn with_factor(app: &TestApp, person: &Person) -> Person {
    let body = json!({ "factor_type": "totp", "friendly_name": "phone" });
    let (_, enrolled) = call(person, Method::POST, "/auth/v1/factors", Some(body)).await;
    let secret = TotpSecret::from_base32(enrolled["totp"]["secret"].as_str().unwrap()).unwrap();
    let path = format!("/auth/v1/factors/{}", enrolled["id"].as_str().unwrap());
    let (_, challenge) = call(person, Method::POST, &format!("{path}/challenge"), None).await;
    let code = secret.code_at(app.state.clock.now().as_seconds());
    let body = json!({ "challenge_id": challenge["id"], "code": code });
    let (status, session) = call(person, Method::POST, &format!("{path}/verify"), Some(body)).await;
    assert_eq!(status, 200, "{session}");
    let mut raised = person.clone();
    session["access_token"].as_str().unwrap().clone_into(&mut raised.token);
    raised
}

/// The event stream of an open web app.
pub struct Page(std::pin::Pin<Box<dyn futures_util::Stream<Item = String>>>);

impl Page {
    pub async fn open(person: &Person) -> Self {
        let answer: Response = person.request(Method::GET, "/api/events").send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let pieces = answer.bytes_stream().map(|piece| String::from_utf8(piece.unwrap().to_vec()).unwrap());
        let mut page = Self(Box::pin(pieces));
        assert_eq!(page.next().await.unwrap(), ": hello\n\n");
        page
    }

    /// Returns the next event; `None` when the server has ended the stream.
    pub async fn next(&mut self) -> Option<String> {
        self.0.next().await
    }

    /// Returns everything up to the end of the stream.
    pub async fn rest(mut self) -> String {
        let mut all = String::new();
        while let Some(piece) = self.next().await {
            all.push_str(&piece);
        }
        all
    }
}
