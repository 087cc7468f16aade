//! A scripted model server that speaks every supported provider API. The path of a request selects the API.

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

/// Behaviour of the model in one request.
#[derive(Debug, Clone)]
pub enum Step {
    /// Text, streamed a few letters at a time.
    Text(String),
    /// Text, streamed a few letters at a time with this pause in between.
    Slowly(String, Duration),
    /// A number of equal, short words with a pause in between, for tests of stopping and for benchmarks.
    Words {
        /// Number of words.
        count: usize,
        /// Pause before each word.
        pace: Duration,
    },
    /// Tool calls: names and arguments.
    Calls(Vec<(String, Value)>),
    /// Reasoning before other output, with a signature that the client must send back where the API has signatures.
    Thinks {
        /// Visible text of the reasoning.
        reasoning: String,
        /// The signature.
        signature: String,
        /// Output after the reasoning.
        then: Box<Step>,
    },
    /// Text, followed by another step in the same response.
    TextThen(String, Box<Step>),
    /// An HTTP error with this status and message.
    Status(u16, String),
    /// A rate limit (429) that asks for a pause of these seconds.
    TooOften(u64),
    /// Some text, after which the stream ends without its regular end.
    BreakOff(String),
    /// Some text, which ends because the model reached its limit on length.
    Length(String),
    /// Some text, after which nothing more comes until the client disconnects.
    Hang(String),
}

/// A function from a request's body to the model's behaviour.
type Rule = Box<dyn Fn(&Value) -> Step + Send>;

/// State of the server, which tests change and inspect.
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
    /// Base URL for `OPENAI_BASE_URL`.
    pub base_url: String,
    /// Base URL for providers with other APIs.
    pub origin: String,
    script: Arc<Mutex<Script>>,
    _server: Background,
}

impl ScriptedModel {
    /// Starts the server with steps for the next requests. More can be added by [`push`](Self::push).
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

    /// Adds a [`Step`] for the next request without one.
    pub fn push(&self, step: Step) {
        self.script.lock().unwrap().steps.push_back(step);
    }

    /// Replaces the [`Step`]s of the requests to come.
    pub fn replace_steps(&self, steps: impl IntoIterator<Item = Step>) {
        self.script.lock().unwrap().steps = steps.into_iter().collect();
    }

    /// Sets the [`Step`] for requests without one; otherwise they fail with 500.
    pub fn always(&self, step: Step) {
        self.answer_by(move |_| step.clone());
    }

    /// Sets a rule for requests without a [`Step`].
    pub fn answer_by(&self, rule: impl Fn(&Value) -> Step + Send + 'static) {
        self.script.lock().unwrap().fallback = Some(Box::new(rule));
    }

    /// Returns the bodies of the requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.script.lock().unwrap().requests.clone()
    }

    /// Forgets the requests so far.
    pub fn forget_requests(&self) {
        let mut script = self.script.lock().unwrap();
        script.requests.clear();
        script.keys.clear();
    }

    /// Returns the API keys of the requests, from whichever header the API uses; empty where there was none.
    pub fn keys(&self) -> Vec<String> {
        self.script.lock().unwrap().keys.clone()
    }

    /// Returns how many responses are being streamed.
    pub fn open_streams(&self) -> usize {
        Arc::strong_count(&self.script.lock().unwrap().open) - 1
    }
}

/// A piece of a model's output.
enum OutputPart {
    Reasoning {
        text: String,
        signature: String,
    },
    /// A chunk of text. Consecutive chunks are one text.
    Text(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
}

/// End of a response.
// `Done` is the regular end, `Length` that at the model's limit, `Close` a broken connection, `Never` a stream that
// stays open.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Done,
    Length,
    Close,
    Never,
}

impl End {
    /// Returns whether the response is complete, in the view of its API.
    fn is_regular(self) -> bool {
        matches!(self, Self::Done | Self::Length)
    }
}

/// Usage of each complete response, as the application counts it.
struct Cost {
    /// All input tokens, including those from the cache.
    input: u64,
    cached: u64,
    output: u64,
}

const CALL_COST: Cost = Cost { input: 120, cached: 20, output: 10 };

/// Encoder of an API: writes output as events, and the regular end if it is complete.
type Frames = fn(&[OutputPart], End) -> Vec<String>;

