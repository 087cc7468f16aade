//! Temporary chats: everything works in them, and nothing of them is stored.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Database, MockClock, PageEvents, Person, ScriptedMcp, ScriptedModel, Step, TestApp, databases, run_sql};

/// Words in the message, in a call's arguments, in its result, and in the answer.
const WORDS: [&str; 4] = ["Sycorax", "Zerubbabel", "send is done", "quixotic"];
const MASTER_KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

struct Fixture {
    model: ScriptedModel,
    server: ScriptedMcp,
    app: TestApp,
    person: Person,
}

impl Fixture {
    async fn new(database: Database) -> Self {
        let model = ScriptedModel::start([]).await;
        let server = ScriptedMcp::start([json!({ "name": "send", "description": "Sends a letter." })]).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        person.connect_to("post", &server.url).await;
        Self { model, server, app, person }
    }

    /// Has a conversation with a message, an approved tool call, and an answer.
    async fn talk(&self, chat: &str) {
        self.model.push(Step::Calls(vec![("send".into(), json!({ "to": "Zerubbabel" }))]));
        self.model.push(Step::Text("A quixotic answer.".into()));
        let tools = json!([{ "name": "send", "serverName": "post" }]);
        let (status, waiting) = self.person.ask(chat, "Who was Sycorax?", tools).await;
        assert_eq!((status.as_u16(), &waiting["status"]), (200, &json!("waiting")), "{waiting}");
        let approval = &waiting["approvals"][0];
        assert_eq!(approval["arguments"], json!({ "to": "Zerubbabel" }));
        let before = self.server.calls().len();
        let decided = self.person.decide(chat, &approval["approvalId"], &json!({ "decision": "once" })).await;
        assert_eq!(decided.0, 200);
        self.person.follow(chat).await;
        while self.person.messages(chat).await.len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(self.server.calls().len(), before + 1);
    }

    /// Returns the words that the database contains anywhere.
    async fn found(&self) -> Vec<&'static str> {
        let everything = content(&self.app.folder, &self.app.database_url).await;
        WORDS.into_iter().filter(|word| everything.contains(word)).collect()
    }
}

