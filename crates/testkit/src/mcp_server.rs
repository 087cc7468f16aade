//! An MCP server over streamable HTTP with scripted results. It records its calls and can send elicitations.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::background::Background;

/// A function from a call's parameters to the response; `None` for the default result.
type Rule = Box<dyn Fn(&Value) -> Option<CallAnswer> + Send>;

/// State of the server, which tests change and inspect.
#[derive(Default)]
struct Script {
    tools: Vec<Value>,
    instructions: Option<String>,
    requests: HashMap<String, usize>,
    queries: Vec<Option<String>>,
    calls: Vec<Value>,
    answers: VecDeque<CallAnswer>,
    rule: Option<Rule>,
    /// Senders for the client's responses to pending elicitations, by request id.
    asked: HashMap<String, oneshot::Sender<Value>>,
    is_modern: bool,
    hangs: bool,
    pace: Duration,
    away: bool,
    tasks: BackgroundTasks,
    resources: HashMap<String, Value>,
    capabilities: Value,
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// Tool calls that run as tasks.
#[derive(Debug, Default)]
struct BackgroundTasks {
    begun: Vec<String>,
    /// Status of the tasks that have ended.
    ended: HashMap<String, &'static str>,
    cancelled: Vec<String>,
    message: String,
}

/// Response of a server to a tool call.
#[derive(Debug, Clone)]
pub enum CallAnswer {
    /// A result.
    Result(Value),
    /// A JSON-RPC error: code, message and data.
    Error(i64, &'static str, Value),
    /// An elicitation with these parameters on the stream of the call. The client's response becomes the text of the
    /// result.
    Ask(Value),
}

/// A scripted MCP server on a free port. It stops when it is dropped.
#[derive(Debug)]
pub struct ScriptedMcp {
    /// URL of the MCP endpoint.
    pub url: String,
    script: Arc<Mutex<Script>>,
    _server: Background,
}

impl ScriptedMcp {
    /// Starts a server with these tools, in the form of `tools/list`; `inputSchema` is optional. It has the
    /// `initialize` handshake of protocol versions before 2026.
    pub async fn start(tools: impl IntoIterator<Item = Value>) -> Self {
        Self::with(Script { tools: complete(tools), ..Script::default() }).await
    }

    /// Starts a server of the protocol version 2026-07-28.
    pub async fn modern(tools: impl IntoIterator<Item = Value>) -> Self {
        Self::with(Script { tools: complete(tools), is_modern: true, ..Script::default() }).await
    }

    /// Starts a server with this [`Script`].
    async fn with(script: Script) -> Self {
        let script = Arc::new(Mutex::new(script));
        let routes = Router::new().route("/mcp", post(answer)).with_state(Arc::clone(&script));
        let server = Background::serve(routes).await;
        Self { url: format!("{}/mcp", server.origin), script, _server: server }
    }

    /// Replaces the tools, without notifying clients.
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

    /// Makes the server unreachable (503), or reachable again.
    pub fn is_away(&self, away: bool) {
        self.script.lock().unwrap().away = away;
    }

    /// Sets the status message of tasks. Tools whose `execution` allows it are called as tasks, which run until a
    /// test or the client ends them.
    pub fn say(&self, message: &str) {
        message.clone_into(&mut self.script.lock().unwrap().tasks.message);
    }

    /// Completes all running tasks with a result.
    pub fn finish_tasks(&self) {
        let mut script = self.script.lock().unwrap();
        let begun = script.tasks.begun.clone();
        for id in begun {
            script.tasks.ended.entry(id).or_insert("completed");
        }
    }

    /// Forgets all tasks, as a restarted server does.
    pub fn forget_tasks(&self) {
        self.script.lock().unwrap().tasks.begun.clear();
    }

    /// Returns the cancelled tasks, in order. Their ids are `task-1`, `task-2` and so on.
    pub fn cancelled_tasks(&self) -> Vec<String> {
        self.script.lock().unwrap().tasks.cancelled.clone()
    }

