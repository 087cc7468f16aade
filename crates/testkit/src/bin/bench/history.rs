//! `bench history`: the cost of a long history. Over HTTP, one after the other, the calls with which the web app
//! lists, opens and searches chats are made on a database with many chats.

mod filling;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::Value;
use tempfile::TempDir;
use testkit::{Person, databases};

use crate::process::Process;
use crate::texts::{VOCABULARY_WORDS, character, russian, word};
use filling::{History, MESSAGES_PER_CHAT, Somebody};

/// Number of times that each call is made.
const CALLS_PER_METHOD: usize = 100;

/// Fills each database with `chats` chats, or reuses those that an earlier run left in `folder`, and prints a table.
pub async fn measure(chats: usize, folder: Option<PathBuf>) {
    let own = TempDir::new().unwrap();
    let folder = folder.unwrap_or_else(|| own.path().to_owned());
    println!("\n{chats} chats, {} messages; ms over HTTP, {CALLS_PER_METHOD} calls each\n", chats * MESSAGES_PER_CHAT);
    println!("| database | person with | call | found | first | p50 | p99 | most |\n|---|---|---|---|---|---|---|---|");
    for database in databases() {
        let history = History::of(database, chats, &folder).await;
        for somebody in &history.people {
            on(&history, somebody).await;
        }
    }
}

/// Measures all calls for one user. The server is restarted for each kind of call, so that the first call finds
/// nothing in the server's caches.
async fn on(history: &History, somebody: &Somebody) {
    let History { database, url, folder, .. } = history;
    // The operating system's cache of the database file stays warm; only the process is new.
    let mut memory = 0.0_f64;
    for call in CALLS_OF_THE_PAGE {
        let (process, _) = Process::start(None, *database, url, folder, &[]).await;
        let person = Person::sign_in_at(&somebody.email, &process.url, &testkit::http_client()).await;
        // One request before the measurement, so that it does not include the sign-in.
        person.get("/api/sessions/marks").await;
        let Some(path) = path(&person, somebody, call).await else { continue };
        let mut times = Vec::with_capacity(CALLS_PER_METHOD);
        let mut found = 0;
        for _ in 0..CALLS_PER_METHOD {
            let began = Instant::now();
            let answer = person.request(Method::GET, &path).send().await.unwrap();
            assert_eq!(answer.status(), 200, "{path}");
            let body = answer.bytes().await.unwrap();
            times.push(began.elapsed());
            found = rows(&serde_json::from_slice(&body).unwrap());
        }
        memory = memory.max(process.rss());
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let first = ms(times[0]);
        times.sort();
        let [middle, late, most] =
            [CALLS_PER_METHOD / 2, CALLS_PER_METHOD * 99 / 100 - 1, CALLS_PER_METHOD - 1].map(|at| ms(times[at]));
        println!(
            "| {database:?} | {} chats | {} | {found} | {first:.1} | {middle:.1} | {late:.1} | {most:.1} |",
            somebody.chats,
            call.name(),
        );
    }
    eprintln!("{database:?}, {} chats: at most {memory:.0} MB in memory", somebody.chats);
}

/// Returns the number of results in a response.
fn rows(answer: &Value) -> usize {
    answer.as_array().or_else(|| answer["messages"].as_array()).map_or(0, Vec::len)
}

/// A call of the web app.
#[derive(Clone, Copy)]
enum Call {
    // At most 1,000 chats, as the web app requests them.
    List,
    /// A page of 100 chats after this many newer ones.
    Older(usize),
    ChatMarks,
    Open,
    /// A search: its description, the query, and the page of the results.
    Search(&'static str, fn() -> String, usize),
}

const CALLS_OF_THE_PAGE: &[Call] = &[
    Call::List,
    Call::Older(0),
    Call::Older(10_000),
    Call::ChatMarks,
    Call::Open,
    Call::Search("a word of most messages", || word(0), 1),
    Call::Search("a word of most messages", || word(0), 2),
    Call::Search("a word of most messages", || word(0), 20),
    Call::Search("a word of one message in 6", || word(100), 1),
    Call::Search("a word of one message in 6", || word(100), 20),
    Call::Search("a word of one message in 100", || word(1_000), 1),
    Call::Search("a word of one message in 100", || word(1_000), 20),
    Call::Search("a word of one message in 5,000", || word(VOCABULARY_WORDS / 2), 1),
    Call::Search("a word of none", || "qqqqqq".to_owned(), 1),
    Call::Search("one letter", || "k".to_owned(), 1),
    Call::Search("two letters", || "ka".to_owned(), 1),
    Call::Search("two letters", || "zu".to_owned(), 1),
    Call::Search("two letters", || "zu".to_owned(), 20),
    Call::Search("three words of most messages", || format!("{} {} {}", word(0), word(1), word(2)), 1),
    Call::Search("two words of one message in 6", || format!("{} {}", word(100), word(101)), 1),
    Call::Search("a word of most and one of few", || format!("{} {}", word(0), word(20_000)), 1),
    Call::Search("a phrase", || format!("\"{} {}\"", word(20), word(30)), 1),
    Call::Search("a phrase of none", || format!("\"{0} {0} {0} {0}\"", word(1)), 1),
    Call::Search("a Chinese character", || character(0).to_string(), 1),
    Call::Search("two Chinese characters", || [character(4), character(9)].iter().collect(), 1),
    Call::Search("two Russian letters", || russian(0), 1),
    Call::Search("a Russian word", || russian(2_000), 1),
];

impl Call {
    /// Returns the name of the call in the printed table.
    fn name(self) -> String {
        match self {
            Self::List => "list (1,000 at most)".to_owned(),
            Self::Older(0) => "list, the newest 100".to_owned(),
            Self::Older(newer) => format!("list, 100 behind {newer}"),
            Self::ChatMarks => "marks".to_owned(),
            Self::Open => "open".to_owned(),
            Self::Search(what, _, 1) => format!("search, {what}"),
            Self::Search(what, _, page) => format!("search, {what}, page {page}"),
        }
    }
}

/// Returns the path of a [`Call`]; `None` if the user has too few chats or results for it.
async fn path(person: &Person, somebody: &Somebody, call: &Call) -> Option<String> {
    let list = format!("/rest/v1/ai_chat_sessions?select=*&user_id=eq.{}&order=updated_at.desc", person.id);
    let (what, page) = match call {
        Call::List => return Some(list),
        Call::Older(newer) if newer + 100 > somebody.chats => return None,
        Call::Older(newer) => return Some(format!("{list}&limit=100&offset={newer}")),
        Call::ChatMarks => return Some("/api/sessions/marks".to_owned()),
        Call::Open => {
            let of = &somebody.chat;
            return Some(format!(
                "/rest/v1/ai_chat_messages?select=*&session_id=eq.{of}&order=created_at.desc&limit=30"
            ));
        }
        Call::Search(_, what, page) => (what(), *page),
    };
    let bytes = what.bytes().map(|byte| format!("%{byte:02X}"));
    let search = format!("/api/search?q={}", bytes.collect::<String>());
    let mut path = search.clone();
    for _ in 1..page {
        let next = person.get(&path).await["next"].as_str()?.to_owned();
        path = format!("{search}&before={next}");
    }
    Some(path)
}
