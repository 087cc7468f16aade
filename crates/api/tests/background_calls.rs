//! Tool calls that run as tasks of their server: shown, stopped, and resumed after a restart.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Database, Person, ScriptedMcp, ScriptedModel, Step, StreamEvent, TestApp, databases, events_of};

/// A user with a connection to a server with a slow tool, and a model that calls it.
struct Fixture {
    model: ScriptedModel,
    server: ScriptedMcp,
    app: TestApp,
    person: Person,
    chat: String,
}

/// Timeout, far longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(30);

fn calls(count: usize) -> Step {
    Step::Calls((0..count).map(|number| ("dig".into(), json!({ "depth": number }))).collect())
}

impl Fixture {
    async fn new(database: Database, count: usize) -> Self {
        let model = ScriptedModel::start([calls(count), Step::Text("Dug.".into())]).await;
        let server = ScriptedMcp::start([json!({ "name": "dig", "execution": { "taskSupport": "optional" } })]).await;
        server.say("Digging");
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let connection = person.connect_to("mine", &server.url).await;
        assert_eq!(person.allow(&connection, "dig", "always").await.0, 200);
        let chat = person.new_chat().await;
        Self { model, server, app, person, chat }
    }

    /// Sends a message, and reads until this number of calls are reported as tasks.
    async fn begin(&self, count: usize) -> (reqwest::Response, String) {
        let tools = json!([{ "name": "dig", "serverName": "mine" }]);
        let answer = self.person.ask_streaming(&self.chat, "Dig", tools).await;
        read_until(answer, |seen| kind_count(seen, "data-mcp-task") >= count).await
    }

    async fn last_answer(&self) -> Value {
        self.person.messages(&self.chat).await.pop().unwrap()
    }

    /// Returns the assistant's message as soon as it is stored.
    async fn answered(&self) -> Value {
        tokio::time::timeout(PATIENCE, self.person.follow(&self.chat)).await.unwrap();
        self.last_answer().await
    }

    async fn post(&self, what: &str) -> Value {
        self.person.post(&format!("/api/sessions/{}/{what}", self.chat), &json!({})).await.1
    }