    /// Returns how many requests with this method were received.
    pub fn requests(&self, method: &str) -> usize {
        self.script.lock().unwrap().requests.get(method).copied().unwrap_or(0)
    }

    /// Adds a resource, as an element of the `contents` of `resources/read`.
    pub fn has_resource(&self, piece: Value) {
        let uri = piece["uri"].as_str().unwrap().to_owned();
        self.script.lock().unwrap().resources.insert(uri, piece);
    }

    /// Returns the capabilities that the client declared.
    pub fn capabilities(&self) -> Value {
        self.script.lock().unwrap().capabilities.clone()
    }

    /// Sets a [`CallAnswer`] for each of the next tool calls. Later calls get the default result.
    pub fn answer(&self, answers: impl IntoIterator<Item = CallAnswer>) {
        self.script.lock().unwrap().answers.extend(answers);
    }

    /// Sets a rule for tool calls without a response set by [`answer`](Self::answer).
    pub fn answer_by(&self, rule: impl Fn(&Value) -> Option<CallAnswer> + Send + 'static) {
        self.script.lock().unwrap().rule = Some(Box::new(rule));
    }

    /// Forgets the tool calls so far.
    pub fn forget_calls(&self) {
        self.script.lock().unwrap().calls.clear();
    }

    /// Delays the response to each tool call.
    pub fn slow_down(&self, pace: Duration) {
        self.script.lock().unwrap().pace = pace;
    }

    /// Returns the tool calls so far: name and arguments.
    pub fn calls(&self) -> Vec<(String, Value)> {
        let of = |params: Value| (params["name"].as_str().unwrap().to_owned(), params["arguments"].clone());
        self.call_params().into_iter().map(of).collect()
    }

    /// Returns the URL queries of the requests since the last time.
    pub fn take_queries(&self) -> Vec<Option<String>> {
        std::mem::take(&mut self.script.lock().unwrap().queries)
    }

