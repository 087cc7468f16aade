//! `bench open`: memory of many open streams, and what is left after they have ended.

use std::time::{Duration, Instant};

use testkit::Database;

use crate::load::{Arrival, People, Words, load};
use crate::process::Process;

/// Number of simultaneous streams.
const OPEN_STREAMS: usize = 5_000;
/// A slow output, since this benchmark is about memory.
const SLOW_WORDS: Words = Words { count: 60, pace: 1_000 };
/// Number of streams that warm the server up, so that the memory at rest is that of a used server.
const WARM_UP_STREAMS: usize = 100;
const QUICK_WORDS: Words = Words { count: 60, pace: 20 };
/// Maximum time for memory to be released.
const RELEASE_TIMEOUT: Duration = Duration::from_mins(1);
/// Ratio to the memory at rest below which memory counts as released.
const RELEASED_RATIO: f64 = 1.2;

/// Prints the memory at each stage.
pub async fn measure() {
    let folder = tempfile::TempDir::new().unwrap();
    let model = Process::role(&["model"]);
    let (program, _) = Process::program(Some(&model.url), Database::Sqlite, &folder).await;
    let at_start = program.rss();
    let http = testkit::http_client();
    let people = People::for_streams(&http, &program, OPEN_STREAMS).await;
    let requests = people.ask(&SLOW_WORDS.question(), OPEN_STREAMS).await;
    // Hashing passwords took memory, which is released by then.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = program.rss();
    // Afterwards, code and connections that any use brings into memory are there.
    let few = people.ask(&QUICK_WORDS.question(), WARM_UP_STREAMS).await;
    load(&program, few, QUICK_WORDS, Arrival::Burst(WARM_UP_STREAMS)).await;
    tokio::time::sleep(RELEASE_TIMEOUT).await;
    let at_rest = program.rss();
    let figures = load(&program, requests, SLOW_WORDS, Arrival::Burst(OPEN_STREAMS)).await;
    // Closes idle connections, whose buffers would count.
    drop(http);
    let ended = Instant::now();
    let mut after = program.rss();
    while after > at_rest * RELEASED_RATIO && ended.elapsed() < RELEASE_TIMEOUT {
        tokio::time::sleep(Duration::from_millis(200)).await;
        after = program.rss();
    }
    let seconds = ended.elapsed().as_secs_f64();
    println!("\n| {OPEN_STREAMS} streams, a word a second | |\n|---|---|");
    println!("| whole | {}/{OPEN_STREAMS} |", figures.whole);
    println!("| RSS when the program had begun | {at_start:.0} MB |");
    println!("| with accounts and chats, before the streams | {before:.0} MB |");
    println!("| a minute after the first {WARM_UP_STREAMS} answers | {at_rest:.0} MB |");
    println!("| with all of them open | {:.0} MB |", figures.rss);
    println!("| {seconds:.1} s after the last ended | {after:.0} MB |");
}
