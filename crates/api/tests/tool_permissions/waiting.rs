//! Turns that wait for an approval: followed again, stopped, and resumed after a restart.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Database, Step, StreamEvent, TestApp, databases, events_of, run_sql};

use crate::tool_permissions::{Fixture, call_of_send, choice};

#[tokio::test]
async fn stop_ends_a_turn_that_waits_and_nothing_can_be_decided_any_more() {
    for database in databases() {
        let fixture = Fixture::new(database, [call_of_send()]).await;
        let waiting = fixture.ask().await;
        let (_, stopped) = fixture.person.post(&format!("/api/sessions/{}/stop", fixture.chat), &json!({})).await;
        assert_eq!(stopped, json!({ "stopped": true }));
        let answer = fixture.answered().await;
        assert_eq!((&answer["status"], &answer["tool_calls"][0]["outcome"]), (&json!("stopped"), &json!("stopped")));
        let (status, refused) = fixture.decide(&waiting[0], json!({ "decision": "once" })).await;
        assert_eq!((status, &refused["error"]["code"]), (409, &json!("turn_ended")));
        assert!(fixture.server.calls().is_empty());
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn who_comes_later_sees_the_question() {
    let fixture = Fixture::new(databases()[0], [call_of_send(), Step::Text("Sent.".into())]).await;
    let waiting = fixture.ask().await;
    let path = format!("/api/sessions/{}/stream", fixture.chat);
    let mut tabs = Vec::new();
    for _ in 0..2 {
        let mut tab = fixture.person.request(Method::GET, &path).send().await.unwrap();
        let mut seen = String::new();
        while !seen.contains("tool-approval-request") {
            seen.push_str(&String::from_utf8_lossy(&tab.chunk().await.unwrap().unwrap()));
        }
        tabs.push((tab, seen));
    }
    fixture.decide(&waiting[0], json!({ "decision": "deny" })).await;
    for (tab, seen) in tabs {
        let events = events_of(&(seen + &tab.text().await.unwrap()));
        let of = |kind: &str| events.iter().find(|event| event.kind() == kind).unwrap().data.clone();
        assert_eq!(of("tool-approval-request")["approvalId"], waiting[0]["approvalId"]);
        assert_eq!(of("tool-approval-response")["approved"], false);
        assert_eq!(of("tool-output-denied")["toolCallId"], waiting[0]["toolCallId"]);
        assert_eq!(events[events.len() - 2].kind(), "finish");
    }
}

/// Restarts the server on the same data, and returns the events of the turn.
pub async fn again(fixture: Fixture) -> (Fixture, Vec<StreamEvent>) {
    again_after(fixture, &[]).await
}

/// Like [`again`], after these statements were run in between.
async fn again_after(fixture: Fixture, statements: &[&str]) -> (Fixture, Vec<StreamEvent>) {
    let Fixture { model, server, app, mut person, connection, chat } = fixture;
    let path = format!("/api/sessions/{chat}/stream");
    let viewer = person.request(Method::GET, &path).send().await.unwrap();
    let (folder, database) = app.stop().await;
    let seen = viewer.text().await.unwrap();
    assert!(!seen.contains("[DONE]"), "its viewers are not told that it is over");
    for statement in statements {
        run_sql(&database, statement).await;
    }
    let settings = TestApp::builder().on_data_of(&folder, &database).set("OPENAI_BASE_URL", &model.base_url);
    let app = settings.start().await;
    person.move_to(&app);
    (Fixture { model, server, app, person, connection, chat }, events_of(&seen))
}

#[tokio::test]
async fn a_question_survives_the_end_of_the_program_and_can_be_answered_afterwards() {
    for database in databases() {
        let calls = Step::Calls(vec![("send".into(), json!({ "to": "Ada" })), ("send".into(), json!({ "to": "Bob" }))]);
        let fixture = Fixture::new(database, [calls, Step::Text("Both are settled.".into())]).await;
        let waiting = fixture.ask().await;
        let of = |to: &str| waiting.as_array().unwrap().iter().find(|call| call["arguments"]["to"] == to).unwrap();
        let (fixture, seen) = again(fixture).await;
        assert_eq!(fixture.last_answer().await["role"], "user", "the answer is not over");
        let last = seen.iter().filter_map(|event| event.id).max().unwrap();

        let path = format!("/api/sessions/{}/stream?after={last}", fixture.chat);
        let rest = fixture.person.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(fixture.decide(of("Bob"), json!({ "decision": "deny" })).await.0, 200);
        let changed = json!({ "to": "Ada Lovelace" });
        assert_eq!(fixture.decide(of("Ada"), json!({ "decision": "once", "arguments": changed })).await.0, 200);
        let rest = events_of(&rest.text().await.unwrap());
        assert!(rest[0].id > Some(last + 1000), "it goes on after all that can have been seen");
        let whole: Vec<Value> = seen.iter().chain(&rest).map(|event| event.data.clone()).collect();
        let count = |kind: &str| whole.iter().filter(|chunk| chunk["type"] == kind).count();
        assert_eq!((count("tool-approval-request"), count("tool-approval-response"), count("finish")), (2, 2, 1));

        let answer = fixture.last_answer().await;
        assert_eq!((&answer["content"], &answer["status"]), (&json!("Both are settled."), &json!("done")));
        assert_eq!(answer["tool_calls"][0]["arguments"], changed);
        assert_eq!(
            (&answer["tool_calls"][0]["outcome"], &answer["tool_calls"][1]["outcome"]),
            (&json!("done"), &json!("denied"))
        );
        assert_eq!(fixture.server.calls(), [("send".to_owned(), changed)]);
        let asked = fixture.model.requests()[1]["messages"].clone();
        let roles: Vec<&str> =
            asked.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"], "the model reads what it would have read");
        fixture.app.stop().await;
    }
}

/// Makes SQLite take some 20 ms to store that a turn no longer waits.
const SLOW_END_OF_WAIT: &str =
    "CREATE TRIGGER slow_end_of_wait AFTER UPDATE OF is_waiting ON turns WHEN NEW.is_waiting = 0
    BEGIN SELECT COUNT(*) FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
    SELECT i FROM n); END";

/// Many calls are denied at once, by more threads than there are cores, so that some turns end while it is being stored
/// that they no longer wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn turns_that_end_while_their_wait_is_stored_release_the_writer() {
    const TURNS: usize = 50;
    let fixture = Fixture::new(Database::Sqlite, (0..TURNS).map(|_| call_of_send())).await;
    let mut waiting = Vec::new();
    for _ in 0..TURNS {
        let person = fixture.app.person().await;
        person.connect_to("post", &fixture.server.url).await;
        let chat = person.new_chat().await;
        let (_, answer) = person.ask(&chat, "Send it", choice()).await;
        waiting.push((person, chat, answer["approvals"][0]["approvalId"].clone()));
    }
    run_sql(&fixture.app.database_url, SLOW_END_OF_WAIT).await;
    fixture.model.always(Step::Text("As you like.".into()));
    let denied = waiting.into_iter().map(async |(person, chat, approval)| {
        let (status, _) = person.decide(&chat, &approval, &json!({ "decision": "deny" })).await;
        assert_eq!(status, 200);
        person.follow(&chat).await;
        assert_eq!(person.messages(&chat).await.pop().unwrap()["status"], "done");
    });
    futures_util::future::join_all(denied).await;
    fixture.app.stop().await;
}

