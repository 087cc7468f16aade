//! An MCP server with a session that changes its tools, notifies its clients, fails and recovers.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::background::Background;

/// The notification that the tools have changed, as an event.
const TOOLS_CHANGED_EVENT: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";

/// State of the server, which tests change and inspect.
#[derive(Debug)]
struct Script {
    tools: Vec<Value>,
    instructions: Option<String>,
    calls: Vec<(String, Value)>,
    /// Structured content of call results, in addition to their text.
    structured: Option<Value>,
    /// Tools that replace the others as soon as those are listed.
    next_tools: Option<Vec<Value>>,
    hangs: bool,
    failure: Option<SimulatedFailure>,
    handshakes: usize,
    listings: usize,
    headers: HeaderMap,
    changes: broadcast::Sender<()>,
}

/// Failures that a server can simulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimulatedFailure {
    /// Every request is answered with 503.
    Down,
    /// No request is ever answered.
    Silent,
    /// Every request is answered except `tools/list`.
    NoList,
}

/// A stateful MCP server on a free port. It stops when it is dropped.
#[derive(Debug)]
pub struct StatefulMcp {
    /// URL of the MCP endpoint.
    pub url: String,
    script: Arc<Mutex<Script>>,
    _server: Background,
}

impl StatefulMcp {
    /// Starts the server with these tools, in the form of `tools/list`. `inputSchema` is optional.
    pub async fn start(tools: impl IntoIterator<Item = Value>) -> Self {
        let script = Arc::new(Mutex::new(Script {
            tools: complete(tools),
            instructions: None,
            calls: Vec::new(),
            structured: None,
            next_tools: None,
            hangs: false,
            failure: None,
            handshakes: 0,
            listings: 0,
            headers: HeaderMap::new(),
            changes: broadcast::Sender::new(16),
        }));
        let routes = Router::new().route("/mcp", post(answer).get(listen)).with_state(Arc::clone(&script));
        let server = Background::serve(routes).await;
        Self { url: format!("{}/mcp", server.origin), script, _server: server }
    }

    /// Replaces the tools without notifying clients.
    pub fn change(&self, tools: impl IntoIterator<Item = Value>) {
        self.script.lock().unwrap().tools = complete(tools);
    }

    /// Sets the instructions that new clients receive.
    pub fn instruct(&self, instructions: &str) {
        self.script.lock().unwrap().instructions = Some(instructions.to_owned());
    }

    /// Makes tool calls hang from now on.
    pub fn hang(&self) {
        self.script.lock().unwrap().hangs = true;
    }

    /// Replaces the tools when they are listed the next time: the client gets the old ones, and before them, in the same
    /// stream, the notification.
    pub fn change_while_listing(&self, tools: impl IntoIterator<Item = Value>) {
        self.script.lock().unwrap().next_tools = Some(complete(tools));
    }

    /// Replaces the tools and notifies listening clients.
    pub fn announce(&self, tools: impl IntoIterator<Item = Value>) {
        self.change(tools);
        let _ = self.script.lock().unwrap().changes.send(());
    }

    /// Adds structured content to the results of tool calls from now on.
    pub fn structure(&self, value: Value) {
        self.script.lock().unwrap().structured = Some(value);
    }

    /// Starts a failure ([`SimulatedFailure`]), or ends it with `None`.
    pub fn set_failure(&self, failure: Option<SimulatedFailure>) {
        self.script.lock().unwrap().failure = failure;
    }

    /// Returns how many clients have connected.
    pub fn handshakes(&self) -> usize {
        self.script.lock().unwrap().handshakes
    }

    /// Returns how many times the tools were listed.
    pub fn listings(&self) -> usize {
        self.script.lock().unwrap().listings
    }

    /// Returns how many clients are listening for notifications.
    pub fn listeners(&self) -> usize {
        self.script.lock().unwrap().changes.receiver_count()
    }

