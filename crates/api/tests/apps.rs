//! MCP Apps: their pages, permissions, tool calls and approvals, on both databases.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;
mod context;
mod pages;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::{Database, Person, ScriptedMcp, ScriptedModel, Step, TestApp};

const PAGE: &str = "<!doctype html><title>Board</title>";

/// A user with a connection whose tool `board` has an app.
struct Fixture {
    model: ScriptedModel,
    server: ScriptedMcp,
    app: TestApp,
    person: Person,
    connection: String,
}

impl Fixture {
    async fn new(database: Database, steps: impl IntoIterator<Item = Step>) -> Self {
        let model = ScriptedModel::start(steps).await;
        let server = ScriptedMcp::start(tools()).await;
        server.has_resource(page(json!({ "text": PAGE })));
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let connection = person.connect_to("boards", &server.url).await;
        Self { model, server, app, person, connection }
    }

    async fn open(&self, tool: &str) -> (u16, Value) {
        let (status, answer) =
            self.person.post("/api/apps/open", &json!({ "serverName": "boards", "tool": tool })).await;
        (status.as_u16(), answer)
    }

    async fn call(&self, name: &str, consent: Value) -> (u16, Value) {
        let body = json!({ "serverName": "boards", "name": name, "arguments": { "row": 1 }, "consent": consent });
        let (status, answer) = self.person.post("/api/apps/call", &body).await;
        (status.as_u16(), answer)
    }

    /// Returns cause of approval and outcome of the calls, newest first, as soon as there are `count` of them.
    async fn audit(&self, count: usize) -> Vec<Value> {
        loop {
            let calls = self.person.get("/api/tools/audit").await["calls"].as_array().unwrap().clone();
            if calls.len() >= count {
                return calls.iter().map(|call| json!([call["tool"], call["allowedBy"], call["outcome"]])).collect();
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

fn tools() -> Vec<Value> {
    let with = |name: &str, ui: Value| json!({ "name": name, "description": name, "_meta": { "ui": ui } });
    vec![
        with("board", json!({ "resourceUri": "ui://boards/board" })),
        with("refresh", json!({ "visibility": ["app"] })),
        with("secret", json!({ "visibility": ["model"] })),
        json!({ "name": "old", "_meta": { "ui/resourceUri": "ui://boards/board" } }),
        json!({ "name": "plain" }),
    ]
}

/// Returns the page in the server's form, with these fields in place of the usual ones.
fn page(fields: Value) -> Value {
    let mut page = json!({ "uri": "ui://boards/board", "mimeType": "text/html;profile=mcp-app" });
    page.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    page
}

fn base64(text: &str) -> String {
    STANDARD.encode(text)
}
