//! A model server that sends scripted bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use llm::{Provider, ProviderApi};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Reaction to one request.
pub enum Step {
    /// Sends these bytes and closes the connection.
    Send(String),
    /// Sends these bytes, and nothing more until the client disconnects.
    SendAndWait(String),
    /// Sends these bytes and drops the connection without closing it.
    SendAndDrop(String),
    /// Sends these pieces with a pause after each, and drops the connection without closing it.
    SendSlowly(Vec<String>, Duration),
}

/// A request that was received.
pub struct ReceivedRequest {
    /// Request line and headers, in lower case apart from the values.
    pub head: String,
    pub body: Value,
}

/// Server that runs one step per connection, in order, and refuses further ones. Stops when dropped.
pub struct ScriptedServer {
    address: std::net::SocketAddr,
    seen: Arc<Mutex<Vec<ReceivedRequest>>>,
    /// Receives a value when a request was read.
    pub request_received: mpsc::UnboundedReceiver<()>,
    /// Receives a value when a client disconnected from a waiting response.
    pub client_left: mpsc::UnboundedReceiver<()>,
    _tasks: JoinSet<()>,
}

impl ScriptedServer {
    pub async fn start(steps: impl IntoIterator<Item = Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (request_sender, request_received) = mpsc::unbounded_channel();
        let (left_sender, client_left) = mpsc::unbounded_channel();
        let mut steps: VecDeque<Step> = steps.into_iter().collect();
        let mut tasks = JoinSet::new();
        let log = Arc::clone(&seen);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Some(step) = steps.pop_front() {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (log, request_received, client_left) =
                    (Arc::clone(&log), request_sender.clone(), left_sender.clone());
                connections.spawn(async move {
                    let Some(request) = read_request(&mut stream).await else { return };
                    log.lock().unwrap().push(request);
                    let _ = request_received.send(());
                    if perform(stream, step).await {
                        let _ = client_left.send(());
                    }
                });
            }
            drop(listener);
            connections.join_all().await;
        });
        Self { address, seen, request_received, client_left, _tasks: tasks }
    }

    pub fn provider(&self, key: Option<&str>) -> Provider {
        provider_at(self.address, key)
    }

    /// The same server as one that speaks another api.
    pub fn with_api(&self, api: ProviderApi, key: Option<&str>) -> Provider {
        Provider { api, ..self.provider(key) }
    }

    /// Returns the requests since the last call.
    pub fn take_requests(&self) -> Vec<ReceivedRequest> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

pub fn provider_at(address: std::net::SocketAddr, key: Option<&str>) -> Provider {
    Provider {
        name: "scripted".to_owned(),
        api: ProviderApi::OpenAiChat,
        base_url: format!("http://{address}/v1/").parse().unwrap(),
        key: key.map(Into::into),
    }
}

/// Runs the step; returns whether the client disconnected first.
async fn perform(mut stream: TcpStream, step: Step) -> bool {
    let (pieces, pause) = match &step {
        Step::Send(text) | Step::SendAndWait(text) | Step::SendAndDrop(text) => {
            (std::slice::from_ref(text), Duration::ZERO)
        }
        Step::SendSlowly(pieces, pause) => (pieces.as_slice(), *pause),
    };
    for piece in pieces {
        if stream.write_all(piece.as_bytes()).await.is_err() {
            return true;
        }
        tokio::time::sleep(pause).await;
    }
    match step {
        Step::Send(_) => stream.shutdown().await.is_err(),
        Step::SendAndWait(_) => {
            let mut rest = [0; 64];
            while matches!(stream.read(&mut rest).await, Ok(count) if count > 0) {}
            true
        }
        Step::SendAndDrop(_) | Step::SendSlowly(..) => false,
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
    });
    let whole = end + 4 + length.unwrap_or(0);
    while bytes.len() < whole {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[end + 4..]).unwrap_or(Value::Null);
    Some(ReceivedRequest { head, body })
}

/// Returns a response with a body of known length.
pub fn http_response(status: &str, headers: &str, body: &str) -> Step {
    Step::Send(format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    ))
}

/// Headers of a stream that ends with the connection.
pub const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// Headers of a stream with an end marker, so that a lost connection is noticed.
pub const CHUNKED_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// Returns one chunk of a chunked body.
pub fn http_chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// Returns an event with some text.
pub fn text_event(text: &str) -> String {
    format!("data: {}\n\n", serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }))
}

/// Event at the end of a response.
pub const FINISH_EVENT: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

/// Returns a complete response with one text.
pub fn complete_response(text: &str) -> Step {
    Step::Send(format!("{STREAM_HEAD}{}{FINISH_EVENT}data: [DONE]\n\n", text_event(text)))
}
