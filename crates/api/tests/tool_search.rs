//! More tools than fit a model's context: the model searches, and nothing else changes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use testkit::{Database, Person, ScriptedMcp, ScriptedModel, Step, TestApp, databases};

/// Returns tools with a description of some length, and one that differs.
fn tools(count: usize) -> Vec<Value> {
    let about = "Turns one of many widgets, as far as it can be turned, and says how far that was.";
    let mut tools: Vec<Value> =
        (0..count).map(|number| json!({ "name": format!("widget_{number}"), "description": about })).collect();
    tools.insert(count / 2, json!({ "name": "open_ticket", "description": "Opens a ticket." }));
    tools
}

struct Fixture {
    model: ScriptedModel,
    server: ScriptedMcp,
    app: TestApp,
    person: Person,
    connection: String,
    chat: String,
    choice: Value,
}

impl Fixture {
    async fn new(database: Database, count: usize, steps: Vec<Step>) -> Self {
        Self::with_settings(database, count, steps, &[]).await
    }

    async fn with_settings(database: Database, count: usize, steps: Vec<Step>, settings: &[(&str, &str)]) -> Self {
        let model = ScriptedModel::start(steps).await;
        let server = ScriptedMcp::start(tools(count)).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url);
        let app = settings.iter().fold(app, |app, (name, value)| app.set(name, *value)).start().await;
        let person = app.person().await;
        let connection = person.connect_to("factory", &server.url).await;
        let chat = person.new_chat().await;
        let choose = |tool: Value| json!({ "name": tool["name"], "serverName": "factory" });
        let choice = tools(count).into_iter().map(choose).collect();
        Self { model, server, app, person, connection, chat, choice }
    }

    /// Returns the tools in each request to the model.
    fn offered(&self) -> Vec<Vec<String>> {
        let names = |request: &Value| {
            let tools = request["tools"].as_array().unwrap();
            tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
        };
        self.model.requests().iter().map(names).collect()
    }
}

fn one(name: &str, arguments: Value) -> Step {
    Step::Calls(vec![(name.into(), arguments)])
}

#[tokio::test]
async fn a_model_searches_asks_for_details_and_calls_what_it_found_with_permission() {
    for database in databases() {
        let steps = vec![
            one("search_tools", json!({ "query": "ticket" })),
            one("get_tool_details", json!({ "names": ["widget_7"] })),
            one("open_ticket", json!({})),
            Step::Text("Opened.".into()),
        ];
        let fixture = Fixture::new(database, 1_000, steps).await;
        let (_, waiting) = fixture.person.ask(&fixture.chat, "The door is broken", fixture.choice.clone()).await;
        assert_eq!(waiting["status"], "waiting", "what was found asks as everything does: {waiting}");
        assert!(fixture.server.calls().is_empty());
        let approval = &waiting["approvals"][0];
        assert_eq!((&approval["name"], &approval["serverName"]), (&json!("open_ticket"), &json!("factory")));
        fixture.person.decide(&fixture.chat, &approval["approvalId"], &json!({ "decision": "once" })).await;
        fixture.person.follow(&fixture.chat).await;

        let own = ["search_tools", "get_tool_details"];
        let offered = fixture.offered();
        assert_eq!(offered[0], own);
        assert_eq!(offered[1], [own[0], own[1], "open_ticket"]);
        assert_eq!(offered[2], [own[0], own[1], "open_ticket", "widget_7"]);
        assert_eq!(offered[3], offered[2]);
        let answer = fixture.person.messages(&fixture.chat).await.pop().unwrap();
        let calls = answer["tool_calls"].as_array().unwrap();
        let said = calls[0]["result"]["content"][0]["text"].as_str().unwrap();
        assert!(said.contains("- open_ticket (factory): Opens a ticket."), "{said}");
        assert_eq!((&calls[0]["serverName"], &calls[2]["outcome"]), (&json!(""), &json!("done")));
        assert_eq!(fixture.server.calls().len(), 1);
        let audit = fixture.person.get("/api/tools/audit").await;
        assert_eq!(audit["calls"][0]["tool"], "open_ticket", "looking through the list is no call of a tool");

        // In the next turn, the called tool is offered from the beginning.
        fixture.model.push(Step::Text("Yes.".into()));
        fixture.person.ask(&fixture.chat, "Is it open?", fixture.choice.clone()).await;
        assert_eq!(*fixture.offered().last().unwrap(), [own[0], own[1], "open_ticket"]);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_tool_that_the_person_names_is_offered_at_once_and_a_forbidden_one_does_not_run() {
    let steps = vec![one("widget_321", json!({})), Step::Text("It may not.".into())];
    let fixture = Fixture::new(Database::of_environment(), 1_000, steps).await;
    assert_eq!(fixture.person.allow(&fixture.connection, "widget_321", "never").await.0, 200);
    let (_, answer) =
        fixture.person.ask(&fixture.chat, "Use the widget_321 tool to turn it", fixture.choice.clone()).await;
    assert_eq!(fixture.offered()[0][2..], ["widget_321"]);
    assert_eq!(answer["toolCalls"][0]["outcome"], "denied");
    assert!(fixture.server.calls().is_empty());
    fixture.app.stop().await;
}

#[tokio::test]
async fn few_tools_are_given_whole_and_there_is_nothing_to_search() {
    let steps = vec![one("search_tools", json!({ "query": "x" })), Step::Text("No.".into())];
    let fixture = Fixture::new(Database::of_environment(), 20, steps).await;
    let (_, answer) = fixture.person.ask(&fixture.chat, "Hello", fixture.choice.clone()).await;
    assert_eq!(fixture.offered()[0].len(), 21);
    assert_eq!(answer["toolCalls"][0]["error"], "There is no tool called search_tools.");
    fixture.app.stop().await;
}

#[tokio::test]
async fn ten_thousand_tools_are_chosen_from_in_one_turn() {
    let steps = vec![one("search_tools", json!({ "query": "ticket" })), Step::Text("Found.".into())];
    let fixture = Fixture::new(Database::of_environment(), 10_000, steps).await;
    let (status, answer) = fixture.person.ask(&fixture.chat, "The door is broken", fixture.choice.clone()).await;
    assert_eq!((status.as_u16(), &answer["content"]), (200, &json!("Found.")));
    let said = answer["toolCalls"][0]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.starts_with("1 of 10001 tools fit"), "{said}");
    fixture.app.stop().await;
}

#[tokio::test]
async fn searches_only_where_definitions_exceed_the_context() {
    for (context, searches) in [(200_000, false), (8_000, true)] {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("models.json");
        let facts = json!({ "name": "scripted", "context": context, "tools": true });
        let known = json!({ "date": "2026-11-20", "providers": [{ "hosts": ["127.0.0.1"], "models": [facts] }] });
        std::fs::write(&file, known.to_string()).unwrap();
        let settings = [("CHAT_MODEL_CATALOGUE", file.to_str().unwrap())];
        // The definitions are about 10,000 tokens.
        let steps = vec![Step::Text("Hello.".into())];
        let fixture = Fixture::with_settings(Database::of_environment(), 300, steps, &settings).await;
        fixture.person.ask(&fixture.chat, "Hello", fixture.choice.clone()).await;
        let expected = if searches { 2 } else { 301 };
        assert_eq!(fixture.offered()[0].len(), expected, "context of {context} tokens");
        fixture.app.stop().await;
    }
}
