//! A model server that says what it is told to, over every wire: the path of a request tells which one it speaks.

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;

use std::collections::VecDeque;
use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};

use crate::background::Background;

/// What the model does when it is asked the next time.
#[derive(Debug, Clone)]
pub enum Step {
    /// It says this, a few letters at a time.
    Text(String),
    /// It says this, a few letters at a time, this far apart.
    Slowly(String, Duration),
    /// It says words (each of the same few letters), this many, this far apart: for stopping and for figures.
    Words {
        /// How many.
        count: usize,
        /// How far apart.
        pace: Duration,
    },
    /// It calls tools: name and arguments.
    Calls(Vec<(String, Value)>),
    /// It thinks first, and wants the seal back where its wire has seals.
    Thinks {
        /// What it shows of the thought.
        thought: String,
        /// What it wants back.
        seal: String,
        /// What it says or calls then.
        then: Box<Step>,
    },
    /// Writes text, and then takes another step in the same answer.
    TextThen(String, Box<Step>),
    /// It refuses.
    Status(u16, String),
    /// It has been asked too often, and wants to be left alone for so many seconds.
    TooOften(u64),
    /// It breaks off after some text.
    BreakOff(String),
    /// It says some text and then nothing more, until the caller goes.
    Hang(String),
}

/// What to do, by what is asked.
type Rule = Box<dyn Fn(&Value) -> Step + Send>;

#[derive(Default)]
struct Script {
    steps: VecDeque<Step>,
    fallback: Option<Rule>,
    requests: Vec<Value>,
    keys: Vec<String>,
    open: Arc<()>,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script").field("steps", &self.steps).finish_non_exhaustive()
    }
}

/// A scripted model server on a free port. It stops when it is dropped.
#[derive(Debug)]
pub struct ScriptedModel {
    /// For `OPENAI_BASE_URL`.
    pub base_url: String,
    /// For the base URLs of the other wires.
    pub origin: String,
    script: Arc<Mutex<Script>>,
    _server: Background,
}

impl ScriptedModel {
    /// Starts it with steps to be taken in order; more can be pushed later.
    pub async fn start(steps: impl IntoIterator<Item = Step>) -> Self {
        let script = Arc::new(Mutex::new(Script { steps: steps.into_iter().collect(), ..Script::default() }));
        let routes = Router::new()
            .route("/v1/models", get(|| async { axum::Json(json!({ "data": [{ "id": "scripted" }] })) }))
            .route("/v1/chat/completions", speak(openai_chat::frames))
            .route("/v1/responses", speak(openai_responses::frames))
            .route("/v1beta/models", get(|| async { axum::Json(json!({ "models": [{ "name": "models/scripted" }] })) }))
            .route("/v1beta/models/{call}", speak(gemini::frames))
            .route("/v1/messages", speak(anthropic::frames))
            .with_state(Arc::clone(&script));
        let server = Background::serve(routes).await;
        let origin = server.origin.clone();
        Self { base_url: format!("{origin}/v1"), origin, script, _server: server }
    }

    /// Adds a step.
    pub fn push(&self, step: Step) {
        self.script.lock().unwrap().steps.push_back(step);
    }

    /// What it does when the script is at its end (otherwise it answers 500).
    pub fn always(&self, step: Step) {
        self.answer_by(move |_| step.clone());
    }

    /// The same, decided by the request's body.
    pub fn answer_by(&self, rule: impl Fn(&Value) -> Step + Send + 'static) {
        self.script.lock().unwrap().fallback = Some(Box::new(rule));
    }

    /// What it was asked.
    pub fn requests(&self) -> Vec<Value> {
        self.script.lock().unwrap().requests.clone()
    }

    /// Forgets what it was asked so far.
    pub fn forget_requests(&self) {
        let mut script = self.script.lock().unwrap();
        script.requests.clear();
        script.keys.clear();
    }

    /// The keys that came with the requests, in whatever header; empty where there was none.
    pub fn keys(&self) -> Vec<String> {
        self.script.lock().unwrap().keys.clone()
    }

    /// How many answers are being written.
    pub fn open_streams(&self) -> usize {
        Arc::strong_count(&self.script.lock().unwrap().open) - 1
    }
}

