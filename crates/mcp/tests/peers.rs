//! Servers of other makers, over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "peers/asking.rs"]
mod asking;
#[path = "support/memory.rs"]
mod memory;
#[path = "peers/offers.rs"]
mod offers;
#[path = "support/peer.rs"]
mod peer;

use std::time::Duration;

use domain::tool::{Outcome, ToolResult};
use mcp::net::{GuardedHttp, NetworkPolicy};
use mcp::{
    CallError, CallOptions, Client, Connection, ConnectionLimits, ConnectionTarget, ProtocolFamily, TransportKind,
};
use peer::Peer;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

async fn connect(url: &str) -> Connection {
    let guard = GuardedHttp::new(NetworkPolicy::new(&[], true, vec![])).unwrap();
    // A busy machine starts these servers' sessions slowly.
    let limits = ConnectionLimits { connect_timeout: Duration::from_mins(1), ..ConnectionLimits::default() };
    let client = Client::new(guard).with_limits(limits);
    client.connect(ConnectionTarget::new(url.parse().unwrap()), &CancellationToken::new()).await.unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

async fn call(connection: &Connection, name: &str, arguments: Value) -> ToolResult {
    connection.call_tool(name, object(arguments), CallOptions::default()).await.unwrap()
}

async fn names(connection: &Connection) -> Vec<String> {
    connection.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect()
}

/// What every wire to the server "everything" has to carry.
async fn use_everything(connection: &Connection) {
    let tools = connection.list_tools().await.unwrap();
    let echo = tools.iter().find(|tool| tool.name == "echo").unwrap();
    assert!(!echo.description.is_empty());
    assert_eq!(echo.input_schema["properties"]["message"]["type"], "string");
    assert!(tools.iter().all(|tool| tool.name != "trigger-sampling-request"), "sampling is not offered");

    let said = call(connection, "echo", json!({ "message": "grüß dich 🌍" })).await;
    assert_eq!(said.to_model_text(), "Echo: grüß dich 🌍");
    let picture = call(connection, "get-tiny-image", json!({})).await;
    assert!(picture.content.iter().any(|piece| piece["type"] == "image" && piece["mimeType"] == "image/png"));
    let weather = call(connection, "get-structured-content", json!({ "location": "Chicago" })).await;
    assert!(weather.structured_content.unwrap().is_object());
    let wrong = connection.call_tool("get-sum", object(json!({ "a": "x" })), CallOptions::default()).await;
    assert!(wrong.is_ok_and(|result| result.is_error), "bad arguments are the tool's error");

    // Two calls at once, the second of which is answered first.
    let (slow, fast) = tokio::join!(
        call(connection, "trigger-long-running-operation", json!({ "duration": 1, "steps": 2 })),
        call(connection, "get-sum", json!({ "a": 2, "b": 3 })),
    );
    assert!(slow.to_model_text().contains("completed"));
    assert!(fast.to_model_text().contains('5'));
}

/// A call that takes longer than its idle time lives on its progress reports, and stops when it is told to.
async fn progress_and_cancel(connection: &Connection) {
    let (sender, mut reports) = mpsc::channel(64);
    let options =
        CallOptions { idle_timeout: Duration::from_secs(4), on_progress: Some(sender), ..CallOptions::default() };
    let arguments = object(json!({ "duration": 6, "steps": 6 }));
    let done = connection.call_tool("trigger-long-running-operation", arguments, options).await.unwrap();
    assert!(done.to_model_text().contains("completed"));
    let mut last = 0.0;
    let mut count = 0;
    while let Some(report) = reports.recv().await {
        assert!(report.progress > last);
        assert_eq!(report.total, Some(6.0));
        last = report.progress;
        count += 1;
    }
    assert!(count >= 3, "{count} reports");

    let (sender, mut reports) = mpsc::channel(64);
    let cancel = CancellationToken::new();
    let options = CallOptions { cancel: cancel.clone(), on_progress: Some(sender), ..CallOptions::default() };
    let arguments = object(json!({ "duration": 600, "steps": 1200 }));
    let stopped = connection.call_tool("trigger-long-running-operation", arguments, options);
    let (stopped, ()) = tokio::join!(stopped, async {
        reports.recv().await.unwrap();
        cancel.cancel();
    });
    assert!(matches!(stopped, Err(CallError::Cancelled)));
    assert!(!call(connection, "echo", json!({ "message": "still here" })).await.is_error);
}

#[tokio::test]
async fn everything_over_streamable_http() {
    let peer = Peer::start("mcp-server-everything", &["streamableHttp"], &[("PORT", "{port}")]);
    let connection = connect(&format!("http://127.0.0.1:{}/mcp", peer.port)).await;
    let info = connection.info();
    assert_eq!((info.transport, info.protocol), (TransportKind::StreamableHttp, ProtocolFamily::Legacy));
    assert_eq!(info.protocol_version, "2025-11-25");
    assert_eq!(info.name, "mcp-servers/everything");
    assert!(info.instructions.is_some());
    use_everything(&connection).await;
    progress_and_cancel(&connection).await;
    connection.close().await;
    assert!(connection.is_closed());
    let after = connection.call_tool("echo", Map::new(), CallOptions::default()).await.unwrap_err();
    assert!(matches!(after, CallError::NotSent(_)), "{after:?}");
}

#[tokio::test]
async fn everything_over_http_with_sse() {
    let mut peer = Peer::start("mcp-server-everything", &["sse"], &[("PORT", "{port}")]);
    let connection = connect(&format!("http://localhost:{}/sse", peer.port)).await;
    assert_eq!((connection.info().transport, connection.info().protocol), (TransportKind::Sse, ProtocolFamily::Legacy));
    use_everything(&connection).await;
    progress_and_cancel(&connection).await;

    // The server dies in the middle of a call: nobody knows what became of it.
    let (sender, mut reports) = mpsc::channel(8);
    let options = CallOptions { on_progress: Some(sender), ..CallOptions::default() };
    let arguments = object(json!({ "duration": 600, "steps": 1200 }));
    let lost = connection.call_tool("trigger-long-running-operation", arguments, options);
    let (lost, ()) = tokio::join!(lost, async {
        reports.recv().await.unwrap();
        peer.kill();
    });
    let lost = lost.unwrap_err();
    assert_eq!(lost.outcome(), Outcome::Unknown);
    assert_eq!(lost.to_string(), "closed the connection");
    connection.closed().await;
}

#[tokio::test]
async fn files_behind_a_proxy_of_both_eras() {
    let arguments =
        ["--host", "127.0.0.1", "--port", "{port}", "--", "node", "{bin}/mcp-server-filesystem", "{folder}"];
    let peer = Peer::start("mcp-proxy", &arguments, &[]);
    let note = peer.folder().join("note.txt");
    std::fs::write(&note, "written by the test").unwrap();

    let modern = connect(&format!("http://127.0.0.1:{}/mcp", peer.port)).await;
    assert_eq!(
        (modern.info().transport, modern.info().protocol),
        (TransportKind::StreamableHttp, ProtocolFamily::Modern)
    );
    assert_eq!(modern.info().protocol_version, "2026-07-28");
    let sse = connect(&format!("http://127.0.0.1:{}/sse", peer.port)).await;
    assert_eq!((sse.info().transport, sse.info().protocol), (TransportKind::Sse, ProtocolFamily::Legacy));

    for connection in [&modern, &sse] {
        assert!(names(connection).await.contains(&"read_text_file".to_owned()));
        let read = call(connection, "read_text_file", json!({ "path": note })).await;
        assert_eq!((read.is_error, read.to_model_text().as_str()), (false, "written by the test"));
        let outside = call(connection, "read_text_file", json!({ "path": "/etc/passwd" })).await;
        assert!(outside.is_error);
        assert!(outside.to_model_text().contains("denied"), "{}", outside.to_model_text());
        connection.close().await;
    }
}

#[tokio::test]
async fn files_behind_a_proxy_of_the_older_era() {
    let arguments = [
        "--host",
        "127.0.0.1",
        "--port",
        "{port}",
        "--no-modern",
        "--",
        "node",
        "{bin}/mcp-server-filesystem",
        "{folder}",
    ];
    let peer = Peer::start("mcp-proxy", &arguments, &[]);
    let connection = connect(&format!("http://127.0.0.1:{}/mcp", peer.port)).await;
    assert_eq!(
        (connection.info().transport, connection.info().protocol),
        (TransportKind::StreamableHttp, ProtocolFamily::Legacy)
    );
    assert!(names(&connection).await.contains(&"list_directory".to_owned()));
}

#[tokio::test]
async fn memory_behind_a_websocket_gateway() {
    let arguments = [
        "--stdio",
        "node {bin}/mcp-server-memory",
        "--outputTransport",
        "ws",
        "--port",
        "{port}",
        "--messagePath",
        "/message",
    ];
    let settings = [("MEMORY_FILE_PATH", "{folder}/memory.jsonl")];
    let mut peer = Peer::start("supergateway", &arguments, &settings);
    let url = format!("ws://127.0.0.1:{}/message", peer.port);
    let connection = connect(&url).await;
    assert_eq!(
        (connection.info().transport, connection.info().protocol),
        (TransportKind::WebSocket, ProtocolFamily::Legacy)
    );
    assert!(names(&connection).await.contains(&"create_entities".to_owned()));
    let entity = json!({ "name": "Ada", "entityType": "person", "observations": ["wrote the first program"] });
    let made = call(&connection, "create_entities", json!({ "entities": [entity] })).await;
    assert!(!made.is_error);
    connection.close().await;
    assert!(connection.is_closed());

    let again = connect(&url).await;
    let found = call(&again, "search_nodes", json!({ "query": "program" })).await;
    assert!(found.to_model_text().contains("Ada"));
    peer.kill();
    again.closed().await;
    let after = again.call_tool("read_graph", Map::new(), CallOptions::default()).await.unwrap_err();
    assert_eq!(after.outcome(), Outcome::Error, "it was not sent");
}

#[tokio::test]
async fn a_proxy_that_wants_a_key() {
    let arguments = [
        "--host",
        "127.0.0.1",
        "--port",
        "{port}",
        "--apiKey",
        "k3y",
        "--",
        "node",
        "{bin}/mcp-server-filesystem",
        "{folder}",
    ];
    let peer = Peer::start("mcp-proxy", &arguments, &[]);
    let url: url::Url = format!("http://127.0.0.1:{}/mcp", peer.port).parse().unwrap();
    let client = Client::new(GuardedHttp::new(NetworkPolicy::new(&[], true, vec![])).unwrap());
    let refused = client.connect(ConnectionTarget::new(url.clone()), &CancellationToken::new()).await.unwrap_err();
    assert_eq!(refused.to_string(), "answered 401: it requires a sign-in");
    let target = ConnectionTarget::new(url).with_header("X-API-Key", "k3y").unwrap();
    let connection = client.connect(target, &CancellationToken::new()).await.unwrap();
    assert!(!names(&connection).await.is_empty());
}
