//! Finding out what a server speaks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use mcp::{CallOptions, ProtocolFamily, TransportKind};
use serde_json::{Map, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::http::{Reply, Server, event};
use crate::{connect, legacy, modern, tool};

#[tokio::test]
async fn a_modern_server_is_spoken_to_without_a_handshake() {
    let server = Server::start(|seen| {
        modern(seen, &json!({})).unwrap_or_else(|| match (seen.rpc(), seen.body["params"]["cursor"].as_str()) {
            ("tools/list", None) => {
                seen.result(json!({ "resultType": "complete", "tools": [tool("a")], "nextCursor": "" }))
            }
            ("tools/list", Some("")) => {
                seen.result(json!({ "resultType": "complete", "tools": [tool("b"), tool("a")] }))
            }
            ("tools/call", _) => {
                seen.result(json!({ "resultType": "complete", "content": [{ "type": "text", "text": "hi" }] }))
            }
            _ => Reply::status(400),
        })
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let info = connection.info();
    assert_eq!(
        (info.protocol, info.transport, info.protocol_version.as_str()),
        (ProtocolFamily::Modern, TransportKind::StreamableHttp, "2026-07-28")
    );
    assert_eq!((info.name.as_str(), info.version.as_str()), ("new", "2"));
    let names: Vec<_> = connection.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["a", "b"], "all pages, an empty cursor is a cursor, a name counts once");
    let said = connection.call_tool("a", Map::new(), CallOptions::default()).await.unwrap();
    assert_eq!(said.to_model_text(), "hi");
    connection.close().await;

    let seen = server.seen();
    assert_eq!(server.methods(), ["server/discover", "tools/list", "tools/list", "tools/call"]);
    let call = seen.last().unwrap();
    assert_eq!(call.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!((call.header("mcp-method"), call.header("mcp-name")), (Some("tools/call"), Some("a")));
    let meta = &call.body["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "ai-chat-mcp");
    assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
}

#[tokio::test]
async fn a_legacy_server_with_sessions_gets_its_handshake_and_its_farewell() {
    let server = Server::start(|seen| match seen.rpc() {
        "server/discover" => Reply::new(400, "text/plain", "Bad Request: No valid session ID provided"),
        "initialize" => legacy(seen).unwrap().with("mcp-session-id", "s-1"),
        "tools/list" => Reply::new(
            200,
            "text/event-stream",
            event(&json!({
                "jsonrpc": "2.0", "id": seen.body["id"], "result": { "tools": [tool("a")] },
            })),
        ),
        _ => legacy(seen).unwrap_or(Reply::status(500)),
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    assert_eq!(
        (connection.info().protocol, connection.info().protocol_version.as_str()),
        (ProtocolFamily::Legacy, "2025-11-25")
    );
    assert_eq!(connection.info().instructions.as_deref(), Some("Be kind."));
    assert_eq!(connection.list_tools().await.unwrap().len(), 1);
    connection.close().await;
    let seen = server.seen();
    let list = seen.iter().find(|seen| seen.rpc() == "tools/list").unwrap();
    assert_eq!((list.header("mcp-session-id"), list.header("mcp-protocol-version")), (Some("s-1"), Some("2025-11-25")));
    let last = seen.last().unwrap();
    assert_eq!((last.method.as_str(), last.header("mcp-session-id")), ("DELETE", Some("s-1")));
}

#[tokio::test]
async fn servers_that_stumble_over_discovery_are_legacy() {
    for status in [400, 404, 405, 406, 415, 422, 500, 501] {
        let server = Server::start(move |seen| match seen.rpc() {
            "server/discover" => Reply::new(status, "text/html", "<h1>no</h1>"),
            _ => legacy(seen).unwrap_or(Reply::status(500)),
        })
        .await;
        let connection = connect(server.url("/mcp")).await.unwrap();
        assert_eq!(connection.info().protocol, ProtocolFamily::Legacy, "{status}");
    }
}

/// A server of 2024-11-05: the stream at `/sse`, messages at `endpoint`.
async fn sse_server(endpoint: &'static str) -> Server {
    let (sender, receiver) = mpsc::channel(16);
    sse_server_on(endpoint, sender, receiver).await
}

/// The same, whose stream is what comes through a channel.
pub async fn sse_server_on(
    endpoint: &'static str,
    sender: mpsc::Sender<Vec<u8>>,
    receiver: mpsc::Receiver<Vec<u8>>,
) -> Server {
    let receiver = Mutex::new(Some(receiver));
    Server::start(move |seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/sse") => {
            sender.try_send(format!(": hello\n\nevent: endpoint\ndata: {endpoint}\n\n").into_bytes()).unwrap();
            Reply::Events(receiver.lock().unwrap().take().unwrap())
        }
        ("POST", "/messages?id=7") => {
            let result = match seen.rpc() {
                "initialize" => json!({
                    "protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": { "name": "first", "version": "0" },
                }),
                "tools/list" => json!({ "tools": [tool("a")] }),
                _ => return Reply::status(202),
            };
            sender.try_send(event(&json!({ "jsonrpc": "2.0", "id": seen.body["id"], "result": result }))).unwrap();
            Reply::new(202, "text/plain", "Accepted")
        }
        _ => Reply::new(404, "text/html", "<pre>Cannot POST /sse</pre>"),
    })
    .await
}

#[tokio::test]
async fn a_server_of_the_first_revision_is_found_last() {
    let server = sse_server("/messages?id=7").await;
    let connection = connect(server.url("/sse")).await.unwrap();
    let info = connection.info();
    assert_eq!(
        (info.transport, info.protocol_version.as_str(), info.name.as_str()),
        (TransportKind::Sse, "2024-11-05", "first")
    );
    assert_eq!(connection.list_tools().await.unwrap()[0].name, "a");
    connection.close().await;
    assert!(connection.is_closed());
}

#[tokio::test]
async fn an_endpoint_on_another_server_is_refused() {
    let server = sse_server("http://127.0.0.1:1/messages").await;
    let refused = connect(server.url("/sse")).await.unwrap_err();
    assert_eq!(refused.to_string(), "violated the protocol: its endpoint is on another server");
}

#[tokio::test]
async fn changed_tools_are_announced_in_both_eras() {
    // Legacy: on the stream of the session.
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    let (sender, receiver) = mpsc::channel(4);
    let receiver = Mutex::new(Some(receiver));
    let server = Server::start(move |seen| match (seen.method.as_str(), seen.rpc()) {
        ("GET", _) => Reply::Events(receiver.lock().unwrap().take().unwrap()),
        (_, "initialize") => legacy(seen).unwrap().with("mcp-session-id", "s-1"),
        _ => legacy(seen).unwrap_or(Reply::status(500)),
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let mut changes = connection.tools_changed();
    sender.send(event(&changed)).await.unwrap();
    changes.changed().await.unwrap();
    connection.close().await;

    // Modern: on a stream that was asked for.
    let (sender, receiver) = mpsc::channel(4);
    let receiver = Mutex::new(Some(receiver));
    let (asked, mut listening) = mpsc::channel(1);
    let mut server = Server::start(move |seen| {
        modern(seen, &json!({ "listChanged": true })).unwrap_or_else(|| {
            assert_eq!(seen.body["params"]["notifications"]["toolsListChanged"], true);
            asked.try_send(seen.body["id"].clone()).unwrap();
            Reply::Events(receiver.lock().unwrap().take().unwrap())
        })
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let mut changes = connection.tools_changed();
    let id = listening.recv().await.unwrap();
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
    for (method, params) in [
        (
            "notifications/subscriptions/acknowledged",
            json!({ "notifications": { "toolsListChanged": true }, "_meta": meta }),
        ),
        ("notifications/tools/list_changed", json!({ "_meta": meta })),
    ] {
        sender.send(event(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))).await.unwrap();
    }
    changes.changed().await.unwrap();
    connection.close().await;
    assert_eq!(server.hung_up().await, "subscriptions/listen");
}

#[tokio::test]
async fn servers_that_know_discovery_only_by_name_are_legacy() {
    type Answer = fn(&crate::http::Seen) -> Reply;
    let answers: [Answer; 2] = [
        |seen| seen.result(json!({})),
        |seen| {
            let error = json!({ "code": -32022, "message": "Unsupported", "data": { "supported": ["2025-11-25"] } });
            Reply::json(400, json!({ "jsonrpc": "2.0", "id": seen.body["id"], "error": error }))
        },
    ];
    for answer in answers {
        let server = Server::start(move |seen| match seen.rpc() {
            "server/discover" => answer(seen),
            _ => legacy(seen).unwrap_or(Reply::status(500)),
        })
        .await;
        assert_eq!(connect(server.url("/mcp")).await.unwrap().info().protocol, ProtocolFamily::Legacy);
    }
}

#[tokio::test]
async fn an_era_is_remembered_until_the_server_changes() {
    let is_modern = Arc::new(AtomicBool::new(false));
    let now = is_modern.clone();
    let server = Server::start(move |seen| {
        let answered = if now.load(Ordering::Relaxed) { modern(seen, &json!({})) } else { legacy(seen) };
        answered.unwrap_or_else(|| seen.error(400, -32601, "Method not found"))
    })
    .await;
    let client = crate::client(mcp::ConnectionLimits::default());
    let target = mcp::ConnectionTarget::new(server.url("/mcp"));
    for era in [ProtocolFamily::Legacy, ProtocolFamily::Legacy] {
        let connection = client.connect(target.clone(), &CancellationToken::new()).await.unwrap();
        assert_eq!(connection.info().protocol, era);
        connection.close().await;
    }
    let offered = server.seen().iter().rfind(|seen| seen.rpc() == "initialize").unwrap().body.clone();
    assert_eq!(offered["params"]["protocolVersion"], "2025-11-25", "the newest revision that has a handshake");
    let asked = |server: &Server| server.methods().iter().filter(|method| *method == "server/discover").count();
    assert_eq!(asked(&server), 1, "{:?}", server.methods());

    is_modern.store(true, Ordering::Relaxed);
    let connection = client.connect(target.clone(), &CancellationToken::new()).await.unwrap();
    assert_eq!((connection.info().protocol, asked(&server)), (ProtocolFamily::Modern, 2));
}
