//! News of changed tools, on every transport, and after the stream that brings them broke.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{SinkExt, StreamExt};
use mcp::Connection;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio_tungstenite::tungstenite::Message;

use crate::eras::sse_server_on;
use crate::http::{Reply, Server, event};
use crate::{connect, legacy, modern, websocket};

fn changed() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })
}

/// Waits until the connection has heard so much.
async fn heard(connection: &Connection, count: u64) {
    connection.tools_changed().wait_for(|heard| *heard >= count).await.unwrap();
}

#[tokio::test]
async fn over_http_with_sse() {
    let (sender, receiver) = mpsc::channel(16);
    let server = sse_server_on("/messages?id=7", sender.clone(), receiver).await;
    let connection = connect(server.url("/sse")).await.unwrap();
    sender.send(event(&changed())).await.unwrap();
    heard(&connection, 1).await;
}

#[tokio::test]
async fn over_websocket() {
    let (tell, told) = watch::channel(false);
    let (url, _tasks) = websocket::start(true, move |mut socket| {
        let mut told = told.clone();
        async move {
            loop {
                tokio::select! {
                    message = socket.next() => {
                        let Some(Ok(Message::Text(text))) = message else { return };
                        if let Some(answer) = websocket::answer(&serde_json::from_str(&text).unwrap()) {
                            socket.send(Message::text(answer.to_string())).await.unwrap();
                        }
                    }
                    Ok(()) = told.changed() => socket.send(Message::text(changed().to_string())).await.unwrap(),
                }
            }
        }
    })
    .await;
    let connection = connect(url).await.unwrap();
    tell.send(true).unwrap();
    heard(&connection, 1).await;
}

/// Streams that were asked for, one after the other: what is sent to one ends with it.
pub struct Streams(mpsc::UnboundedReceiver<(Value, mpsc::Sender<Vec<u8>>)>);

impl Streams {
    pub fn new() -> (Self, impl Fn(Value) -> Reply + Send + Sync) {
        let (opened, streams) = mpsc::unbounded_channel();
        let open = move |id: Value| {
            let (sender, receiver) = mpsc::channel(4);
            opened.send((id, sender)).unwrap();
            Reply::Events(receiver)
        };
        (Self(streams), open)
    }

    /// The next stream: the id of who asked for it, and where to say something.
    pub async fn next(&mut self) -> (Value, mpsc::Sender<Vec<u8>>) {
        self.0.recv().await.unwrap()
    }
}

#[tokio::test]
async fn a_broken_stream_of_the_modern_era_is_asked_for_again_and_what_was_missed_counts() {
    let (mut streams, open) = Streams::new();
    let server = Server::start(move |seen| {
        modern(seen, &json!({ "listChanged": true })).unwrap_or_else(|| open(seen.body["id"].clone()))
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let say = async |id: &Value, sender: &mpsc::Sender<Vec<u8>>, method: &str, mut params: Value| {
        params["_meta"] = json!({ "io.modelcontextprotocol/subscriptionId": id });
        sender.send(event(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))).await.unwrap();
    };
    let granted = json!({ "notifications": { "toolsListChanged": true } });
    let (id, sender) = streams.next().await;
    say(&id, &sender, "notifications/subscriptions/acknowledged", granted.clone()).await;
    say(&id, &sender, "notifications/tools/list_changed", json!({})).await;
    heard(&connection, 1).await;
    drop(sender);
    let (id, sender) = streams.next().await;
    say(&id, &sender, "notifications/subscriptions/acknowledged", granted).await;
    heard(&connection, 2).await;
    say(&id, &sender, "notifications/tools/list_changed", json!({})).await;
    heard(&connection, 3).await;
}

#[tokio::test]
async fn a_broken_stream_of_a_legacy_session_is_opened_again() {
    let (mut streams, open) = Streams::new();
    let server = Server::start(move |seen| match (seen.method.as_str(), seen.rpc()) {
        ("GET", _) => open(json!(seen.header("last-event-id"))),
        (_, "initialize") => legacy(seen).unwrap().with("mcp-session-id", "s-1"),
        _ => legacy(seen).unwrap_or(Reply::status(500)),
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let (_, sender) = streams.next().await;
    let numbered = format!("id: 41\nretry: 100\ndata: {}\n\n", changed());
    sender.send(numbered.into_bytes()).await.unwrap();
    heard(&connection, 1).await;
    drop(sender);
    let (last, sender) = streams.next().await;
    assert_eq!(last, "41", "it goes on where it broke off");
    sender.send(event(&changed())).await.unwrap();
    heard(&connection, 2).await;
}

#[tokio::test]
async fn a_server_that_cannot_be_listened_to_any_more_is_news_in_both_eras() {
    let (mut streams, open) = Streams::new();
    let asked = AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        modern(seen, &json!({ "listChanged": true })).unwrap_or_else(|| {
            let is_first = asked.fetch_add(1, Ordering::SeqCst) == 0;
            if is_first { open(seen.body["id"].clone()) } else { Reply::status(503) }
        })
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let (id, sender) = streams.next().await;
    let granted = json!({ "notifications": { "toolsListChanged": true },
        "_meta": { "io.modelcontextprotocol/subscriptionId": id } });
    let said = json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": granted });
    sender.send(event(&said)).await.unwrap();
    drop(sender);
    heard(&connection, 1).await;

    let (mut streams, open) = Streams::new();
    let asked = AtomicUsize::new(0);
    let server = Server::start(move |seen| match (seen.method.as_str(), seen.rpc()) {
        ("GET", _) if asked.fetch_add(1, Ordering::SeqCst) == 0 => open(Value::Null),
        ("GET", _) => Reply::status(502),
        (_, "initialize") => legacy(seen).unwrap().with("mcp-session-id", "s-1"),
        _ => legacy(seen).unwrap_or(Reply::status(500)),
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let (_, sender) = streams.next().await;
    sender.send(b"retry: 100\ndata:\n\n".to_vec()).await.unwrap();
    drop(sender);
    heard(&connection, 1).await;
}
