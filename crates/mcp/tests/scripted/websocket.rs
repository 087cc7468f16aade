//! WebSocket servers, well-behaved and not.

use std::net::Ipv4Addr;

use futures_util::{SinkExt, StreamExt};
use mcp::{CallOptions, ConnectionLimits, ConnectionTarget, ProtocolFamily, TransportKind};
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::{Bytes, Message};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};
use tokio_util::sync::CancellationToken;

use crate::http::{Reply, Server};
use crate::{client, connect, connect_within, refusal, tool};

/// Accepts connections and hands each WebSocket to `serve`; answers the subprotocol if `subprotocol`.
pub async fn start<F>(
    subprotocol: bool,
    serve: impl Fn(WebSocketStream<TcpStream>) -> F + Send + 'static,
) -> (url::Url, JoinSet<()>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("ws://127.0.0.1:{}/", listener.local_addr().unwrap().port()).parse().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            #[expect(clippy::result_large_err, reason = "the library's own signature")]
            let answer = move |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
                if subprotocol && let Some(asked) = request.headers().get("sec-websocket-protocol") {
                    response.headers_mut().insert("sec-websocket-protocol", asked.clone());
                }
                Ok(response)
            };
            let Ok(socket) = accept_hdr_async(stream, answer).await else { continue };
            connections.spawn(serve(socket));
        }
    });
    (url, tasks)
}

pub fn answer(message: &Value) -> Option<Value> {
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": { "listChanged": true } }, "serverInfo": { "name": "ws", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [tool("a")] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": "done" }] }),
        _ if message["id"].is_null() => return None,
        _ => {
            return Some(json!({ "jsonrpc": "2.0", "id": message["id"], "error": { "code": -32601, "message": "?" } }));
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
}

#[tokio::test]
async fn a_server_with_and_one_without_the_subprotocol() {
    for subprotocol in [true, false] {
        let (closed, farewell) = oneshot::channel();
        let closed = std::sync::Arc::new(std::sync::Mutex::new(Some(closed)));
        let (url, _tasks) = start(subprotocol, move |mut socket| {
            let closed = closed.clone();
            async move {
                socket.send(Message::Ping(Bytes::from_static(b"there?"))).await.unwrap();
                let mut ponged = false;
                while let Some(Ok(message)) = socket.next().await {
                    match message {
                        Message::Text(text) => {
                            let message: Value = serde_json::from_str(&text).unwrap();
                            if let Some(answer) = answer(&message) {
                                socket.send(Message::text(answer.to_string())).await.unwrap();
                            }
                        }
                        Message::Pong(payload) => ponged |= &payload[..] == b"there?",
                        Message::Close(_) => drop(closed.lock().unwrap().take().unwrap().send(ponged)),
                        _ => {}
                    }
                }
            }
        })
        .await;
        let connection = connect(url).await.unwrap();
        let info = connection.info();
        assert_eq!(
            (info.transport, info.protocol, info.protocol_version.as_str()),
            (TransportKind::WebSocket, ProtocolFamily::Legacy, "2025-06-18")
        );
        assert_eq!(connection.list_tools().await.unwrap()[0].name, "a");
        let said = connection.call_tool("a", Map::new(), CallOptions::default()).await.unwrap();
        assert_eq!(said.to_model_text(), "done");
        connection.close().await;
        assert!(connection.is_closed());
        assert_eq!(farewell.await, Ok(true), "a close frame came, and the ping was answered before");
    }
}

