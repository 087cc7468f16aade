//! Crash test: kills the server repeatedly in the middle of turns, and checks that nothing is lost or done twice.
//!
//! The users, the model and the MCP servers live in this process, which is not killed: they know what was sent, what
//! was received and how many times each tool ran. All random choices derive from one seed. The moment of a kill also
//! depends on the machine, so a seed reproduces the turns but not the whole run.
//!
//! Structure:
//! - [`server`] starts and kills the processes under test; [`load_balancer`] connects users to several nodes.
//!   [`postgres_pair`] is the database when it is killed in place of the processes.
//! - [`client`] is a simulated user, who runs one [`scenario`] after the other. [`plan`] is the script of one turn,
//!   [`actions`] are what the user does meanwhile, and [`follow`] reads the streams until the chat is idle.
//! - [`observed`] and [`stream_log`] record what the user received; [`mcp_servers`] record the tool calls.
//! - [`checker`] compares the stored chat with [`expected_chat`], a model of the chat as its user knows it, and each
//!   answer with the [`invariants`]. [`results`] collects violations and counts.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test program panics if it cannot continue, and prints its results"
)]

mod actions;
mod checker;
mod client;
mod expected_chat;
mod follow;
mod invariants;
mod load_balancer;
mod mcp_servers;
mod observed;
mod plan;
mod postgres_pair;
mod results;
mod scenario;
mod server;
mod soak;
mod stream_log;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use testkit::{Database, Person, ScriptedModel, databases};

use client::TestClient;
use mcp_servers::McpServers;
use plan::Attempts;
use postgres_pair::PostgresPair;
use results::TestResults;
use server::TestServer;
use soak::Soak;
use tokio::sync::Semaphore;

/// Default number of servers per kind of database that are tested at the same time, each with its own users.
const DEFAULT_SERVERS: usize = 2;
/// Default number of users per server.
const DEFAULT_USERS: u64 = 4;
/// Default maximum number of simultaneous turns per server: one per user.
const DEFAULT_TURNS: usize = Semaphore::MAX_PERMITS;
/// Default maximum time between two kills, in milliseconds.
const DEFAULT_MAX_INTERVAL_MS: u64 = 1_500;
/// Number of kills between two progress messages.
const KILLS_PER_PROGRESS_MESSAGE: usize = 100;
/// Time until a killed node is restarted, in half of the kills. The other nodes must take over its turns within ten
/// seconds.
const LONG_DOWNTIME: Duration = Duration::from_secs(10);

/// Command line arguments of the crash test.
struct Arguments {
    binary: PathBuf,
    kills: usize,
    /// Whether the primary of a pair of PostgreSQL servers is killed, and not the processes.
    kills_database: bool,
    /// Mode of the pools of PgBouncer in front of that pair.
    pool_mode: Option<String>,
    /// Whether the nodes get `DATABASE_LISTEN_URL`, the address of HAProxy.
    has_listen_url: bool,
    seed: u64,
    nodes: usize,
    servers_per_database: usize,
    max_interval_ms: u64,
    users_per_server: u64,
    /// Maximum number of simultaneous turns per server.
    turns_per_server: usize,
    /// Long test in place of the kills.
    soak: Option<Soak>,
}

