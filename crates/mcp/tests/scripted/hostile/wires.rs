//! Servers that are good until their tool is called, on every wire.

use std::net::Ipv4Addr;
use std::sync::Mutex;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use url::Url;

use super::{Piece, Said};
use crate::http::{Reply, Seen, Server};
use crate::{legacy, modern, tool};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wire {
    Modern,
    Legacy,
    Sse,
    WebSocket,
}

impl Wire {
    pub fn has_a_stream_for_each_call(self) -> bool {
        matches!(self, Self::Modern | Self::Legacy)
    }
}

/// What a server does when it has said everything.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Then {
    Die,
    Stay,
}

/// Goes away with the value.
pub struct Running {
    pub url: Url,
    _http: Option<Server>,
    _tasks: JoinSet<()>,
}

pub async fn serve(wire: Wire, says: fn(Value) -> Said, then: Then) -> Running {
    let http = match wire {
        Wire::Modern | Wire::Legacy => Server::start(move |seen| streamable(wire, seen, says, then)).await,
        Wire::Sse => with_sse(says, then).await,
        Wire::WebSocket => return websocket(says, then).await,
    };
    Running { url: http.url("/mcp"), _http: Some(http), _tasks: JoinSet::new() }
}

fn listed(id: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "resultType": "complete", "tools": [tool("work")] } })
}

fn streamable(wire: Wire, seen: &Seen, says: fn(Value) -> Said, then: Then) -> Reply {
    let shaken = if wire == Wire::Modern { modern(seen, &json!({})) } else { legacy(seen) };
    shaken.unwrap_or_else(|| match seen.rpc() {
        "tools/list" => Reply::json(200, listed(&seen.body["id"])),
        "tools/call" => {
            let (sender, receiver) = mpsc::channel(1);
            tell(sender, says(seen.body["id"].clone()), then);
            Reply::Events(receiver)
        }
        _ => Reply::status(202),
    })
}

/// Says it all as events, no faster than it is read.
fn tell(sender: mpsc::Sender<Vec<u8>>, said: Said, then: Then) {
    #[expect(clippy::disallowed_methods, reason = "it ends with the stream that it writes to")]
    tokio::spawn(async move {
        for piece in said {
            let bytes = match piece {
                Piece::Message(message) => [b"data: ", message.as_slice(), b"\n\n"].concat(),
                Piece::Part(part) => part,
            };
            if sender.send(bytes).await.is_err() {
                return;
            }
        }
        if then == Then::Stay {
            sender.closed().await;
        }
    });
}

async fn with_sse(says: fn(Value) -> Said, then: Then) -> Server {
    let stream = Mutex::new(None);
    Server::start(move |seen| {
        if seen.method == "GET" {
            let (sender, receiver) = mpsc::channel(16);
            sender.try_send(b"event: endpoint\ndata: /messages\n\n".to_vec()).unwrap();
            *stream.lock().unwrap() = Some(sender);
            return Reply::Events(receiver);
        }
        if seen.path != "/messages" {
            return Reply::status(405);
        }
        let mut stream = stream.lock().unwrap();
        let id = &seen.body["id"];
        let answer = match seen.rpc() {
            "initialize" => json!({ "jsonrpc": "2.0", "id": id, "result": {
                "protocolVersion": "2024-11-05", "capabilities": { "tools": {} }, "serverInfo": { "name": "sse", "version": "1" },
            } }),
            "tools/list" => listed(id),
            "tools/call" => {
                // The stream is that of all calls: who dies takes it along.
                let sender = if then == Then::Die { stream.take() } else { stream.clone() };
                if let Some(sender) = sender {
                    tell(sender, says(id.clone()), then);
                }
                return Reply::status(202);
            }
            _ => return Reply::status(202),
        };
        let message = format!("data: {answer}\n\n").into_bytes();
        stream.as_ref().unwrap().try_send(message).unwrap();
        Reply::status(202)
    })
    .await
}

async fn websocket(says: fn(Value) -> Said, then: Then) -> Running {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("ws://127.0.0.1:{}/", listener.local_addr().unwrap().port()).parse().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut sockets = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            sockets.spawn(async move {
                if let Ok(socket) = tokio_tungstenite::accept_async(stream).await {
                    converse(socket, says, then).await;
                }
            });
        }
    });
    Running { url, _http: None, _tasks: tasks }
}

fn frame(number: usize, piece: Piece) -> Message {
    match piece {
        // Text has to be UTF-8 even for the library that sends it.
        Piece::Message(message) => match String::from_utf8(message) {
            Ok(text) => Message::text(text),
            Err(bytes) => Message::binary(bytes.into_bytes()),
        },
        Piece::Part(part) => {
            let kind = if number == 0 { Data::Text } else { Data::Continue };
            Message::Frame(Frame::message(part, OpCode::Data(kind), false))
        }
    }
}

async fn converse(mut socket: WebSocketStream<TcpStream>, says: fn(Value) -> Said, then: Then) {
    while let Some(Ok(message)) = socket.next().await {
        let Ok(Value::Object(message)) = serde_json::from_slice(&message.into_data()) else { continue };
        let id = &message.get("id").cloned().unwrap_or_default();
        let answer = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "jsonrpc": "2.0", "id": id, "result": {
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": { "name": "ws", "version": "1" },
            } }),
            "tools/list" => listed(id),
            "tools/call" => {
                for (number, piece) in says(id.clone()).enumerate() {
                    if socket.send(frame(number, piece)).await.is_err() {
                        return;
                    }
                }
                if then == Then::Die {
                    return;
                }
                continue;
            }
            _ if id.is_null() => continue,
            _ => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "?" } }),
        };
        socket.send(Message::text(answer.to_string())).await.unwrap();
    }
}
