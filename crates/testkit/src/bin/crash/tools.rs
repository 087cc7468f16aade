//! The servers of the tools, which outlive the program and count what reaches them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{CallAnswer, Person, ScriptedMcp};

/// A tool that the person has allowed for good.
pub const ALLOWED: &str = "note";
/// A tool that asks the person each time whether it may run.
pub const ASKS: &str = "send";
/// A tool whose server wants a form filled in, and lets the call go meanwhile.
pub const FORM: &str = "book";
/// A tool whose server wants a form filled in, and holds the call open meanwhile.
pub const HELD: &str = "fill";
/// How long a tool takes.
const TAKES: Duration = Duration::from_millis(60);

/// What became of the calls with one token.
#[derive(Debug, Clone, Default)]
pub struct Ran {
    /// How often it began.
    pub begun: usize,
    /// How often it went on with what was filled in.
    pub gone_on: usize,
    /// What was filled in, as it came last.
    pub filled_in: Value,
}

/// The servers.
pub struct Servers {
    tools: ScriptedMcp,
    holding: ScriptedMcp,
    ran: Arc<Mutex<HashMap<String, Ran>>>,
}

impl Servers {
    /// Starts them.
    pub async fn start() -> Self {
        let tool = |name: &str| {
            let schema = json!({ "type": "object", "properties": { "token": { "type": "string" } } });
            json!({ "name": name, "description": "Takes a token.", "inputSchema": schema })
        };
        let ran: Arc<Mutex<HashMap<String, Ran>>> = Arc::default();
        let tools = ScriptedMcp::modern([tool(ALLOWED), tool(ASKS), tool(FORM)]).await;
        let holding = ScriptedMcp::start([tool(HELD)]).await;
        for server in [&tools, &holding] {
            server.slow_down(TAKES);
            let ran = Arc::clone(&ran);
            server.answer_by(move |params| answer(&mut lock(&ran), params));
        }
        Self { tools, holding, ran }
    }

    /// Connects somebody, who allows all but one of the tools. What their turns may use.
    pub async fn introduce(&self, person: &Person) -> Value {
        let tools = person.connect_to("tools", &self.tools.url).await;
        let holding = person.connect_to("holding", &self.holding.url).await;
        for (connection, tool) in [(&tools, ALLOWED), (&tools, FORM), (&holding, HELD)] {
            assert_eq!(person.allow(connection, tool, "always").await.0, 200);
        }
        json!([{ "name": ALLOWED }, { "name": ASKS }, { "name": FORM }, { "name": HELD }])
    }

    /// What became of a call.
    pub fn ran(&self, token: &str) -> Ran {
        lock(&self.ran).get(token).cloned().unwrap_or_default()
    }

    /// The tokens that came twice.
    pub fn repeated(&self) -> Vec<String> {
        let ran = lock(&self.ran);
        let twice = ran.iter().filter(|(_, ran)| ran.begun > 1 || ran.gone_on > 1);
        twice.map(|(token, ran)| format!("repeated: {token} came like this: {ran:?}")).collect()
    }

    /// A harness that runs for hours does not keep every request.
    pub fn forget_requests(&self) {
        self.tools.forget_calls();
        self.holding.forget_calls();
    }
}

fn lock(ran: &Mutex<HashMap<String, Ran>>) -> MutexGuard<'_, HashMap<String, Ran>> {
    ran.lock().unwrap_or_else(PoisonError::into_inner)
}

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
        Some(FORM) => {
            let number = json!({ "method": "elicitation/create", "params": question });
            Some(CallAnswer::Result(json!({
                "resultType": "input_required", "requestState": "held", "inputRequests": { "number": number },
            })))
        }
        Some(HELD) => Some(CallAnswer::Ask(question)),
        _ => None,
    }
}
