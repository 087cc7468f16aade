//! A model server that answers as it is told, byte for byte.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use llm::{Provider, Wire};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// What happens to one request.
pub enum Step {
    /// These bytes are sent, and the connection is closed.
    Say(String),
    /// These bytes are sent, and nothing more until the client goes away.
    Hang(String),
    /// These bytes are sent, and the connection is dropped as it is.
    Break(String),
    /// These pieces are sent one after the other with a pause behind each, and the connection is dropped as it is.
    Write(Vec<String>, Duration),
}

/// A request that came in.
pub struct Seen {
    /// Request line and headers, in lower case apart from the values.
    pub head: String,
    pub body: Value,
}

/// Serves one step per connection, in order; further connections are refused. Ends when dropped.
pub struct Server {
    address: std::net::SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Told when a request is read.
    pub asked: mpsc::UnboundedReceiver<()>,
    /// Told when a client went away from a hanging answer.
    pub left: mpsc::UnboundedReceiver<()>,
    _tasks: JoinSet<()>,
}

impl Server {
    pub async fn start(steps: impl IntoIterator<Item = Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (tell_asked, asked) = mpsc::unbounded_channel();
        let (tell_left, left) = mpsc::unbounded_channel();
        let mut steps: VecDeque<Step> = steps.into_iter().collect();
        let mut tasks = JoinSet::new();
        let log = Arc::clone(&seen);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Some(step) = steps.pop_front() {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (log, asked, left) = (Arc::clone(&log), tell_asked.clone(), tell_left.clone());
                connections.spawn(async move {
                    let Some(request) = read_request(&mut stream).await else { return };
                    log.lock().unwrap().push(request);
                    let _ = asked.send(());
                    if perform(stream, step).await {
                        let _ = left.send(());
                    }
                });
            }
            drop(listener);
            connections.join_all().await;
        });
        Self { address, seen, asked, left, _tasks: tasks }
    }

    pub fn provider(&self, key: Option<&str>) -> Provider {
        provider_at(self.address, key)
    }

    /// The same server as one that speaks another wire.
    pub fn over(&self, wire: Wire, key: Option<&str>) -> Provider {
        Provider { wire, ..self.provider(key) }
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

pub fn provider_at(address: std::net::SocketAddr, key: Option<&str>) -> Provider {
    Provider {
        name: "scripted".to_owned(),
        wire: Wire::OpenAiChat,
        base_url: format!("http://{address}/v1/").parse().unwrap(),
        key: key.map(Into::into),
    }
}

/// Does the step; true when the client was the one who went away.
async fn perform(mut stream: TcpStream, step: Step) -> bool {
    let (pieces, pause) = match &step {
        Step::Say(text) | Step::Hang(text) | Step::Break(text) => (std::slice::from_ref(text), Duration::ZERO),
        Step::Write(pieces, pause) => (pieces.as_slice(), *pause),
    };
    for piece in pieces {
        if stream.write_all(piece.as_bytes()).await.is_err() {
            return true;
        }
        tokio::time::sleep(pause).await;
    }
    match step {
        Step::Say(_) => stream.shutdown().await.is_err(),
        Step::Hang(_) => {
            let mut rest = [0; 64];
            while matches!(stream.read(&mut rest).await, Ok(count) if count > 0) {}
            true
        }
        Step::Break(_) | Step::Write(..) => false,
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Seen> {
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
    Some(Seen { head, body })
}

/// An answer with a body of known length.
pub fn answer(status: &str, headers: &str, body: &str) -> Step {
    Step::Say(format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    ))
}

/// The head of a stream that ends when the connection does.
pub const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// The head of a stream whose end is marked, so that a connection that breaks is noticed.
pub const CHUNKED_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// One piece of a body that comes in pieces.
pub fn piece(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// An event with one word of the answer.
pub fn word(text: &str) -> String {
    format!("data: {}\n\n", serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }))
}

/// The event that says that the model is done.
pub const DONE: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

/// A whole good answer of one word.
pub fn good(text: &str) -> Step {
    Step::Say(format!("{STREAM_HEAD}{}{DONE}data: [DONE]\n\n", word(text)))
}
