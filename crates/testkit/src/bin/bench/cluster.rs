//! `bench cluster`: what each thing that users do costs four nodes on one PostgreSQL database, at the nodes and at the
//! database. `docs/guide/scaling.md` computes from it how many nodes a number of users needs.

mod growth;
mod traffic;

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;
use testkit::{Database, Person, ScriptedMcp};

use crate::load::Words;
use crate::nodes::{MASTER_KEY, STATISTICS_DELAY, query_row, read};
use crate::process::{Process, cpu_of_siblings};
use traffic::Traffic;

/// Number of nodes.
const NODES: usize = 4;
/// Number of simultaneous turns, divided among the nodes.
const TURNS: usize = 200;
/// Simultaneous turns per user, below the server's limit.
const TURNS_PER_PERSON: usize = 4;
/// The least that a turn can write.
const ONE_WORD: Words = Words { count: 1, pace: 1 };
/// A stream of fifty words per second.
const STREAM: Words = Words { count: 1000, pace: 20 };
/// Tool calls of a turn, one after the other.
const CALLS_PER_TURN: usize = 5;
/// Requests for the list of chats.
const LISTS: usize = 2000;
/// Time in which `psql` runs a statement and prints.
const COUNTED_DELAY: Duration = Duration::from_millis(300);
/// The channel of all notifications (`storage::notify`).
const CHANNEL: &str = "ai_chat_mcp";

/// Prints a table, if PostgreSQL is available.
pub async fn measure() {
    if !testkit::databases().contains(&Database::Postgres) {
        println!("\nTEST_POSTGRES_URL names no PostgreSQL: nothing is measured of a cluster");
        return;
    }
    let cluster = Cluster::start().await;
    let people = cluster.people().await;
    println!("\n{NODES} nodes on one PostgreSQL; {TURNS} turns at a time\n");
    println!(
        "| what | CPU ms, nodes | CPU ms, database | transactions | kB of write-ahead log | notifications | kB of \
         notifications | kB from users | kB to users | kB from the database | kB to the database |\n\
         |---|---|---|---|---|---|---|---|---|---|---|"
    );
    // Starting the nodes and signing up must not count as rest.
    tokio::time::sleep(STATISTICS_DELAY).await;
    let began = Instant::now();
    let before = cluster.costs().await;
    tokio::time::sleep(STATISTICS_DELAY * 2).await;
    let rest = cluster.costs().await.minus(before).divided_by(began.elapsed().as_secs_f64());
    rest.divided_by(NODES as f64).print("a second of a node at rest");

    let turn = cluster.cost_of(rest, cluster.turns(&people, &ONE_WORD.question(), 0)).await;
    turn.divided_by(TURNS as f64).print("a turn of one word");
    let streams = cluster.cost_of(rest, cluster.turns(&people, &STREAM.question(), 0)).await;
    let seconds = TURNS as f64 * STREAM.life().as_secs_f64();
    streams.minus(turn).divided_by(seconds).print("a second of its stream, 50 words");
    let watched = cluster.cost_of(rest, cluster.turns(&people, &STREAM.question(), 1)).await;
    watched.minus(streams).divided_by(seconds).print("a second of a follower at another node");
    let calls = cluster.cost_of(rest, cluster.turns(&people, &format!("calls {CALLS_PER_TURN}"), 0)).await;
    calls.minus(turn).divided_by((TURNS * CALLS_PER_TURN) as f64).print("a tool call of a turn");
    let lists = cluster.cost_of(rest, lists(&people)).await;
    lists.divided_by(LISTS as f64).print("a list of the newest chats");
    growth::measure(&cluster, &people).await;
}

/// Costs so far, or of something: seconds of processor time at the nodes and at the database, transactions, bytes of the
/// write-ahead log, notifications and their bytes, and the bytes of [`Traffic`].
#[derive(Debug, Clone, Copy)]
struct Costs([f64; 10]);

impl Costs {
    fn minus(self, other: Self) -> Self {
        Self(std::array::from_fn(|index| self.0[index] - other.0[index]))
    }

    fn divided_by(self, count: f64) -> Self {
        Self(self.0.map(|cost| cost / count))
    }

    /// Prints a row of the table.
    fn print(self, what: &str) {
        let [nodes, database, transactions, log, notifications, bytes, traffic @ ..] = self.0;
        let [from_users, to_users, from_database, to_database] = traffic.map(|bytes| bytes / 1000.0);
        println!(
            "| {what} | {:.2} | {:.2} | {transactions:.2} | {:.2} | {notifications:.2} | {:.3} | {from_users:.2} | \
             {to_users:.2} | {from_database:.2} | {to_database:.2} |",
            nodes * 1000.0,
            database * 1000.0,
            log / 1000.0,
            bytes / 1000.0
        );
    }
}

struct Cluster {
    database: String,
    nodes: Vec<Process>,
    notifications: Notifications,
    traffic: Traffic,
    /// Keeps the users' connections open until their bytes are counted.
    http: reqwest::Client,
    server: ScriptedMcp,
    /// Removed after the processes have ended, so it is declared after them.
    _model: Process,
    _folder: TempDir,
}

