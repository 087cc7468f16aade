//! `bench nodes`: the cost of two nodes on one PostgreSQL database. One node runs all turns, and subscribers at the
//! other node follow them. The database's own statistics count transactions.

use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use testkit::{Database, Person};

use crate::load::Words;
use crate::process::Process;

/// Output of each turn.
const TURN_WORDS: Words = Words { count: 200, pace: 20 };
/// Simultaneous turns per user, below the server's limit.
const TURNS_PER_PERSON: usize = 4;
/// Number of turns at one node, and of subscribers per turn at the other node.
const NODE_LOADS: [(usize, usize); 4] = [(100, 0), (100, 1), (500, 1), (10, 50)];
/// Time after which PostgreSQL's statistics include what idle connections did.
pub const STATISTICS_DELAY: Duration = Duration::from_secs(11);
/// The master key that the nodes share: any 32 bytes.
pub const MASTER_KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

/// Statistics of the database.
#[derive(Debug, Clone, Copy)]
struct Counts {
    transactions: f64,
    pieces: f64,
}

/// Time of arrival of each event, by its id.
pub type Seen = HashMap<u64, Instant>;

/// Prints a table, if PostgreSQL is available.
pub async fn measure() {
    if !testkit::databases().contains(&Database::Postgres) {
        println!("\nTEST_POSTGRES_URL names no PostgreSQL: nothing is measured of several nodes");
        return;
    }
    let folder = tempfile::TempDir::new().unwrap();
    let database = Database::Postgres.create(&folder);
    let model = Process::role(&["model"]);
    let node = || async {
        let settings = [("CHAT_MASTER_KEY", MASTER_KEY)];
        Process::node(Some(&model.url), Database::Postgres, &database, &folder, &settings).await.0
    };
    let (driver, other) = (node().await, node().await);
    // Starting the nodes must not count as load at rest.
    tokio::time::sleep(STATISTICS_DELAY).await;
    let before = count(&database);
    let began = Instant::now();
    tokio::time::sleep(STATISTICS_DELAY * 2).await;
    // Heartbeats and polling of both nodes, which each row subtracts.
    let idle = (count(&database).transactions - before.transactions) / began.elapsed().as_secs_f64();
    println!("\ntwo nodes on one PostgreSQL; {} words an answer, one every {} ms", TURN_WORDS.count, TURN_WORDS.pace);
    println!("two nodes at rest: {idle:.1} transactions a second\n");
    println!(
        "| turns at one node | viewers of each at the other | CPU ms per turn-second, driver | other | RSS driver, MB | \
         other | transactions per turn-second | pieces | kB of pieces | behind the driver p50, ms | p99 | whole |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for load in NODE_LOADS {
        row(&database, &driver, &other, load, idle).await;
    }
}

/// Measures one load and prints its row.
async fn row(database: &str, driver: &Process, other: &Process, (turns, viewers): (usize, usize), idle: f64) {
    let asked = asked(driver, other, turns).await;
    // Signing up must not count as part of the turns.
    tokio::time::sleep(STATISTICS_DELAY).await;
    let (before, cpu, began) = (count(database), [driver.cpu(), other.cpu()], Instant::now());
    let told = join_all(asked.into_iter().map(|asked| turn(asked, viewers)));
    let middle = async {
        tokio::time::sleep(TURN_WORDS.life() / 2).await;
        [driver.rss(), other.rss()]
    };
    let (told, rss) = tokio::join!(told, middle);
    let cpu = [driver.cpu() - cpu[0], other.cpu() - cpu[1]];
    tokio::time::sleep(STATISTICS_DELAY).await;
    let after = count(database);
    let seconds = turns as f64 * TURN_WORDS.life().as_secs_f64();
    let mut behind: Vec<f64> = told.iter().flat_map(|(behind, _)| behind.iter().copied()).collect();
    behind.sort_by(f64::total_cmp);
    let share = |share: f64| match behind.len() {
        0 => String::new(),
        all => format!("{:.0}", behind[((all - 1) as f64 * share).round() as usize]),
    };
    // The heartbeats of both nodes during the measurement are not part of the turns' cost.
    let at_rest = idle * began.elapsed().as_secs_f64();
    println!(
        "| {turns} | {viewers} | {:.2} | {:.2} | {:.0} | {:.0} | {:.1} | {:.1} | {:.2} | {} | {} | {}/{} |",
        cpu[0] * 1000.0 / seconds,
        cpu[1] * 1000.0 / seconds,
        rss[0],
        rss[1],
        (after.transactions - before.transactions - at_rest) / seconds,
        (after.pieces - before.pieces) / seconds,
        bytes(database, turns) / 1024.0 / seconds,
        share(0.5),
        share(0.99),
        told.iter().map(|(_, whole)| whole).sum::<usize>(),
        turns * (1 + viewers),
    );
}