/// Something that a model says.
enum Said {
    Thought {
        text: String,
        seal: String,
    },
    /// A piece of text; pieces that follow each other are one text.
    Text(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
}

/// How an answer ends.
#[derive(PartialEq)]
enum End {
    Done,
    Close,
    Never,
}

/// What every whole answer costs, as the house counts it.
struct Cost {
    /// All that was read, with what came from a cache.
    input: u64,
    cached: u64,
    output: u64,
}

const COST: Cost = Cost { input: 120, cached: 20, output: 10 };

/// Writes what is said, and the end of it when it is whole.
type Frames = fn(&[Said], bool) -> Vec<String>;

/// A door at which one wire is spoken.
fn speak(frames: Frames) -> MethodRouter<Arc<Mutex<Script>>> {
    post(move |State(script): State<Arc<Mutex<Script>>>, head: HeaderMap, body: Bytes| {
        ready(answer(&script, &head, &body, frames))
    })
}

fn answer(script: &Mutex<Script>, head: &HeaderMap, body: &Bytes, frames: Frames) -> Response {
    let (step, open) = {
        let mut script = script.lock().unwrap();
        let request: Value = serde_json::from_slice(body).unwrap();
        let key = ["authorization", "x-api-key", "x-goog-api-key"].iter().find_map(|name| head.get(*name));
        script.keys.push(key.map_or_else(String::new, |key| key.to_str().unwrap().to_owned()));
        let step = script.steps.pop_front().or_else(|| script.fallback.as_ref().map(|rule| rule(&request)));
        script.requests.push(request);
        (step, Arc::clone(&script.open))
    };
    let step = step.unwrap_or_else(|| Step::Status(500, "the script is at its end".into()));
    if let Step::TooOften(seconds) = step {
        let body = json!({ "error": { "message": "too many requests" } });
        return (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, seconds)], axum::Json(body)).into_response();
    }
    let (said, pace, end) = match spoken(step) {
        Ok(spoken) => spoken,
        Err((status, message)) => {
            let body = json!({ "error": { "message": message } });
            return (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response();
        }
    };
    let frames = stream::iter(frames(&said, end == End::Done)).then(move |frame| async move {
        if !pace.is_zero() {
            tokio::time::sleep(pace).await;
        }
        frame
    });
    let tail = if end == End::Never { stream::pending().boxed() } else { stream::empty().boxed() };
    // Each frame passes by the count of open streams, which therefore lives as long as the stream.
    let frames = frames.chain(tail).map(move |frame| Ok::<_, std::convert::Infallible>((open.as_ref(), frame).1));
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(frames)).into_response()
}

/// What a step says, how fast, and how it ends; or the status and the words of a refusal.
fn spoken(step: Step) -> Result<(Vec<Said>, Duration, End), (u16, String)> {
    Ok(match step {
        Step::Status(status, message) => return Err((status, message)),
        Step::TooOften(_) => return Err((429, "too many requests".to_owned())),
        Step::Text(text) => (pieces(&text), Duration::ZERO, End::Done),
        Step::Slowly(text, pace) => (pieces(&text), pace, End::Done),
        Step::Words { count, pace } => ((0..count).map(|_| Said::Text("word ".into())).collect(), pace, End::Done),
        Step::Calls(calls) => {
            let calls = calls.into_iter().map(|(name, arguments)| Said::Call {
                id: format!("call_{}", domain::ids::fresh().simple()),
                name,
                arguments: match arguments {
                    Value::String(text) => text,
                    other => other.to_string(),
                },
            });
            (calls.collect(), Duration::ZERO, End::Done)
        }
        Step::Thinks { thought, seal, then } => {
            let (mut said, pace, end) = spoken(*then)?;
            said.insert(0, Said::Thought { text: thought, seal });
            (said, pace, end)
        }
        Step::TextThen(text, then) => {
            let (said, pace, end) = spoken(*then)?;
            (pieces(&text).into_iter().chain(said).collect(), pace, end)
        }
        Step::BreakOff(text) => (pieces(&text), Duration::ZERO, End::Close),
        Step::Hang(text) => (pieces(&text), Duration::ZERO, End::Never),
    })
}

fn pieces(text: &str) -> Vec<Said> {
    cut(text, 7).into_iter().map(Said::Text).collect()
}

/// The text in pieces of some letters each.
fn cut(text: &str, letters: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(letters).map(|piece| piece.iter().collect()).collect()
}

fn frame(data: &Value) -> String {
    format!("data: {data}\n\n")
}
