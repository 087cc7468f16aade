//! Control of conversations: branches, queue and continuing; on all databases.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod branches;
mod continuing;
mod queue;

use serde_json::{Value, json};
use testkit::{Database, Person, ScriptedModel, Step, TestApp};

async fn app_with<const N: usize>(database: Database, steps: [Step; N]) -> (TestApp, ScriptedModel) {
    let model = ScriptedModel::start(steps).await;
    let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
    (app, model)
}

fn says(text: &str) -> Step {
    Step::Text(text.into())
}

/// Starts a turn elsewhere than at the end of a chat. Returns status and response.
async fn steer(person: &Person, chat: &str, more: Value) -> (u16, Value) {
    let mut body = json!({ "sessionId": chat, "tools": [] });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    let (status, answer) = person.post("/functions/v1/ai-chat", &body).await;
    (status.as_u16(), answer)
}

/// Returns the messages of a chat as clients of the rest API read them.
async fn said(person: &Person, chat: &str) -> Vec<String> {
    person.messages(chat).await.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

async fn ids(person: &Person, chat: &str) -> Vec<Value> {
    person.messages(chat).await.iter().map(|message| message["id"].clone()).collect()
}
