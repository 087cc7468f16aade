//! Usage of models: reported or estimated, for each answer whatever its end, and visible to its user alone.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use domain::MessageId;
use domain::model::Usage;
use reqwest::Method;
use serde_json::{Value, json};
use storage::usage::Cost;
use testkit::{MockClock, Person, ScriptedModel, Step, TestApp, databases};

/// Returns the usage of the last answer of a chat, and that of the chat after `calls` model calls. It is stored when
/// the answer ends.
pub async fn cost(person: &Person, chat: &str, calls: u64) -> Value {
    let answer = person.messages(chat).await.pop().unwrap();
    let path = format!("/api/sessions/{chat}/messages/{}/usage", answer["id"].as_str().unwrap());
    let cost = person.get(&path).await;
    assert_eq!(cost["chat"]["calls"], calls, "{cost}");
    cost
}

#[tokio::test]
async fn an_answer_costs_what_its_provider_says_of_every_call() {
    for database in databases() {
        let calls = Step::Calls(vec![("calculate".into(), json!({ "expression": "6*7" }))]);
        let model = ScriptedModel::start([Step::Text("Hello.".into()), calls, Step::Text("42.".into())]).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let (person, stranger) = (app.person().await, app.person().await);
        person.connect_to("toolbox", &format!("{}/mcp/toolbox", app.url)).await;
        let chat = person.new_chat().await;
        person.ask(&chat, "Hello", json!([])).await;
        let once = cost(&person, &chat, 1).await;
        let usage = json!({
            "inputTokens": 120, "outputTokens": 10, "cachedInputTokens": 20, "calls": 1, "estimatedCalls": 0,
            "costUsd": 0.0, "unpricedCalls": 1
        });
        let last_call = json!({ "inputTokens": 120, "outputTokens": 10, "cachedInputTokens": 20 });
        assert_eq!(once, json!({ "answer": usage, "chat": usage, "lastCall": last_call }));

        person.ask(&chat, "What is 6*7?", json!([{ "name": "calculate", "serverName": "toolbox" }])).await;
        let cost = cost(&person, &chat, 3).await;
        assert_eq!((&cost["answer"]["calls"], &cost["answer"]["inputTokens"]), (&json!(2), &json!(240)));
        assert_eq!((&cost["chat"]["calls"], &cost["chat"]["outputTokens"]), (&json!(3), &json!(30)));

        let path = format!("/api/sessions/{chat}/messages/{}/usage", domain::ids::fresh());
        let answer = stranger.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(answer.status(), 404, "nobody is told what somebody else's chat costs");
        app.stop().await;
    }
}

#[tokio::test]
async fn last_call_of_answer_is_the_latest() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let (owner, of) = (person.id.parse().unwrap(), (chat.parse().unwrap(), MessageId::fresh()));
        let now = app.state.clock.now();
        let record = async |input_tokens: u64, message: Option<MessageId>| {
            let usage = Usage { input_tokens, output_tokens: 7, cached_input_tokens: 0 };
            let (call, model) = (domain::ids::fresh(), "openai/scripted".to_owned());
            let cost = Cost { call, chat: Some(of.0), message, model, usage, is_estimate: false, nanos: None };
            // All at one time, as the end of an answer records them.
            app.state.storage.usage().insert(owner, &cost, now).await.unwrap();
        };
        for input_tokens in [1_000, 3_000, 2_000] {
            record(input_tokens, Some(of.1)).await;
        }
        record(9_000, None).await;
        let usage = person.get(&format!("/api/sessions/{chat}/messages/{}/usage", of.1)).await;
        let last_call = json!({ "inputTokens": 2_000, "outputTokens": 7, "cachedInputTokens": 0 });
        assert_eq!((&usage["lastCall"], &usage["answer"]["calls"]), (&last_call, &json!(3)), "{usage}");
        assert_eq!(usage["chat"]["inputTokens"], 15_000);
        let usage = person.get(&format!("/api/sessions/{chat}/messages/{}/usage", MessageId::fresh())).await;
        assert_eq!(usage["lastCall"], Value::Null);
        app.stop().await;
    }
}

#[tokio::test]
async fn what_breaks_off_or_is_stopped_costs_what_can_be_estimated() {
    for database in databases() {
        let words = "Forty-two is the answer to it.";
        let model = ScriptedModel::start([Step::BreakOff(words.into()), Step::Hang(words.into())]).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        person.ask(&chat, "What is it?", json!([])).await;
        let broken = cost(&person, &chat, 1).await["answer"].clone();
        assert_eq!((&broken["estimatedCalls"], &broken["outputTokens"]), (&json!(1), &json!(8)), "{broken}");
        assert!(broken["inputTokens"].as_u64().unwrap() > 50, "the instructions count, too: {broken}");

        let mut stream = person.ask_streaming(&chat, "And now?", json!([])).await;
        let mut seen = String::new();
        while !seen.contains("answer") {
            seen.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()));
        }
        person.post(&format!("/api/sessions/{chat}/stop"), &json!({})).await;
        person.follow(&chat).await;
        let stopped = cost(&person, &chat, 2).await["answer"].clone();
        assert_eq!((&stopped["calls"], &stopped["estimatedCalls"]), (&json!(1), &json!(1)), "{stopped}");
        app.stop().await;
    }
}

