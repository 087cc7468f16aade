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
/// A tool that requests a form by a resumable result: the call ends and is repeated with the input.
pub const FORM_TOOL: &str = "book";
/// A tool that requests a form while its call stays open.
pub const HELD: &str = "fill";
/// Duration of a tool call.
const TAKES: Duration = Duration::from_millis(60);

/// Record of the calls with one token.
#[derive(Debug, Clone, Default)]
pub struct Ran {
    /// Number of calls that began.
    pub begun: usize,
    /// Number of calls that were resumed with input.
    pub gone_on: usize,
    /// The last input.
    pub filled_in: Value,
}

/// The MCP servers and their record of calls.
pub struct Servers {
    tools: ScriptedMcp,
    holding: ScriptedMcp,
    ran: Arc<Mutex<HashMap<String, Ran>>>,
}

impl Servers {
    /// Starts both MCP servers.
    pub async fn start() -> Self {
        let tool = |name: &str| {
            let schema = json!({ "type": "object", "properties": { "token": { "type": "string" } } });
            json!({ "name": name, "description": "Takes a token.", "inputSchema": schema })
        };
        let ran: Arc<Mutex<HashMap<String, Ran>>> = Arc::default();
        // Two servers of different protocol versions, since each version has its own way to request input.
        let tools = ScriptedMcp::modern([tool(ALLOWED_TOOL), tool(APPROVED_TOOL), tool(FORM_TOOL)]).await;
        let holding = ScriptedMcp::start([tool(HELD)]).await;
        for server in [&tools, &holding] {
            server.slow_down(TAKES);
            let ran = Arc::clone(&ran);
            server.answer_by(move |params| answer(&mut lock(&ran), params));
        }
        Self { tools, holding, ran }
    }

    /// Connects a user to the servers and sets the permissions. Returns the tools for the user's turns.
    pub async fn introduce(&self, person: &Person) -> Value {
        let tools = person.connect_to("tools", &self.tools.url).await;
        let holding = person.connect_to("holding", &self.holding.url).await;
        for (connection, tool) in [(&tools, ALLOWED_TOOL), (&tools, FORM_TOOL), (&holding, HELD)] {
            assert_eq!(person.allow(connection, tool, "always").await.0, 200);
        }
        json!([{ "name": ALLOWED_TOOL }, { "name": APPROVED_TOOL }, { "name": FORM_TOOL }, { "name": HELD }])
    }

    /// Returns the record ([`Ran`]) of the calls with a token.
    pub fn ran(&self, token: &str) -> Ran {
        lock(&self.ran).get(token).cloned().unwrap_or_default()
    }

    /// Describes each call that ran twice, from its record ([`Ran`]).
    pub fn repeated(&self) -> Vec<String> {
        let ran = lock(&self.ran);
        let twice = ran.iter().filter(|(_, ran)| ran.begun > 1 || ran.gone_on > 1);
        twice.map(|(token, ran)| format!("repeated: {token} came like this: {ran:?}")).collect()
    }

    /// Forgets recorded requests, which would fill the memory in a run of hours.
    pub fn forget_requests(&self) {
        self.tools.forget_calls();
        self.holding.forget_calls();
    }
}

/// Locks the record. A poisoned lock is used all the same, so that the first failure is the one reported.
fn lock(ran: &Mutex<HashMap<String, Ran>>) -> MutexGuard<'_, HashMap<String, Ran>> {
    ran.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records a call and returns its response.
fn answer(ran: &mut HashMap<String, Ran>, params: &Value) -> Option<CallAnswer> {
    let ran = ran.entry(params["arguments"]["token"].as_str().unwrap_or_default().to_owned()).or_default();
    if let Some(filled_in) = params.get("inputResponses") {
        ran.gone_on += 1;
        ran.filled_in = filled_in["number"].clone();
        return None;
    }
    ran.begun += 1;
    let question = json!({ "mode": "form", "message": "Which number?", "requestedSchema": {
        "type": "object", "required": ["number"], "properties": { "number": { "type": "integer" } },
    }});
    match params["name"].as_str() {
        Some(FORM_TOOL) => {
            let number = json!({ "method": "elicitation/create", "params": question });
            Some(CallAnswer::Result(json!({
                "resultType": "input_required", "requestState": "held", "inputRequests": { "number": number },
            })))
        }
        Some(HELD) => Some(CallAnswer::Ask(question)),
        _ => None,
    }
}
