//! Tool permissions: ask, allow once or always, deny; on every path and on both databases.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod approvals;
mod definition_pins;
mod events;
mod rules;
mod waiting;

use serde_json::{Value, json};
use testkit::{Database, Person, ScriptedMcp, ScriptedModel, Step, StreamEvent, TestApp};

/// A user with a connection to a third-party server with one tool, `send`, and a model that calls it.
struct Fixture {
    model: ScriptedModel,
    server: ScriptedMcp,
    app: TestApp,
    person: Person,
    connection: String,
    chat: String,
}

/// Returns the tool as the server lists it.
fn send_tool(description: &str) -> Value {
    json!({
        "name": "send", "description": description,
        "annotations": { "readOnlyHint": true },
        "inputSchema": {
            "type": "object", "required": ["to"], "additionalProperties": false,
            "properties": { "to": { "type": "string" }, "count": { "type": "integer" } },
        },
    })
}

fn call_of_send() -> Step {
    Step::Calls(vec![("send".into(), json!({ "to": "Ada" }))])
}

impl Fixture {
    async fn new(database: Database, steps: impl IntoIterator<Item = Step>) -> Self {
        let model = ScriptedModel::start(steps).await;
        let server = ScriptedMcp::start([send_tool("Sends a letter.")]).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let connection = person.connect_to("post", &server.url).await;
        let chat = person.new_chat().await;
        Self { model, server, app, person, connection, chat }
    }

    /// Sends a message and returns the pending approvals.
    async fn ask(&self) -> Value {
        let (status, answer) = self.person.ask(&self.chat, "Send it", choice()).await;
        assert_eq!((status.as_u16(), &answer["status"]), (200, &json!("waiting")), "{answer}");
        answer["approvals"].clone()
    }

    /// Reconnects to the server.
    async fn refresh(&self) {
        self.person.post(&format!("/api/connections/{}/refresh", self.connection), &json!({})).await;
    }

    async fn decide(&self, approval: &Value, body: Value) -> (u16, Value) {
        let (status, answer) = self.person.decide(&self.chat, &approval["approvalId"], &body).await;
        (status.as_u16(), answer)
    }

    /// Returns the assistant's message as soon as it is stored.
    async fn answered(&self) -> Value {
        self.person.follow(&self.chat).await;
        self.last_answer().await
    }

    async fn last_answer(&self) -> Value {
        self.person.messages(&self.chat).await.pop().unwrap()
    }

    /// Returns cause of approval and outcome of the calls, newest first, as soon as there are `count` of them.
    async fn audit(&self, count: usize) -> Vec<(String, String)> {
        let list = async || self.person.get("/api/tools/audit").await["calls"].as_array().unwrap().clone();
        let mut calls = list().await;
        while calls.len() < count {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            calls = list().await;
        }
        let word = |call: &Value, name: &str| call[name].as_str().unwrap().to_owned();
        calls.iter().map(|call| (word(call, "allowedBy"), word(call, "outcome"))).collect()
    }
}

fn choice() -> Value {
    json!([{ "name": "send", "serverName": "post" }])
}

fn kinds(events: &[StreamEvent]) -> Vec<&str> {
    events.iter().map(StreamEvent::kind).filter(|kind| kind.starts_with("tool-") && !kind.contains("delta")).collect()
}
