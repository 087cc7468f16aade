//! Kills the program again and again in the middle of turns, and looks whether anything was lost or done twice.
//!
//! The people, the model and the server of the tools live in this process, which is not killed: they know what was asked,
//! what was told and how often each tool ran. Everything random comes from one seed; when the program is killed is also
//! a matter of the machine, so a seed shows the same turns but not the same run again.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a harness that cannot go on stops, and prints what it found"
)]

mod actor;
mod front;
mod plan;
mod program;
mod verdict;
mod witness;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use testkit::{Database, Person, ScriptedMcp, ScriptedModel, databases};

use actor::{Actor, Tally};
use program::Program;

/// Programs that are killed at the same time on each kind of database, each with its own people.
const PROGRAMS: usize = 2;
/// People who ask at once.
const PEOPLE: u64 = 4;
/// The longest time between two kills, in milliseconds.
const LIFE: u64 = 1_500;
/// How long one of several processes stays away, half of the times: the others have to take its turns over within ten seconds.
const AWAY: Duration = Duration::from_secs(10);
/// How long a tool takes.
const TOOL: Duration = Duration::from_millis(60);

/// What was asked for.
struct Wanted {
    binary: PathBuf,
    kills: usize,
    seed: u64,
    nodes: usize,
}

impl Wanted {
    fn read() -> Self {
        let mut wanted = Self { binary: PathBuf::new(), kills: 200, seed: fastrand::u64(..), nodes: 1 };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().unwrap_or_else(|| panic!("{word} wants a value"));
            match word.as_str() {
                "--program" => wanted.binary = value.into(),
                "--kills" => wanted.kills = value.parse().expect("a number of kills"),
                "--seed" => wanted.seed = value.parse().expect("a number for the seed"),
                "--nodes" => wanted.nodes = value.parse().expect("a number of processes"),
                _ => panic!("usage: crash --program FILE [--kills N] [--seed N] [--nodes N]"),
            }
        }
        wanted
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let wanted = Wanted::read();
    let mut databases = databases();
    if wanted.nodes > 1 {
        databases.retain(|database| *database == Database::Postgres);
    }
    let programs = databases.len() * PROGRAMS;
    println!("seed {}", wanted.seed);
    let began = Instant::now();
    let share = |index: usize| wanted.kills * index / programs;
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
        println!("{database:?}: turns: {}; {} went on after a kill", ended.join(", "), tally.resumed);
        for fault in &tally.faults {
            println!("FAULT {fault}");
        }
    }
    println!("{} s", began.elapsed().as_secs());
    println!("{} passed, {faults} failed", wanted.kills);
    if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Kills the program so often on one kind of database.
async fn haunt(wanted: &Wanted, database: Database, kills: usize, seed: u64) -> Tally {
    let mut dice = fastrand::Rng::with_seed(seed);
    let model = ScriptedModel::start([]).await;
    model.answer_by(plan::step);
    let tool = |name: &str| {
        let schema = json!({ "type": "object", "properties": { "token": { "type": "string" } } });
        json!({ "name": name, "description": "Takes a token.", "inputSchema": schema })
    };
    let server = ScriptedMcp::start([tool(plan::ALLOWED), tool(plan::ASKS)]).await;
    server.slow_down(TOOL);
    let mut program = Program::new(&wanted.binary, database, &model.base_url, wanted.nodes).await;
    for index in 0..program.nodes() {
        program.start(index).await;
    }
    let mut actors = Vec::new();
    for index in 0..PEOPLE {
        let person = Person::sign_up_at(&program.url(), &testkit::client_without_pool()).await;
        let connection = person.connect_to("tools", &server.url).await;
        assert_eq!(person.allow(&connection, plan::ALLOWED, "always").await.0, 200);
        let tools = json!([{ "name": plan::ALLOWED }, { "name": plan::ASKS }]);
        let own = fastrand::Rng::with_seed(dice.u64(..));
        actors.push(Actor::new(person, tools, &server, program.life(), own, index * 1_000_000).live());
    }
    let killer = async {
        for _ in 0..kills {
            tokio::time::sleep(Duration::from_millis(dice.u64(30..LIFE))).await;
            let node = dice.usize(0..program.nodes());
            program.kill(node);
            if program.nodes() > 1 && dice.bool() {
                // Long enough for the others to notice.
                tokio::time::sleep(AWAY).await;
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
    let twice: BTreeMap<String, usize> = runs_of(&server).into_iter().filter(|(_, runs)| *runs > 1).collect();
    sum.faults.extend(twice.iter().map(|(token, runs)| format!("repeated: {token} ran {runs} times")));
    sum
}

/// By token: how often a tool ran with it.
fn runs_of(server: &ScriptedMcp) -> HashMap<String, usize> {
    let mut runs = HashMap::new();
    for (_, arguments) in server.calls() {
        *runs.entry(arguments["token"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    runs
}