/// Returns the route of an API, whose encoder are these [`Frames`].
fn speak(frames: Frames) -> MethodRouter<Arc<Mutex<Script>>> {
    post(move |State(script): State<Arc<Mutex<Script>>>, head: HeaderMap, body: Bytes| {
        ready(answer(&script, &head, &body, frames))
    })
}

/// Responds to a request with the next [`Step`].
fn answer(script: &Mutex<Script>, head: &HeaderMap, body: &Bytes, frames: Frames) -> Response {
    let (step, open) = {
        let mut script = script.lock().unwrap();
        let request: Value = serde_json::from_slice(body).unwrap();
        // Each provider's API has another header for the key.
        let key = ["authorization", "x-api-key", "x-goog-api-key"].iter().find_map(|name| head.get(*name));
        script.keys.push(key.map_or_else(String::new, |key| key.to_str().unwrap().to_owned()));
        // A request takes one step; the rule applies when no step is left.
        let step = script.steps.pop_front().or_else(|| script.fallback.as_ref().map(|rule| rule(&request)));
        script.requests.push(request);
        (step, Arc::clone(&script.open))
    };
    // An unexpected request fails visibly instead of getting a default text.
    let step = step.unwrap_or_else(|| Step::Status(500, "the script is at its end".into()));
    if let Step::TooOften(seconds) = step {
        let body = json!({ "error": { "message": "too many requests" } });
        return (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, seconds)], axum::Json(body)).into_response();
    }
    let (output, pace, end) = match output_of(step) {
        Ok(output_of) => output_of,
        Err((status, message)) => {
            let body = json!({ "error": { "message": message } });
            return (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response();
        }
    };
    let frames = stream::iter(frames(&output, end)).then(move |frame| async move {
        if !pace.is_zero() {
            tokio::time::sleep(pace).await;
        }
        frame
    });
    // A stream without an end stays open until the client disconnects.
    let tail = if end == End::Never { stream::pending().boxed() } else { stream::empty().boxed() };
    // The counter is a reference count, so each frame refers to it to keep it until the stream is dropped.
    let frames = frames.chain(tail).map(move |frame| Ok::<_, std::convert::Infallible>((open.as_ref(), frame).1));
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(frames)).into_response()
}

/// Returns output ([`OutputPart`]), pause and end of a [`Step`], or status and message of an error.
fn output_of(step: Step) -> Result<(Vec<OutputPart>, Duration, End), (u16, String)> {
    Ok(match step {
        Step::Status(status, message) => return Err((status, message)),
        Step::TooOften(_) => return Err((429, "too many requests".to_owned())),
        Step::Text(text) => (pieces(&text), Duration::ZERO, End::Done),
        Step::Slowly(text, pace) => (pieces(&text), pace, End::Done),
        Step::Words { count, pace } => {
            ((0..count).map(|_| OutputPart::Text("word ".into())).collect(), pace, End::Done)
        }
        Step::Calls(calls) => {
            let calls = calls.into_iter().map(|(name, arguments)| OutputPart::Call {
                id: format!("call_{}", domain::ids::fresh().simple()),
                name,
                arguments: match arguments {
                    Value::String(text) => text,
                    other => other.to_string(),
                },
            });
            (calls.collect(), Duration::ZERO, End::Done)
        }
        Step::Thinks { reasoning, signature, then } => {
            let (mut output, pace, end) = output_of(*then)?;
            output.insert(0, OutputPart::Reasoning { text: reasoning, signature });
            (output, pace, end)
        }
        Step::TextThen(text, then) => {
            let (output, pace, end) = output_of(*then)?;
            (pieces(&text).into_iter().chain(output).collect(), pace, end)
        }
        Step::BreakOff(text) => (pieces(&text), Duration::ZERO, End::Close),
        Step::Length(text) => (pieces(&text), Duration::ZERO, End::Length),
        Step::Hang(text) => (pieces(&text), Duration::ZERO, End::Never),
    })
}

/// Splits text into chunks of output ([`OutputPart::Text`]).
fn pieces(text: &str) -> Vec<OutputPart> {
    cut(text, 7).into_iter().map(OutputPart::Text).collect()
}

/// Splits text into pieces of `letters` characters.
fn cut(text: &str, letters: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(letters).map(|piece| piece.iter().collect()).collect()
}

/// Formats a server-sent event.
fn frame(data: &Value) -> String {
    format!("data: {data}\n\n")
}