#[tokio::test]
async fn what_was_said_in_a_chat_that_is_deleted_meanwhile_costs_the_same() {
    for database in databases() {
        let model = ScriptedModel::start([Step::Hang("Forty-two is the answer to it.".into())]).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let mut stream = person.ask_streaming(&chat, "What is it?", json!([])).await;
        let mut seen = String::new();
        while !seen.contains("answer") {
            seen.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()));
        }
        let path = format!("/rest/v1/ai_chat_sessions?id=eq.{chat}");
        assert!(person.request(Method::DELETE, &path).send().await.unwrap().status().is_success());
        let written = async {
            // Without an answer that it could be stored with, it is stored on its own.
            while person.get("/api/usage").await["days"][0]["calls"] != 1 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), written).await.expect("it is written");
        app.stop().await;
    }
}

#[tokio::test]
async fn a_call_that_comes_to_nothing_costs_nothing() {
    let model = ScriptedModel::start([Step::Status(401, "no".into()), Step::Text("Yes.".into())]).await;
    let app = TestApp::builder().set("OPENAI_BASE_URL", &model.base_url).start().await;
    let person = app.person().await;
    let chat = person.new_chat().await;
    person.ask(&chat, "Hello?", json!([])).await;
    person.ask(&chat, "Hello?", json!([])).await;
    assert_eq!(cost(&person, &chat, 1).await["chat"]["inputTokens"], 120);
    app.stop().await;
}

/// Returns a catalogue with prices of the scripted model.
pub fn catalogue(input: f64) -> String {
    let price = json!({ "input": input, "output": 8.0, "cachedInput": 0.5 });
    let facts = json!({ "name": "scripted", "context": 64_000, "tools": true, "images": false, "price": price });
    json!({ "date": "2026-11-20", "providers": [{ "hosts": ["127.0.0.1"], "models": [facts] }] }).to_string()
}

#[tokio::test]
async fn a_call_costs_what_its_model_cost_on_its_day() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Hello.".into()));
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("models.json");
        std::fs::write(&file, catalogue(2.0)).unwrap();
        let app = TestApp::builder()
            .database(database)
            .set("OPENAI_BASE_URL", &model.base_url)
            .set("CHAT_MODEL_CATALOGUE", file.display().to_string())
            .start()
            .await;
        let person = app.person().await;
        let listed = person.get("/api/models").await;
        assert_eq!(
            (&listed["factsOf"], &listed["models"][0]["facts"]["context"]),
            (&json!("2026-11-20"), &json!(64_000))
        );
        assert_eq!(listed["models"][0]["facts"]["reasoning"], Value::Null, "what is not known is not said");
        let chat = person.new_chat().await;
        person.ask(&chat, "Hello", json!([])).await;
        let once = cost(&person, &chat, 1).await["chat"]["costUsd"].as_f64().unwrap();
        // 100 input tokens, 20 from the cache, 10 output tokens.
        assert!((once - (100.0 * 2.0 + 20.0 * 0.5 + 10.0 * 8.0) / 1e6).abs() < 1e-12, "{once}");

        // An invalid catalogue changes nothing; a valid one applies from then on, but not to earlier calls.
        std::fs::write(&file, "{ half").unwrap();
        std::fs::write(folder.path().join("new.json"), catalogue(200.0)).unwrap();
        person.ask(&chat, "And again", json!([])).await;
        let twice = cost(&person, &chat, 2).await["chat"]["costUsd"].as_f64().unwrap();
        assert!((twice - 2.0 * once).abs() < 1e-12, "{twice}");
        std::fs::rename(folder.path().join("new.json"), &file).unwrap();
        while person.get("/api/models").await["models"][0]["facts"]["price"]["input"] != 200.0 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        person.ask(&chat, "Once more", json!([])).await;
        let thrice = cost(&person, &chat, 3).await["chat"]["costUsd"].as_f64().unwrap();
        assert!((thrice - 2.0 * once - (once + 100.0 * 198.0 / 1e6)).abs() < 1e-12, "{thrice}");
        app.stop().await;
    }
}

#[tokio::test]
async fn usage_is_told_by_day_and_model_to_its_person_alone() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Hello.".into()));
        let clock = MockClock::new();
        let app =
            TestApp::builder().database(database).clock(&clock).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let mut person = app.person().await;
        let chat = person.new_chat().await;
        person.ask(&chat, "Hello", json!([])).await;
        cost(&person, &chat, 1).await;
        clock.advance_seconds(86_400);
        person.sign_in_again().await;
        person.ask(&chat, "Hello", json!([])).await;
        cost(&person, &chat, 2).await;
        let path = format!("/api/sessions/{chat}/model");
        person.request(Method::PUT, &path).json(&json!({ "model": "openai/other" })).send().await.unwrap();
        person.ask(&chat, "Hello", json!([])).await;
        cost(&person, &chat, 3).await;
        let usage = person.get("/api/usage?days=7").await;
        let rows: Vec<(&Value, &Value, &Value)> =
            usage["days"].as_array().unwrap().iter().map(|row| (&row["day"], &row["model"], &row["calls"])).collect();
        let (before, today) = (json!("2026-11-21"), json!("2026-11-22"));
        let (scripted, other, one) = (json!("openai/scripted"), json!("openai/other"), json!(1));
        assert_eq!(rows, [(&before, &scripted, &one), (&today, &other, &one), (&today, &scripted, &one)]);
        assert_eq!((&usage["from"], &usage["to"]), (&json!("2026-11-16"), &today));
        assert_eq!(person.get("/api/usage?days=1").await["days"].as_array().unwrap().len(), 2);
        let stranger = app.person().await;
        assert_eq!(stranger.get("/api/usage").await["days"], json!([]));
        for odd in ["0", "367", "many"] {
            let answer = person.request(Method::GET, &format!("/api/usage?days={odd}")).send().await.unwrap();
            assert_eq!(answer.status(), 400, "{odd}");
        }
        app.stop().await;
    }
}
