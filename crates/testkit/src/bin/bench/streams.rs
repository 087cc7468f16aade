//! `bench streams`: streams of the server compared with those of a bare relay.

use std::time::Duration;

use testkit::{Database, databases};

use crate::load::{Arrival, Figures, People, Words, for_relay, load};
use crate::process::Process;

/// Words at the speed of a fast model.
const PACED_WORDS: Words = Words { count: 200, pace: 20 };
/// Words as fast as they can be read.
const AT_ONCE: Words = Words { count: 2_000, pace: 0 };
/// Distributions of the requests, with the number of streams.
const ARRIVALS: [Arrival; 6] = [
    Arrival::Burst(1),
    Arrival::Steady(100),
    Arrival::Steady(500),
    Arrival::Burst(100),
    Arrival::Burst(500),
    Arrival::Burst(2_000),
];
/// Distribution of the unpaced streams.
const UNPACED_ARRIVAL: Arrival = Arrival::Burst(100);
/// Number of streams that follow each other when a number of them is kept open.
const CONSECUTIVE_STREAMS: usize = 3;

/// Prints a table for each kind of database.
pub async fn compare() {
    let folder = tempfile::TempDir::new().unwrap();
    idle(&folder).await;
    let model = Process::role(&["model"]);
    let relay = Process::role(&["relay", &model.url]);
    for database in databases() {
        let (program, _) = Process::program(Some(&model.url), database, &folder).await;
        println!("\n{database:?}\n");
        println!("| streams | through | first word p50, ms | p99, ms | CPU ms per 1,000 words | RSS, MB | whole |");
        println!("|---|---|---|---|---|---|---|");
        let both = Both { http: testkit::http_client(), relay: &relay, program: &program };
        let mut commits = Vec::new();
        for arrival in ARRIVALS {
            let figures = both.measure(PACED_WORDS, arrival).await;
            let stream_seconds = figures.streams as f64 * PACED_WORDS.life().as_secs_f64();
            commits.extend(figures.commits.map(|count| (arrival, count as f64 / stream_seconds)));
        }
        // Without pauses the processor is the limit, which the paced streams do not show.
        both.measure(AT_ONCE, UNPACED_ARRIVAL).await;
        for (arrival, per_second) in commits {
            println!("\n{arrival:?}: {per_second:.2} commits per stream-second");
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        println!("\nRSS 5 s after the last stream: {:.0} MB", program.rss());
    }
}

/// The relay and the server, which are measured one after the other.
struct Both<'a> {
    http: reqwest::Client,
    relay: &'a Process,
    program: &'a Process,
}

impl Both<'_> {
    /// Measures both, prints three rows, and returns the [`Figures`] of the server.
    async fn measure(&self, words: Words, arrival: Arrival) -> Figures {
        let (open, count) = match arrival {
            Arrival::Burst(count) => (count, count),
            Arrival::Steady(open) => (open, open * CONSECUTIVE_STREAMS),
        };
        let bare = load(self.relay, for_relay(&self.http, self.relay, words, count), words, arrival).await;
        let people = People::for_streams(&self.http, self.program, open).await;
        let requests = people.ask(&words.question(), count).await;
        let ours = load(self.program, requests, words, arrival).await;
        let pace = if words.pace == 0 { ", unpaced" } else { "" };
        let what = match arrival {
            Arrival::Burst(count) => format!("{count} at once{pace}"),
            Arrival::Steady(open) => format!("{open} open{pace}"),
        };
        bare.row("bare relay", &what);
        ours.row("the program", &what);
        println!(
            "| {what} | *the program adds* | {:+.1} | {:+.1} | {} | | |",
            ours.first_word(0.5) - bare.first_word(0.5),
            ours.first_word(0.99) - bare.first_word(0.99),
            ours.cpu_beside(&bare),
        );
        ours
    }
}

/// Measures the time to start and the memory at rest, without a model.
async fn idle(folder: &tempfile::TempDir) {
    let mut starts = Vec::new();
    let mut rss = 0.0;
    for _ in 0..5 {
        let (process, start) = Process::program(None, Database::Sqlite, folder).await;
        starts.push(start.as_secs_f64() * 1000.0);
        tokio::time::sleep(Duration::from_millis(500)).await;
        rss = process.rss();
    }
    // For the median.
    starts.sort_by(f64::total_cmp);
    println!("start to ready, new data folder, median of 5: {:.0} ms; idle RSS: {rss:.0} MB", starts[2]);
}
