//! Database outages in the middle of turns.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod disk;
mod gate;
mod locks;
mod server;

use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::{Value, json};
use testkit::{Database, Person, ScriptedModel, Step, TestApp, databases, run_sql};

/// Blocks a PostgreSQL database and terminates its connections, or unblocks it.
async fn allow(url: &str, allowed: bool) {
    let (server, name) = url.rsplit_once('/').unwrap();
    let name = name.split('?').next().unwrap();
    let mut statements = vec![format!("ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed}")];
    if !allowed {
        statements.push(format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"));
    }
    for statement in statements {
        run_sql(&format!("{server}/postgres"), &statement).await;
    }
}

async fn ready(app: &TestApp) -> u16 {
    app.http.get(format!("{}/health/ready", app.url)).send().await.unwrap().status().as_u16()
}

async fn until_ready(app: &TestApp, status: u16) {
    while ready(app).await != status {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Reads a stream up to this text.
async fn read_until(stream: &mut reqwest::Response, told: &mut String, words: &str) {
    while !told.contains(words) {
        let piece = stream.chunk().await.unwrap();
        told.push_str(&String::from_utf8_lossy(&piece.expect("the stream goes on")));
    }
}

/// Starts a turn, and returns its stream and what was received.
async fn under_way(person: &Person, chat: &str) -> (reqwest::Response, String) {
    let (mut stream, mut told) = (person.ask_streaming(chat, "Go on", json!([])).await, String::new());
    read_until(&mut stream, &mut told, "word").await;
    (stream, told)
}

/// Checks that a message is rejected with an error that asks to retry later.
async fn refuses_for_now(person: &Person, chat: &str) {
    let body = json!({ "message": "Hi", "sessionId": chat });
    let answer = person.request(Method::POST, "/functions/v1/ai-chat").json(&body).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), &answer.headers()["retry-after"]), (503, &HeaderValue::from(5)));
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["code"], "outage", "{body}");
}

/// Reads the rest of a turn of `words` words whose end was delayed, and checks that it arrives and is stored.
async fn ends_well(person: &Person, chat: &str, stream: reqwest::Response, mut told: String, words: usize) {
    assert!(!told.contains(r#""type":"finish""#), "its end is told when it is stored");
    told.push_str(&stream.text().await.unwrap());
    assert!(told.contains(r#""type":"finish""#) && told.ends_with("data: [DONE]\n\n"), "{told}");
    let messages = person.messages(chat).await;
    let contents: Vec<&Value> = messages.iter().map(|message| &message["content"]).collect();
    assert_eq!(contents, [&json!("Go on"), &json!("word ".repeat(words))]);
    assert_eq!(messages[1]["status"], "done");
    // Its usage could not be stored earlier, either.
    let cost = format!("/api/sessions/{chat}/messages/{}/usage", messages[1]["id"].as_str().unwrap());
    while person.get(&cost).await["answer"]["calls"] != 1 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

const UNSTORED: &str = "The database does not answer";

#[tokio::test]
async fn a_turn_outlives_an_outage_of_the_database_and_says_so() {
    if !databases().contains(&Database::Postgres) {
        return;
    }
    let model = ScriptedModel::start([Step::Words { count: 60, pace: Duration::from_millis(30) }]).await;
    let builder = TestApp::builder().database(Database::Postgres);
    let app = builder.set("OPENAI_BASE_URL", &model.base_url).start().await;
    let person = app.person().await;
    let chat = person.new_chat().await;
    let (mut stream, mut told) = under_way(&person, &chat).await;
    allow(&app.database_url, false).await;
    until_ready(&app, 503).await;
    refuses_for_now(&person, &chat).await;
    read_until(&mut stream, &mut told, UNSTORED).await;
    allow(&app.database_url, true).await;
    ends_well(&person, &chat, stream, told, 60).await;
    until_ready(&app, 200).await;
    app.stop().await;
}
