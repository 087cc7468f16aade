//! A foreign MCP server over streamable HTTP: it has tools, tells what they were called with, and can change them.

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
    calls: Vec<(String, Value)>,
    hangs: bool,
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

async fn answer(State(script): State<Arc<Mutex<Script>>>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let Some(id) = request.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let params = &request["params"];
    let (result, hangs) = {
        let mut script = script.lock().unwrap();
        let result = match request["method"].as_str().unwrap() {
            "initialize" => Some(json!({
                "protocolVersion": params["protocolVersion"], "capabilities": { "tools": {} },
                "serverInfo": { "name": "scripted", "version": "1.0.0" }, "instructions": script.instructions,
            })),
            "ping" => Some(json!({})),
            "tools/list" => Some(json!({ "tools": script.tools })),
            "tools/call" => {
                let name = params["name"].as_str().unwrap().to_owned();
                script.calls.push((name.clone(), params["arguments"].clone()));
                Some(json!({ "content": [{ "type": "text", "text": format!("{name} is done") }] }))
            }
            _ => None,
        };
        (result, script.hangs && request["method"] == "tools/call")
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
    axum::Json(answer).into_response()
}
