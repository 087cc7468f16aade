//! Browsing of the MCP registry, with a scripted registry that follows its OpenAPI description.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Background, MockClock, Person, TestApp};

/// A registry with scripted pages. It records the queries.
#[derive(Debug, Clone, Default)]
struct Registry(Arc<Mutex<Script>>);

#[derive(Debug, Default)]
struct Script {
    servers: Vec<Value>,
    queries: Vec<HashMap<String, String>>,
    is_down: bool,
}

/// Number of entries per page of the scripted registry.
const PAGE: usize = 3;

impl Registry {
    async fn start(&self) -> Background {
        let routes = Router::new().route("/sub/v0.1/servers", get(list)).with_state(self.clone());
        Background::serve(routes).await
    }

    fn set_down(&self, is_down: bool) {
        self.0.lock().unwrap().is_down = is_down;
    }

    fn queries(&self) -> Vec<HashMap<String, String>> {
        std::mem::take(&mut self.0.lock().unwrap().queries)
    }
}

/// Lists servers as the registry does: pages by an opaque cursor, a search in names without regard to case.
async fn list(State(registry): State<Registry>, Query(query): Query<HashMap<String, String>>) -> Response {
    let mut script = registry.0.lock().unwrap();
    script.queries.push(query.clone());
    if script.is_down {
        return (StatusCode::BAD_GATEWAY, "<html>down</html>").into_response();
    }
    let search = query.get("search").map(|text| text.to_lowercase()).unwrap_or_default();
    let matching: Vec<&Value> = script
        .servers
        .iter()
        .filter(|entry| entry["server"]["name"].as_str().unwrap_or_default().to_lowercase().contains(&search))
        .collect();
    let from: usize = query.get("cursor").map_or(0, |cursor| cursor.strip_prefix("at:").unwrap().parse().unwrap());
    let page: Vec<&Value> = matching.iter().skip(from).take(PAGE).copied().collect();
    let mut metadata = json!({"count": page.len()});
    if from + PAGE < matching.len() {
        metadata["nextCursor"] = json!(format!("at:{}", from + PAGE));
    }
    Json(json!({"servers": page, "metadata": metadata})).into_response()
}

fn entry(name: &str, remotes: &Value) -> Value {
    json!({
        "server": {"name": name, "description": "A server", "version": "1.0.0", "remotes": remotes},
        "_meta": {"io.modelcontextprotocol.registry/official": {"status": "active", "isLatest": true}},
    })
}

fn reachable(name: &str) -> Value {
    entry(name, &json!([{"type": "streamable-http", "url": "https://mcp.example.com/mcp"}]))
}

async fn start(registry: &Registry, clock: &Arc<MockClock>) -> (Background, TestApp, Person) {
    let served = registry.start().await;
    let app = TestApp::builder().clock(clock).set("CHAT_MCP_REGISTRY", format!("{}/sub", served.origin)).start().await;
    let person = app.person().await;
    (served, app, person)
}

