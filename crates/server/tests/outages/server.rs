//! A database server that dies, and one that freezes.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Database, Pooler, ScriptedModel, Step, TestApp, databases};

use super::gate::{Gate, Way};
use super::{UNSTORED, ends_well, read_until, refuses_for_now, under_way, until_ready};

/// Number of messages. They are sent one after the other, so a long wait for each would exceed the test's time.
const QUESTIONS: usize = 60;

async fn app_behind_a_gate(model: &ScriptedModel) -> (TestApp, Gate) {
    let folder = Arc::new(TempDir::new().unwrap());
    let (gate, url) = Gate::before(&Database::Postgres.create(&folder)).await;
    assert!(url.contains(&gate.address().to_string()));
    let app = TestApp::builder().on_data_of(&folder, &url).set("OPENAI_BASE_URL", &model.base_url).start().await;
    (app, gate)
}

#[tokio::test]
async fn a_turn_outlives_a_server_that_is_away_or_stands_still() {
    if !databases().contains(&Database::Postgres) {
        return;
    }
    for way in [Way::Shut, Way::Frozen] {
        let model = ScriptedModel::start([Step::Words { count: 40, pace: Duration::from_millis(30) }]).await;
        let (app, gate) = app_behind_a_gate(&model).await;
        let person = app.person().await;
        let (chat, other) = (person.new_chat().await, person.new_chat().await);
        let (mut stream, mut told) = under_way(&person, &chat).await;
        gate.is(way);
        until_ready(&app, 503).await;
        read_until(&mut stream, &mut told, UNSTORED).await;
        refuses_for_now(&person, &other).await;
        gate.is(Way::Open);
        ends_well(&person, &chat, stream, told, 40).await;
        until_ready(&app, 200).await;
        app.stop().await;
    }
}

#[tokio::test]
async fn while_the_server_is_away_every_door_refuses_at_once_and_says_when_to_come_back() {
    if !databases().contains(&Database::Postgres) {
        return;
    }
    let model = ScriptedModel::start([]).await;
    let (app, gate) = app_behind_a_gate(&model).await;
    let person = app.person().await;
    let (_, key) = person.post("/api/keys", &json!({ "name": "Program", "scopes": ["chat"] })).await;
    let chat = person.new_chat().await;
    gate.is(Way::Frozen);
    app.state.storage.is_down().wait_for(|is_down| *is_down).await.unwrap();
    let sign_in = json!({ "email": person.email, "password": "correct horse" });
    let ask = json!({ "message": "Hi", "sessionId": chat });
    let completion = json!({ "model": "openai/scripted", "messages": [{ "role": "user", "content": "Hi" }] });
    let doors = [
        (Method::POST, "/auth/v1/token?grant_type=password", sign_in),
        (Method::GET, "/auth/v1/user", Value::Null),
        (Method::GET, "/rest/v1/ai_chat_sessions?select=id", Value::Null),
        (Method::POST, "/functions/v1/ai-chat", ask.clone()),
        (Method::POST, "/functions/v1/mcp-proxy", json!({ "url": "http://127.0.0.1:9/mcp" })),
        (Method::GET, "/api/connections", Value::Null),
        (Method::GET, "/api/events", Value::Null),
        (Method::POST, "/v1/chat/completions", completion),
        (Method::GET, "/health/ready", Value::Null),
    ];
    for _ in 0..QUESTIONS {
        for (method, path, body) in &doors {
            let mut request = person.request(method.clone(), path);
            if path.starts_with("/v1/") {
                request = app.http.request(method.clone(), format!("{}{path}", app.url));
                request = request.bearer_auth(key["secret"].as_str().unwrap());
            }
            let answer = request.json(body).send().await.unwrap();
            let retry_after = answer.headers().get("retry-after").map(|seconds| seconds.to_str().unwrap().to_owned());
            let status = answer.status().as_u16();
            assert_eq!((status, retry_after.as_deref()), (503, Some("5")), "{path}: {}", answer.text().await.unwrap());
        }
    }
    let live = app.http.get(format!("{}/health/live", app.url)).send().await.unwrap();
    assert_eq!(live.status(), 200, "it need not be started again");
    gate.is(Way::Open);
    until_ready(&app, 200).await;
    model.push(Step::Text("Hello.".into()));
    let (status, answer) = person.post("/functions/v1/ai-chat", &ask).await;
    assert_eq!((status.as_u16(), &answer["content"]), (200, &json!("Hello.")));
    assert_eq!(person.messages(&chat).await.len(), 2, "what was refused is not there");
    app.stop().await;
}

#[tokio::test]
async fn a_server_that_is_away_behind_a_pooler_is_noticed() {
    if !databases().contains(&Database::Postgres) {
        return;
    }
    let folder = Arc::new(TempDir::new().unwrap());
    let (gate, url) = Gate::before(&Database::Postgres.create(&folder)).await;
    let pooler = Pooler::start(&url, "session").await;
    let app = TestApp::builder().on_data_of(&folder, &pooler.url(&url)).start().await;
    let person = app.person().await;
    let chat = person.new_chat().await;
    gate.is(Way::Shut);
    let mut is_down = app.state.storage.is_down();
    // The pooler still accepts connections, and ends them at the first statement.
    let noticed = tokio::time::timeout(Duration::from_secs(10), is_down.wait_for(|is_down| *is_down)).await;
    assert!(noticed.is_ok(), "the outage is not noticed");
    drop(noticed);
    let refused = tokio::time::timeout(Duration::from_secs(2), refuses_for_now(&person, &chat)).await;
    assert!(refused.is_ok(), "requests wait for the database");
    gate.is(Way::Open);
    until_ready(&app, 200).await;
    assert_eq!(person.messages(&chat).await, Vec::<Value>::new());
    app.stop().await;
}

#[tokio::test]
async fn a_turn_that_was_stored_without_a_response_is_ended() {
    if !databases().contains(&Database::Postgres) {
        return;
    }
    let model = ScriptedModel::start([Step::Text("Hello.".into())]).await;
    let (app, gate) = app_behind_a_gate(&model).await;
    let person = app.person().await;
    let chat = person.new_chat().await;
    gate.is(Way::LosesCommit);
    refuses_for_now(&person, &chat).await;
    gate.is(Way::Open);
    let ended = async {
        loop {
            if let [sent, answer] = person.messages(&chat).await.as_slice() {
                break (sent["content"].clone(), answer["status"].clone());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(15), ended).await;
    assert_eq!(ended.expect("nobody runs the turn, and it does not end"), ("Hi".into(), "interrupted".into()));
    let (status, answer) = person.ask(&chat, "Again", json!([])).await;
    assert_eq!((status.as_u16(), &answer["content"]), (200, &json!("Hello.")));
    app.stop().await;
}