/// Returns the content of all tables, for SQLite including deleted data in the file.
async fn content(folder: &TempDir, url: &str) -> String {
    if url.starts_with("postgres") {
        return run_sql(url, "SELECT database_to_xml(true, false, '')").await;
    }
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.filter(|path| path.is_file()).map(|path| std::fs::read(path).unwrap());
    texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

async fn open(person: &Person) -> String {
    let (status, opened) = person.post("/api/temporary-chats", &json!({})).await;
    assert_eq!(status, 201, "{opened}");
    opened["id"].as_str().unwrap().to_owned()
}

async fn look(person: &Person, chat: &str) -> u16 {
    person.request(Method::GET, &format!("/api/temporary-chats/{chat}")).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_temporary_chat_works_and_nothing_of_it_is_in_any_table() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let (person, stranger) = (&fixture.person, fixture.app.person().await);
        let chat = open(person).await;
        fixture.talk(&chat).await;
        let messages = person.messages(&chat).await;
        assert_eq!(messages[0]["content"], "Who was Sycorax?");
        assert_eq!(messages[1]["content"], "A quixotic answer.");
        assert_eq!(messages[1]["tool_calls"][0]["arguments"], json!({ "to": "Zerubbabel" }));

        // Like in any chat, the model gets the earlier messages, messages can be edited, and branches are kept.
        fixture.model.push(Step::Text("Another quixotic answer.".into()));
        let body = json!({ "message": "And Sycorax?", "sessionId": chat, "replaces": messages[0]["id"] });
        assert_eq!(person.post("/functions/v1/ai-chat", &body).await.0, 200);
        let forks = person.get(&format!("/api/sessions/{chat}/branches")).await;
        assert_eq!(forks["forks"][0]["branches"].as_array().map(Vec::len), Some(2), "{forks}");
        fixture.model.push(Step::Text("Less quixotic.".into()));
        assert_eq!(person.ask(&chat, "Go on", json!([])).await.0, 200);
        let read = fixture.model.requests().pop().unwrap()["messages"].to_string();
        assert!(read.contains("Another quixotic answer."), "{read}");

        // The chat is not found by a search, a list or an export, and not by another user.
        let search = person.get("/api/search?q=quixotic").await;
        assert_eq!((&search["chats"], &search["messages"]), (&json!([]), &json!([])));
        assert_eq!(person.get("/rest/v1/ai_chat_sessions").await, json!([]));
        assert!(!person.get("/api/account/export").await.to_string().contains("quixotic"));
        let share = person.post(&format!("/api/sessions/{chat}/shares"), &json!({ "tools": true })).await;
        assert_eq!(share.0, 404, "{}", share.1);
        assert!(stranger.messages(&chat).await.is_empty());
        assert_eq!((look(&stranger, &chat).await, look(person, &chat).await), (404, 204));
        assert_eq!(stranger.ask(&chat, "Hello?", json!([])).await.0, 404);
        assert_eq!(fixture.found().await, [""; 0], "while it goes on");

        let path = format!("/api/temporary-chats/{chat}");
        assert_eq!(stranger.request(Method::DELETE, &path).send().await.unwrap().status(), 404);
        assert_eq!(person.request(Method::DELETE, &path).send().await.unwrap().status(), 204);
        assert_eq!(look(person, &chat).await, 404);
        assert!(person.messages(&chat).await.is_empty());
        assert_eq!(person.ask(&chat, "Sycorax?", json!([])).await.0, 404);
        assert_eq!(fixture.found().await, [""; 0], "afterwards");

        // The same words of a stored chat are found, so the search works.
        let kept = person.new_chat().await;
        fixture.talk(&kept).await;
        assert_eq!(fixture.found().await, WORDS);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn what_is_always_allowed_in_a_temporary_chat_is_allowed_everywhere() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let chat = open(&fixture.person).await;
        let call = || Step::Calls(vec![("send".into(), json!({ "to": "Ada" }))]);
        let tools = || json!([{ "name": "send", "serverName": "post" }]);
        fixture.model.push(call());
        fixture.model.push(Step::Text("Sent.".into()));
        let (_, waiting) = fixture.person.ask(&chat, "Send it", tools()).await;
        let id = &waiting["approvals"][0]["approvalId"];
        assert_eq!(fixture.person.decide(&chat, id, &json!({ "decision": "always" })).await.0, 200);
        fixture.person.follow(&chat).await;
        fixture.model.push(call());
        fixture.model.push(Step::Text("Again.".into()));
        let kept = fixture.person.new_chat().await;
        let (_, answer) = fixture.person.ask(&kept, "Send it", tools()).await;
        assert_eq!((&answer["content"], &answer["status"]), (&json!("Again."), &json!("done")));
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn page_first_hears_of_turn_that_waits_in_temporary_chat() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let chat = open(&fixture.person).await;
        fixture.model.push(Step::Calls(vec![("send".into(), json!({ "to": "Ada" }))]));
        fixture.model.push(Step::Text("Not sent.".into()));
        let tools = json!([{ "name": "send", "serverName": "post" }]);
        let (_, waiting) = fixture.person.ask(&chat, "Send it", tools).await;
        let mut page = PageEvents::open(&fixture.person).await;
        let approval = json!({ "kind": "approval", "tool": "send" });
        assert_eq!(page.turn_event(&chat, "waiting").await["waitingFor"], approval);
        let approval = &waiting["approvals"][0]["approvalId"];
        fixture.person.decide(&chat, approval, &json!({ "decision": "deny" })).await;
        while page.turn_state(&chat).await != "ended" {}
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_temporary_chat_is_gone_with_its_process() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let chat = open(&fixture.person).await;
        fixture.talk(&chat).await;
        let Fixture { app, mut person, model, .. } = fixture;
        let (folder, url) = app.stop().await;
        let builder = TestApp::builder().database(database).on_data_of(&folder, &url);
        let again = builder.set("OPENAI_BASE_URL", &model.base_url).start().await;
        person.move_to(&again);
        assert_eq!(look(&person, &chat).await, 404);
        assert_eq!(person.ask(&chat, "Still there?", json!([])).await.0, 404);
        again.stop().await;
    }
}

