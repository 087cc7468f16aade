//! Messages that are queued during a turn.

use std::time::Duration;

use domain::QueuedId;
use reqwest::Method;
use serde_json::{Value, json};
use storage::chats::NewTurn;
use storage::queue::QueuedMessage;
use testkit::{Person, Step, StreamEvent, TestApp, databases, events_of, new_turn};

use super::{app_with, said, says};

async fn add(person: &Person, chat: &str, message: &str) -> (u16, Value) {
    let body = json!({ "message": message, "sessionId": chat, "tools": [] });
    let (status, answer) = person.post(&format!("/api/sessions/{chat}/queue"), &body).await;
    (status.as_u16(), answer)
}

async fn change(person: &Person, method: Method, path: &str, body: Value) -> u16 {
    person.request(method, path).json(&body).send().await.unwrap().status().as_u16()
}

/// Returns the queued messages, in order.
async fn waiting(person: &Person, chat: &str) -> Vec<String> {
    let queue = person.get(&format!("/api/sessions/{chat}/queue")).await;
    let words = |message: &Value| message["content"].as_str().unwrap().to_owned();
    queue["messages"].as_array().unwrap().iter().map(words).collect()
}

/// Waits until the chat has these messages.
async fn hears(person: &Person, chat: &str, texts: &[&str]) {
    for _ in 0..1_000 {
        if said(person, chat).await == texts {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(said(person, chat).await, texts);
}

async fn stop(person: &Person, chat: &str) {
    assert_eq!(person.post(&format!("/api/sessions/{chat}/stop"), &json!({})).await.1["stopped"], true);
}

#[tokio::test]
async fn what_waits_is_sent_in_order_and_can_be_changed_until_then() {
    for database in databases() {
        let slow = Step::Words { count: 200, pace: Duration::from_millis(10) };
        let (app, _model) = app_with(database, [slow, says("Two."), says("Three.")]).await;
        let (person, stranger) = (app.person().await, app.person().await);
        let chat = person.new_chat().await;
        let mut stream = person.ask_streaming(&chat, "one", json!([])).await;
        stream.chunk().await.unwrap().unwrap();
        let mut ids = Vec::new();
        for words in ["two?", "away", "three"] {
            let (status, answer) = add(&person, &chat, words).await;
            assert_eq!(status, 201);
            ids.push(answer["id"].as_str().unwrap().to_owned());
        }
        let path = |index: usize| format!("/api/sessions/{chat}/queue/{}", ids[index]);
        assert_eq!(change(&person, Method::PATCH, &path(0), json!({ "message": "two" })).await, 204);
        assert_eq!(change(&person, Method::PATCH, &path(0), json!({ "message": " " })).await, 400);
        assert_eq!(change(&stranger, Method::DELETE, &path(1), json!({})).await, 404);
        assert_eq!(change(&person, Method::DELETE, &path(1), json!({})).await, 204);
        assert_eq!(change(&person, Method::DELETE, &path(1), json!({})).await, 404);
        assert_eq!(waiting(&person, &chat).await, ["two", "three"]);
        let slow = "word ".repeat(200);
        hears(&person, &chat, &["one", &slow, "two", "Two.", "three", "Three."]).await;
        assert_eq!(waiting(&person, &chat).await, Vec::<String>::new());
        assert_eq!(change(&person, Method::PATCH, &path(2), json!({ "message": "late" })).await, 404);
    }
}

#[tokio::test]
async fn what_was_reworded_is_never_sent_as_it_was() {
    for database in databases() {
        let (app, _model) = app_with(database, []).await;
        let person = app.person().await;
        let (owner, chat) = (person.id.parse().unwrap(), person.new_chat().await.parse().unwrap());
        let (storage, now) = (&app.state.storage, app.state.clock.now());
        let id = QueuedId::fresh();
        let waits = QueuedMessage { id, content: "old".into(), parts: Vec::new(), tools: json!([]) };
        storage.queued_messages().insert(owner, chat, &waits, 50, now).await.unwrap();
        // The message's turn has read it, and is about to start.
        assert!(storage.queued_messages().update(owner, chat, id, "new").await.unwrap());
        let mut turn = NewTurn { queued: Some(id), ..new_turn(owner, chat, "old", now) };
        assert_eq!(storage.chats().insert_turn(&turn, "old").await.unwrap(), None);
        assert_eq!(storage.queued_messages().list(owner, chat).await.unwrap()[0].content, "new");
        turn.content = Some("new".to_owned());
        assert_eq!(storage.chats().insert_turn(&turn, "new").await.unwrap(), Some(true));
        assert!(storage.queued_messages().list(owner, chat).await.unwrap().is_empty());
        app.stop().await;
    }
}

#[tokio::test]
async fn who_followed_a_turn_is_not_led_into_the_middle_of_the_next() {
    for database in databases() {
        let (app, _model) = app_with(database, [says("One."), Step::Hang("Two".into())]).await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let turn_of = |events: &[StreamEvent]| events[0].data["messageMetadata"]["turnId"].as_str().unwrap().to_owned();
        let first = turn_of(&person.ask_for_events(&chat, "one", json!([])).await);
        let mut stream = person.ask_streaming(&chat, "two", json!([])).await;
        let second = turn_of(&events_of(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap())));
        for (turn, status) in [(first, 204), (second, 200)] {
            let path = format!("/api/sessions/{chat}/stream?after=1&turn={turn}");
            assert_eq!(person.request(Method::GET, &path).send().await.unwrap().status(), status);
        }
        app.stop().await;
    }
}

#[tokio::test]
async fn an_error_a_stop_and_a_restart_leave_the_queue_waiting() {
    for database in databases() {
        let steps = [Step::Hang("One".into()), Step::Hang("Two".into()), Step::BreakOff("Three".into()), says("Four.")];
        let (app, model) = app_with(database, steps).await;
        let mut person = app.person().await;
        let chat = person.new_chat().await;
        let mut stream = person.ask_streaming(&chat, "one", json!([])).await;
        while !String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()).contains("One") {}
        add(&person, &chat, "three").await;
        let (_, four) = add(&person, &chat, "four").await;
        let (_, two) = add(&person, &chat, "two").await;
        // Sent now: the running turn is interrupted.
        let now = format!("/api/sessions/{chat}/queue/{}/send", two["id"].as_str().unwrap());
        assert_eq!(change(&person, Method::POST, &now, json!({})).await, 204);
        hears(&person, &chat, &["one", "One", "two"]).await;
        assert_eq!(waiting(&person, &chat).await, ["three", "four"]);
        while model.requests().len() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        stop(&person, &chat).await;
        while person.request(Method::GET, &format!("/api/sessions/{chat}/stream")).send().await.unwrap().status() != 204
        {
        }
        assert_eq!(waiting(&person, &chat).await, ["three", "four"], "a stop pauses");

        let (folder, url) = app.stop().await;
        let settings = TestApp::builder().on_data_of(&folder, &url).set("OPENAI_BASE_URL", &model.base_url);
        let app = settings.start().await;
        person.move_to(&app);
        assert_eq!(waiting(&person, &chat).await, ["three", "four"], "a restart loses nothing");
        let queue = person.get(&format!("/api/sessions/{chat}/queue")).await;
        let next = queue["messages"][0]["id"].as_str().unwrap();
        assert_eq!(
            change(&person, Method::POST, &format!("/api/sessions/{chat}/queue/{next}/send"), json!({})).await,
            204
        );
        while said(&person, &chat).await.len() < 6 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(waiting(&person, &chat).await, ["four"], "an error pauses");
        let last = format!("/api/sessions/{chat}/queue/{}/send", four["id"].as_str().unwrap());
        assert_eq!(change(&person, Method::POST, &last, json!({})).await, 204);
        while said(&person, &chat).await.len() < 8 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(said(&person, &chat).await[4..], ["three", "Three", "four", "Four."]);
        app.stop().await;
    }
}