impl Cluster {
    async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let database = Database::Postgres.create(&folder);
        let model = Process::role(&["model"]);
        let mut nodes = Vec::new();
        for _ in 0..NODES {
            let settings = [("CHAT_MASTER_KEY", MASTER_KEY)];
            nodes.push(Process::node(Some(&model.url), Database::Postgres, &database, &folder, &settings).await.0);
        }
        let notifications = Notifications::listen(&database, &folder);
        let server = ScriptedMcp::start([json!({ "name": "look_up" })]).await;
        let (traffic, http) = (Traffic::new(&nodes, &database), testkit::http_client());
        Self { database, nodes, notifications, traffic, http, server, _model: model, _folder: folder }
    }

    /// Signs up the users, each at one of the nodes, with a tool that needs no approval.
    async fn people(&self) -> Vec<Person> {
        let mut people = Vec::new();
        for (_, node) in (0..TURNS / TURNS_PER_PERSON).zip(self.nodes.iter().cycle()) {
            let person = Person::sign_up_at(&node.url, &self.http).await;
            let connection = person.connect_to("register", &self.server.url).await;
            let (status, answer) = person.allow(&connection, "look_up", "always").await;
            assert!(status.is_success(), "{answer}");
            people.push(person);
        }
        people
    }

    /// Runs a turn with this message in each of [`TURNS`] new chats. Followers read the stream at the next node.
    async fn turns(&self, people: &[Person], message: &str, followers: usize) {
        let turns = (0..TURNS).map(|index| async move {
            let person = &people[index % people.len()];
            let other = &self.nodes[(index % people.len() + 1) % NODES].url;
            let chat = person.new_chat().await;
            let tools = json!([{ "name": "look_up", "serverName": "register" }]);
            let question = json!({ "message": message, "sessionId": chat, "tools": tools });
            let request = person.request(Method::POST, "/functions/v1/ai-chat");
            let answer = request.header("accept", "text/event-stream").json(&question).send().await.unwrap();
            assert!(answer.status().is_success(), "{}", answer.status());
            let follow = || async {
                let request = self.http.get(format!("{other}/api/sessions/{chat}/stream"));
                read(request.bearer_auth(&person.token).send().await.unwrap()).await.1
            };
            let (first, others) = tokio::join!(read(answer), join_all((0..followers).map(|_| follow())));
            assert!(first.1 && others.into_iter().all(|is_whole| is_whole), "a stream was cut");
        });
        join_all(turns).await;
    }

    /// Returns what something costs, without what the nodes cost at rest meanwhile.
    async fn cost_of(&self, rest: Costs, work: impl Future<Output = ()>) -> Costs {
        let began = Instant::now();
        let before = self.costs().await;
        tokio::select! {
            () = work => {}
            () = self.traffic.watch() => {}
        }
        tokio::time::sleep(STATISTICS_DELAY).await;
        let at_rest = rest.divided_by(1.0 / began.elapsed().as_secs_f64());
        self.costs().await.minus(before).minus(at_rest)
    }

    async fn costs(&self) -> Costs {
        let [checkpointer, transactions, log] = query_row(
            &self.database,
            "SELECT a.pid, d.xact_commit, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')
            FROM pg_stat_database d, pg_stat_activity a
            WHERE d.datname = current_database() AND a.backend_type = 'checkpointer'",
        );
        let nodes = self.nodes.iter().map(Process::cpu).sum();
        let cpu = cpu_of_siblings(checkpointer as u32);
        let [notifications, bytes] = self.notifications.count().await;
        let [from_users, to_users, from_database, to_database] = self.traffic.count().await;
        Costs([nodes, cpu, transactions, log, notifications, bytes, from_users, to_users, from_database, to_database])
    }
}

/// Reads the list of the newest chats [`LISTS`] times, each user one after the other.
async fn lists(people: &[Person]) {
    let each = people.iter().map(|person| async move {
        for _ in 0..LISTS / people.len() {
            person.get("/rest/v1/ai_chat_sessions?select=*&order=updated_at.desc&limit=50").await;
        }
    });
    join_all(each).await;
}

/// Receives the notifications of a database in a `psql` of its own, which prints them.
struct Notifications {
    psql: Child,
    input: ChildStdin,
    output: PathBuf,
}

impl Notifications {
    fn listen(database: &str, folder: &TempDir) -> Self {
        let output = folder.path().join("notifications");
        let mut psql = Command::new("psql")
            .args([database, "--no-psqlrc", "--quiet", "--tuples-only"])
            .stdin(Stdio::piped())
            .stdout(File::create(&output).unwrap())
            .spawn()
            .unwrap();
        let mut input = psql.stdin.take().unwrap();
        writeln!(input, "LISTEN {CHANNEL};").unwrap();
        Self { psql, input, output }
    }

    /// Returns the number of notifications so far, and their bytes.
    async fn count(&self) -> [f64; 2] {
        // `psql` prints what has arrived when it has run something.
        writeln!(&self.input, "SELECT 'counted';").unwrap();
        tokio::time::sleep(COUNTED_DELAY).await;
        let printed = std::fs::read_to_string(&self.output).unwrap();
        let payloads =
            printed.lines().filter_map(|line| line.split_once("with payload \"")?.1.rsplit_once("\" received"));
        payloads.fold([0.0, 0.0], |[count, bytes], (payload, _)| [count + 1.0, bytes + payload.len() as f64])
    }
}

impl Drop for Notifications {
    fn drop(&mut self) {
        drop(self.psql.kill());
        drop(self.psql.wait());
    }
}
