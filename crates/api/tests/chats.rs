//! The history of chats: search, marks, deletion and restoring, export and import, shares; on all databases.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod export_import;
mod marks_and_deletion;
mod search;
mod shares;

use serde_json::{Value, json};
use testkit::Person;

/// Creates a chat with messages of the user and the assistant in turn. Returns its id and theirs.
async fn chat(person: &Person, title: &str, messages: &[&str]) -> (String, Vec<String>) {
    let chat = person.insert("ai_chat_sessions", &json!({ "user_id": person.id, "title": title })).await;
    let chat = id(&chat);
    let mut ids = Vec::new();
    for (index, content) in messages.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        let row = json!({ "session_id": chat, "role": role, "content": content });
        ids.push(id(&person.insert("ai_chat_messages", &row).await));
    }
    (chat, ids)
}

fn id(row: &Value) -> String {
    row["id"].as_str().unwrap().to_owned()
}

async fn delete(person: &Person, table: &str, filter: &str) {
    let answer = person.request(reqwest::Method::DELETE, &format!("/rest/v1/{table}?{filter}")).send().await.unwrap();
    assert_eq!(answer.status(), 204);
}