impl Arguments {
    /// Parses the command line.
    fn parse() -> Self {
        let mut arguments = Self {
            binary: PathBuf::new(),
            kills: 200,
            kills_database: false,
            pool_mode: None,
            has_listen_url: false,
            seed: fastrand::u64(..),
            nodes: 1,
            servers_per_database: DEFAULT_SERVERS,
            max_interval_ms: DEFAULT_MAX_INTERVAL_MS,
            users_per_server: DEFAULT_USERS,
            turns_per_server: DEFAULT_TURNS,
            soak: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(option) = words.next() {
            let value = words.next().unwrap_or_else(|| panic!("{option} needs a value"));
            match option.as_str() {
                "--binary" => arguments.binary = value.into(),
                "--kills" => arguments.kills = value.parse().expect("a number of kills"),
                "--failovers" => {
                    arguments.kills = value.parse().expect("a number of kills");
                    arguments.kills_database = true;
                }
                "--pool-mode" => arguments.pool_mode = Some(value),
                "--listen" if value == "direct" => arguments.has_listen_url = true,
                "--seed" => arguments.seed = value.parse().expect("a number for the seed"),
                "--nodes" => arguments.nodes = value.parse().expect("a number of processes"),
                "--servers" => arguments.servers_per_database = value.parse().expect("a number of servers"),
                "--interval" => arguments.max_interval_ms = value.parse().expect("a number of milliseconds"),
                "--users" => arguments.users_per_server = value.parse().expect("a number of users"),
                "--turns" => arguments.turns_per_server = value.parse().expect("a number of turns"),
                "--soak" => arguments.soak = Some(Soak::new(value.parse().expect("a number of minutes"))),
                _ => {
                    panic!(
                        "usage: crash --binary FILE [--kills N | --failovers N | --soak MINUTES] [--pool-mode MODE] \
                         [--listen direct] [--seed N] [--nodes N] [--servers N] [--interval MS] [--users N] [--turns N]"
                    )
                }
            }
        }
        arguments
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut databases = databases();
    // Only PostgreSQL can be shared by several nodes.
    if arguments.nodes > 1 || arguments.kills_database {
        databases.retain(|database| *database == Database::Postgres);
    }
    let servers = databases.len() * arguments.servers_per_database;
    println!("seed {}", arguments.seed);
    let started_at = Instant::now();
    // The kills are divided evenly among the servers.
    let share = |index: usize| arguments.kills * index / servers;
    // Each server has a seed of its own, derived from the one that is printed.
    let runs = (0..servers).map(|index| {
        let seed = arguments.seed.wrapping_add(index as u64);
        test_server(&arguments, databases[index % databases.len()], share(index + 1) - share(index), seed)
    });
    let results_by_server = join_all(runs).await;
    let mut violations = 0;
    for (at, database) in databases.iter().enumerate() {
        let mut results = TestResults::default();
        for server_results in results_by_server.iter().skip(at).step_by(databases.len()) {
            results.add(server_results);
        }
        violations += results.violations.len();
        let answers: Vec<String> = results.answers.iter().map(|(status, count)| format!("{count} {status}")).collect();
        println!("{database:?}: answers: {}; {} streams resumed after a kill", answers.join(", "), results.resumed);
        let actions: Vec<String> = results.actions.iter().map(|(action, count)| format!("{count} {action}")).collect();
        println!("{database:?}: {}", actions.join(", "));
    }
    println!("{} s", started_at.elapsed().as_secs());
    let passed = arguments.soak.map_or(arguments.kills, Soak::minutes);
    println!("{passed} passed, {violations} failed");
    if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one server with its users and kills it `kills` times. Returns the [`TestResults`] of all users.
async fn test_server(arguments: &Arguments, database: Database, kills: usize, seed: u64) -> TestResults {
    let mut rng = fastrand::Rng::with_seed(seed);
    let model = ScriptedModel::start([]).await;
    let attempts = Attempts::default();
    let shared_attempts = attempts.clone();
    model.answer_by(move |request| plan::model_step(&shared_attempts, request));
    let mcp_servers = McpServers::start().await;
    let mut pair = None;
    if arguments.kills_database {
        pair = Some(PostgresPair::start(arguments.pool_mode.as_deref(), arguments.has_listen_url).await);
    }
    let mut server =
        TestServer::new(&arguments.binary, database, pair.as_ref(), &model.base_url, arguments.nodes).await;
    for index in 0..server.node_count() {
        server.start(index).await;
    }
    let turns = Semaphore::new(arguments.turns_per_server);
    let mut clients = Vec::new();
    for index in 0..arguments.users_per_server {
        let user = Person::sign_up_at(&server.url(), &testkit::client_without_pool()).await;
        let tools = mcp_servers.connect_user(&user).await;
        let client_rng = fastrand::Rng::with_seed(rng.u64(..));
        let (attempts, state) = (attempts.clone(), server.state());
        // The ranges of turn ids must not overlap, since they identify tool calls.
        let client = TestClient::new((user, tools), &mcp_servers, attempts, state, client_rng, index * 1_000_000);
        clients.push(client.run(&turns));
    }
    let mut violations = Vec::new();
    let kill_repeatedly = async {
        if let Some(soak) = &arguments.soak {
            violations = soak.run(database, &mut server, &model).await;
            server.announce_end_of_kills();
            return;
        }
        for killed in 1..=kills {
            if killed % KILLS_PER_PROGRESS_MESSAGE == 0 {
                println!("{database:?}: {killed} of {kills} kills of this server");
            }
            tokio::time::sleep(Duration::from_millis(rng.u64(30..arguments.max_interval_ms))).await;
            // A run of hours must not store every request.
            model.forget_requests();
            if let Some(pair) = &mut pair {
                server.announce_kill_of_database();
                pair.fail_over().await;
                continue;
            }
            let node = rng.usize(0..server.node_count());
            server.kill(node);
            if server.node_count() > 1 && rng.bool() {
                // Long enough for the other nodes to detect the dead one.
                tokio::time::sleep(LONG_DOWNTIME).await;
            }
            server.start(node).await;
        }
        server.announce_end_of_kills();
    };
    let (results_by_client, ()) = tokio::join!(join_all(clients), kill_repeatedly);
    let mut sum = TestResults::default();
    for results in &results_by_client {
        sum.add(results);
    }
    for violation in violations.into_iter().chain(mcp_servers.repeated_calls()) {
        sum.add_violation(violation);
    }
    sum
}