#[tokio::test]
async fn headers_go_with_the_handshake() {
    let server = Server::start(|_| Reply::status(401)).await;
    let mut url = server.url("/ws");
    url.set_scheme("ws").unwrap();
    let target = ConnectionTarget::new(url).with_header("Authorization", "Bearer t0ken").unwrap();
    let refused = client(ConnectionLimits::default()).connect(target, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(refused.to_string(), "answered 401: it requires a sign-in");
    let seen = &server.seen()[0];
    assert_eq!(
        (seen.header("authorization"), seen.header("sec-websocket-protocol")),
        (Some("Bearer t0ken"), Some("mcp"))
    );
}

#[tokio::test]
async fn a_token_goes_with_the_handshake_and_is_renewed_when_it_is_refused() {
    let person = crate::oauth::Person::with(|seen| {
        (seen.header("upgrade").is_some() && seen.header("authorization") != Some("Bearer a-2"))
            .then(|| Reply::status(401))
    })
    .await;
    let mut url = person.url();
    url.set_scheme("ws").unwrap();
    let wish = mcp::oauth::SignInRequest { owner: person.owner, url: url.clone(), challenge: None, client: None };
    let started = person.oauth.start_sign_in(wish).await.unwrap();
    person
        .oauth
        .complete_sign_in(person.owner, started.pending.clone(), crate::oauth::consent(&started))
        .await
        .unwrap();
    let target = ConnectionTarget::new(url.clone()).with_token_source(person.oauth.token_source(person.owner, url));
    client(ConnectionLimits::default()).connect(target, &CancellationToken::new()).await.unwrap_err();
    let shaken = person.asked("/mcp");
    let tokens: Vec<_> = shaken.iter().map(|seen| seen.header("authorization").unwrap()).collect();
    assert_eq!(tokens[..2], ["Bearer a-1", "Bearer a-2"]);
}

#[tokio::test]
async fn a_web_site_is_no_websocket_server() {
    let server = Server::start(|_| Reply::new(200, "text/html", "<h1>hello</h1>")).await;
    let mut url = server.url("/");
    url.set_scheme("ws").unwrap();
    assert_eq!(refusal(url).await, "is not an MCP server: it answered an HTML page");
}

/// What is said of a server that answers the first message with `frame`.
async fn said_of(frame: Message) -> String {
    let (url, _tasks) = start(true, move |mut socket| {
        let frame = frame.clone();
        async move {
            socket.next().await;
            socket.send(frame).await.ok();
            while socket.next().await.is_some() {}
        }
    })
    .await;
    let limits = ConnectionLimits { message_bytes: 1000, ..ConnectionLimits::default() };
    connect_within(url, limits).await.unwrap_err().to_string()
}

#[tokio::test]
async fn frames_that_cannot_be_used_end_the_connection() {
    let nonsense = "violated the protocol: it sent something that is not a JSON-RPC message";
    assert_eq!(said_of(Message::text("hello")).await, nonsense);
    assert_eq!(said_of(Message::text("{}")).await, nonsense);
    assert_eq!(said_of(Message::text("x".repeat(2000))).await, "sent more than 1000 bytes");
    let bytes = Message::Binary(Bytes::from_static(b"\xff\xfe"));
    assert_eq!(said_of(bytes).await, "violated the protocol: it sent text that is not UTF-8");
    assert_eq!(said_of(Message::Close(None)).await, "closed the connection");
    let other = json!({ "jsonrpc": "2.0", "id": 4711, "result": {} });
    assert_eq!(
        said_of(Message::text(other.to_string())).await,
        "violated the protocol: it answered a request that was not made"
    );
}

#[tokio::test]
async fn a_quiet_connection_is_kept_alive_with_pings() {
    let (pinged, ping) = oneshot::channel();
    let pinged = std::sync::Arc::new(std::sync::Mutex::new(Some(pinged)));
    let (url, _tasks) = start(true, move |mut socket| {
        let pinged = pinged.clone();
        async move {
            while let Some(Ok(message)) = socket.next().await {
                match message {
                    Message::Text(text) => {
                        if let Some(answer) = answer(&serde_json::from_str(&text).unwrap()) {
                            socket.send(Message::text(answer.to_string())).await.unwrap();
                        }
                    }
                    Message::Ping(_) => {
                        pinged.lock().unwrap().take().map(|pinged| pinged.send(()));
                    }
                    _ => {}
                }
            }
        }
    })
    .await;
    let connection = connect(url).await.unwrap();
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(26)).await;
    ping.await.unwrap();
    assert!(!connection.is_closed());
}

#[tokio::test]
async fn a_connection_on_which_nothing_comes_back_is_given_up() {
    let (url, _tasks) = start(true, |mut socket| async move {
        for _ in 0..2 {
            let Some(Ok(Message::Text(text))) = socket.next().await else { return };
            if let Some(answer) = answer(&serde_json::from_str(&text).unwrap()) {
                socket.send(Message::text(answer.to_string())).await.unwrap();
            }
        }
        // It reads nothing any more, so that no ping is answered.
        std::future::pending::<()>().await;
    })
    .await;
    let connection = connect(url).await.unwrap();
    tokio::time::pause();
    connection.closed().await;
}
