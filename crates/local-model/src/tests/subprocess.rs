//! Tests of the model in a subprocess: the engine survives whatever happens to it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::smollm2::SMOLLM2;
use super::*;
use crate::EngineState;

/// The weights under a name of this test alone, by which its processes are found.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("local-{name}-{}.gguf", std::process::id()));
        let _ = fs::remove_file(&path);
        symlink(weights(SMOLLM2), &path).unwrap();
        Self(path)
    }

    fn engine(&self, idle: Option<Duration>) -> Engine {
        // The examples are built with the tests.
        let program = std::env::current_exe().unwrap().parent().unwrap().with_file_name("examples").join("subprocess");
        assert!(program.is_file(), "there is no {}", program.display());
        Engine::start(EngineSettings {
            weights_path: self.0.clone(),
            subprocess_program: Some(program),
            verify_checksum: false,
            threads: None,
            idle_timeout: idle,
        })
        .unwrap()
    }

    /// The processes that hold these weights.
    fn holders(&self) -> Vec<String> {
        let is_holder = |entry: &fs::DirEntry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|argument| argument == self.0.as_os_str().as_encoded_bytes())
        };
        let processes = fs::read_dir("/proc").unwrap().flatten().filter(is_holder);
        processes.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_dir_all(self.0.with_extension("gguf.read"));
    }
}

fn asks(text: &str, most: u32) -> Request {
    Request { messages: vec![user(text)], max_tokens: Some(most), parameters: GREEDY, ..Request::default() }
}

const CAPITAL: &str = "What is the capital of France?";

#[tokio::test]
async fn restarts_killed_process_for_next_request() {
    let file = File::new("killed");
    let engine = file.engine(None);
    let mut stream =
        engine.stream(asks("Count to one thousand in words.", 500), UserId::fresh(), CancellationToken::new());
    while !matches!(stream.next().await.unwrap().unwrap(), ModelEvent::Delta { .. }) {}
    let holders = file.holders();
    assert_eq!(holders.len(), 1);
    assert!(Command::new("kill").args(["-9", &holders[0]]).status().unwrap().success());
    let rest: Vec<_> = stream.collect().await;
    let Some(Err(ModelError::Unavailable(reason))) = rest.last() else { panic!("{rest:?}") };
    assert!(reason.contains("stopped unexpectedly") && reason.contains("signal: 9"), "{reason}");
    let next = ask(&engine, asks(CAPITAL, 24)).await;
    assert!(next.text.contains("Paris"), "{next:?}");
    drop(engine);
}

#[tokio::test]
async fn cancellation_keeps_process_for_next_request() {
    let file = File::new("stopped");
    let engine = file.engine(None);
    let cancel = CancellationToken::new();
    let mut stream = engine.stream(asks("Count to one thousand in words.", 2_000), UserId::fresh(), cancel.clone());
    while !matches!(stream.next().await.unwrap().unwrap(), ModelEvent::Delta { .. }) {}
    let before = file.holders();
    cancel.cancel();
    assert!(!stream.any(|event| async move { matches!(event, Ok(ModelEvent::Finish(_))) }).await);
    let next = ask(&engine, asks(CAPITAL, 24)).await;
    assert!(next.text.contains("Paris"), "{next:?}");
    assert_eq!(file.holders(), before, "the same process answered");
}

#[tokio::test]
async fn idle_process_ends_and_restarts() {
    let file = File::new("idle");
    let engine = file.engine(Some(Duration::from_millis(200)));
    assert!(ask(&engine, asks(CAPITAL, 8)).await.error.is_none());
    while engine.state() != EngineState::Idle || !file.holders().is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(ask(&engine, asks(CAPITAL, 24)).await.text.contains("Paris"), "it comes back with the next question");
}

#[tokio::test]
async fn does_not_read_prepared_prefix_again() {
    let file = File::new("prepared");
    let engine = file.engine(None);
    let list = Request { system: "You answer in English. ".repeat(20), tools: vec![clock()], ..Request::default() };
    engine.prepare(list.clone());
    let answer = loop {
        let answer =
            ask(&engine, Request { messages: vec![user("Hello!")], max_tokens: Some(4), ..list.clone() }).await;
        if answer.usage.cached_input_tokens > 100 {
            break answer;
        }
    };
    assert!(answer.error.is_none(), "{answer:?}");
}

#[tokio::test]
async fn stores_shared_prefixes_for_next_process() {
    let file = File::new("kept");
    let list = Request { tools: vec![clock()], ..Request::default() };
    let hello = Request { messages: vec![user("Hello!")], max_tokens: Some(4), ..list.clone() };
    let engine = file.engine(None);
    engine.prepare(list);
    while !file.0.with_extension("gguf.read").join("0.safetensors").is_file() {
        tokio::task::yield_now().await;
    }
    drop(engine);
    let answer = ask(&file.engine(None), hello).await;
    assert!(answer.error.is_none() && answer.usage.cached_input_tokens > 300, "{answer:?}");
}

#[tokio::test]
async fn reports_unusable_weight_file() {
    let path = std::env::temp_dir().join(format!("local-short-{}.gguf", std::process::id()));
    let whole = fs::read(weights(SMOLLM2)).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let file = File(path);
    let answer = ask(&file.engine(None), asks(CAPITAL, 8)).await;
    let Some(ModelError::Unavailable(reason)) = answer.error else { panic!("{answer:?}") };
    assert!(reason.contains("incomplete") && reason.contains("model fetch"), "{reason}");
    assert!(file.holders().is_empty() && Path::new(&file.0).exists());
}

fn clock() -> domain::model::ToolSpec {
    let input_schema = serde_json::json!({ "type": "object", "properties": {} });
    domain::model::ToolSpec { name: "clock".to_owned(), description: "Tells the time.".to_owned(), input_schema }
}