/// Returns the requests of each turn ([`Asked`]): one that starts it in a new chat, and one that follows it at the
/// other node.
async fn asked(driver: &Process, other: &Process, turns: usize) -> Vec<Asked> {
    let http = testkit::http_client();
    let mut asked = Vec::new();
    let mut person = Person::sign_up_at(&driver.url, &http).await;
    for index in 0..turns {
        if index > 0 && index % TURNS_PER_PERSON == 0 {
            person = Person::sign_up_at(&driver.url, &http).await;
        }
        let chat = person.new_chat().await;
        let question = json!({ "message": TURN_WORDS.question(), "sessionId": chat, "tools": [] });
        let request = person.request(Method::POST, "/functions/v1/ai-chat");
        let question = request.header("accept", "text/event-stream").json(&question);
        let look = http.get(format!("{}/api/sessions/{chat}/stream", other.url)).bearer_auth(&person.token);
        asked.push(Asked { question, look });
    }
    asked
}

/// The requests of a turn.
struct Asked {
    question: RequestBuilder,
    look: RequestBuilder,
}

/// Runs a turn with its subscribers. Returns their delays after the first stream in milliseconds, and how many
/// streams were complete.
async fn turn(asked: Asked, viewers: usize) -> (Vec<f64>, usize) {
    let answer = asked.question.send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.status());
    let follow = || async { read(asked.look.try_clone().unwrap().send().await.unwrap()).await };
    let (first, others) = tokio::join!(read(answer), join_all((0..viewers).map(|_| follow())));
    let behind = |(seen, _): &(Seen, bool)| -> Vec<f64> {
        let times = seen.iter().filter_map(|(id, at)| Some(at.saturating_duration_since(*first.0.get(id)?)));
        times.map(|time| time.as_secs_f64() * 1000.0).collect()
    };
    let whole = others.iter().filter(|(_, whole)| *whole).count() + usize::from(first.1);
    (others.iter().flat_map(behind).collect(), whole)
}

/// Reads a stream. Returns the times of its events ([`Seen`]), and whether it ended regularly.
pub async fn read(mut answer: reqwest::Response) -> (Seen, bool) {
    let (mut seen, mut rest, mut is_whole) = (Seen::new(), String::new(), false);
    while let Ok(Some(piece)) = answer.chunk().await {
        let now = Instant::now();
        rest.push_str(&String::from_utf8_lossy(&piece));
        // Only complete events are parsed; the rest waits for the next chunk.
        let Some(end) = rest.rfind("\n\n") else { continue };
        let whole: String = rest.drain(..end + 2).collect();
        let ids = whole.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok());
        seen.extend(ids.map(|id: u64| (id, now)));
        is_whole |= whole.contains("data: [DONE]");
    }
    (seen, is_whole)
}

/// Returns the current statistics as [`Counts`].
fn count(database: &str) -> Counts {
    let [transactions, pieces] = query_row(
        database,
        "SELECT d.xact_commit, t.n_tup_ins FROM pg_stat_database d, pg_stat_user_tables t
        WHERE d.datname = current_database() AND t.relname = 'turn_journal'",
    );
    Counts { transactions, pieces }
}

/// Returns the size of the event journal of the newest turns, in bytes.
fn bytes(database: &str, turns: usize) -> f64 {
    let newest = format!("SELECT id FROM turns ORDER BY created_at DESC LIMIT {turns}");
    let [bytes] = query_row(
        database,
        &format!("SELECT COALESCE(SUM(octet_length(payload)), 0) FROM turn_journal WHERE turn_id IN ({newest})"),
    );
    bytes
}

/// Runs a statement and returns the numbers of its only row.
pub fn query_row<const N: usize>(database: &str, statement: &str) -> [f64; N] {
    let done =
        Command::new("psql").args([database, "--no-psqlrc", "-At", "-F", " ", "-c", statement]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let line = String::from_utf8(done.stdout).unwrap();
    let numbers: Vec<f64> = line.split_whitespace().map(|number| number.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}
