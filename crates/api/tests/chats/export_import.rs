//! Export and import of chats.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{MockClock, Person, ScriptedModel, Step, TestApp, databases};

use super::{chat, delete};

async fn file(person: &Person, path: &str) -> String {
    let answer = person.request(Method::GET, path).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.text().await.unwrap()
}

async fn import(person: &Person, file: String) -> (u16, Value) {
    let answer = person.request(Method::POST, "/api/account/import").body(file).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn what_went_out_comes_in_again_character_by_character() {
    for database in databases() {
        let clock = MockClock::new();
        let model = ScriptedModel::start([
            Step::Calls(vec![("calculate".into(), json!({ "expression": "41+1" }))]),
            Step::Text("It is **42** \"é\" 🚲.".into()),
        ])
        .await;
        let app =
            TestApp::builder().database(database).clock(&clock).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        person.connect_to("tools", &format!("{}/mcp/toolbox", app.url)).await;
        let (one, _) = chat(&person, "One", &[]).await;
        person.ask(&one, "Add", json!([{ "name": "calculate", "serverName": "tools" }])).await;
        let (two, _) = chat(&person, "Two", &["Hello", "Hi"]).await;
        let odd = json!({ "session_id": two, "role": "assistant", "content": "",
            "tool_calls": [{ "z": 1.50, "a": "\u{0}" }], "created_at": "2001-02-03T04:05:06.789+00:00" });
        person.insert("ai_chat_messages", &odd).await;
        for (chat, marks) in [(&one, json!({ "pinned": true })), (&two, json!({ "archived": true }))] {
            let request = person.request(Method::PUT, &format!("/api/sessions/{chat}/marks")).json(&marks);
            assert_eq!(request.send().await.unwrap().status(), 200);
        }
        let request = person.request(Method::PUT, &format!("/api/sessions/{two}/model"));
        let chosen = request.json(&json!({ "model": "openai/\"other\"" })).send().await.unwrap();
        assert_eq!(chosen.status(), 200);
        let out = file(&person, "/api/account/export").await;
        let chat_alone = file(&person, &format!("/api/sessions/{two}/export")).await;
        let again = import(&person, out.clone()).await;
        assert_eq!(again, (200, json!({ "imported": 0, "skipped": 2, "messages": 0 })));

        delete(&person, "ai_chat_sessions", "id=not.is.null").await;
        assert_eq!(import(&person, out.clone()).await, (200, json!({ "imported": 2, "skipped": 0, "messages": 5 })));
        assert_eq!(file(&person, "/api/account/export").await, out);
        assert_eq!(file(&person, &format!("/api/sessions/{two}/export")).await, chat_alone);
        assert_eq!(person.get("/api/search?q=%2242%22").await["messages"][0]["sessionId"], json!(one));

        // The ids belong to another user, so the chats get new ids, and the existing ones do not change.
        let stranger = app.person().await;
        assert_eq!(import(&stranger, chat_alone).await, (200, json!({ "imported": 1, "skipped": 0, "messages": 3 })));
        let theirs = stranger.get("/rest/v1/ai_chat_sessions?select=*").await;
        assert_eq!((&theirs[0]["title"], theirs[0]["id"] != json!(two)), (&json!("Two"), true));
        assert_eq!(file(&person, "/api/account/export").await, out);
    }
}

#[tokio::test]
async fn a_file_is_taken_whole_or_not_at_all() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        chat(&person, "One", &["Hello"]).await;
        let mut out: Value = serde_json::from_str(&file(&person, "/api/account/export").await).unwrap();
        delete(&person, "ai_chat_sessions", "id=not.is.null").await;
        let mut bad = out["chats"][0].clone();
        bad["messages"][0]["role"] = json!("system");
        out["chats"].as_array_mut().unwrap().push(bad);
        let (status, said) = import(&person, out.to_string()).await;
        assert_eq!(status, 400);
        assert!(said["error"]["message"].as_str().unwrap().starts_with("chats[1].messages[0].role: "), "{said}");
        assert_eq!(person.get("/rest/v1/ai_chat_sessions?select=*").await, json!([]));
    }
}

#[tokio::test]
async fn conversations_of_chatgpt_are_understood() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let node = |role: &str, text: &str, parent: &str| {
            json!({ "parent": parent, "children": [], "message": { "author": { "role": role },
                "content": { "content_type": "text", "parts": [text] }, "create_time": 1_700_000_000.25 } })
        };
        let conversation = json!({ "title": "Plans", "create_time": 1_700_000_000.0, "update_time": 1_700_000_009.0,
            "conversation_id": "6f0d4d1e-0000-4000-8000-000000000001", "current_node": "b",
            "mapping": { "r": { "parent": null, "children": ["a"], "message": null },
                "a": node("user", "Any plans?", "r"), "b": node("assistant", "Lisbon\u{0}!", "a") } });
        let conversations = json!({ "conversations": [conversation] }).to_string();
        let first = import(&person, conversations.clone()).await;
        assert_eq!(first, (200, json!({ "imported": 1, "skipped": 0, "messages": 2 })));
        assert_eq!(import(&person, conversations).await.1["skipped"], 1);
        let chats = person.get("/rest/v1/ai_chat_sessions?select=*").await;
        assert_eq!(chats[0]["updated_at"], "2023-11-14T22:13:29+00:00");
        let messages = person.messages(chats[0]["id"].as_str().unwrap()).await;
        assert_eq!((&messages[0]["content"], &messages[1]["content"]), (&json!("Any plans?"), &json!("Lisbon!")));
        assert_eq!(messages[1]["status"], "done");
    }
}

#[tokio::test]
async fn one_chat_is_a_document() {
    let clock = MockClock::new();
    let app = TestApp::builder().clock(&clock).start().await;
    let person = app.person().await;
    let (one, _) = chat(&person, "A trip", &["Where?", "To **Lisbon**."]).await;
    let path = format!("/api/sessions/{one}/export?format=markdown");
    let answer = person.request(Method::GET, &path).send().await.unwrap();
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "text/markdown; charset=utf-8");
    assert_eq!(header("content-disposition"), "attachment; filename=\"ai-chat-mcp-chat-2026-11-21.md\"");
    let want =
        "# A trip\n\n## You, 2026-11-21 10:00 UTC\n\nWhere?\n\n## Assistant, 2026-11-21 10:00 UTC\n\nTo **Lisbon**.\n";
    assert_eq!(answer.text().await.unwrap(), want);
    let other = format!("/api/sessions/{one}/export?format=pdf");
    assert_eq!(person.request(Method::GET, &other).send().await.unwrap().status(), 400);
}
