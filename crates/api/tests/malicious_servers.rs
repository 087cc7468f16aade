//! Malicious MCP servers: the call gets an error that says so, and the turn continues.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::convert::Infallible;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};
use testkit::{Background, ScriptedModel, Step, TestApp, databases};

/// Response of the server to a call with this id.
type Answer = fn(Value) -> Response;

fn stream_of(pieces: impl Iterator<Item = Bytes> + Send + 'static) -> Response {
    let body = Body::from_stream(stream::iter(pieces).map(Ok::<_, Infallible>));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

fn json_of(body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

/// Responses of the server, and the error that the user reads.
const MISDEEDS: [(&str, Answer, &str); 6] = [
    ("dies", |_| stream_of(std::iter::empty()), "closed the connection."),
    ("writes-no-text", |_| stream_of(std::iter::once(Bytes::from_static(b"data: \xff\xfe\n\n"))), "not UTF-8."),
    ("never-ends", |_| stream_of(std::iter::repeat_with(|| vec![b'x'; 1 << 20].into())), "sent more than 16 MiB."),
    (
        "grows",
        |_| json_of(Body::from_stream(stream::repeat_with(|| Ok::<_, Infallible>(vec![b'['; 1 << 20])))),
        "sent more than 16 MiB.",
    ),
    ("answers-others", |_| json_of(json!({ "jsonrpc": "2.0", "id": 4711, "result": {} }).to_string()), "was not made."),
    (
        "forgets-it",
        |id| {
            json_of(
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32602, "message": "Unknown\u{202e} tool" } })
                    .to_string(),
            )
        },
        "Unknown⟨U+202E⟩ tool (-32602).",
    ),
];

/// Starts a server with a tool for each of them, and a regular one.
async fn serve() -> Background {
    let answer = async |body: Bytes| {
        let request: Value = serde_json::from_slice(&body).unwrap();
        let Some(id) = request.get("id").cloned() else { return axum::http::StatusCode::ACCEPTED.into_response() };
        let result = match request["method"].as_str().unwrap() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "bad", "version": "1" },
            }),
            "tools/list" => {
                let names = MISDEEDS.iter().map(|(name, ..)| *name).chain(["works"]);
                let tools: Vec<Value> =
                    names.map(|name| json!({ "name": name, "inputSchema": { "type": "object" } })).collect();
                json!({ "tools": tools })
            }
            "tools/call" => {
                let misdeed = MISDEEDS.iter().find(|(name, ..)| request["params"]["name"] == *name);
                match misdeed {
                    Some((_, answer, _)) => return answer(id),
                    None => json!({ "content": [{ "type": "text", "text": "it works" }] }),
                }
            }
            _ => {
                let error = json!({ "code": -32601, "message": "Method not found" });
                return json_of(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string());
            }
        };
        json_of(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string())
    };
    Background::serve(Router::new().route("/mcp", post(answer))).await
}

#[tokio::test]
async fn a_call_says_what_its_server_did_and_the_turn_goes_on() {
    for database in databases() {
        let server = serve().await;
        let names: Vec<&str> = MISDEEDS.iter().map(|(name, ..)| *name).chain(["works"]).collect();
        let calls = names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let model = ScriptedModel::start([Step::Calls(calls), Step::Text("One of them worked.".into())]).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let connection = person.connect_to("bad", &format!("{}/mcp", server.origin)).await;
        for name in &names {
            person.allow(&connection, name, "always").await;
        }
        let chat = person.new_chat().await;
        let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name, "serverName": "bad" })).collect();
        let (status, answer) = person.ask(&chat, "Try them all", json!(tools)).await;
        assert_eq!((status.as_u16(), &answer["status"]), (200, &json!("done")), "{answer}");
        let stored = person.messages(&chat).await.pop().unwrap();
        assert_eq!(stored["content"], "One of them worked.");
        let calls = stored["tool_calls"].as_array().unwrap();
        let call = |name: &str| calls.iter().find(|call| call["name"] == name).unwrap();
        for (name, _, words) in MISDEEDS {
            let error = call(name)["error"].as_str().unwrap();
            assert!(error.starts_with("The server bad ") && error.ends_with(words), "{name}: {error}");
        }
        assert_eq!(call("works")["outcome"], "done");
        app.stop().await;
    }
}