    /// Returns the parameters of all tool calls.
    pub fn call_params(&self) -> Vec<Value> {
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

/// Returns the default result of a tool.
fn done(name: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": format!("{name} is done") }] })
}

impl BackgroundTasks {
    /// Returns a task's state as a JSON-RPC result.
    fn state(&self, id: &str) -> Value {
        json!({
            "taskId": id, "status": self.ended.get(id).unwrap_or(&"working"), "statusMessage": self.message,
            "createdAt": "2026-11-21T10:00:00Z", "lastUpdatedAt": "2026-11-21T10:00:00Z", "ttl": 3_600_000, "pollInterval": 1,
        })
    }

    /// Serves a task method; `None` for an unknown task.
    fn answer(&mut self, method: &str, id: &str) -> Option<Value> {
        if !self.begun.iter().any(|begun| begun == id) {
            return None;
        }
        if method == "tasks/cancel" {
            self.cancelled.push(id.to_owned());
            self.ended.entry(id.to_owned()).or_insert("cancelled");
        }
        Some(if method == "tasks/result" { done(id) } else { self.state(id) })
    }
}

/// Serves a JSON-RPC message.
async fn answer(State(script): State<Arc<Mutex<Script>>>, RawQuery(query): RawQuery, body: Bytes) -> Response {
    script.lock().unwrap().queries.push(query);
    let request: Value = serde_json::from_slice(&body).unwrap();
    let Some(id) = request.get("id").cloned() else { return StatusCode::ACCEPTED.into_response() };
    let Some(method) = request["method"].as_str() else {
        // A message without a method is the client's response to an elicitation.
        if let Some(asked) = id.as_str().and_then(|id| script.lock().unwrap().asked.remove(id)) {
            // The call's stream may be closed by now.
            drop(asked.send(request["result"].clone()));
        }
        return StatusCode::ACCEPTED.into_response();
    };
    let params = &request["params"];
    // The lock is released before the response waits.
    let (answer, hangs, pace) = {
        let mut script = script.lock().unwrap();
        if script.away {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        // Counted after the check for an outage: tests count the requests that were answered.
        *script.requests.entry(method.to_owned()).or_default() += 1;
        let answer = match method {
            "server/discover" if script.is_modern => Some(CallAnswer::Result(json!({
                "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private",
            }))),
            "initialize" if !script.is_modern => {
                script.capabilities = params["capabilities"].clone();
                Some(CallAnswer::Result(json!({
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {
                        "tools": {}, "resources": {},
                        "tasks": { "cancel": {}, "requests": { "tools": { "call": {} } } },
                    },
                    "serverInfo": { "name": "scripted", "version": "1.0.0" }, "instructions": script.instructions,
                })))
            }
            "resources/read" => {
                let piece = script.resources.get(params["uri"].as_str().unwrap());
                piece.map(|piece| CallAnswer::Result(json!({ "contents": [piece] })))
            }
            "ping" => Some(CallAnswer::Result(json!({}))),
            "tools/list" => Some(CallAnswer::Result(json!({ "tools": script.tools }))),
            "tools/call" => {
                script.calls.push(params.clone());
                // The client asked for a task, so the call returns before its result exists.
                if params["task"].is_object() {
                    let id = format!("task-{}", script.calls.len());
                    script.tasks.begun.push(id.clone());
                    Some(CallAnswer::Result(json!({ "task": script.tasks.state(&id) })))
                } else {
                    // In this order: the prepared responses, the rule, the default.
                    let answer = script.answers.pop_front();
                    let answer = answer.or_else(|| script.rule.as_ref().and_then(|rule| rule(params)));
                    Some(answer.unwrap_or_else(|| CallAnswer::Result(done(params["name"].as_str().unwrap()))))
                }
            }
            "tasks/get" | "tasks/cancel" | "tasks/result" => {
                script.tasks.answer(method, params["taskId"].as_str().unwrap()).map(CallAnswer::Result)
            }
            _ => None,
        };
        let is_call = method == "tools/call";
        (answer, script.hangs && is_call, if is_call { script.pace } else { Duration::ZERO })
    };
    tokio::time::sleep(pace).await;
    if hangs {
        std::future::pending::<()>().await;
    }
    match answer {
        Some(CallAnswer::Ask(params)) => ask(&script, id, &params),
        Some(CallAnswer::Error(code, message, data)) => refuse(&id, code, message, &data),
        Some(CallAnswer::Result(mut result)) => {
            // A test may return another result type, such as a request for input.
            if script.lock().unwrap().is_modern && result.get("resultType").is_none() {
                result["resultType"] = "complete".into();
            }
            axum::Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })).into_response()
        }
        // As real servers do, an unknown task is reported as invalid parameters.
        None if method.starts_with("tasks/") => refuse(&id, -32602, "Method not found", &Value::Null),
        None => refuse(&id, -32601, "Method not found", &Value::Null),
    }
}

/// Returns a JSON-RPC error.
fn refuse(id: &Value, code: i64, message: &str, data: &Value) -> Response {
    let error = json!({ "code": code, "message": message, "data": data });
    axum::Json(json!({ "jsonrpc": "2.0", "id": id, "error": error })).into_response()
}

/// Responds with a stream of the elicitation and, after the client's response, the result.
fn ask(script: &Mutex<Script>, id: Value, params: &Value) -> Response {
    let (give, take) = oneshot::channel();
    // The client's response refers to this id.
    let question = format!("question-{}", domain::ids::fresh().simple());
    script.lock().unwrap().asked.insert(question.clone(), give);
    let frame = |message: &Value| Ok::<_, std::convert::Infallible>(format!("event: message\ndata: {message}\n\n"));
    let question =
        frame(&json!({ "jsonrpc": "2.0", "id": question, "method": "elicitation/create", "params": params }));
    let result = async move {
        let said = take.await.unwrap_or_default();
        let result = json!({ "content": [{ "type": "text", "text": said.to_string() }] });
        frame(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    };
    let frames = stream::iter([question]).chain(stream::once(result));
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(frames)).into_response()
}
