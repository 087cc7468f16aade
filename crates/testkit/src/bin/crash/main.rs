//! Crash test: kills the server repeatedly in the middle of turns, and checks that nothing is lost or done twice.
//!
//! The users, the model and the MCP servers live in this process, which is not killed: they know what was sent, what
//! was received and how many times each tool ran. All random choices derive from one seed. The moment of a kill also
//! depends on the machine, so a seed reproduces the turns but not the whole run.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a harness that cannot go on stops, and prints what it found"
)]

mod actor;
mod deeds;
mod episode;
mod follow;
mod front;
mod heard;
mod judge;
mod ledger;
mod plan;
mod program;
mod tools;
mod verdict;
mod witness;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use testkit::{Database, Person, ScriptedModel, databases};

use actor::{Actor, Tally};
use plan::Attempts;
use program::Program;
use tools::Servers;

/// Default number of servers per kind of database that are tested at the same time, each with its own users.
const PROGRAMS: usize = 2;
/// Number of users per server.
const USERS: u64 = 4;
/// Default maximum time between two kills, in milliseconds.
const DEFAULT_KILL_INTERVAL_MS: u64 = 1_500;
/// Number of kills between two lines of progress.
const PROGRESS_KILLS: usize = 100;
/// Time for which a killed node stays away, half of the times. The other nodes must take over its turns within ten
/// seconds.
const LONG_DOWNTIME: Duration = Duration::from_secs(10);

/// Command line arguments of the crash test.
struct Wanted {
    binary: PathBuf,
    kills: usize,
    seed: u64,
    nodes: usize,
    programs: usize,
    life: u64,
}

impl Wanted {
    /// Parses the command line.
    fn read() -> Self {
        let (seed, programs, life) = (fastrand::u64(..), PROGRAMS, DEFAULT_KILL_INTERVAL_MS);
        let mut wanted = Self { binary: PathBuf::new(), kills: 200, seed, nodes: 1, programs, life };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().unwrap_or_else(|| panic!("{word} wants a value"));
            match word.as_str() {
                "--program" => wanted.binary = value.into(),
                "--kills" => wanted.kills = value.parse().expect("a number of kills"),
                "--seed" => wanted.seed = value.parse().expect("a number for the seed"),
                "--nodes" => wanted.nodes = value.parse().expect("a number of processes"),
                "--programs" => wanted.programs = value.parse().expect("a number of programs"),
                "--life" => wanted.life = value.parse().expect("a number of milliseconds"),
                _ => {
                    panic!("usage: crash --program FILE [--kills N] [--seed N] [--nodes N] [--programs N] [--life MS]")
                }
            }
        }
        wanted
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let wanted = Wanted::read();
    let mut databases = databases();
    // Only PostgreSQL can be shared by several nodes.
    if wanted.nodes > 1 {
        databases.retain(|database| *database == Database::Postgres);
    }
    let programs = databases.len() * wanted.programs;
    println!("seed {}", wanted.seed);
    let began = Instant::now();
    // The kills are divided evenly among the servers.
    let share = |index: usize| wanted.kills * index / programs;
    // Each server has a seed of its own, derived from the one that is printed.
    let haunted = (0..programs).map(|index| {
        let seed = wanted.seed.wrapping_add(index as u64);
        haunt(&wanted, databases[index % databases.len()], share(index + 1) - share(index), seed)
    });
    let tallies = join_all(haunted).await;
    let mut faults = 0;
    for (at, database) in databases.iter().enumerate() {
        let mut tally = Tally::default();
        for one in tallies.iter().skip(at).step_by(databases.len()) {
            tally.add(one);
        }
        faults += tally.faults.len();
        let ended: Vec<String> = tally.ended.iter().map(|(word, count)| format!("{count} {word}")).collect();
        println!("{database:?}: answers: {}; {} went on after a kill", ended.join(", "), tally.resumed);
        let done: Vec<String> = tally.done.iter().map(|(what, count)| format!("{count} {what}")).collect();
        println!("{database:?}: {}", done.join(", "));
    }
    println!("{} s", began.elapsed().as_secs());
    println!("{} passed, {faults} failed", wanted.kills);
    if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one server with its users and kills it `kills` times. Returns the [`Tally`] of all users.
async fn haunt(wanted: &Wanted, database: Database, kills: usize, seed: u64) -> Tally {
    let mut dice = fastrand::Rng::with_seed(seed);
    let model = ScriptedModel::start([]).await;
    let attempts = Attempts::default();
    let known = attempts.clone();
    model.answer_by(move |request| plan::step(&known, request));
    let servers = Servers::start().await;
    let mut program = Program::new(&wanted.binary, database, &model.base_url, wanted.nodes).await;
    for index in 0..program.nodes() {
        program.start(index).await;
    }
    let mut actors = Vec::new();
    for index in 0..USERS {
        let person = Person::sign_up_at(&program.url(), &testkit::client_without_pool()).await;
        let tools = servers.introduce(&person).await;
        let own = fastrand::Rng::with_seed(dice.u64(..));
        let (attempts, life) = (attempts.clone(), program.life());
        // The ranges of turn ids must not overlap, since they identify tool calls.
        actors.push(Actor::new((person, tools), &servers, attempts, life, own, index * 1_000_000).live());
    }
    let killer = async {
        for killed in 1..=kills {
            if killed % PROGRESS_KILLS == 0 {
                println!("{database:?}: {killed} of {kills} kills of this program");
            }
            tokio::time::sleep(Duration::from_millis(dice.u64(30..wanted.life))).await;
            // A run of hours must not store every request.
            model.forget_requests();
            let node = dice.usize(0..program.nodes());
            program.kill(node);
            if program.nodes() > 1 && dice.bool() {
                // Long enough for the other nodes to detect the dead one.
                tokio::time::sleep(LONG_DOWNTIME).await;
            }
            program.start(node).await;
        }
        program.calm_down();
    };
    let (tallies, ()) = tokio::join!(join_all(actors), killer);
    let mut sum = Tally::default();
    for tally in &tallies {
        sum.add(tally);
    }
    for repeated in servers.repeated() {
        sum.fault(repeated);
    }
    sum
}
