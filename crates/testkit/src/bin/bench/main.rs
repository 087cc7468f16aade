//! What the program costs beside the least that would do: its answers beside a bare relay, with the same scripted model;
//! its calls of tools beside the bare protocol library, with the same scripted server (`bench tools` is only that).
//!
//! Three processes besides this one: the model server, a relay that copies its bytes, and the program itself (the
//! binary beside this one). This process is the load, and the MCP server. Figures of one run are compared with each other and with nothing
//! else: the machine, the load and the model are the same for both.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that cannot go on stops, and prints what it found"
)]

mod history;
mod process;
mod tools;

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::IntoResponse;
use futures_util::future::join_all;
use process::Process;
use reqwest::Method;
use serde_json::json;
use testkit::{Person, ScriptedModel, Step};

/// Words in one answer; each is one piece of the model's stream.
const WORDS: usize = 200;
/// As fast as a quick model writes.
const PACE: Duration = Duration::from_millis(20);
/// Answers written at once.
const STREAMS: [usize; 3] = [1, 100, 500];
/// Below the program's limit on answers of one person.
const STREAMS_PER_PERSON: usize = 8;

/// Chats of the database with a long history.
const CHATS: usize = 100_000;

#[tokio::main]
async fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("model") => model().await,
        Some("relay") => relay(std::env::args().nth(2).unwrap()).await,
        Some("tools") => tools::compare().await,
        Some("history") => {
            let chats = std::env::args().nth(2).map_or(CHATS, |chats| chats.parse().unwrap());
            history::measure(chats).await;
        }
        _ => {
            compare().await;
            tools::compare().await;
            history::measure(CHATS).await;
        }
    }
}

/// The model server: says its address, then words, for ever.
async fn model() {
    let model = ScriptedModel::start([]).await;
    model.always(Step::Words { count: WORDS, pace: PACE });
    println!("{}", model.base_url);
    std::future::pending::<()>().await;
}

/// The relay: the least that anything between a page and a model can do.
async fn relay(model: String) {
    let http = testkit::http_client();
    let handler = move |body: axum::body::Bytes| {
        let request = http.post(format!("{model}/chat/completions")).body(body);
        async move {
            let answer = request.send().await.unwrap();
            let headers = [("content-type", "text/event-stream")];
            (headers, Body::from_stream(answer.bytes_stream())).into_response()
        }
    };
    let routes = axum::Router::new().route("/", axum::routing::post(handler));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    axum::serve(axum::serve::ListenerExt::tap_io(listener, |stream| drop(stream.set_nodelay(true))), routes)
        .await
        .unwrap();
}

/// One stream: milliseconds to the first word, and whether all words came.
async fn stream(request: reqwest::RequestBuilder) -> (f64, bool) {
    let began = Instant::now();
    let mut answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.status());
    let (mut first, mut words, mut tail) = (None, 0, String::new());
    while let Ok(Some(piece)) = answer.chunk().await {
        tail.push_str(&String::from_utf8_lossy(&piece));
        words += tail.matches("word ").count();
        if words > 0 && first.is_none() {
            first = Some(began.elapsed());
        }
        // A word may be cut by the end of a piece.
        tail = tail.split_off(tail.rfind("word ").map_or(tail.len().saturating_sub(8), |at| at + 5));
    }
    (first.unwrap_or_default().as_secs_f64() * 1000.0, words == WORDS)
}

struct Figures {
    first_word: Vec<f64>,
    whole: usize,
    cpu_per_1000: f64,
    rss: f64,
}

async fn load(process: &Process, requests: Vec<reqwest::RequestBuilder>) -> Figures {
    let count = requests.len();
    let before = process.cpu();
    let middle = async {
        tokio::time::sleep(PACE * WORDS as u32 / 2).await;
        process.rss()
    };
    let (results, rss) = tokio::join!(join_all(requests.into_iter().map(stream)), middle);
    let cpu = process.cpu() - before;
    let mut first_word: Vec<f64> = results.iter().map(|(first, _)| *first).collect();
    first_word.sort_by(f64::total_cmp);
    let whole = results.iter().filter(|(_, whole)| *whole).count();
    Figures { first_word, whole, cpu_per_1000: cpu * 1000.0 / (count * WORDS) as f64 * 1000.0, rss }
}

impl Figures {
    fn percentile(&self, share: f64) -> f64 {
        self.first_word[((self.first_word.len() - 1) as f64 * share).round() as usize]
    }

    fn row(&self, name: &str, streams: usize) {
        println!(
            "| {streams} | {name} | {:.1} | {:.1} | {:.1} | {:.0} | {}/{streams} |",
            self.percentile(0.5),
            self.percentile(0.99),
            self.cpu_per_1000,
            self.rss,
            self.whole
        );
    }
}

async fn compare() {
    let folder = tempfile::TempDir::new().unwrap();
    idle(&folder.path().join("idle")).await;
    let model = Process::role(&["model"]);
    let relay = Process::role(&["relay", &model.url]);
    let (program, _) = Process::program(Some(&model.url), &folder.path().join("loaded")).await;
    let http = testkit::http_client();
    println!("\n{WORDS} words an answer, one every {} ms\n", PACE.as_millis());
    println!("| streams | through | first word p50, ms | p99, ms | CPU ms per 1,000 words | RSS, MB | whole |");
    println!("|---|---|---|---|---|---|---|");
    for streams in STREAMS {
        let body = json!({ "model": "scripted", "stream": true, "messages": [] });
        let requests = (0..streams).map(|_| http.post(&relay.url).json(&body)).collect();
        let bare = load(&relay, requests).await;
        let requests = questions(&http, &program.url, streams).await;
        let ours = load(&program, requests).await;
        bare.row("bare relay", streams);
        ours.row("the program", streams);
        println!(
            "| {streams} | *the program adds* | {:+.1} | {:+.1} | {:.2}x | | |",
            ours.percentile(0.5) - bare.percentile(0.5),
            ours.percentile(0.99) - bare.percentile(0.99),
            ours.cpu_per_1000 / bare.cpu_per_1000.max(f64::EPSILON),
        );
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    println!("\nRSS 5 s after the last stream: {:.0} MB", program.rss());
}

/// Start and rest, without a model.
async fn idle(folder: &std::path::Path) {
    let mut starts = Vec::new();
    let mut rss = 0.0;
    for round in 0..5 {
        let (process, start) = Process::program(None, &folder.join(round.to_string())).await;
        starts.push(start.as_secs_f64() * 1000.0);
        tokio::time::sleep(Duration::from_millis(500)).await;
        rss = process.rss();
    }
    starts.sort_by(f64::total_cmp);
    println!("start to ready, new data folder, median of 5: {:.0} ms; idle RSS: {rss:.0} MB", starts[2]);
}

/// One question in a new chat for each stream, asked by as many people as are needed.
async fn questions(http: &reqwest::Client, url: &str, streams: usize) -> Vec<reqwest::RequestBuilder> {
    let mut requests = Vec::new();
    let mut person = Person::sign_up_at(url, http).await;
    for index in 0..streams {
        if index > 0 && index % STREAMS_PER_PERSON == 0 {
            person = Person::sign_up_at(url, http).await;
        }
        let chat = person.new_chat().await;
        let question = json!({ "message": "Go on", "sessionId": chat, "tools": [] });
        let request = person.request(Method::POST, "/functions/v1/ai-chat");
        requests.push(request.header("accept", "text/event-stream").json(&question));
    }
    requests
}
