//! Streams that are asked for and read.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use testkit::Person;

use crate::process::Process;

/// Answers of one person at a time, below the program's limit.
const STREAMS_PER_PERSON: usize = 4;

/// What is asked of the model in each stream.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    /// Words in one answer; each is one piece of the model's stream.
    pub count: usize,
    /// Milliseconds between two of them.
    pub pace: u64,
}

impl Words {
    /// In the words of the model's role.
    pub fn question(self) -> String {
        format!("words {} {}", self.count, self.pace)
    }

    /// How long an answer takes.
    pub fn life(self) -> Duration {
        Duration::from_millis(self.pace * self.count as u64)
    }
}

/// When the streams are asked for.
#[derive(Debug, Clone, Copy)]
pub enum Arrival {
    /// So many, all at the same moment.
    Burst(usize),
    /// So many are open at any time: as one ends the next begins, spread evenly. Only those count that began when the
    /// first ones were ending.
    Steady(usize),
}

/// What was measured.
pub struct Figures {
    /// Milliseconds, sorted.
    first_word: Vec<f64>,
    /// Streams that were asked for.
    pub streams: usize,
    /// Streams that brought all words.
    pub whole: usize,
    /// Seconds.
    cpu: f64,
    /// Milliseconds.
    cpu_per_1000: f64,
    /// Megabytes.
    pub rss: f64,
    /// Transactions that wrote something, where they are counted.
    pub commits: Option<u64>,
}

impl Figures {
    /// Milliseconds to the first word, which this share of the streams did not need longer for.
    pub fn first_word(&self, share: f64) -> f64 {
        self.first_word[((self.first_word.len() - 1) as f64 * share).round() as usize]
    }

    /// How many times the processor time of the other. Nothing where either is so little that the steps of the clock, of
    /// 10 ms, make up more than a twentieth of it.
    pub fn cpu_beside(&self, other: &Self) -> String {
        let is_known = self.cpu.min(other.cpu) >= 0.2;
        if is_known { format!("{:.2}x", self.cpu / other.cpu) } else { String::new() }
    }

    /// Prints them.
    pub fn row(&self, name: &str, what: &str) {
        let (middle, late) = (self.first_word(0.5), self.first_word(0.99));
        let Self { cpu_per_1000, rss, whole, streams, .. } = self;
        println!("| {what} | {name} | {middle:.1} | {late:.1} | {cpu_per_1000:.1} | {rss:.0} | {whole}/{streams} |");
    }
}

/// Asks, reads to the ends, and measures the process that answers.
pub async fn load(process: &Process, requests: Vec<RequestBuilder>, words: Words, arrival: Arrival) -> Figures {
    let count = requests.len();
    let (gap, unmeasured) = match arrival {
        Arrival::Burst(_) => (Duration::ZERO, 0),
        Arrival::Steady(open) => (words.life() / open as u32, open),
    };
    let commits_before = process.commits();
    let before = process.cpu();
    let streams = requests.into_iter().enumerate().map(|(index, request)| async move {
        tokio::time::sleep(gap * index as u32).await;
        stream(request, words.count).await
    });
    let middle = async {
        tokio::time::sleep((gap * count as u32 + words.life()) / 2).await;
        process.rss()
    };
    let (results, rss) = tokio::join!(join_all(streams), middle);
    let cpu = process.cpu() - before;
    let commits = process.commits().zip(commits_before).map(|(after, before)| after - before);
    let mut first_word: Vec<f64> = results.iter().skip(unmeasured).map(|(first, _)| *first).collect();
    first_word.sort_by(f64::total_cmp);
    let whole = results.iter().filter(|(_, whole)| *whole).count();
    let cpu_per_1000 = cpu * 1000.0 / (count * words.count) as f64 * 1000.0;
    Figures { first_word, streams: count, whole, cpu, cpu_per_1000, rss, commits }
}

/// One stream: milliseconds to the first word, and whether all words came.
async fn stream(request: RequestBuilder, count: usize) -> (f64, bool) {
    let began = Instant::now();
    let Ok(mut answer) = request.send().await else { return (0.0, false) };
    if !answer.status().is_success() {
        println!("{}: {}", answer.status(), answer.text().await.unwrap_or_default());
        return (0.0, false);
    }
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
    (first.unwrap_or_default().as_secs_f64() * 1000.0, words == count)
}

/// Questions for the relay.
pub fn for_relay(http: &reqwest::Client, relay: &Process, words: Words, count: usize) -> Vec<RequestBuilder> {
    let message = json!({ "role": "user", "content": words.question() });
    let body = json!({ "model": "scripted", "stream": true, "messages": [message] });
    (0..count).map(|_| http.post(&relay.url).json(&body)).collect()
}

/// People of the program, each of whom has their share of the streams.
pub struct People(Vec<Person>);

impl People {
    /// As many as are needed for so many streams at a time.
    pub async fn for_streams(http: &reqwest::Client, program: &Process, open: usize) -> Self {
        let mut people = Vec::new();
        for _ in 0..open.div_ceil(STREAMS_PER_PERSON) {
            people.push(Person::sign_up_at(&program.url, http).await);
        }
        Self(people)
    }

    /// Questions for the program, each in a new chat.
    pub async fn ask(&self, question: &str, count: usize) -> Vec<RequestBuilder> {
        let mut requests = Vec::with_capacity(count);
        for (_, person) in (0..count).zip(self.0.iter().cycle()) {
            requests.push(ask(person, &person.new_chat().await, question));
        }
        requests
    }

    /// One of them.
    pub fn first(&self) -> &Person {
        &self.0[0]
    }
}

/// A question of a person in a chat.
pub fn ask(person: &Person, chat: &str, question: &str) -> RequestBuilder {
    let body = json!({ "message": question, "sessionId": chat, "tools": [] });
    person.request(Method::POST, "/functions/v1/ai-chat").header("accept", "text/event-stream").json(&body)
}
