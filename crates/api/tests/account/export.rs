//! Export of all data of a user.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{MockClock, Person, TestApp, databases};

async fn export(person: &Person) -> Value {
    let answer = person.request(Method::GET, "/api/account/export").send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let text = answer.text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

#[tokio::test]
async fn an_empty_account_is_a_whole_file() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let person = app.person().await;
        let answer = person.request(Method::GET, "/api/account/export").send().await.unwrap();
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-disposition"), "attachment; filename=\"ai-chat-mcp-export-2026-11-21.json\"");
        assert_eq!((header("content-type"), header("cache-control")), ("application/json".into(), "no-store".into()));
        let file: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!((&file["format"], &file["version"]), (&json!("ai-chat-mcp-export"), &json!(1)));
        assert_eq!(file["exportedAt"], "2026-11-21T10:00:00.000000Z");
        assert_eq!(file["profile"], person.get("/auth/v1/user").await);
        for list in ["providers", "usage", "connections", "chats"] {
            assert_eq!(file[list], json!([]), "{list}");
        }
    }
}

#[tokio::test]
async fn every_row_of_the_person_is_in_it_once_and_in_order() {
    for database in databases() {
        // With this clock all rows have the same time, so that pagination depends on the ids alone.
        let app = TestApp::builder().database(database).clock(&MockClock::new()).start().await;
        let (person, neighbour) = (app.person().await, app.person().await);
        neighbour.connect("theirs", "http://127.0.0.1:1/mcp", json!([])).await;
        neighbour.new_chat().await;
        let headers = json!({ "user_id": person.id, "name": "mine", "url": "http://127.0.0.1:1/mcp", "headers": { "authorization": "Bearer secret-7" } });
        person.insert("mcp_servers", &headers).await;
        let mut chats = Vec::new();
        for _ in 0..45 {
            chats.push(person.new_chat().await);
        }
        for n in 0..41 {
            let row = json!({ "session_id": chats[1], "role": "user", "content": format!("message {n} \"é\"") });
            person.insert("ai_chat_messages", &row).await;
        }
        let file = export(&person).await;
        assert!(!file.to_string().contains("secret-7"));
        assert_eq!(file["connections"].as_array().unwrap().len(), 1);
        assert_eq!(file["connections"][0]["name"], "mine");
        let rows =
            async |path: &str| person.get(&format!("/rest/v1/{path}&select=*&order=created_at.asc,id.asc")).await;
        let mut found: Vec<Value> = file["chats"].as_array().unwrap().clone();
        let messages: Vec<Value> =
            found.iter_mut().map(|chat| chat.as_object_mut().unwrap().remove("messages").unwrap()).collect();
        assert_eq!(json!(found), rows("ai_chat_sessions?id=not.is.null").await);
        assert_eq!(messages[1], rows(&format!("ai_chat_messages?session_id=eq.{}", chats[1])).await);
        assert_eq!(messages.iter().map(|list| list.as_array().unwrap().len()).sum::<usize>(), 41);
    }
}
