//! Elicitations during a tool call, in all forms of the protocol, on both databases.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod manual_calls;
mod restart;

use std::sync::Mutex;

use serde_json::{Value, json};
use testkit::{CallAnswer, Database, Person, ScriptedMcp, ScriptedModel, Step, TestApp};

/// State that the server must receive unchanged, including order and white space.
const STATE: &str = "{\"b\" : 1,\"a\":\"\\u00e4\"} ";

/// A user whose assistant calls `book` of a third-party server that sends elicitations.
struct Fixture {
    model: ScriptedModel,
    server: ScriptedMcp,
    app: TestApp,
    person: Person,
    chat: String,
    /// Responses to the elicitations.
    answered: Mutex<Vec<Value>>,
}

fn tool() -> Value {
    json!({ "name": "book", "description": "Books a table." })
}

/// Returns the parameters of an elicitation of the day and the number of guests.
fn form() -> Value {
    json!({ "mode": "form", "message": "When, and how many?", "requestedSchema": {
        "type": "object", "required": ["day"],
        "properties": {
            "day": { "type": "string", "format": "date" },
            "people": { "type": "integer", "minimum": 1, "maximum": 8, "default": 2 },
        },
    }})
}

fn question(params: &Value) -> Value {
    json!({ "method": "elicitation/create", "params": params })
}

/// Returns a result that requests this input, by key, as in protocol version 2026-07-28.
fn asks(questions: &Value) -> CallAnswer {
    CallAnswer::Result(json!({ "resultType": "input_required", "requestState": STATE, "inputRequests": questions }))
}

impl Fixture {
    async fn modern(database: Database, answers: impl IntoIterator<Item = CallAnswer>) -> Self {
        Self::with(database, ScriptedMcp::modern([tool()]).await, answers).await
    }

    async fn legacy(database: Database, answers: impl IntoIterator<Item = CallAnswer>) -> Self {
        Self::with(database, ScriptedMcp::start([tool()]).await, answers).await
    }

    async fn with(database: Database, server: ScriptedMcp, answers: impl IntoIterator<Item = CallAnswer>) -> Self {
        server.answer(answers);
        let steps = [Step::Calls(vec![("book".into(), json!({}))]), Step::Text("Settled.".into())];
        let model = ScriptedModel::start(steps).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let connection = person.connect_to("inn", &server.url).await;
        assert!(person.allow(&connection, "book", "always").await.0.is_success());
        let chat = person.new_chat().await;
        Self { model, server, app, person, chat, answered: Mutex::default() }
    }

    /// Sends a message and returns the resulting elicitations.
    async fn ask(&self) -> Vec<Value> {
        let tools = json!([{ "name": "book", "serverName": "inn" }]);
        let (status, answer) = self.person.ask(&self.chat, "Book a table", tools).await;
        assert_eq!((status.as_u16(), &answer["status"]), (200, &json!("waiting")), "{answer}");
        answer["elicitations"].as_array().unwrap().clone()
    }

    fn path(&self, question: &Value) -> String {
        format!("/api/sessions/{}/elicitations/{}", self.chat, question["elicitationId"].as_str().unwrap())
    }

    async fn answer(&self, question: &Value, body: Value) -> (u16, Value) {
        let (status, answer) = self.person.post(&self.path(question), &body).await;
        if status.is_success() {
            self.answered.lock().unwrap().push(question["elicitationId"].clone());
        }
        (status.as_u16(), answer)
    }

    /// Returns the tool call, once the assistant's message is stored.
    async fn call(&self) -> Value {
        self.person.follow(&self.chat).await;
        self.person.messages(&self.chat).await.pop().unwrap()["tool_calls"][0].clone()
    }

    /// Returns the pending elicitations, as a subscriber that joins later receives them.
    async fn waiting(&self, count: usize) -> Vec<Value> {
        let path = format!("/api/sessions/{}/stream", self.chat);
        let mut tab = self.person.request(reqwest::Method::GET, &path).send().await.unwrap();
        let mut seen = String::new();
        loop {
            let chunks = seen.lines().filter_map(|line| line.strip_prefix("data: "));
            let chunks: Vec<Value> = chunks.filter_map(|json| serde_json::from_str(json).ok()).collect();
            let asked = |chunk: &&Value| chunk["type"] == "data-elicitation";
            let settled = |id: &Value| {
                // The event of the settled elicitation can arrive after the response.
                self.answered.lock().unwrap().contains(id)
                    || chunks
                        .iter()
                        .filter(asked)
                        .any(|chunk| chunk["id"] == *id && chunk["data"]["state"] != "waiting")
            };
            let open = chunks.iter().filter(asked).filter(|chunk| !settled(&chunk["id"]));
            let open: Vec<Value> = open
                .map(|chunk| json!({ "elicitationId": chunk["id"], "request": chunk["data"]["request"] }))
                .collect();
            if open.len() == count {
                return open;
            }
            seen.push_str(&String::from_utf8_lossy(&tab.chunk().await.unwrap().unwrap()));
        }
    }
}
