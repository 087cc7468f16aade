//! The database goes away in the middle of turns, and comes back.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;
use std::time::Duration;

use serde_json::json;
use testkit::{Database, ScriptedModel, Step, TestApp, databases};

/// Lets nobody into a database of PostgreSQL any more and sends everybody away, or lets them in again.
fn allow(url: &str, allowed: bool) {
    let (server, name) = url.rsplit_once('/').unwrap();
    let name = name.split('?').next().unwrap();
    let mut statements = vec![format!("ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed}")];
    if !allowed {
        statements.push(format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"));
    }
    for statement in statements {
        let done = Command::new("psql")
            .args([&format!("{server}/postgres"), "--quiet", "--no-psqlrc", "-c", &statement])
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}

async fn ready(app: &TestApp) -> u16 {
    app.http.get(format!("{}/health/ready", app.url)).send().await.unwrap().status().as_u16()
}

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
    let mut stream = person.ask_streaming(&chat, "Go on", json!([])).await;
    let mut told = String::new();
    while !told.contains("word") {
        told.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()));
    }
    allow(&app.database_url, false);
    assert_eq!(ready(&app).await, 503);
    let (status, _) = person.post("/functions/v1/ai-chat", &json!({ "message": "Hi", "sessionId": chat })).await;
    assert!(status.is_server_error(), "nothing is taken that cannot be kept: {status}");
    while !told.contains("The database does not answer") {
        told.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()));
    }
    assert!(!told.contains(r#""type":"finish""#), "its end is told when it is stored");
    allow(&app.database_url, true);
    told.push_str(&stream.text().await.unwrap());
    assert!(told.contains(r#""type":"finish""#) && told.ends_with("data: [DONE]\n\n"));
    let answer = person.messages(&chat).await.pop().unwrap();
    assert_eq!((&answer["content"], &answer["status"]), (&json!("word ".repeat(60)), &json!("done")));
    while ready(&app).await != 200 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    app.stop().await;
}
