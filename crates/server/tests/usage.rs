//! What models cost: told by the provider or estimated, for each answer, whatever its end, and for its person alone.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Person, ScriptedModel, Step, TestApp, databases};

/// What the last answer of a chat cost, and the chat, once `calls` calls are written down.
async fn cost(person: &Person, chat: &str, calls: u64) -> Value {
    let answer = person.messages(chat).await.pop().unwrap();
    let path = format!("/api/sessions/{chat}/messages/{}/usage", answer["id"].as_str().unwrap());
    loop {
        let cost = person.get(&path).await;
        if cost["chat"]["calls"] == calls {
            return cost;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
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
            "inputTokens": 120, "outputTokens": 10, "cachedInputTokens": 20, "calls": 1, "estimatedCalls": 0
        });
        assert_eq!(once, json!({ "answer": usage, "chat": usage }));

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
