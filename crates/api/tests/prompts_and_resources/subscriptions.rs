//! Subscriptions to resources of a server of an older revision, which counts them by their URI alone.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::Method;
use serde_json::{Value, json};
use testkit::TestApp;
use tokio::sync::{Semaphore, mpsc};

/// The methods of the server's subscription requests, and the permits to answer them.
#[derive(Clone)]
struct Server {
    methods: mpsc::UnboundedSender<String>,
    answers: Arc<Semaphore>,
}

async fn answer(State(server): State<Server>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let Some(id) = request.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let result = match request["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {}, "resources": { "subscribe": true } },
            "serverInfo": { "name": "scripted", "version": "1" },
        }),
        method @ ("resources/subscribe" | "resources/unsubscribe") => {
            server.methods.send(method.to_owned()).unwrap();
            let _permit = server.answers.acquire().await.unwrap();
            json!({})
        }
        "tools/list" => json!({ "tools": [{ "name": "nothing", "inputSchema": { "type": "object" } }] }),
        "resources/list" => json!({ "resources": [] }),
        _ => {
            let error = json!({ "code": -32601, "message": "Method not found" });
            return axum::Json(json!({ "jsonrpc": "2.0", "id": id, "error": error })).into_response();
        }
    };
    axum::Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })).into_response()
}

#[tokio::test]
async fn simultaneous_subscriptions_share_one_at_the_server() {
    let (methods, mut received) = mpsc::unbounded_channel();
    let server = Server { methods, answers: Arc::new(Semaphore::new(0)) };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let routes = axum::Router::new().route("/mcp", post(answer)).with_state(server.clone());
    #[expect(clippy::disallowed_methods, reason = "it goes away with the test's runtime")]
    drop(tokio::spawn(async move { axum::serve(listener, routes).await }));

    let app = TestApp::start().await;
    let person = app.person().await;
    let connection = person.connect_to("notes", &url).await;
    let path = format!("/api/connections/{connection}/resources/watch");
    let subscription = json!({ "uri": "note://1" });
    let release = async {
        assert_eq!(received.recv().await.unwrap(), "resources/subscribe");
        // By the answer to this request the server has received the second subscription, too.
        person.get(&format!("/api/connections/{connection}/resources")).await;
        server.answers.add_permits(8);
    };
    let (first, second, ()) =
        tokio::join!(person.post(&path, &subscription), person.post(&path, &subscription), release);
    for (status, outcome) in [first, second] {
        assert_eq!((status.as_u16(), outcome), (200, json!({ "watching": true })));
    }
    let removed = person.request(Method::DELETE, &format!("{path}?uri=note%3A%2F%2F1")).send().await.unwrap();
    assert_eq!(removed.status().as_u16(), 204);
    assert_eq!(received.recv().await.unwrap(), "resources/unsubscribe");
}