    /// Returns a header of the last request.
    pub fn header(&self, name: &str) -> Option<String> {
        self.script.lock().unwrap().headers.get(name).map(|value| value.to_str().unwrap().to_owned())
    }

    /// Returns the tool calls so far: name and arguments.
    pub fn calls(&self) -> Vec<(String, Value)> {
        self.script.lock().unwrap().calls.clone()
    }
}

/// Adds the empty `inputSchema` to tools without one.
fn complete(tools: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let with_schema = |mut tool: Value| {
        let fields = tool.as_object_mut().unwrap();
        fields.entry("inputSchema").or_insert_with(|| json!({ "type": "object" }));
        tool
    };
    tools.into_iter().map(with_schema).collect()
}

/// Serves the stream of notifications.
async fn listen(State(script): State<Arc<Mutex<Script>>>) -> Response {
    let (changes, failure) = {
        let script = script.lock().unwrap();
        (script.changes.subscribe(), script.failure)
    };
    if failure == Some(SimulatedFailure::Down) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    // The stream ends with the server; until then each change is one notification.
    let changes = futures_util::stream::unfold(changes, async |mut changes| {
        changes.recv().await.ok().map(|()| (Ok::<_, std::io::Error>(TOOLS_CHANGED_EVENT), changes))
    });
    // A first comment, so that clients see the response's headers at once.
    let opened = futures_util::stream::once(async { Ok(": open\n\n") });
    ([("content-type", "text/event-stream")], Body::from_stream(opened.chain(changes))).into_response()
}

/// Serves a JSON-RPC request.
async fn answer(State(script): State<Arc<Mutex<Script>>>, headers: HeaderMap, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    // Headers are stored before the failure is simulated, so that tests see failed requests, too.
    let failure = {
        let mut script = script.lock().unwrap();
        script.headers = headers;
        script.failure
    };
    match failure {
        Some(SimulatedFailure::Down) => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Some(SimulatedFailure::Silent) => std::future::pending().await,
        _ => {}
    }
    // Notifications of the client have no id and get no result.
    let Some(id) = request.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let (result, hangs, next_tools) = {
        let mut script = script.lock().unwrap();
        let result = script.answer(&request);
        let next_tools = script.next_tools.take_if(|_| request["method"] == "tools/list");
        if let Some(tools) = &next_tools {
            script.tools.clone_from(tools);
        }
        (result, script.hangs && request["method"] == "tools/call", next_tools)
    };
    if hangs {
        std::future::pending::<()>().await;
    }
    let answer = match result {
        Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        None => json!({
            "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "Method not found" },
        }),
    };
    if next_tools.is_some() {
        let headers = [("mcp-session-id", "one"), ("content-type", "text/event-stream")];
        return (headers, format!("{TOOLS_CHANGED_EVENT}data: {answer}\n\n")).into_response();
    }
    ([("mcp-session-id", "one")], axum::Json(answer)).into_response()
}

impl Script {
    /// Returns the result of a request; `None` for unknown methods and for [`SimulatedFailure::NoList`].
    fn answer(&mut self, request: &Value) -> Option<Value> {
        let params = &request["params"];
        match request["method"].as_str().unwrap() {
            "initialize" => {
                self.handshakes += 1;
                Some(json!({
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": { "tools": { "listChanged": true } },
                    "serverInfo": { "name": "scripted", "version": "1.0.0" },
                    "instructions": self.instructions,
                }))
            }
            "ping" => Some(json!({})),
            "tools/list" if self.failure == Some(SimulatedFailure::NoList) => None,
            "tools/list" => {
                self.listings += 1;
                Some(json!({ "tools": self.tools }))
            }
            "tools/call" => {
                let name = params["name"].as_str().unwrap().to_owned();
                self.calls.push((name.clone(), params["arguments"].clone()));
                let mut result = json!({ "content": [{ "type": "text", "text": format!("{name} is done") }] });
                if let Some(structured) = &self.structured {
                    result["structuredContent"] = structured.clone();
                }
                Some(result)
            }
            _ => None,
        }
    }
}
