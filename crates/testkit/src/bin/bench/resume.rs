//! `bench resume`: the time to resume the stream of a running turn.

use std::time::Instant;

use reqwest::Method;
use testkit::Database;

use crate::load::{People, ask};
use crate::process::Process;

/// Number of words generated before; with five characters each, they are 50 kB.
const EARLIER_WORDS: usize = 10_000;
/// Number of times that the stream is resumed.
const RESUMPTIONS: usize = 50;

/// Prints the median and the maximum time.
pub async fn measure() {
    let folder = tempfile::TempDir::new().unwrap();
    let model = Process::role(&["model"]);
    let (program, _) = Process::program(Some(&model.url), Database::Sqlite, &folder).await;
    let http = testkit::http_client();
    let people = People::for_streams(&http, &program, 1).await;
    let person = people.first();
    let chat = person.new_chat().await;
    let mut asked = ask(person, &chat, &format!("hang {EARLIER_WORDS}")).send().await.unwrap();
    read(&mut asked).await;
    let mut times = Vec::with_capacity(RESUMPTIONS);
    for _ in 0..RESUMPTIONS {
        let began = Instant::now();
        let mut again = person.request(Method::GET, &format!("/api/sessions/{chat}/stream")).send().await.unwrap();
        read(&mut again).await;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    let (middle, most) = (times[RESUMPTIONS / 2], times[RESUMPTIONS - 1]);
    println!("\ncoming back to an answer of {} kB: {middle:.1} ms, at most {most:.1} ms", EARLIER_WORDS * 5 / 1000);
}

/// Reads until all of the text so far has arrived.
async fn read(answer: &mut reqwest::Response) {
    let mut text = String::new();
    while text.matches("word").count() + SPLIT_WORDS < EARLIER_WORDS {
        let piece = answer.chunk().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
}

/// Number of words that may be split between chunks and are therefore not counted.
const SPLIT_WORDS: usize = 200;