#[tokio::test]
async fn nobody_has_many_and_those_that_are_left_behind_go() {
    let clock = MockClock::new();
    let app = TestApp::builder().clock(&clock).start().await;
    let person = app.person().await;
    let mut chats = Vec::new();
    for _ in 0..4 {
        chats.push(open(&person).await);
        clock.advance_seconds(1);
    }
    let mut there = Vec::new();
    for chat in &chats {
        there.push(look(&person, chat).await);
    }
    assert_eq!(there, [404, 204, 204, 204], "the oldest gives way");
    let owner = person.id.parse().unwrap();
    let left_after = |minutes: i64| {
        clock.advance_seconds(minutes * 60);
        app.state.turns.close_unused_temporary_chats();
        app.state.temporary.stores(owner).len()
    };
    assert_eq!(left_after(110), 3, "somebody may come back");
    assert_eq!(left_after(15), 0, "nobody did");
    app.state.turns.open_temporary_chat(owner).await.unwrap();
    app.state.accounts.remove_account(owner, &*app.state.account_deletion).await.unwrap();
    assert!(app.state.temporary.stores(owner).is_empty());
    app.stop().await;
}

#[tokio::test]
async fn several_nodes_have_no_temporary_chats_and_say_why() {
    if !databases().contains(&Database::Postgres) {
        return;
    }
    let node = || TestApp::builder().database(Database::Postgres).set("CHAT_MASTER_KEY", MASTER_KEY);
    let here = node().start().await;
    let person = here.person().await;
    open(&person).await;
    let folder = Arc::new(TempDir::new().unwrap());
    let there = node().on_data_of(&folder, &here.database_url).start().await;
    let (status, refused) = person.post("/api/temporary-chats", &json!({})).await;
    assert_eq!((status.as_u16(), &refused["error"]["code"]), (409, &json!("several_nodes")), "{refused}");
    there.stop().await;
    here.stop().await;
}

#[tokio::test]
async fn dropping_a_chat_ends_what_is_being_written_in_it() {
    let pace = std::time::Duration::from_millis(20);
    let model = ScriptedModel::start([Step::Words { count: 100_000, pace }]).await;
    let app = TestApp::builder().set("OPENAI_BASE_URL", &model.base_url).start().await;
    let person = app.person().await;
    let chat = open(&person).await;
    let mut stream = person.ask_streaming(&chat, "Go on", json!([])).await;
    assert!(stream.chunk().await.unwrap().is_some());
    let path = format!("/api/temporary-chats/{chat}");
    assert_eq!(person.request(Method::DELETE, &path).send().await.unwrap().status(), 204);
    let rest = stream.text().await.unwrap();
    assert!(rest.contains(r#""type":"abort""#), "{rest}");
    while model.open_streams() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    app.stop().await;
}

#[tokio::test]
async fn what_is_attached_to_a_temporary_chat_waits_in_memory_as_well() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        fixture.server.has_resource(json!({ "uri": "demo://1", "text": "Zerubbabel" }));
        let chat = open(&fixture.person).await;
        let connections: Value = fixture.person.get("/api/connections").await;
        let id = connections["connections"][0]["id"].as_str().unwrap();
        let wish = json!({ "resource": { "uri": "demo://1", "name": "one" }, "sessionId": chat });
        let (status, attached) = fixture.person.post(&format!("/api/connections/{id}/attachments"), &wish).await;
        assert_eq!(status, 200, "{attached}");
        let path = format!("/api/attachments/{}", attached["id"].as_str().unwrap());
        assert_eq!(fixture.person.get(&path).await["contents"][0]["text"], "Zerubbabel");
        assert_eq!(fixture.found().await, [""; 0]);
        fixture.model.push(Step::Text("Read.".into()));
        let body = json!({ "message": "Read it", "sessionId": chat, "attachments": [attached["id"]] });
        assert_eq!(fixture.person.post("/functions/v1/ai-chat", &body).await.0, 200);
        assert!(fixture.model.requests()[0]["messages"].to_string().contains("Zerubbabel"));
        assert_eq!(fixture.found().await, [""; 0]);
        fixture.app.stop().await;
    }
}
