//! Another process that holds locks on what turns write.

use std::process::Stdio;
use std::time::Duration;

use testkit::{Database, ScriptedModel, Step, TestApp, databases};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

use super::{UNSTORED, ends_well, read_until, refuses_for_now, under_way, until_ready};

/// The other process. It releases the lock when the value is dropped.
struct Locker {
    _process: Child,
}

impl Locker {
    /// Acquires the lock, and returns when it is held.
    async fn of(database: Database, url: &str) -> Self {
        let (mut command, lock) = match database {
            Database::Sqlite => {
                let script = "import sqlite3, sys\n\
                    c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)\n\
                    c.execute('BEGIN EXCLUSIVE')\n\
                    print('locked', flush=True)\n\
                    sys.stdin.read()";
                let mut python = Command::new("python3");
                python.args(["-c", script, url.trim_start_matches("sqlite://")]);
                (python, "")
            }
            Database::Postgres => {
                let mut psql = Command::new("psql");
                psql.args([url, "--quiet", "--no-psqlrc", "--tuples-only"]);
                (psql, "BEGIN; LOCK TABLE ai_chat_messages, turn_journal IN ACCESS EXCLUSIVE MODE; SELECT 'locked';\n")
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
