//! Pinning, archiving, and deletion with undo.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{MockClock, PageEvents, Person, TestApp, databases};

use super::{chat, delete};

async fn mark(person: &Person, chat: &str, marks: Value) -> (u16, Value) {
    let request = person.request(Method::PUT, &format!("/api/sessions/{chat}/marks")).json(&marks);
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn restore(person: &Person, chat: &str) -> u16 {
    let request = person.request(Method::POST, &format!("/api/sessions/{chat}/restore"));
    request.send().await.unwrap().status().as_u16()
}

async fn rows(person: &Person) -> Value {
    let chats = person.get("/rest/v1/ai_chat_sessions?select=*&order=id").await;
    let messages = person.get("/rest/v1/ai_chat_messages?select=*&order=id").await;
    json!([chats, messages])
}

#[tokio::test]
async fn chats_are_pinned_and_archived_and_their_rows_do_not_change() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let (person, stranger) = (app.person().await, app.person().await);
        let (one, _) = chat(&person, "one", &[]).await;
        let (two, _) = chat(&person, "two", &[]).await;
        let before = rows(&person).await;
        assert_eq!(
            mark(&person, &one, json!({ "pinned": true })).await,
            (200, json!({ "pinned": true, "archived": false }))
        );
        assert_eq!(
            mark(&person, &one, json!({ "archived": true })).await,
            (200, json!({ "pinned": true, "archived": true }))
        );
        mark(&person, &two, json!({ "pinned": true })).await;
        mark(&person, &two, json!({ "pinned": false, "archived": null })).await;
        assert_eq!(person.get("/api/sessions/marks").await, json!({ "pinned": [one], "archived": [one] }));
        assert_eq!(mark(&stranger, &one, json!({ "pinned": false })).await.0, 404);
        assert_eq!(stranger.get("/api/sessions/marks").await, json!({ "pinned": [], "archived": [] }));
        assert_eq!(rows(&person).await, before);
    }
}

#[tokio::test]
async fn pages_hear_which_chat_changed_and_its_marks() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let (one, _) = chat(&person, "one", &[]).await;
        let mut page = PageEvents::open(&person).await;
        mark(&person, &one, json!({ "pinned": true })).await;
        delete(&person, "ai_chat_sessions", &format!("id=eq.{one}")).await;
        assert_eq!(restore(&person, &one).await, 204);
        let marked = json!({ "type": "session", "sessionId": one, "pinned": true, "archived": false });
        for expected in [&marked, &json!({ "type": "session", "sessionId": one }), &marked] {
            assert_eq!(page.find(|_| true).await.as_ref(), Some(expected));
        }
        app.stop().await;
    }
}

#[tokio::test]
async fn a_deleted_chat_is_nowhere_and_comes_back_as_it_was() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let (person, stranger) = (app.person().await, app.person().await);
        let (one, _) = chat(&person, "walrus", &["walrus said", "hello"]).await;
        let (two, _) = chat(&person, "stays", &["here"]).await;
        mark(&person, &one, json!({ "pinned": true })).await;
        let (_, share) = person.post(&format!("/api/sessions/{one}/shares"), &json!({})).await;
        let link = share["url"].as_str().unwrap().split_once("share=").unwrap().1.to_owned();
        let before = rows(&person).await;
        delete(&person, "ai_chat_sessions", &format!("id=eq.{one}")).await;

        let everywhere = json!([
            rows(&person).await,
            person.get("/api/sessions/marks").await,
            person.get("/api/shares").await,
            person.get("/api/search?q=walrus").await,
            person.get("/api/account/export").await,
            person.get(&format!("/api/shared/{link}")).await,
        ]);
        assert!(!everywhere.to_string().contains(&one) && !everywhere.to_string().contains("walrus"), "{everywhere}");
        for (method, path) in
            [(Method::POST, "stop"), (Method::GET, "stream"), (Method::GET, "export"), (Method::PUT, "marks")]
        {
            let request = person.request(method, &format!("/api/sessions/{one}/{path}")).json(&json!({}));
            assert_eq!(request.send().await.unwrap().status(), 404, "{path}");
        }
        assert_eq!(restore(&stranger, &one).await, 404);
        clock.advance_seconds(599);
        assert_eq!(restore(&person, &one).await, 204);
        assert_eq!(restore(&person, &one).await, 204, "safe to repeat");
        assert_eq!(rows(&person).await, before);
        assert_eq!(person.get("/api/sessions/marks").await["pinned"], json!([one]));
        assert_eq!(person.get("/api/search?q=walrus").await["messages"][0]["sessionId"], json!(one));
        assert_eq!(person.get(&format!("/api/shared/{link}")).await["title"], "walrus");

        // A chat that is deleted, created again under the same id, and deleted again: the last one is restored.
        delete(&person, "ai_chat_sessions", &format!("id=in.({one},{two})")).await;
        person.insert("ai_chat_sessions", &json!({ "id": one, "user_id": person.id, "title": "anew" })).await;
        delete(&person, "ai_chat_sessions", &format!("id=eq.{one}")).await;
        assert_eq!(restore(&person, &one).await, 204);
        assert_eq!(restore(&person, &two).await, 204);
        assert_eq!(rows(&person).await[0][0]["title"], "anew");
        assert_eq!(rows(&person).await[1].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn after_ten_minutes_it_is_gone_for_good() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let person = app.person().await;
        let (one, _) = chat(&person, "walrus", &["said"]).await;
        delete(&person, "ai_chat_sessions", &format!("id=eq.{one}")).await;
        clock.advance_seconds(601);
        assert_eq!(restore(&person, &one).await, 404);
        app.maintenance.run_once().await.unwrap();
        clock.advance_seconds(-601);
        assert_eq!(restore(&person, &one).await, 404, "it is not there any more, whatever the clock says");
    }
}
