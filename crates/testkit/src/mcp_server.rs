//! A foreign MCP server over streamable HTTP: it has tools, tells what they were called with, and can change them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};

use crate::background::Background;

#[derive(Debug, Default)]
struct Script {
    tools: Vec<Value>,
    instructions: Option<String>,
    requests: HashMap<String, usize>,
    calls: Vec<(String, Value)>,
    hangs: bool,
    away: bool,
    tasks: Tasks,
    resources: HashMap<String, Value>,
    capabilities: Value,
}

/// Calls that were asked to be tasks.
#[derive(Debug, Default)]
struct Tasks {
    begun: Vec<String>,
    /// Those that have ended, and how.
    ended: HashMap<String, &'static str>,
    cancelled: Vec<String>,
    message: String,
}

/// A scripted MCP server on a free port. It stops when it is dropped.
#[derive(Debug)]
pub struct ScriptedMcp {
    /// Where it is.
    pub url: String,
    script: Arc<Mutex<Script>>,
    _server: Background,
}

impl ScriptedMcp {
    /// Starts it with tools as `tools/list` tells them; `inputSchema` may be left out.
    pub async fn start(tools: impl IntoIterator<Item = Value>) -> Self {
        let script = Arc::new(Mutex::new(Script { tools: complete(tools), ..Script::default() }));
        let routes = Router::new().route("/mcp", post(answer)).with_state(Arc::clone(&script));
        let server = Background::serve(routes).await;
        Self { url: format!("{}/mcp", server.origin), script, _server: server }
    }

    /// From now on it has these tools.
    pub fn change(&self, tools: impl IntoIterator<Item = Value>) {
        self.script.lock().unwrap().tools = complete(tools);
    }

    /// From now on it tells whoever connects how it wants to be used.
    pub fn instruct(&self, instructions: &str) {
        self.script.lock().unwrap().instructions = Some(instructions.to_owned());
    }

    /// From now on its calls do not end.
    pub fn hang(&self) {
        self.script.lock().unwrap().hangs = true;
    }

    /// From now on it is away, or back.
    pub fn is_away(&self, away: bool) {
        self.script.lock().unwrap().away = away;
    }

    /// What its tasks say from now on that they do. Tools whose `execution` says so are called as tasks, which go on until
    /// something ends them.
    pub fn say(&self, message: &str) {
        message.clone_into(&mut self.script.lock().unwrap().tasks.message);
    }

    /// Ends the tasks that go on, with a result each.
    pub fn finish_tasks(&self) {
        let mut script = self.script.lock().unwrap();
        let begun = script.tasks.begun.clone();
        for id in begun {
            script.tasks.ended.entry(id).or_insert("completed");
        }
    }

    /// Knows no task any more.
    pub fn forget_tasks(&self) {
        self.script.lock().unwrap().tasks.begun.clear();
    }

    /// The tasks that were cancelled, in order; they are called `task-1`, `task-2` and so on.
    pub fn cancelled_tasks(&self) -> Vec<String> {
        self.script.lock().unwrap().tasks.cancelled.clone()
    }

    /// How often it was asked with this method.
    pub fn requests(&self, method: &str) -> usize {
        self.script.lock().unwrap().requests.get(method).copied().unwrap_or(0)
    }

    /// From now on it has this resource: one piece, as `resources/read` tells it.
    pub fn has_resource(&self, piece: Value) {
        let uri = piece["uri"].as_str().unwrap().to_owned();
        self.script.lock().unwrap().resources.insert(uri, piece);
    }

    /// What the client said that it can do.
    pub fn capabilities(&self) -> Value {
        self.script.lock().unwrap().capabilities.clone()
    }

    /// What was called, with what.
    pub fn calls(&self) -> Vec<(String, Value)> {
        self.script.lock().unwrap().calls.clone()
    }
}

fn complete(tools: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let with_schema = |mut tool: Value| {
        let fields = tool.as_object_mut().unwrap();
        fields.entry("inputSchema").or_insert_with(|| json!({ "type": "object" }));
        tool
    };
    tools.into_iter().map(with_schema).collect()
}

fn done(name: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": format!("{name} is done") }] })
}

impl Tasks {
    fn state(&self, id: &str) -> Value {
        json!({
            "taskId": id, "status": self.ended.get(id).unwrap_or(&"working"), "statusMessage": self.message,
            "createdAt": "2026-11-21T10:00:00Z", "lastUpdatedAt": "2026-11-21T10:00:00Z", "ttl": 3_600_000, "pollInterval": 1,
        })
    }

    /// `None` for a task that it does not know.
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

async fn answer(State(script): State<Arc<Mutex<Script>>>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let Some(id) = request.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let params = &request["params"];
    let (result, hangs) = {
        let mut script = script.lock().unwrap();
        if script.away {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        let method = request["method"].as_str().unwrap();
        *script.requests.entry(method.to_owned()).or_default() += 1;
        let result = match method {
            "initialize" => {
                script.capabilities = params["capabilities"].clone();
                Some(json!({
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {
                        "tools": {}, "resources": {},
                        "tasks": { "cancel": {}, "requests": { "tools": { "call": {} } } },
                    },
                    "serverInfo": { "name": "scripted", "version": "1.0.0" }, "instructions": script.instructions,
                }))
            }
            "resources/read" => {
                script.resources.get(params["uri"].as_str().unwrap()).map(|piece| json!({ "contents": [piece] }))
            }
            "ping" => Some(json!({})),
            "tools/list" => Some(json!({ "tools": script.tools })),
            "tools/call" => {
                let name = params["name"].as_str().unwrap().to_owned();
                script.calls.push((name.clone(), params["arguments"].clone()));
                if params["task"].is_object() {
                    let id = format!("task-{}", script.calls.len());
                    script.tasks.begun.push(id.clone());
                    Some(json!({ "task": script.tasks.state(&id) }))
                } else {
                    Some(done(&name))
                }
            }
            "tasks/get" | "tasks/cancel" | "tasks/result" => {
                let id = params["taskId"].as_str().unwrap().to_owned();
                script.tasks.answer(request["method"].as_str().unwrap(), &id)
            }
            _ => None,
        };
        (result, script.hangs && request["method"] == "tools/call")
    };
    if hangs {
        std::future::pending::<()>().await;
    }
    let is_of_task = request["method"].as_str().is_some_and(|method| method.starts_with("tasks/"));
    let unknown = if is_of_task { -32602 } else { -32601 };
    let answer = match result {
        Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        None => json!({
            "jsonrpc": "2.0", "id": id, "error": { "code": unknown, "message": "Method not found" },
        }),
    };
    axum::Json(answer).into_response()
}
