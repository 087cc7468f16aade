//! Network policy: addresses that users name are reached only if they are public or allowed by the administrator, at
//! every entrance of the product.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../mcp/tests/support/spellings.rs"]
mod spellings;
#[path = "../../mcp/tests/support/trap.rs"]
mod trap;

use futures_util::{StreamExt, stream};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Person, TestApp};

use spellings::spellings;
use trap::Trap;

/// Tries every spelling of an address at an entrance, several at a time. `enter` returns whether a request got
/// through.
async fn nothing_enters<F: Future<Output = bool>>(enter: impl Fn(String) -> F, trap: &Trap) {
    for scheme in ["http", "ws"] {
        let tries = spellings(scheme, trap.port).into_iter().map(|url| {
            let entered = enter(url.clone());
            async move { (url, entered.await) }
        });
        let ends: Vec<_> = stream::iter(tries).buffer_unordered(8).collect().await;
        for (url, is_in) in ends {
            assert!(!is_in, "{url:?} was let in");
        }
    }
    assert_eq!(trap.count(), 0, "somebody came");
}

async fn probe(person: &Person, url: &str) -> Value {
    person.post("/functions/v1/mcp-proxy", &json!({ "url": url })).await.1
}

/// Reconnects a connection and returns its state.
async fn refreshed(person: &Person, id: &Value) -> Value {
    person.post(&format!("/api/connections/{}/refresh", id.as_str().unwrap()), &json!({})).await.1
}

/// Stores a connection and returns its id; `None` if the database does not accept the text.
async fn stored(person: &Person, url: &str) -> Option<String> {
    let row = json!({ "user_id": person.id, "name": url, "url": url, "tools": [], "status": "connected" });
    let request = person.request(Method::POST, "/rest/v1/mcp_servers?select=id").json(&row);
    let stored: Value = request.header("prefer", "return=representation").send().await.unwrap().json().await.unwrap();
    stored[0]["id"].as_str().map(str::to_owned)
}

async fn remove(person: &Person, id: &str) {
    person.request(Method::DELETE, &format!("/rest/v1/mcp_servers?id=eq.{id}")).send().await.unwrap();
}

#[tokio::test]
async fn the_proxy_asks_no_private_place() {
    let (trap, app) = (Trap::new(), TestApp::builder().exposed().start().await);
    let person = &app.person().await;
    nothing_enters(|url| async move { probe(person, &url).await["success"] == true }, &trap).await;
    app.stop().await;
}

#[tokio::test]
async fn a_connection_to_a_private_place_is_kept_and_not_opened() {
    let (trap, app) = (Trap::new(), TestApp::builder().exposed().start().await);
    let person = &app.person().await;
    let enter = |url: String| async move {
        let Some(id) = stored(person, &url).await else { return false };
        let view = refreshed(person, &json!(id)).await;
        assert_eq!(view["status"], "error", "{view}");
        let form = json!({ "serverName": url, "name": "work", "arguments": {} });
        let (status, _) = person.post("/api/tools/run", &form).await;
        remove(person, &id).await;
        status.is_success()
    };
    nothing_enters(enter, &trap).await;
    app.stop().await;
}

#[tokio::test]
async fn an_address_that_is_edited_is_judged_anew() {
    let (trap, app) = (Trap::new(), TestApp::builder().exposed().start().await);
    let person = &app.person().await;
    let id = &person.connect("moved", &format!("{}/mcp/toolbox", app.url), json!([])).await["id"];
    assert_eq!(refreshed(person, id).await["status"], "connected");
    let path = format!("/rest/v1/mcp_servers?id=eq.{}", id.as_str().unwrap());
    let url = format!("http://127.0.0.1:{}/mcp/toolbox", trap.port);
    let edited = person.request(Method::PATCH, &path).json(&json!({ "url": url })).send().await.unwrap();
    assert!(edited.status().is_success());
    let view = refreshed(person, id).await;
    assert_eq!(view["status"], "error");
    assert!(view["reason"].as_str().unwrap().contains("CHAT_NETWORK_ALLOW"), "{view}");
    assert_eq!(trap.count(), 0);
    app.stop().await;
}

#[tokio::test]
async fn a_sign_in_at_a_private_place_does_not_begin() {
    let (trap, app) = (Trap::new(), TestApp::builder().exposed().start().await);
    let person = &app.person().await;
    let url = format!("http://127.0.0.1:{}/mcp", trap.port);
    let id = &person.connect("inside", &url, json!([])).await["id"];
    let (status, _) = person.post(&format!("/api/connections/{}/sign-in", id.as_str().unwrap()), &json!({})).await;
    assert!(status.is_client_error() || status.is_server_error());
    assert_eq!(trap.count(), 0);
    app.stop().await;
}

#[tokio::test]
async fn pictures_and_links_lead_to_no_private_place() {
    let (trap, app) = (Trap::new(), TestApp::builder().exposed().start().await);
    let person = &app.person().await;
    let own = person.connect("own", &format!("{}/mcp/toolbox", app.url), json!([])).await;
    let own = own["id"].as_str().unwrap();
    let enter = |url: String| async move {
        // Icons are fetched over TLS only.
        let url = url.replacen("http:", "https:", 1).replacen("ws:", "https:", 1);
        let there = stored(person, &url).await;
        let mut is_in = false;
        // URLs that a user's server names, and those of a server at the address itself.
        for id in [Some(own), there.as_deref()].into_iter().flatten() {
            let picture = person.request(Method::GET, &format!("/api/connections/{id}/icon")).query(&[("src", &url)]);
            is_in |= picture.send().await.unwrap().status().is_success();
            let link = format!("/api/connections/{id}/resources/read");
            is_in |= person.post(&link, &json!({ "uri": url })).await.0.is_success();
        }
        if let Some(id) = there {
            remove(person, &id).await;
        }
        is_in
    };
    nothing_enters(enter, &trap).await;
    app.stop().await;
}

#[tokio::test]
async fn what_the_administrator_allows_is_reached() {
    let trap = Trap::new();
    for entry in [format!("127.0.0.1:{}", trap.port), "127.0.0.0/8".to_owned()] {
        let app = TestApp::builder().exposed().set("CHAT_NETWORK_ALLOW", entry).start().await;
        let person = app.person().await;
        let before = trap.count();
        for scheme in ["http", "ws"] {
            probe(&person, &format!("{scheme}://127.0.0.1:{}/mcp", trap.port)).await;
        }
        assert!(trap.count() >= before + 2, "it is a trap in which somebody is counted");
        app.stop().await;
    }
}

#[tokio::test]
async fn a_provider_of_models_leads_to_no_private_place() {
    let (trap, app) = (Trap::new(), TestApp::builder().exposed().start().await);
    let person = &app.person().await;
    let enter = |url: String| async move {
        let body = json!({ "kind": "compatible", "name": "Work", "baseUrl": url });
        let (status, made) = person.post("/api/model-providers", &body).await;
        if status != 201 {
            return false;
        }
        let path = format!("/api/model-providers/{}", made["provider"]["id"].as_str().unwrap());
        let (_, tested) = person.post(&format!("{path}/test"), &json!({})).await;
        person.request(Method::DELETE, &path).send().await.unwrap();
        tested["ok"] == true
    };
    nothing_enters(enter, &trap).await;
    app.stop().await;
}
