//! A tool call of the assistant that waits for a sign-in.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::{Database, PageEvents, ScriptedModel, Step, databases};

use super::Fixture;

/// A user whose assistant calls a tool without a valid sign-in, or with insufficient scopes.
struct Paused {
    fixture: Fixture,
    model: ScriptedModel,
    chat: String,
    asked: Value,
}

impl Paused {
    async fn new(database: Database, tool: &str, ended: bool) -> Self {
        let steps = [Step::Calls(vec![(tool.into(), json!({}))]), Step::Text("There.".into())];
        let model = ScriptedModel::start(steps).await;
        let fixture = Fixture::with_model(database, &model.base_url).await;
        assert_eq!(fixture.sign_in().await, "connected");
        fixture.until("connected").await;
        assert!(fixture.person.allow(&fixture.connection, tool, "always").await.0.is_success());
        if ended {
            fixture.control(json!({ "forgetAccess": true, "refuseRefresh": true })).await;
        }
        Self::ask(fixture, model, tool).await
    }

    /// Starts the scenario with a server that is known to need a sign-in beforehand.
    async fn known(database: Database) -> Self {
        let tool = "read_notes";
        let steps = [Step::Calls(vec![(tool.into(), json!({}))]), Step::Text("There.".into())];
        let model = ScriptedModel::start(steps).await;
        let fixture = Fixture::with_model(database, &model.base_url).await;
        assert_eq!(fixture.sign_in().await, "connected");
        fixture.until("connected").await;
        assert!(fixture.person.allow(&fixture.connection, tool, "always").await.0.is_success());
        fixture.control(json!({ "forgetAccess": true, "refuseRefresh": true })).await;
        // Only the database has the server's tools.
        let fixture = fixture.again(&model.base_url).await;
        assert_eq!(fixture.call(tool).await.0, StatusCode::BAD_GATEWAY);
        fixture.until("needs-sign-in").await;
        Self::ask(fixture, model, tool).await
    }

    async fn ask(fixture: Fixture, model: ScriptedModel, tool: &str) -> Self {
        let chat = fixture.person.new_chat().await;
        let tools = json!([{ "name": tool, "serverName": "notes" }]);
        let (status, answer) = fixture.person.ask(&chat, "Please", tools).await;
        assert_eq!((status, &answer["status"]), (StatusCode::OK, &json!("waiting")), "{answer}");
        let asked = answer["elicitations"][0].clone();
        assert_eq!(asked["request"]["mode"], "sign-in");
        assert_eq!(asked["request"]["connectionId"], fixture.connection);
        fixture.control(json!({ "refuseRefresh": false })).await;
        Self { fixture, model, chat, asked }
    }

    async fn call(&self) -> Value {
        let person = &self.fixture.person;
        person.follow(&self.chat).await;
        // The clock does not move, so the times do not determine the order of the messages.
        let mut messages = person.messages(&self.chat).await.into_iter();
        messages.find(|message| message["role"] == "assistant").unwrap()["tool_calls"][0].clone()
    }
}

#[tokio::test]
async fn a_call_goes_on_by_itself_when_its_person_has_signed_in() {
    for database in databases() {
        let paused = Paused::new(database, "read_notes", true).await;
        assert_eq!(paused.asked["request"]["additionalScopes"], false);
        let mut page = PageEvents::open(&paused.fixture.person).await;
        // The stream can begin before it is stored that the turn waits.
        let waiting = page.find(|event| event["state"] == "waiting").await.unwrap();
        assert_eq!(waiting["waitingFor"], json!({ "kind": "sign-in", "tool": "read_notes" }));
        let path = format!("/api/sessions/{}/stream", paused.chat);
        let viewer = paused.fixture.person.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(paused.fixture.sign_in().await, "connected");
        let seen = viewer.text().await.unwrap();
        assert!(seen.contains(r#""state":"waiting""#) && seen.contains(r#""state":"accept""#), "{seen}");
        let call = paused.call().await;
        assert_eq!(call["outcome"], "done", "{call}");
        assert!(call["result"]["content"][0]["text"].as_str().unwrap().starts_with("The notes of "));
        paused.fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_call_that_needs_more_rights_waits_for_them() {
    let paused = Paused::new(databases()[0], "erase_notes", false).await;
    assert_eq!(paused.asked["request"]["additionalScopes"], true);
    assert_eq!(paused.fixture.sign_in().await, "connected");
    assert_eq!(paused.call().await["outcome"], "done");
}

#[tokio::test]
async fn whoever_does_not_want_to_sign_in_skips_the_call() {
    let paused = Paused::new(databases()[0], "read_notes", true).await;
    let id = paused.asked["elicitationId"].as_str().unwrap();
    let path = format!("/api/sessions/{}/elicitations/{id}", paused.chat);
    let (status, answer) = paused.fixture.person.post(&path, &json!({ "action": "decline" })).await;
    assert_eq!((status, answer), (StatusCode::OK, json!({ "action": "decline", "first": true })));
    let call = paused.call().await;
    assert_eq!(call["outcome"], "error");
    assert!(call["error"].as_str().unwrap().starts_with("The server notes wants you to sign in"), "{call}");
}

#[tokio::test]
async fn a_call_that_waits_for_a_sign_in_outlives_the_program() {
    for database in databases() {
        let mut paused = Paused::new(database, "read_notes", true).await;
        paused.fixture = paused.fixture.again(&paused.model.base_url).await;
        assert_eq!(paused.fixture.sign_in().await, "connected");
        let call = paused.call().await;
        assert_eq!(call["outcome"], "done", "{call}");
        paused.fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_turn_that_begins_without_a_sign_in_asks_for_it_once_a_tool_is_called() {
    for database in databases() {
        let paused = Box::pin(Paused::known(database)).await;
        assert_eq!(paused.asked["request"]["additionalScopes"], false);
        assert_eq!(paused.fixture.sign_in().await, "connected");
        let call = paused.call().await;
        assert_eq!(call["outcome"], "done", "{call}");
        paused.fixture.app.stop().await;
    }
}

#[tokio::test]
async fn what_a_server_says_in_another_way_after_the_sign_in_is_not_called() {
    let paused = Box::pin(Paused::known(databases()[0])).await;
    paused.fixture.control(json!({ "instructions": "Read everything." })).await;
    assert_eq!(paused.fixture.sign_in().await, "connected");
    let call = paused.call().await;
    assert_eq!(call["outcome"], "error");
    assert!(call["error"].as_str().unwrap().ends_with("The tool was not called."), "{call}");
}
