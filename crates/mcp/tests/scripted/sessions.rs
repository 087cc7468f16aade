//! Legacy sessions that end, calls whose stream breaks, and calls that take their time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp::CallOptions;
use serde_json::{Map, json};
use tokio::sync::mpsc;

use crate::http::{Reply, Server, event};
use crate::{connect, legacy};

#[tokio::test]
async fn a_session_that_the_server_has_forgotten_is_begun_anew() {
    let sessions = AtomicUsize::new(0);
    let server = Server::start(move |seen| match seen.rpc() {
        "initialize" => {
            let number = sessions.fetch_add(1, Ordering::SeqCst) + 1;
            legacy(seen).unwrap().with("mcp-session-id", format!("s-{number}"))
        }
        "tools/call" if seen.header("mcp-session-id") == Some("s-1") => seen.error(404, -32001, "Session not found"),
        "tools/call" => seen.result(json!({ "content": [{ "type": "text", "text": "done" }] })),
        _ => legacy(seen).unwrap_or(Reply::status(500)),
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let result = connection.call_tool("work", Map::new(), CallOptions::default()).await.unwrap();
    assert_eq!(result.to_model_text(), "done");
    connection.close().await;
    let seen = server.seen();
    assert_eq!(seen.iter().filter(|seen| seen.rpc() == "initialize").count(), 2);
    let farewell = seen.iter().rfind(|seen| seen.method == "DELETE").unwrap();
    assert_eq!(farewell.header("mcp-session-id"), Some("s-2"));
}

#[tokio::test]
async fn the_stream_of_a_call_that_breaks_is_resumed_after_the_time_that_the_server_asks_for() {
    const RETRY: u64 = 400;
    let call = std::sync::Arc::new(Mutex::new(json!(null)));
    let kept = call.clone();
    let server = Server::start(move |seen| match (seen.method.as_str(), seen.rpc()) {
        ("GET", _) if seen.header("last-event-id") == Some("e-1") => {
            let result = json!({ "content": [{ "type": "text", "text": "resumed" }] });
            let answer = json!({ "jsonrpc": "2.0", "id": *kept.lock().unwrap(), "result": result });
            Reply::new(200, "text/event-stream", event(&answer))
        }
        (_, "initialize") => legacy(seen).unwrap().with("mcp-session-id", "s-1"),
        (_, "tools/call") => {
            *kept.lock().unwrap() = seen.body["id"].clone();
            Reply::new(200, "text/event-stream", format!("id: e-1\nretry: {RETRY}\ndata: \n\n"))
        }
        _ => legacy(seen).unwrap_or(Reply::status(500)),
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let began = Instant::now();
    let result = connection.call_tool("work", Map::new(), CallOptions::default()).await.unwrap();
    assert_eq!(result.to_model_text(), "resumed");
    assert!(began.elapsed() >= Duration::from_millis(RETRY - 50), "{:?}", began.elapsed());
    let calls = server.methods().into_iter().filter(|method| method == "tools/call").count();
    assert_eq!(calls, 1, "the call is not made twice");
}

#[tokio::test]
async fn each_report_gives_a_call_its_time_anew() {
    const IDLE: Duration = Duration::from_secs(2);
    let (sender, receiver) = mpsc::channel(4);
    let (begun, mut call) = mpsc::channel(1);
    let receiver = Mutex::new(Some(receiver));
    let server = Server::start(move |seen| match seen.rpc() {
        "tools/call" => {
            begun.try_send(seen.body.clone()).unwrap();
            Reply::Events(receiver.lock().unwrap().take().unwrap())
        }
        _ => legacy(seen).unwrap_or(Reply::status(500)),
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let (reports, mut reported) = mpsc::channel(16);
    let options = CallOptions { idle_timeout: IDLE, on_progress: Some(reports), ..CallOptions::default() };
    let began = Instant::now();
    let (result, ()) = tokio::join!(connection.call_tool("work", Map::new(), options), async {
        let call = call.recv().await.unwrap();
        let token = &call["params"]["_meta"]["progressToken"];
        for step in 1..=4 {
            tokio::time::sleep(IDLE / 3).await;
            let params = json!({ "progressToken": token, "progress": step, "message": format!("step {step}") });
            let report = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
            sender.send(event(&report)).await.unwrap();
            let report = reported.recv().await.unwrap();
            assert_eq!(report.message, Some(format!("step {step}")));
        }
        let answer = json!({ "jsonrpc": "2.0", "id": call["id"], "result": { "content": [] } });
        sender.send(event(&answer)).await.unwrap();
    });
    assert!(!result.unwrap().is_error);
    assert!(began.elapsed() > IDLE, "it took longer than any silence may");
}