/// The database can go away after it has stored a decision: the request fails, and nothing is delivered.
#[tokio::test]
async fn a_decision_whose_request_failed_is_delivered_when_it_is_made_again() {
    for database in databases() {
        let fixture = Fixture::new(database, [call_of_send(), Step::Text("Sent.".into())]).await;
        let waiting = fixture.ask().await;
        run_sql(&fixture.app.database_url, "UPDATE interactions SET response = 'once', responded_at = 1").await;
        let (status, answer) = fixture.decide(&waiting[0], json!({ "decision": "once" })).await;
        assert_eq!((status, answer), (200, json!({ "decision": "once", "first": false })));
        assert_eq!(fixture.answered().await["content"], "Sent.");
        assert_eq!(fixture.server.calls().len(), 1);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_row_that_cannot_be_read_does_not_stop_the_start() {
    for database in databases() {
        let fixture = Fixture::new(database, [call_of_send()]).await;
        fixture.ask().await;
        // A decision and a journal entry that only a newer version knows.
        let statements = [
            "UPDATE interactions SET response = 'postpone'",
            "INSERT INTO turn_journal (turn_id, seq, payload) SELECT turn_id, MAX(seq) + 1, 'torn' FROM turn_journal GROUP BY turn_id",
        ];
        let (fixture, _) = again_after(fixture, &statements).await;
        let answer = fixture.answered().await;
        assert_eq!(answer["status"], "interrupted");
        assert!(answer["error"].as_str().unwrap().contains("could not be read"), "{answer}");
        assert!(fixture.server.calls().is_empty());
        fixture.model.push(Step::Text("Here again.".into()));
        let (_, next) = fixture.person.ask(&fixture.chat, "Are you there?", json!([])).await;
        assert_eq!(next["content"], "Here again.");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn stop_works_after_the_program_was_started_again() {
    let fixture = Fixture::new(databases()[0], [call_of_send()]).await;
    fixture.ask().await;
    let (fixture, _) = again(fixture).await;
    fixture.person.post(&format!("/api/sessions/{}/stop", fixture.chat), &json!({})).await;
    let answer = fixture.answered().await;
    assert_eq!((&answer["status"], &answer["tool_calls"][0]["outcome"]), (&json!("stopped"), &json!("stopped")));
}

#[tokio::test]
async fn a_call_that_ran_while_another_waited_is_not_repeated() {
    let calls = Step::Calls(vec![("send".into(), json!({ "to": "Ada" })), ("send".into(), json!({ "to": "Bob" }))]);
    let fixture = Fixture::new(databases()[0], [calls, Step::Text("Who knows.".into())]).await;
    let waiting = fixture.ask().await;
    fixture.server.hang();
    fixture.decide(&waiting[0], json!({ "decision": "once" })).await;
    while fixture.server.calls().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let (fixture, _) = again(fixture).await;
    fixture.decide(&waiting[1], json!({ "decision": "deny" })).await;
    let answer = fixture.answered().await;
    let mut outcomes: Vec<_> =
        answer["tool_calls"].as_array().unwrap().iter().map(|call| call["outcome"].as_str().unwrap()).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["denied", "unknown"]);
    assert_eq!(fixture.server.calls().len(), 1);
}
