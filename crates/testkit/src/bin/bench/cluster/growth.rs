//! Growth of the database by turns.

use std::time::Duration;

use testkit::{Person, run_sql};

use super::{Cluster, TURNS};
use crate::nodes::query_row;

/// Times that all turns run.
const ROUNDS: usize = 4;
/// Words of an answer.
const ANSWER_WORDS: usize = 1000;
/// Milliseconds between two pieces of an answer.
const PACE: u64 = 20;

/// Prints what the database grows by for each turn.
pub async fn measure(cluster: &Cluster, people: &[Person]) {
    let message = format!("calls 1 {ANSWER_WORDS} {PACE}");
    let before = size(&cluster.database).await;
    for _ in 0..ROUNDS {
        cluster.turns(people, &message, 0).await;
    }
    let grown = size(&cluster.database).await - before;
    let turns = ROUNDS * TURNS;
    println!(
        "\nThe database grew by {:.1} kB for each of {turns} turns with a tool call and an answer of {ANSWER_WORDS} words.",
        grown / turns as f64 / 1000.0
    );
}

/// Returns the size of the database on disk, after all texts were indexed and all journals deleted, which takes a minute
/// and a half, and after `VACUUM`.
async fn size(database: &str) -> f64 {
    let unfinished = "SELECT (SELECT count(*) FROM search_entries WHERE pending) + (SELECT count(*) FROM turn_journal)";
    while query_row(database, unfinished) != [0.0] {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    run_sql(database, "VACUUM").await;
    let [size] = query_row(database, "SELECT pg_database_size(current_database())");
    size
}
