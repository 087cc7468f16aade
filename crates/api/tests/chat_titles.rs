//! Titles of chats that the model proposes after the first answer.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Database, PageEvents, Person, ScriptedModel, Step, TestApp, databases};

const QUESTION: &str = "What should I see on a long weekend in Lisbon?";
const AUTOMATIC: &str = "What should I see on a long we...";

struct Fixture {
    model: ScriptedModel,
    app: TestApp,
    person: Person,
    chat: String,
}

impl Fixture {
    /// Starts a server with a user who wants proposed titles.
    async fn new(database: Database, steps: impl IntoIterator<Item = Step>) -> Self {
        Self::with_quota(database, steps, "").await
    }

    /// Likewise, with a daily quota of tokens.
    async fn with_quota(database: Database, steps: impl IntoIterator<Item = Step>, tokens: &str) -> Self {
        let model = ScriptedModel::start(steps).await;
        let app = TestApp::builder()
            .database(database)
            .set("OPENAI_BASE_URL", &model.base_url)
            .set("CHAT_TOKENS_PER_DAY", tokens)
            .start()
            .await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        want_titles(&person, true).await;
        Self { model, app, person, chat }
    }

    async fn title(&self) -> String {
        let rows = self.person.get(&format!("/rest/v1/ai_chat_sessions?select=title&id=eq.{}", self.chat)).await;
        rows[0]["title"].as_str().unwrap().to_owned()
    }

    /// Waits until the model has got this many requests.
    async fn wait_for_requests(&self, count: usize) {
        wait_until(async || self.model.requests().len() >= count).await;
    }

    /// Waits until this many model calls are recorded.
    async fn wait_for_calls(&self, count: u64) {
        wait_until(async || self.person.get("/api/usage").await["days"][0]["calls"] == count).await;
    }
}

async fn want_titles(person: &Person, propose_titles: bool) {
    let defaults = json!({ "model": null, "settings": {}, "proposeTitles": propose_titles });
    let answer = person.request(Method::PUT, "/api/model-defaults").json(&defaults).send().await.unwrap();
    assert_eq!(answer.json::<Value>().await.unwrap(), defaults);
    assert_eq!(person.get("/api/model-defaults").await, defaults);
}

async fn wait_until(is_done: impl AsyncFn() -> bool) {
    let wait = async {
        while !is_done().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait).await.unwrap();
}

fn text(text: &str) -> Step {
    Step::Text(text.to_owned())
}

#[tokio::test]
async fn model_names_chat_after_first_answer() {
    for database in databases() {
        let steps = [text("Alfama."), text("\"**A weekend in Lisbon**\"\n"), text("Sintra.")];
        let fixture = Fixture::new(database, steps).await;
        let (person, chat) = (&fixture.person, &fixture.chat);
        let mut page = PageEvents::open(person).await;
        let events = person.ask_for_events(chat, QUESTION, json!([])).await;
        assert!(format!("{events:?}").contains(AUTOMATIC), "the answer does not wait for the title: {events:?}");
        while page.turn_state(chat).await != "ended" {}
        // The end of the turn sends an event of the chat, too.
        for _ in 0..2 {
            page.find(|event| event["type"] == "session" && event["sessionId"] == json!(chat)).await.unwrap();
        }
        assert_eq!(fixture.title().await, "A weekend in Lisbon");

        let request = &fixture.model.requests()[1];
        assert_eq!((&request["model"], request.get("tools")), (&json!("scripted"), None));
        assert!(request["max_tokens"].as_u64().unwrap() <= 1_000, "{request}");
        let prompt = request["messages"][1]["content"].as_str().unwrap();
        assert!(prompt.contains(QUESTION) && prompt.contains("Alfama."), "{prompt}");

        // It is a call of the chat, and not of the answer.
        fixture.wait_for_calls(2).await;
        let answer = person.messages(chat).await.pop().unwrap();
        let path = format!("/api/sessions/{chat}/messages/{}/usage", answer["id"].as_str().unwrap());
        let usage = person.get(&path).await;
        assert_eq!((&usage["answer"]["calls"], &usage["chat"]["calls"]), (&json!(1), &json!(2)), "{usage}");

        person.ask(chat, "And in the afternoon?", json!([])).await;
        fixture.app.stop().await;
        assert_eq!(fixture.model.requests().len(), 3, "later answers change no title");
    }
}