    /// Returns the outcomes of the calls as soon as this number of them is in the audit log.
    async fn audit(&self, count: usize) -> Vec<String> {
        loop {
            let list = self.person.get("/api/tools/audit").await;
            let calls = list["calls"].as_array().unwrap();
            if calls.len() >= count {
                return calls.iter().map(|call| call["outcome"].as_str().unwrap().to_owned()).collect();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Restarts the server on the same data.
    async fn again(self) -> Self {
        let Self { model, server, app, mut person, chat } = self;
        let (folder, database) = app.stop().await;
        let settings = TestApp::builder().on_data_of(&folder, &database).set("OPENAI_BASE_URL", &model.base_url);
        let app = settings.start().await;
        person.move_to(&app);
        Self { model, server, app, person, chat }
    }
}

async fn read_until(mut answer: reqwest::Response, enough: impl Fn(&str) -> bool) -> (reqwest::Response, String) {
    let mut seen = String::new();
    while !enough(&seen) {
        let piece = tokio::time::timeout(PATIENCE, answer.chunk()).await.unwrap().unwrap();
        seen.push_str(&String::from_utf8_lossy(&piece.unwrap()));
    }
    (answer, seen)
}

fn kind_count(seen: &str, kind: &str) -> usize {
    seen.matches(&format!(r#""type":"{kind}""#)).count()
}

fn outcomes(answer: &Value) -> Vec<&str> {
    answer["tool_calls"].as_array().unwrap().iter().map(|call| call["outcome"].as_str().unwrap()).collect()
}

fn first<'a>(events: &'a [StreamEvent], kind: &str) -> &'a Value {
    &events.iter().find(|event| event.kind() == kind).unwrap().data
}

#[tokio::test]
async fn a_long_call_is_told_as_such_and_gives_its_result() {
    for database in databases() {
        let fixture = Fixture::new(database, 1).await;
        let (answer, seen) = fixture.begin(1).await;
        fixture.server.say("Nearly there");
        let (answer, more) = read_until(answer, |seen| seen.contains("Nearly there")).await;
        fixture.server.finish_tasks();
        let events = events_of(&(seen + &more + &answer.text().await.unwrap()));
        let task = first(&events, "data-mcp-task");
        assert_eq!((&task["data"]["message"], &task["transient"]), (&json!("Digging"), &json!(false)));
        assert_eq!(task["id"], first(&events, "tool-input-start")["toolCallId"]);
        assert!(task["data"]["startedAt"].is_string() && task["data"].get("id").is_none(), "{task}");
        let answer = fixture.last_answer().await;
        assert_eq!((outcomes(&answer), &answer["content"]), (vec!["done"], &json!("Dug.")));
        assert_eq!(answer["tool_calls"][0]["result"]["content"][0]["text"], "task-1 is done");
        assert_eq!(fixture.audit(1).await, ["done"]);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn one_call_is_cancelled_and_the_turn_goes_on_with_the_other() {
    for database in databases() {
        let fixture = Fixture::new(database, 2).await;
        let (answer, seen) = fixture.begin(2).await;
        let events = events_of(&seen);
        let id = first(&events, "tool-input-start")["toolCallId"].as_str().unwrap();
        assert_eq!(fixture.post(&format!("calls/{id}/cancel")).await, json!({ "cancelled": true }));
        let (_answer, _) = read_until(answer, |seen| kind_count(seen, "tool-output-error") == 1).await;
        assert_eq!(fixture.post(&format!("calls/{id}/cancel")).await, json!({ "cancelled": false }), "it has ended");
        fixture.server.finish_tasks();
        let answer = fixture.answered().await;
        assert_eq!((outcomes(&answer), &answer["content"]), (vec!["stopped", "done"], &json!("Dug.")));
        assert_eq!(fixture.server.cancelled_tasks().len(), 1);
        let mut audit = fixture.audit(2).await;
        audit.sort_unstable();
        assert_eq!(audit, ["done", "stopped"]);
        let stranger = fixture.app.person().await;
        let path = format!("/api/sessions/{}/calls/{id}/cancel", fixture.chat);
        assert_eq!(stranger.post(&path, &json!({})).await.0, 404);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn stop_reaches_the_server_of_a_long_call() {
    let fixture = Fixture::new(Database::of_environment(), 1).await;
    fixture.begin(1).await;
    assert_eq!(fixture.post("stop").await, json!({ "stopped": true }));
    assert_eq!(fixture.answered().await["status"], "stopped");
    while fixture.server.cancelled_tasks().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    fixture.app.stop().await;
}

#[tokio::test]
async fn a_long_call_outlives_the_program_and_is_not_made_again() {
    for database in databases() {
        let fixture = Fixture::new(database, 2).await;
        let (answer, seen) = fixture.begin(2).await;
        let fixture = fixture.again().await;
        assert!(!answer.text().await.unwrap().contains("[DONE]"), "its viewers are not told that it is over");
        assert_eq!(fixture.last_answer().await["role"], "user", "the answer is not over");
        // After a reload, the call is shown as running since its start, and can be stopped.
        let path = format!("/api/sessions/{}/stream", fixture.chat);
        let viewer = fixture.person.request(reqwest::Method::GET, &path).send().await.unwrap();
        let (_viewer, again) = read_until(viewer, |seen| kind_count(seen, "data-mcp-task") >= 2).await;
        let began = |seen: &str| first(&events_of(seen), "data-mcp-task")["data"]["startedAt"].clone();
        assert_eq!(began(&again), began(&seen));
        let id = first(&events_of(&seen), "tool-input-start")["toolCallId"].as_str().unwrap().to_owned();
        while fixture.post(&format!("calls/{id}/cancel")).await != json!({ "cancelled": true }) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        while fixture.server.cancelled_tasks().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        fixture.server.finish_tasks();
        let answer = fixture.answered().await;
        assert_eq!((outcomes(&answer), &answer["content"]), (vec!["stopped", "done"], &json!("Dug.")));
        assert_eq!(fixture.server.calls().len(), 2, "no call was made again");
        let mut audit = fixture.audit(2).await;
        audit.sort_unstable();
        assert_eq!(audit, ["done", "stopped"], "each call stands there once");
        let roles: Vec<Value> = fixture.model.requests()[1]["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|said| said["role"].clone())
            .collect();
        assert_eq!(json!(roles), json!(["system", "user", "assistant", "tool", "tool"]));
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_kill_loses_no_long_call() {
    let fixture = Fixture::new(Database::Sqlite, 1).await;
    fixture.begin(1).await;
    let turns = &fixture.app.state.turns;
    let turn = turns.find(fixture.person.id.parse().unwrap(), fixture.chat.parse().unwrap()).unwrap();
    assert!(turns.journal().flush(turn.id).await);
    // After a kill, the database has what it has now.
    let copy = fixture.app.folder.path().join("killed.db");
    let from = fixture.app.folder.path().join("test.db");
    for ending in ["", "-wal"] {
        std::fs::copy(format!("{}{ending}", from.display()), format!("{}{ending}", copy.display())).unwrap();
    }
    let settings = TestApp::builder().set("OPENAI_BASE_URL", &fixture.model.base_url);
    let revived = settings.on_data_of(&fixture.app.folder, &format!("sqlite://{}", copy.display())).start().await;
    fixture.model.push(Step::Text("Dug.".into()));
    fixture.server.finish_tasks();
    let mut person = fixture.person.clone();
    person.move_to(&revived);
    tokio::time::timeout(PATIENCE, person.follow(&fixture.chat)).await.unwrap();
    let answer = person.messages(&fixture.chat).await.pop().unwrap();
    assert_eq!((outcomes(&answer), &answer["status"]), (vec!["done"], &json!("done")));
    assert_eq!(fixture.server.calls().len(), 1);
    revived.stop().await;
    fixture.app.stop().await;
}

#[tokio::test]
async fn a_task_that_its_server_forgot_has_an_unknown_outcome() {
    for database in databases() {
        let fixture = Fixture::new(database, 1).await;
        fixture.begin(1).await;
        let fixture = fixture.again().await;
        fixture.server.forget_tasks();
        let answer = fixture.answered().await;
        assert_eq!((outcomes(&answer), &answer["status"]), (vec!["unknown"], &json!("done")));
        let said = "The server mine no longer knows the task.";
        assert_eq!(answer["tool_calls"][0]["error"], said);
        assert!(fixture.model.requests()[1].to_string().contains(said), "the model knows");
        assert_eq!(fixture.audit(1).await, ["unknown"]);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_server_that_is_away_for_a_while_is_waited_for() {
    let fixture = Fixture::new(Database::of_environment(), 1).await;
    fixture.begin(1).await;
    fixture.server.is_away(true);
    tokio::time::sleep(Duration::from_millis(600)).await;
    fixture.server.finish_tasks();
    fixture.server.is_away(false);
    assert_eq!(outcomes(&fixture.answered().await), ["done"]);
    assert_eq!(fixture.server.calls().len(), 1);
    fixture.app.stop().await;
}
