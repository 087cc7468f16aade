//! Requests to the auth API, and access to their responses.

use accounts::totp::TotpSecret;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use testkit::TestApp;

pub const PASSWORD: &str = "correct horse";

/// A response of the auth API.
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    pub fn text(&self, pointer: &str) -> String {
        self.body
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("{pointer} of {}", self.body))
            .into()
    }

    /// Returns status and code of an error.
    pub fn refusal(&self) -> (u16, String) {
        (self.status, self.text("/error_code"))
    }
}

pub fn request(app: &TestApp, method: Method, path: &str) -> RequestBuilder {
    app.http.request(method, format!("{}/auth/v1{path}", app.url))
}

pub async fn send(request: RequestBuilder) -> Answer {
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    Answer { status, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) }
}

pub async fn post(app: &TestApp, path: &str, body: &Value) -> Answer {
    send(request(app, Method::POST, path).json(body)).await
}

pub async fn get_user(app: &TestApp, token: &str) -> Answer {
    send(request(app, Method::GET, "/user").bearer_auth(token)).await
}

pub async fn put_user(app: &TestApp, token: &str, body: &Value) -> Answer {
    send(request(app, Method::PUT, "/user").bearer_auth(token).json(body)).await
}

pub async fn log_out(app: &TestApp, token: &str, query: &str) -> Answer {
    send(request(app, Method::POST, &format!("/logout{query}")).bearer_auth(token)).await
}

pub async fn sign_in(app: &TestApp, email: &str, password: &str) -> Answer {
    post(app, "/token?grant_type=password", &json!({ "email": email, "password": password })).await
}

pub async fn refresh(app: &TestApp, refresh_token: &str) -> Answer {
    post(app, "/token?grant_type=refresh_token", &json!({ "refresh_token": refresh_token })).await
}

/// Signs in again, as another device.
pub async fn another_device(app: &TestApp, email: &str) -> String {
    let answer = sign_in(app, email, PASSWORD).await;
    assert_eq!(answer.status, 200);
    answer.text("/access_token")
}

pub fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// Begins to enrol an authenticator app.
pub async fn enroll(app: &TestApp, token: &str, name: &str) -> Answer {
    let body = json!({ "factor_type": "totp", "friendly_name": name });
    send(request(app, Method::POST, "/factors").bearer_auth(token).json(&body)).await
}

/// Returns the secret that the authenticator app received.
pub fn secret_of(enrolled: &Answer) -> TotpSecret {
    TotpSecret::from_base32(&enrolled.text("/totp/secret")).unwrap()
}

/// Returns the claims of an access token.
pub fn claims_of(token: &str) -> Value {
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
    serde_json::from_slice(&payload).unwrap()
}
