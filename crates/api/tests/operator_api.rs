//! `/admin/api` of the operator's listener.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod registration_tokens;
mod system;
mod usage;
mod users;

use axum::http::Method;
use domain::Timestamp;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};
use testkit::{Builder, Database, TestApp, databases};

const TOKEN: &str = "the token of an operator who manages";

/// An operator who calls the API of a server.
pub struct Operator<'a> {
    app: &'a TestApp,
}

impl Operator<'_> {
    /// Returns a request with the operator's token.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/admin/api{path}", self.app.admin_url.as_deref().unwrap());
        self.app.http.request(method, url).bearer_auth(TOKEN)
    }

    async fn read(request: RequestBuilder) -> (StatusCode, Value) {
        let response = request.send().await.unwrap();
        let status = response.status();
        assert_eq!(response.headers()["cache-control"], "no-store");
        let text = response.text().await.unwrap();
        (status, if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() })
    }

    /// Returns what a path responds.
    pub async fn get(&self, path: &str) -> Value {
        let (status, value) = Self::read(self.request(Method::GET, path)).await;
        assert_eq!(status, 200, "{value}");
        value
    }

    /// Returns the status and the response of a request with a body.
    pub async fn send(&self, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
        Self::read(self.request(method, path).json(body)).await
    }

    /// Sends a request that succeeds, and returns its response.
    pub async fn call(&self, method: Method, path: &str, body: &Value) -> Value {
        let (status, value) = self.send(method, path, body).await;
        assert!(status.is_success(), "{path}: {status} {value}");
        value
    }

    /// Returns the kinds of the newest audit events of an account, newest first.
    pub async fn kinds(&self, user: &str) -> Vec<String> {
        let page = self.get(&format!("/audit-events?user={user}")).await;
        let events = page["events"].as_array().unwrap();
        events.iter().map(|event| event["kind"].as_str().unwrap().to_owned()).collect()
    }
}

/// Returns settings with an operator's listener.
pub fn builder(database: Database) -> Builder {
    let builder = TestApp::builder().database(database);
    builder.set("CHAT_ADMIN_LISTEN", "127.0.0.1:0").set("CHAT_ADMIN_TOKEN", TOKEN)
}

#[tokio::test]
async fn every_route_needs_the_token() {
    let app = builder(Database::Sqlite).start().await;
    let origin = app.admin_url.as_deref().unwrap();
    let entries: Vec<_> =
        api::admin_listener::entries().into_iter().filter(|entry| entry.path.contains("/admin/")).collect();
    assert!(entries.len() > 20, "{}", entries.len());
    let unknown = (Method::GET, "/admin/api/nothing".to_owned());
    let paths = entries.into_iter().map(|entry| (entry.method, entry.path)).chain([unknown]);
    for (method, path) in paths {
        let path = path.replace("{id}", &domain::ids::fresh().to_string());
        for token in [None, Some("another token, as long as the right one"), Some("")] {
            let request = app.http.request(method.clone(), format!("{origin}{path}"));
            let request = if let Some(token) = token { request.bearer_auth(token) } else { request };
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), 401, "{method} {path}");
            assert_eq!(response.headers()["www-authenticate"], "Bearer");
            assert_eq!(response.headers()["cache-control"], "no-store");
            assert_eq!(response.json::<Value>().await.unwrap()["error"]["code"], "unauthorized");
        }
        // Users' address has none of them.
        let public = app.http.request(method.clone(), format!("{}{path}", app.url)).bearer_auth(TOKEN).send().await;
        let public = public.unwrap();
        let is_page = public.headers().get("content-type").is_some_and(|kind| kind == "text/html; charset=utf-8");
        assert!(is_page || [404, 405].contains(&public.status().as_u16()), "{method} {path}: {}", public.status());
    }
    let events = app.state.storage.audit_events().list(None, Timestamp(0), None, 1000).await.unwrap();
    let rejected: Vec<_> = events.iter().filter(|event| event.kind == "operator_rejected").collect();
    assert_eq!(rejected.len(), 1, "once an hour for a network: {events:?}");
    assert_eq!(rejected[0].client_address.as_deref(), Some("127.0.0.1"));
    let operator = Operator { app: &app };
    let (status, error) = operator.send(Method::GET, "/nothing", &json!({})).await;
    assert_eq!((status, &error["error"]["code"]), (StatusCode::NOT_FOUND, &json!("not_found")));
}

#[tokio::test]
async fn listener_has_no_api_of_users_and_strict_headers() {
    for database in databases() {
        let app = builder(database).start().await;
        let person = app.person().await;
        let origin = app.admin_url.as_deref().unwrap();
        let denied = app.http.get(format!("{origin}/api/models")).bearer_auth(&person.token).send().await.unwrap();
        assert_eq!(denied.status(), 404);
        let policy = denied.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("script-src 'self';") && policy.contains("frame-ancestors 'none'"), "{policy}");
        let as_user =
            app.http.get(format!("{origin}/admin/api/users")).bearer_auth(&person.token).send().await.unwrap();
        assert_eq!(as_user.status(), 401, "a user's token is not the operator's");
    }
}
