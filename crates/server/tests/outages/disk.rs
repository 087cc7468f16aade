//! A full disk. A process that may not extend its files gets the same error from the system.

use std::time::Duration;

use serde_json::json;
use testkit::{Database, Person, ScriptedModel, Step, TestApp, databases, http_client, run_sql};

use super::{UNSTORED, ends_well, read_until, refuses_for_now, under_way, until_ready};
use crate::program::Program;

/// Page size of SQLite, in bytes.
const PAGE: u64 = 4096;

/// Statement that attaches a function to everything that extends PostgreSQL's files. Replacing the function later
/// needs no lock on any table, which would have to wait, and could deadlock with the server.
const WATCH: &str = "DO $$ DECLARE one text; BEGIN
    FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
    EXECUTE format('CREATE TRIGGER watched BEFORE INSERT OR UPDATE ON %I EXECUTE FUNCTION watched()', one);
    END LOOP; END $$";

/// Returns the statement that sets what the function does.
fn watched(what: &str) -> String {
    format!("CREATE OR REPLACE FUNCTION watched() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {what} END $$")
}

#[tokio::test]
async fn a_turn_outlives_a_full_disk() {
    let model = ScriptedModel::start([Step::Words { count: 60, pace: Duration::from_millis(30) }]).await;
    let program = Program::start(&model.base_url, &[]);
    program.until_ready(200).await;
    let person = Person::sign_up_at(&program.url, &http_client()).await;
    let (chat, other) = (person.new_chat().await, person.new_chat().await);
    let (mut stream, mut told) = under_way(&person, &chat).await;
    // Not even the first page fits, should the database restart its log.
    program.limit_files(Some(PAGE));
    program.until_ready(503).await;
    refuses_for_now(&person, &other).await;
    read_until(&mut stream, &mut told, UNSTORED).await;
    let rows = person.get("/rest/v1/ai_chat_sessions?select=id").await;
    assert_eq!(rows.as_array().unwrap().len(), 2, "what is there can be read");
    program.limit_files(None);
    ends_well(&person, &chat, stream, told, 60).await;
    program.until_ready(200).await;
    let (status, _) = person.post("/functions/v1/ai-chat", &json!({ "message": "Hi", "sessionId": chat })).await;
    assert_eq!(status, 502, "the model is asked again: its script is at its end");
}

#[tokio::test]
async fn a_turn_outlives_a_full_disk_of_the_database_server() {
    outlives_refusals("could not extend file: No space left on device", "disk_full").await;
}

#[tokio::test]
async fn a_turn_outlives_deadlocks_in_the_database_server() {
    outlives_refusals("deadlock detected", "deadlock_detected").await;
}

/// Lets PostgreSQL reject writes with this message and code, checks that the server survives, and allows writes
/// again.
async fn outlives_refusals(words: &str, code: &str) {
    for database in databases().into_iter().filter(|database| *database == Database::Postgres) {
        let model = ScriptedModel::start([Step::Words { count: 60, pace: Duration::from_millis(30) }]).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        run_sql(&app.database_url, &watched("RETURN NEW;")).await;
        run_sql(&app.database_url, WATCH).await;
        let person = app.person().await;
        let (chat, other) = (person.new_chat().await, person.new_chat().await);
        let (mut stream, mut told) = under_way(&person, &chat).await;
        run_sql(&app.database_url, &watched(&format!("RAISE EXCEPTION '{words}' USING ERRCODE = '{code}';"))).await;
        until_ready(&app, 503).await;
        refuses_for_now(&person, &other).await;
        read_until(&mut stream, &mut told, UNSTORED).await;
        let rows = person.get("/rest/v1/ai_chat_sessions?select=id").await;
        assert_eq!(rows.as_array().unwrap().len(), 2, "what is there can be read");
        run_sql(&app.database_url, &watched("RETURN NEW;")).await;
        ends_well(&person, &chat, stream, told, 60).await;
        until_ready(&app, 200).await;
        app.stop().await;
    }
}