#[tokio::test]
async fn keeps_automatic_title_unless_user_wants_another() {
    for database in databases() {
        let fixture = Fixture::new(database, [text("Alfama."), text("Sintra.")]).await;
        want_titles(&fixture.person, false).await;
        fixture.person.ask(&fixture.chat, QUESTION, json!([])).await;
        fixture.person.ask(&fixture.chat, "And in the afternoon?", json!([])).await;
        assert_eq!(fixture.title().await, AUTOMATIC);
        fixture.app.stop().await;
        assert_eq!(fixture.model.requests().len(), 2);
    }
}

#[tokio::test]
async fn title_of_user_stays() {
    for database in databases() {
        let steps = [text("Alfama."), Step::Slowly("A weekend in Lisbon".to_owned(), Duration::from_millis(100))];
        let fixture = Fixture::new(database, steps).await;
        fixture.person.ask(&fixture.chat, QUESTION, json!([])).await;
        fixture.wait_for_requests(2).await;
        let path = format!("/rest/v1/ai_chat_sessions?id=eq.{}", fixture.chat);
        let renamed = fixture.person.request(Method::PATCH, &path).json(&json!({ "title": "Trip" })).send().await;
        assert!(renamed.unwrap().status().is_success());
        fixture.wait_for_calls(2).await;
        let Fixture { app, mut person, chat, .. } = fixture;
        // Waits for the task that proposes the title.
        let (folder, url) = app.stop().await;
        let app = TestApp::builder().on_data_of(&folder, &url).start().await;
        person.move_to(&app);
        let rows = person.get(&format!("/rest/v1/ai_chat_sessions?select=title&id=eq.{chat}")).await;
        assert_eq!(rows[0]["title"], "Trip");
        app.stop().await;
    }
}

#[tokio::test]
async fn chat_renamed_during_answer_costs_no_call() {
    for database in databases() {
        let steps = [Step::Slowly("Alfama, then Belém.".to_owned(), Duration::from_millis(50)), text("Sintra.")];
        let fixture = Fixture::new(database, steps).await;
        let stream = fixture.person.ask_streaming(&fixture.chat, QUESTION, json!([])).await;
        let path = format!("/rest/v1/ai_chat_sessions?id=eq.{}", fixture.chat);
        let renamed = fixture.person.request(Method::PATCH, &path).json(&json!({ "title": "Trip" })).send().await;
        assert!(renamed.unwrap().status().is_success());
        stream.text().await.unwrap();
        fixture.person.ask(&fixture.chat, "And in the afternoon?", json!([])).await;
        assert_eq!(fixture.title().await, "Trip");
        fixture.app.stop().await;
        assert_eq!(fixture.model.requests().len(), 2);
    }
}

#[tokio::test]
async fn failed_proposal_keeps_automatic_title() {
    for database in databases() {
        for proposal in [Step::Status(400, "no".to_owned()), Step::BreakOff("A week".to_owned()), text(" \n**\n")] {
            let fixture = Fixture::new(database, [text("Alfama."), proposal]).await;
            fixture.person.ask(&fixture.chat, QUESTION, json!([])).await;
            fixture.wait_for_requests(2).await;
            // The next turn is not disturbed.
            fixture.model.push(text("Sintra."));
            let (status, answer) = fixture.person.ask(&fixture.chat, "And in the afternoon?", json!([])).await;
            assert_eq!((status.as_u16(), &answer["content"]), (200, &json!("Sintra.")), "{answer}");
            assert_eq!(fixture.title().await, AUTOMATIC);
            fixture.app.stop().await;
        }
    }
}

#[tokio::test]
async fn proposal_respects_quota() {
    for database in databases() {
        // An answer uses 130 tokens.
        let fixture = Fixture::with_quota(database, [text("Alfama.")], "100").await;
        fixture.person.ask(&fixture.chat, QUESTION, json!([])).await;
        assert_eq!(fixture.person.ask(&fixture.chat, "And in the afternoon?", json!([])).await.0, 429);
        assert_eq!(fixture.title().await, AUTOMATIC);
        fixture.app.stop().await;
        assert_eq!(fixture.model.requests().len(), 1);
    }
}

#[tokio::test]
async fn temporary_chat_gets_no_proposal() {
    let fixture = Fixture::new(Database::Sqlite, [text("Alfama."), text("Sintra.")]).await;
    let (status, opened) = fixture.person.post("/api/temporary-chats", &json!({})).await;
    assert!(status.is_success(), "{opened}");
    let chat = opened["id"].as_str().unwrap();
    fixture.person.ask(chat, QUESTION, json!([])).await;
    fixture.person.ask(chat, "And in the afternoon?", json!([])).await;
    fixture.app.stop().await;
    assert_eq!(fixture.model.requests().len(), 2);
}