fn names(listing: &Value) -> Vec<&str> {
    listing["servers"].as_array().unwrap().iter().map(|server| server["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn lists_reachable_servers_over_pages_without_any() {
    let registry = Registry::default();
    let local = |number| entry(&format!("com.example/local{number}"), &json!([]));
    registry.0.lock().unwrap().servers = (0..7)
        .map(local)
        .chain([reachable("com.example/Weather"), json!({"server": null}), reachable("io.github.acme/files")])
        .collect();
    let clock = MockClock::new();
    let (served, _app, person) = start(&registry, &clock).await;
    let listing = person.get("/api/registry/servers").await;
    assert_eq!(names(&listing), ["com.example/Weather", "io.github.acme/files"]);
    assert_eq!(served.origin.strip_prefix("http://").unwrap().split(':').next(), listing["registry"].as_str());
    assert_eq!(listing["servers"][0]["publisher"], json!({"name": "example.com", "verifiedBy": "domain"}));
    assert_eq!(listing["servers"][1]["publisher"], json!({"name": "acme", "verifiedBy": "github"}));
    assert_eq!(listing.get("nextCursor"), None);
    let queries = registry.queries();
    assert_eq!(queries.len(), 4);
    assert!(queries.iter().all(|query| query["version"] == "latest" && !query.contains_key("search")), "{queries:?}");

    let listing = person.get("/api/registry/servers?search=weather").await;
    assert_eq!(names(&listing), ["com.example/Weather"]);
    assert_eq!(registry.queries()[0]["search"], "weather");
    let listing = person.get("/api/registry/servers?search=nothing").await;
    assert_eq!(names(&listing), [""; 0]);
}

#[tokio::test]
async fn continues_a_long_list_by_its_cursor() {
    let registry = Registry::default();
    registry.0.lock().unwrap().servers = (0..40).map(|number| reachable(&format!("com.example/s{number}"))).collect();
    let clock = MockClock::new();
    let (_served, _app, person) = start(&registry, &clock).await;
    let mut seen = Vec::new();
    let mut path = "/api/registry/servers".to_owned();
    loop {
        let listing = person.get(&path).await;
        seen.extend(names(&listing).into_iter().map(str::to_owned));
        let Some(cursor) = listing["nextCursor"].as_str() else { break };
        path = format!("/api/registry/servers?cursor={cursor}");
    }
    assert_eq!(seen, (0..40).map(|number| format!("com.example/s{number}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn answers_are_shared_for_ten_minutes_and_outlast_a_failure() {
    let registry = Registry::default();
    registry.0.lock().unwrap().servers = vec![reachable("com.example/one")];
    let clock = MockClock::new();
    let (_served, app, person) = start(&registry, &clock).await;
    let other = app.person().await;
    person.get("/api/registry/servers?search=one").await;
    other.get("/api/registry/servers?search=%20ONE").await;
    assert_eq!(registry.queries().len(), 1);
    clock.advance_seconds(601);
    registry.set_down(true);
    // The sign-in of an hour outlives ten minutes.
    let listing = person.get("/api/registry/servers?search=one").await;
    assert_eq!(names(&listing), ["com.example/one"]);
    assert_eq!(registry.queries().len(), 1);
    let response = person.request(Method::GET, "/api/registry/servers?search=two").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
    let error: Value = response.json().await.unwrap();
    assert_eq!(error["error"]["code"], "registry_unavailable", "{error}");
    registry.set_down(false);
    assert_eq!(names(&person.get("/api/registry/servers?search=two").await), [""; 0]);
}

#[tokio::test]
async fn says_what_is_wrong_without_a_registry() {
    let app = TestApp::builder().set("CHAT_MCP_REGISTRY", "off").start().await;
    let person = app.person().await;
    let status = |path: &'static str| {
        let request = person.request(Method::GET, path);
        async move { request.send().await.unwrap().status() }
    };
    assert_eq!(status("/api/registry/servers").await, StatusCode::NOT_FOUND);
    let index = app.http.get(&app.url).send().await.unwrap().text().await.unwrap();
    assert!(index.contains(r#""registry":false"#) || index.contains("not built"), "{index}");

    // Nothing listens there.
    let app = TestApp::builder().set("CHAT_MCP_REGISTRY", "http://127.0.0.1:1").start().await;
    let person = app.person().await;
    let response = person.request(Method::GET, "/api/registry/servers").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
    let long = format!("/api/registry/servers?search={}", "a".repeat(2_000));
    assert_eq!(person.request(Method::GET, &long).send().await.unwrap().status(), StatusCode::BAD_REQUEST);
    // Only signed-in users can make the server ask.
    let anonymous = app.http.get(format!("{}/api/registry/servers", app.url)).send().await.unwrap();
    assert_eq!(anonymous.status(), StatusCode::UNAUTHORIZED);
}
