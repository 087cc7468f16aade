//! Generation of load: streams that are requested and read.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use testkit::Person;

use crate::process::Process;

/// Simultaneous turns per user, below the server's limit.
const STREAMS_PER_PERSON: usize = 4;

/// The scripted model's output in each stream.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    /// Number of words; each one is an event of the model's stream.
    pub count: usize,
    /// Milliseconds between two words.
    pub pace: u64,
}

impl Words {
    /// Returns the message that makes the scripted model produce this output.
    pub fn question(self) -> String {
        format!("words {} {}", self.count, self.pace)
    }

    /// Returns the duration of the output.
    pub fn life(self) -> Duration {
        Duration::from_millis(self.pace * self.count as u64)
    }
}

/// Distribution of the requests over time.
#[derive(Debug, Clone, Copy)]
pub enum Arrival {
    /// All requests at the same moment.
    Burst(usize),
    /// A constant number of open streams: when one ends, the next begins, evenly distributed. Latencies are counted
    /// only for streams that began after the first ones had ended.
    Steady(usize),
}

/// Results of a measurement.
pub struct Figures {
    /// Latencies of the first word in milliseconds, sorted.
    first_word: Vec<f64>,
    /// Number of requested streams.
    pub streams: usize,
    /// Number of streams that received all words.
    pub whole: usize,
    /// Processor time in seconds.
    cpu: f64,
    /// Processor time per 1,000 words, in milliseconds.
    cpu_per_1000: f64,
    /// Resident memory in the middle of the measurement, in megabytes.
    pub rss: f64,
    /// Number of writing transactions, if the database counts them.
    pub commits: Option<u64>,
}

impl Figures {
    /// Returns the quantile `share` of the latency of the first word, in milliseconds.
    pub fn first_word(&self, share: f64) -> f64 {
        self.first_word[((self.first_word.len() - 1) as f64 * share).round() as usize]
    }

    /// Returns the ratio of both processor times. It is empty if either is so short that the clock's resolution of 10
    /// ms is more than 5 % of it.
    pub fn cpu_beside(&self, other: &Self) -> String {
        let is_known = self.cpu.min(other.cpu) >= 0.2;
        if is_known { format!("{:.2}x", self.cpu / other.cpu) } else { String::new() }
    }

    /// Prints a row of the table.
    pub fn row(&self, name: &str, what: &str) {
        let (middle, late) = (self.first_word(0.5), self.first_word(0.99));
        let Self { cpu_per_1000, rss, whole, streams, .. } = self;
        println!("| {what} | {name} | {middle:.1} | {late:.1} | {cpu_per_1000:.1} | {rss:.0} | {whole}/{streams} |");
    }
}

/// Sends the requests, reads the streams to their ends, and measures the [`Process`] that serves them.
pub async fn load(process: &Process, requests: Vec<RequestBuilder>, words: Words, arrival: Arrival) -> Figures {
    let count = requests.len();
    let (gap, unmeasured) = match arrival {
        Arrival::Burst(_) => (Duration::ZERO, 0),
        // One stream begins each time another one ends.
        Arrival::Steady(open) => (words.life() / open as u32, open),
    };
    let commits_before = process.commits();
    let before = process.cpu();
    let streams = requests.into_iter().enumerate().map(|(index, request)| async move {
        tokio::time::sleep(gap * index as u32).await;
        stream(request, words.count).await
    });
    // In the middle of the measurement, most streams are open.
    let middle = async {
        tokio::time::sleep((gap * count as u32 + words.life()) / 2).await;
        process.rss()
    };
    let (results, rss) = tokio::join!(join_all(streams), middle);
    // After all streams have ended, so that storing them counts, too.
    let cpu = process.cpu() - before;
    let commits = process.commits().zip(commits_before).map(|(after, before)| after - before);
    let mut first_word: Vec<f64> = results.iter().skip(unmeasured).map(|(first, _)| *first).collect();
    // The quantiles need sorted times.
    first_word.sort_by(f64::total_cmp);
    let whole = results.iter().filter(|(_, whole)| *whole).count();
    let cpu_per_1000 = cpu * 1000.0 / (count * words.count) as f64 * 1000.0;
    Figures { first_word, streams: count, whole, cpu, cpu_per_1000, rss, commits }
}

/// Reads one stream. Returns the milliseconds until the first word, and whether all words arrived.
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
        // A word can be split between two chunks, so the rest of the text is kept.
        tail = tail.split_off(tail.rfind("word ").map_or(tail.len().saturating_sub(8), |at| at + 5));
    }
    (first.unwrap_or_default().as_secs_f64() * 1000.0, words == count)
}

/// Returns requests that ask the relay for these [`Words`].
pub fn for_relay(http: &reqwest::Client, relay: &Process, words: Words, count: usize) -> Vec<RequestBuilder> {
    let message = json!({ "role": "user", "content": words.question() });
    let body = json!({ "model": "scripted", "stream": true, "messages": [message] });
    (0..count).map(|_| http.post(&relay.url).json(&body)).collect()
}

/// Users of the server, among whom the streams are divided.
pub struct People(Vec<Person>);

impl People {
    /// Signs up enough users ([`Person`]) for `open` simultaneous streams.
    pub async fn for_streams(http: &reqwest::Client, program: &Process, open: usize) -> Self {
        let mut people = Vec::new();
        for _ in 0..open.div_ceil(STREAMS_PER_PERSON) {
            people.push(Person::sign_up_at(&program.url, http).await);
        }
        Self(people)
    }

    /// Returns requests to the server, each in a new chat.
    pub async fn ask(&self, question: &str, count: usize) -> Vec<RequestBuilder> {
        let mut requests = Vec::with_capacity(count);
        for (_, person) in (0..count).zip(self.0.iter().cycle()) {
            requests.push(ask(person, &person.new_chat().await, question));
        }
        requests
    }

    /// Returns the first user.
    pub fn first(&self) -> &Person {
        &self.0[0]
    }
}

/// Returns a request that sends a message of a user in a chat.
pub fn ask(person: &Person, chat: &str, question: &str) -> RequestBuilder {
    let body = json!({ "message": question, "sessionId": chat, "tools": [] });
    person.request(Method::POST, "/functions/v1/ai-chat").header("accept", "text/event-stream").json(&body)
}
