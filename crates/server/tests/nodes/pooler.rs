//! Nodes behind PgBouncer.

use std::time::Duration;

use serde_json::json;
use storage::{OpenError, Storage};
use tempfile::TempDir;
use testkit::{Database, Pooler, Step, events_of};

use crate::nodes::{Fixture, no_tools};
use crate::program::run;

/// Creates a database; `None` without PostgreSQL.
fn new_database(folder: &TempDir) -> Option<String> {
    testkit::databases().contains(&Database::Postgres).then(|| Database::Postgres.create(folder))
}

#[tokio::test]
async fn nodes_work_together_behind_a_pooler() {
    let folder = TempDir::new().unwrap();
    let Some(direct) = new_database(&folder) else { return };
    let pooler = Pooler::start(&direct, "session").await;
    let steps = [
        Step::Words { count: 40, pace: Duration::from_millis(20) },
        Step::Hang("Once upon a time".into()),
        Step::Text("The end.".into()),
    ];
    let fixture = Fixture::on(steps, &pooler.url(&direct)).await;
    for node in [&fixture.here, &fixture.there] {
        assert_eq!(node.state.storage.nodes().check_notifications().await.unwrap(), Some(true));
    }
    let first = fixture.person.ask_streaming(&fixture.chat, "Go on", no_tools()).await;
    let (viewer, seen) = fixture.viewer("word").await;
    let rest = viewer.text().await.unwrap();
    let words = |stream: &str| -> String {
        let deltas = events_of(stream).into_iter().filter(|event| event.kind() == "text-delta");
        deltas.map(|event| event.data["delta"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(words(&first.text().await.unwrap()), "word ".repeat(40));
    assert_eq!(words(&(seen + &rest)), "word ".repeat(40));
    assert_eq!(fixture.last_answer().await["content"], "word ".repeat(40));

    // A command for the node that runs the turn.
    let stream = fixture.person.ask_streaming(&fixture.chat, "Tell me a story", no_tools()).await;
    drop(fixture.viewer("time").await);
    let stop = format!("/api/sessions/{}/stop", fixture.chat);
    assert_eq!(fixture.elsewhere.post(&stop, &json!({})).await.1, json!({ "stopped": true }));
    assert!(stream.text().await.unwrap().contains(r#""type":"abort""#));
    let last = fixture.person.ask_streaming(&fixture.chat, "And then?", no_tools()).await;
    assert_eq!(words(&last.text().await.unwrap()), "The end.");
    let messages = fixture.elsewhere.messages(&fixture.chat).await;
    let contents: Vec<&str> = messages.iter().map(|message| message["content"].as_str().unwrap()).collect();
    let words = "word ".repeat(40);
    assert_eq!(contents, ["Go on", &words, "Tell me a story", "Once upon a time", "And then?", "The end."]);
    fixture.stop().await;
}

#[tokio::test]
async fn a_pooler_that_keeps_no_connection_is_rejected() {
    let folder = TempDir::new().unwrap();
    let Some(direct) = new_database(&folder) else { return };
    let pooler = Pooler::start(&direct, "transaction").await;
    for listen_url in [None, Some(direct.as_str())] {
        let opened = Storage::open_with(&pooler.url(&direct), listen_url).await;
        assert!(matches!(opened, Err(OpenError::Pooler)), "{opened:?}");
    }
}

#[tokio::test]
async fn messages_arrive_at_the_address_for_them() {
    let folder = TempDir::new().unwrap();
    let Some(direct) = new_database(&folder) else { return };
    let pooler = Pooler::start(&direct, "session").await;
    let pooled = pooler.url(&direct);
    let another = new_database(&folder).unwrap();
    // Creates the schema, with the migrations over the direct address.
    Storage::open_with(&pooled, Some(&direct)).await.unwrap().close().await;
    for (listen_url, arrives) in [(None, true), (Some(&direct), true), (Some(&another), false)] {
        let listen_url = listen_url.map(String::as_str);
        let inspected = storage::inspect::inspect(&pooled).await.unwrap().storage.with_listener(listen_url).unwrap();
        assert_eq!(inspected.nodes().check_notifications().await.unwrap(), Some(arrives), "{listen_url:?}");

        let mut settings = vec![("DATABASE_URL", pooled.as_str())];
        settings.extend(listen_url.map(|url| ("DATABASE_LISTEN_URL", url)));
        let (code, out, _) = run(folder.path(), &settings, &["doctor"]);
        let expected =
            if arrives { "pass  notifications: they arrive" } else { "WARN  notifications: they do not arrive" };
        assert!(code == 0 && out.contains(expected), "{out}");
    }
    let sqlite = [("DATABASE_LISTEN_URL", direct.as_str())];
    let (code, out, _) = run(folder.path(), &sqlite, &["check"]);
    assert!(code == 1 && out.contains("DATABASE_LISTEN_URL needs a DATABASE_URL"), "{out}");
    let wrong = [("DATABASE_URL", direct.as_str()), ("DATABASE_LISTEN_URL", "mysql://u:hunter2@h/d")];
    let (code, out, _) = run(folder.path(), &wrong, &["check"]);
    assert!(code == 1 && out.contains("DATABASE_LISTEN_URL cannot be read") && !out.contains("hunter2"), "{out}");
}
