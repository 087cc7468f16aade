//! Another process that holds locks on what turns write.

use std::process::Stdio;
use std::time::Duration;

use reqwest::{Method, Response, StatusCode};
use serde_json::json;
use testkit::{Database, Person, ScriptedModel, Step, TestApp, databases, run_sql};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

use super::{UNSTORED, ends_well, read_until, refuses_for_now, under_way, until_ready};

/// Time after which PostgreSQL ends a statement that waits for a lock, as the server sets it.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The other process. It releases the lock when the value is dropped.
struct Locker {
    _process: Child,
}

impl Locker {
    /// Locks what turns write, and returns when the lock is held.
    async fn of(database: Database, url: &str) -> Self {
        Self::of_tables(database, url, "ai_chat_messages, turn_journal").await
    }

    /// Locks these tables, or all of SQLite.
    async fn of_tables(database: Database, url: &str, tables: &str) -> Self {
        let (mut command, lock) = match database {
            Database::Sqlite => {
                let script = "import sqlite3, sys\n\
                    c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)\n\
                    c.execute('BEGIN EXCLUSIVE')\n\
                    print('locked', flush=True)\n\
                    sys.stdin.read()";
                let mut python = Command::new("python3");
                python.args(["-c", script, url.trim_start_matches("sqlite://")]);
                (python, String::new())
            }
            Database::Postgres => {
                let mut psql = Command::new("psql");
                psql.args([url, "--quiet", "--no-psqlrc", "--tuples-only"]);
                (psql, format!("BEGIN; LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE; SELECT 'locked';\n"))
            }
        };
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        process.stdin.as_mut().unwrap().write_all(lock.as_bytes()).await.unwrap();
        let mut told = BufReader::new(process.stdout.as_mut().unwrap()).lines();
        while !told.next_line().await.unwrap().expect("the lock is acquired").contains("locked") {}
        Self { _process: process }
    }
}

#[tokio::test]
async fn a_turn_outlives_a_lock_of_another_program() {
    for database in databases() {
        let model = ScriptedModel::start([Step::Words { count: 40, pace: Duration::from_millis(30) }]).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let (chat, other) = (person.new_chat().await, person.new_chat().await);
        let (mut stream, mut told) = under_way(&person, &chat).await;
        let locker = Locker::of(database, &app.database_url).await;
        until_ready(&app, 503).await;
        refuses_for_now(&person, &other).await;
        read_until(&mut stream, &mut told, UNSTORED).await;
        drop(locker);
        ends_well(&person, &chat, stream, told, 40).await;
        until_ready(&app, 200).await;
        assert!(person.messages(&other).await.is_empty(), "what was refused is not there");
        app.stop().await;
    }
}

/// Waits for the stream of a chat's turn.
async fn stream_of(person: &Person, chat: &str) -> Response {
    loop {
        let stream = person.request(Method::GET, &format!("/api/sessions/{chat}/stream")).send().await.unwrap();
        if stream.status() == StatusCode::OK {
            return stream;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn the_stream_of_a_turn_that_could_not_be_stored_ends() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let locker = Locker::of(database, &app.database_url).await;
        let (stream, ()) = tokio::join!(stream_of(&person, &chat), refuses_for_now(&person, &chat));
        let told = tokio::time::timeout(Duration::from_secs(10), stream.text()).await;
        assert_eq!(told.expect("the stream ends").unwrap(), "", "nothing happened, not even an end");
        drop(locker);
        app.stop().await;
    }
}

#[tokio::test]
async fn a_turn_whose_client_leaves_while_it_is_stored_runs() {
    for database in databases() {
        let model = ScriptedModel::start([Step::Text("Hello.".to_owned()), Step::Text("Again.".to_owned())]).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let locker = Locker::of(database, &app.database_url).await;
        let body = json!({ "message": "Hi", "sessionId": chat });
        let request = person.request(Method::POST, "/functions/v1/ai-chat").json(&body);
        let request = request.timeout(Duration::from_millis(300)).send();
        let (left, stream) = tokio::join!(request, stream_of(&person, &chat));
        assert!(left.unwrap_err().is_timeout());
        drop(locker);
        let told = tokio::time::timeout(Duration::from_secs(10), stream.text()).await;
        assert!(told.expect("the turn ends").unwrap().contains("Hello."));
        let (status, answer) = person.ask(&chat, "And now?", json!([])).await;
        assert_eq!((status, &answer["content"]), (StatusCode::OK, &json!("Again.")));
        app.stop().await;
    }
}

/// Waits until a statement waits for the lock of the queue (`t`), or none does (`f`).
async fn until_queue_reader(database_url: &str, is_waiting: &str) {
    const QUERY: &str =
        "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = 'queued_messages'::regclass";
    while run_sql(database_url, QUERY).await.trim() != is_waiting {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn an_outage_after_the_end_of_a_turn_delays_the_next_message() {
    if !databases().contains(&Database::Postgres) {
        return;
    }
    let steps = [Step::Words { count: 200, pace: Duration::from_millis(30) }, Step::Text("The end.".into())];
    let model = ScriptedModel::start(steps).await;
    let builder = TestApp::builder().database(Database::Postgres);
    let app = builder.set("OPENAI_BASE_URL", &model.base_url).start().await;
    let person = app.person().await;
    let chat = person.new_chat().await;
    let (stream, mut told) = under_way(&person, &chat).await;
    let next = json!({ "message": "And then?", "sessionId": chat });
    let (status, _) = person.post(&format!("/api/sessions/{chat}/queue"), &next).await;
    assert_eq!(status, StatusCode::CREATED);
    let locker = Locker::of_tables(Database::Postgres, &app.database_url, "queued_messages").await;
    told.push_str(&stream.text().await.unwrap());
    assert!(told.contains(r#""type":"finish""#), "the turn ends without the queue: {told}");
    // The statement that reads the queue waits for the lock, and ends with an error.
    for is_waiting in ["t", "f"] {
        until_queue_reader(&app.database_url, is_waiting).await;
    }
    assert_eq!(person.messages(&chat).await.len(), 2);
    drop(locker);
    let answered = async {
        while person.messages(&chat).await.last().unwrap()["content"] != "The end." {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(tokio::time::timeout(LOCK_TIMEOUT * 2, answered).await.is_ok(), "the queued message is never sent");
    app.stop().await;
}
