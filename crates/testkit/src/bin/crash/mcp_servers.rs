//! The MCP servers, which outlive the server under test and count the calls that reach them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{CallAnswer, Person, ScriptedMcp};

/// A tool that the user always allows.
pub const ALLOWED_TOOL: &str = "note";
/// A tool that needs the user's approval for each call.
pub const APPROVED_TOOL: &str = "send";
/// A tool with an elicitation as a resumable result: the call ends and is repeated with the input.
pub const FORM_TOOL: &str = "book";
/// A tool that sends an elicitation while its call stays open.
pub const OPEN_FORM_TOOL: &str = "fill";
/// Duration of a tool call.
const CALL_DURATION: Duration = Duration::from_millis(60);

/// Record of the calls with one token.
#[derive(Debug, Clone, Default)]
pub struct CallRecord {
    /// Number of calls that began.
    pub started: usize,
    /// Number of calls that were resumed with input.
    pub resumed: usize,
    /// The last input.
    pub input: Value,
}

/// The MCP servers and their record of calls.
pub struct McpServers {
    resumable_server: ScriptedMcp,
    open_call_server: ScriptedMcp,
    records: Arc<Mutex<HashMap<String, CallRecord>>>,
}

impl McpServers {
    /// Starts both MCP servers.
    pub async fn start() -> Self {
        let tool = |name: &str| {
            let schema = json!({ "type": "object", "properties": { "token": { "type": "string" } } });
            json!({ "name": name, "description": "Takes a token.", "inputSchema": schema })
        };
        let records: Arc<Mutex<HashMap<String, CallRecord>>> = Arc::default();
        // Two servers of different protocol versions, since each version has its own way to request input.
        let resumable_server = ScriptedMcp::modern([tool(ALLOWED_TOOL), tool(APPROVED_TOOL), tool(FORM_TOOL)]).await;
        let open_call_server = ScriptedMcp::start([tool(OPEN_FORM_TOOL)]).await;
        for server in [&resumable_server, &open_call_server] {
            server.slow_down(CALL_DURATION);
            let records = Arc::clone(&records);
            server.answer_by(move |params| respond(&mut lock(&records), params));
        }
        Self { resumable_server, open_call_server, records }
    }

    /// Connects a user to the servers and sets the permissions. Returns the tools for the user's turns.
    pub async fn connect_user(&self, user: &Person) -> Value {
        let resumable = user.connect_to("resumable", &self.resumable_server.url).await;
        let open_call = user.connect_to("open-call", &self.open_call_server.url).await;
        for (connection, tool) in [(&resumable, ALLOWED_TOOL), (&resumable, FORM_TOOL), (&open_call, OPEN_FORM_TOOL)] {
            assert_eq!(user.allow(connection, tool, "always").await.0, 200);
        }
        json!([{ "name": ALLOWED_TOOL }, { "name": APPROVED_TOOL }, { "name": FORM_TOOL }, { "name": OPEN_FORM_TOOL }])
    }

    /// Returns the record ([`CallRecord`]) of the calls with a token.
    pub fn call_record(&self, token: &str) -> CallRecord {
        lock(&self.records).get(token).cloned().unwrap_or_default()
    }

    /// Describes each call that ran twice, from its record ([`CallRecord`]).
    pub fn repeated_calls(&self) -> Vec<String> {
        let records = lock(&self.records);
        let twice = records.iter().filter(|(_, record)| record.started > 1 || record.resumed > 1);
        twice.map(|(token, record)| format!("repeated: calls with the token {token}: {record:?}")).collect()
    }

    /// Forgets recorded requests, which would fill the memory in a run of hours.
    pub fn forget_requests(&self) {
        self.resumable_server.forget_calls();
        self.open_call_server.forget_calls();
    }
}

/// Locks the records. A poisoned lock is ignored, so that the first failure is the one that is reported.
fn lock(records: &Mutex<HashMap<String, CallRecord>>) -> MutexGuard<'_, HashMap<String, CallRecord>> {
    records.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records a call and returns its response.
fn respond(records: &mut HashMap<String, CallRecord>, params: &Value) -> Option<CallAnswer> {
    let record = records.entry(params["arguments"]["token"].as_str().unwrap_or_default().to_owned()).or_default();
    if let Some(input) = params.get("inputResponses") {
        record.resumed += 1;
        record.input = input["number"].clone();
        return None;
    }
    record.started += 1;
    let elicitation = json!({ "mode": "form", "message": "Which number?", "requestedSchema": {
        "type": "object", "required": ["number"], "properties": { "number": { "type": "integer" } },
    }});
    match params["name"].as_str() {
        Some(FORM_TOOL) => {
            let number = json!({ "method": "elicitation/create", "params": elicitation });
            Some(CallAnswer::Result(json!({
                "resultType": "input_required", "requestState": "state", "inputRequests": { "number": number },
            })))
        }
        Some(OPEN_FORM_TOOL) => Some(CallAnswer::Ask(elicitation)),
        _ => None,
    }
}
