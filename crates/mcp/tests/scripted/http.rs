//! A server that does exactly what a test says, over plain sockets.

use std::fmt::Write;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// One request as it came in.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    /// The body as it came.
    pub text: String,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A field of a form in the body.
    pub fn field(&self, name: &str) -> Option<String> {
        let mut fields = url::form_urlencoded::parse(self.text.as_bytes());
        fields.find_map(|(key, value)| (key == name).then(|| value.into_owned()))
    }

    /// Where this server is, as the client calls it.
    pub fn base(&self) -> String {
        format!("http://{}", self.header("host").unwrap_or_default())
    }

    /// The JSON-RPC method.
    pub fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    /// A JSON-RPC result for this request.
    pub fn result(&self, result: Value) -> Reply {
        Reply::json(200, json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result }))
    }

    /// A JSON-RPC error for this request.
    pub fn error(&self, status: u16, code: i64, message: &str) -> Reply {
        let error = json!({ "code": code, "message": message });
        Reply::json(status, json!({ "jsonrpc": "2.0", "id": self.body["id"], "error": error }))
    }
}

/// What the server does with a request.
pub enum Reply {
    /// A whole answer.
    Answer { status: u16, headers: Vec<(&'static str, String)>, body: Vec<u8> },
    /// A head of an event stream, and then whatever comes through the channel until it closes.
    Events(mpsc::Receiver<Vec<u8>>),
    /// These bytes, whatever they are, and the end of the connection.
    Raw(Vec<u8>),
    /// The same, when they come.
    Bytes(mpsc::Receiver<Vec<u8>>),
    /// These bytes over and over.
    Endless(&'static str, Vec<u8>),
    /// Nothing, while the connection stays open.
    Silence,
}

impl Reply {
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::Answer { status, headers: vec![("content-type", content_type.to_owned())], body: body.into() }
    }

    pub fn json(status: u16, body: Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    pub fn status(status: u16) -> Self {
        Self::Answer { status, headers: vec![], body: vec![] }
    }

    /// A whole answer as it goes over the wire.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self::Answer { status, headers, body } = self else { unreachable!("not a whole answer") };
        let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        [(head + "\r\n").into_bytes(), body.clone()].concat()
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name, value.into()));
        }
        self
    }
}

/// One event of an event stream.
pub fn event(message: &Value) -> Vec<u8> {
    format!("data: {message}\n\n").into_bytes()
}

/// A running server. Goes away with the value.
pub struct Server {
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    hung_up: mpsc::UnboundedReceiver<String>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// Answers each request with what `script` says.
    pub async fn start(script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST, 0, script).await
    }

    /// The same at an address of this machine and at a port; 0 is a free one.
    pub async fn start_at(ip: Ipv4Addr, port: u16, script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((ip, port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (gone, hung_up) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        let (script, log) = (Arc::new(script), seen.clone());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (script, log, gone) = (script.clone(), log.clone(), gone.clone());
                connections.spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let Some(request) = read(&mut stream).await else {
                        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.ok();
                        return;
                    };
                    log.lock().unwrap().push(request.clone());
                    let reply = script(&request);
                    answer(&mut stream, reply, &request, &gone).await;
                });
            }
        });
        Self { port, seen, hung_up, _tasks: tasks }
    }

    pub fn url(&self, path: &str) -> url::Url {
        format!("http://127.0.0.1:{}{path}", self.port).parse().unwrap()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The JSON-RPC methods in the order in which they came.
    pub fn methods(&self) -> Vec<String> {
        self.seen().iter().map(|seen| seen.rpc().to_owned()).collect()
    }

    /// Waits until the client has hung up on an answer that was in progress, and gives its JSON-RPC method.
    pub async fn hung_up(&mut self) -> String {
        self.hung_up.recv().await.unwrap()
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut seen = Seen { method, path, headers, body: Value::Null, text: String::new() };
    let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    seen.body = serde_json::from_slice(&body).unwrap_or_default();
    seen.text = String::from_utf8_lossy(&body).into_owned();
    Some(seen)
}

async fn answer(stream: &mut BufReader<TcpStream>, reply: Reply, request: &Seen, gone: &mpsc::UnboundedSender<String>) {
    const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    match reply {
        reply @ Reply::Answer { .. } => stream.write_all(&reply.to_bytes()).await.unwrap_or_default(),
        Reply::Events(mut events) => {
            stream.write_all(EVENTS.as_bytes()).await.ok();
            loop {
                tokio::select! {
                    event = events.recv() => match event {
                        Some(event) => stream.write_all(&event).await.unwrap_or_default(),
                        None => break,
                    },
                    _ = stream.read_u8() => {
                        gone.send(request.rpc().to_owned()).ok();
                        break;
                    }
                }
            }
        }
        Reply::Bytes(mut bytes) => {
            while let Some(bytes) = bytes.recv().await {
                stream.write_all(&bytes).await.ok();
            }
        }
        Reply::Raw(bytes) => stream.write_all(&bytes).await.unwrap_or_default(),
        Reply::Endless(content_type, bytes) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await.ok();
            while stream.write_all(&bytes).await.is_ok() {}
        }
        Reply::Silence => {
            stream.read_u8().await.ok();
            gone.send(request.rpc().to_owned()).ok();
        }
    }
    stream.shutdown().await.ok();
}
