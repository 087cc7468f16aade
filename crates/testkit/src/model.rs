//! A model server that says what it is told to, over OpenAI's wire.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// What the model does when it is asked the next time.
#[derive(Debug, Clone)]
pub enum Step {
    /// It says this, a few letters at a time.
    Text(String),
    /// It says words (each of the same few letters), this many, this far apart: for stopping and for figures.
    Words {
        /// How many.
        count: usize,
        /// How far apart.
        pace: Duration,
    },
    /// It calls tools: name and arguments.
    Calls(Vec<(String, Value)>),
    /// It refuses.
    Status(u16, String),
    /// It breaks off after some text.
    BreakOff(String),
    /// It says some text and then nothing more, until the caller goes.
    Hang(String),
}

#[derive(Debug, Default)]
struct Script {
    steps: VecDeque<Step>,
    fallback: Option<Step>,
    requests: Vec<Value>,
    open: Arc<()>,
}

/// A scripted model server on a free port. It stops when it is dropped.
#[derive(Debug)]
pub struct ScriptedModel {
    /// For `OPENAI_BASE_URL`.
    pub base_url: String,
    script: Arc<Mutex<Script>>,
    stop: CancellationToken,
}

impl ScriptedModel {
    /// Starts it with steps to be taken in order; more can be pushed later.
    pub async fn start(steps: impl IntoIterator<Item = Step>) -> Self {
        let script = Arc::new(Mutex::new(Script { steps: steps.into_iter().collect(), ..Script::default() }));
        let routes = Router::new()
            .route("/v1/models", get(|| async { axum::Json(json!({ "data": [{ "id": "scripted" }] })) }))
            .route("/v1/chat/completions", post(complete))
            .with_state(Arc::clone(&script));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        #[expect(clippy::disallowed_methods, reason = "it ends when the scripted model is dropped")]
        drop(tokio::spawn(async move {
            tokio::select! {
                _ = axum::serve(listener, routes) => {}
                () = stopped.cancelled() => {}
            }
        }));
        Self { base_url, script, stop }
    }

    /// Adds a step.
    pub fn push(&self, step: Step) {
        self.script.lock().unwrap().steps.push_back(step);
    }

    /// What it does when the script is at its end (otherwise it answers 500).
    pub fn always(&self, step: Step) {
        self.script.lock().unwrap().fallback = Some(step);
    }

    /// What it was asked.
    pub fn requests(&self) -> Vec<Value> {
        self.script.lock().unwrap().requests.clone()
    }

    /// How many answers are being written.
    pub fn open_streams(&self) -> usize {
        Arc::strong_count(&self.script.lock().unwrap().open) - 1
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn complete(State(script): State<Arc<Mutex<Script>>>, body: Bytes) -> Response {
    let (step, open) = {
        let mut script = script.lock().unwrap();
        script.requests.push(serde_json::from_slice(&body).unwrap());
        let step = script.steps.pop_front().or_else(|| script.fallback.clone());
        (step, Arc::clone(&script.open))
    };
    let step = step.unwrap_or_else(|| Step::Status(500, "the script is at its end".into()));
    let (chunks, pace, end): (Vec<Value>, Duration, End) = match step {
        Step::Status(status, message) => {
            let body = json!({ "error": { "message": message } });
            return (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response();
        }
        Step::Text(text) => (text_chunks(&text, Some("stop")), Duration::ZERO, End::Done),
        Step::Words { count, pace } => {
            let mut words: Vec<Value> = (0..count).map(|_| delta(&json!({ "content": "word " }), None)).collect();
            words.push(delta(&json!({}), Some("stop")));
            (words, pace, End::Done)
        }
        Step::Calls(calls) => (call_chunks(&calls), Duration::ZERO, End::Done),
        Step::BreakOff(text) => (text_chunks(&text, None), Duration::ZERO, End::Close),
        Step::Hang(text) => (text_chunks(&text, None), Duration::ZERO, End::Never),
    };
    let lines = chunks.into_iter().map(|chunk| format!("data: {chunk}\n\n"));
    let lines = stream::iter(lines).then(move |line| async move {
        if !pace.is_zero() {
            tokio::time::sleep(pace).await;
        }
        line
    });
    let tail = match end {
        End::Done => stream::iter(vec!["data: [DONE]\n\n".to_owned()]).boxed(),
        End::Close => stream::empty().boxed(),
        End::Never => stream::pending().boxed(),
    };
    // Each line passes by the count of open streams, which therefore lives as long as the stream.
    let frames = lines.chain(tail).map(move |line| Ok::<_, std::convert::Infallible>((open.as_ref(), line).1));
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(frames)).into_response()
}

enum End {
    Done,
    Close,
    Never,
}

fn delta(delta: &Value, finish: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }]
    })
}

fn text_chunks(text: &str, finish: Option<&str>) -> Vec<Value> {
    let letters: Vec<char> = text.chars().collect();
    let mut chunks: Vec<Value> =
        letters.chunks(7).map(|piece| delta(&json!({ "content": piece.iter().collect::<String>() }), None)).collect();
    if finish.is_some() {
        chunks.push(delta(&json!({}), finish));
    }
    chunks
}

fn call_chunks(calls: &[(String, Value)]) -> Vec<Value> {
    let mut chunks = Vec::new();
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let id = format!("call_{}", domain::ids::fresh().simple());
        let function = json!({ "name": name, "arguments": "" });
        let call = json!({ "index": index, "id": id, "type": "function", "function": function });
        chunks.push(delta(&json!({ "tool_calls": [call] }), None));
        let arguments = match arguments {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let letters: Vec<char> = arguments.chars().collect();
        for piece in letters.chunks(5) {
            let function = json!({ "arguments": piece.iter().collect::<String>() });
            chunks.push(delta(&json!({ "tool_calls": [{ "index": index, "function": function }] }), None));
        }
    }
    chunks.push(delta(&json!({}), Some("tool_calls")));
    chunks
}
