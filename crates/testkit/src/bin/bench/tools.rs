//! `bench tools`: tool calls, connections and long tool lists of the server, compared with the bare protocol library
//! on the same MCP server.

use std::process::Command;
use std::time::Instant;

use futures_util::future::join_all;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use testkit::{Database, Person, ScriptedMcp, ScriptedModel, Step};

use crate::process::Process;

/// Number of consecutive calls.
const TOOL_CALLS: usize = 1000;
/// Number of turns in which the model calls the tool once.
const TOOL_TURNS: usize = 200;
/// Number of users, and of connections per user.
const USERS: usize = 50;
const CONNECTIONS_PER_USER: usize = 4;
/// Number of tools of an ordinary server.
const SMALL_TOOL_COUNT: usize = 10;
/// Number of tools of a very large server.
const LARGE_TOOL_COUNT: usize = 10_000;

/// Prints the results of all parts of the benchmark.
pub async fn compare() {
    let folder = tempfile::TempDir::new().unwrap();
    let model = ScriptedModel::start([]).await;
    let (program, _) = Process::program(Some(&model.base_url), Database::Sqlite, &folder).await;
    let bench = Bench { http: testkit::http_client(), program, model };
    bench.calls().await;
    bench.turns().await;
    bench.connections().await;
    bench.many_tools().await;
}

struct Bench {
    http: Client,
    program: Process,
    model: ScriptedModel,
}

/// Returns a realistic tool: a short description and a schema with a few arguments.
fn tool(number: usize) -> Value {
    let argument =
        |name: &str| json!({ "type": "string", "description": format!("The {name} to look for, as it is written.") });
    json!({
        "name": format!("tool-{number}"), "description": format!("Looks up entry {number} of the register and says what stands there."),
        "inputSchema": { "type": "object", "properties": { "name": argument("name"), "place": argument("place"), "year": { "type": "integer" } } },
    })
}

/// Measures the bare library in a process of its own.
async fn bare(url: &str, calls: usize, connections: usize) -> Value {
    let program = std::env::current_exe().unwrap().with_file_name("examples").join("bare");
    let (url, numbers) = (url.to_owned(), [calls, connections].map(|number| number.to_string()));
    let run = move || Command::new(program).arg(url).arg("tool-0").args(numbers).output().unwrap();
    let done = tokio::task::spawn_blocking(run).await.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// Times in milliseconds, sorted.
struct Times(Vec<f64>);

impl Times {
    fn new(times: impl IntoIterator<Item = f64>) -> Self {
        let mut times: Vec<f64> = times.into_iter().collect();
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    /// Returns the quantile `share`.
    fn at(&self, share: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * share).round() as usize]
    }

    /// Prints a row with median and 99th percentile.
    fn row(&self, name: &str) {
        println!("| {name} | {:.2} | {:.2} |", self.at(0.5), self.at(0.99));
    }
}

/// Returns the milliseconds since `began`.
fn since(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1000.0
}

impl Bench {
    async fn person(&self) -> Person {
        Person::sign_up_at(&self.program.url, &self.http).await
    }

    /// Stores a connection with its tools and returns its id.
    async fn connect(&self, who: &Person, name: &str, url: &str, tools: Value) -> Value {
        who.connect(name, url, tools).await["id"].clone()
    }

    async fn json(&self, who: &Person, method: Method, path: &str, body: &Value) -> Value {
        let answer = who.request(method, path).json(body).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Reconnects a connection and returns its state.
    async fn refresh(&self, who: &Person, id: &Value) -> Value {
        let path = format!("/api/connections/{}/refresh", id.as_str().unwrap());
        let view = self.json(who, Method::POST, &path, &json!({})).await;
        assert_eq!(view["status"], "connected", "{view}");
        view
    }

    /// Makes a manual tool call and returns its duration.
    async fn run(&self, who: &Person, server: &str) -> f64 {
        let body = json!({ "serverName": server, "name": "tool-0", "arguments": {} });
        let began = Instant::now();
        self.json(who, Method::POST, "/api/tools/run", &body).await;
        since(began)
    }

    /// Measures manual tool calls. Each is an HTTP request as well, so the time of a request without a tool call is
    /// measured for comparison.
    async fn calls(&self) {
        let server = ScriptedMcp::start((0..SMALL_TOOL_COUNT).map(tool)).await;
        let who = self.person().await;
        let id = self.connect(&who, "one", &server.url, (0..SMALL_TOOL_COUNT).map(tool).collect()).await;
        self.refresh(&who, &id).await;
        let library = bare(&server.url, TOOL_CALLS, 0).await;
        let library = Times::new(library["callsMs"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()));
        let (mut ours, mut empty) = (Vec::new(), Vec::new());
        for _ in 0..TOOL_CALLS {
            ours.push(self.run(&who, "one").await);
            let began = Instant::now();
            self.json(&who, Method::GET, "/api/google-drive", &Value::Null).await;
            empty.push(since(began));
        }
        let (ours, empty) = (Times::new(ours), Times::new(empty));
        println!("\n{TOOL_CALLS} calls of a tool, one after the other\n");
        println!("| through | p50, ms | p99, ms |\n|---|---|---|");
        library.row("the protocol library alone");
        empty.row("a request to the program that calls nothing");
        ours.row("the program, by hand");
        println!(
            "| *the program adds to the library* | {:+.2} | {:+.2} |",
            ours.at(0.5) - library.at(0.5),
            ours.at(0.99) - library.at(0.99)
        );
        println!("| *of that, beside the request* | {:+.2} | |", ours.at(0.5) - library.at(0.5) - empty.at(0.5));
    }

    /// Measures turns with a tool call in new chats, and counts the additional requests to the MCP server.
    async fn turns(&self) {
        let server = ScriptedMcp::start((0..SMALL_TOOL_COUNT).map(tool)).await;
        let who = self.person().await;
        let id = self.connect(&who, "one", &server.url, (0..SMALL_TOOL_COUNT).map(tool).collect()).await;
        self.refresh(&who, &id).await;
        let rule = json!({ "connectionId": id, "tool": "tool-0", "permission": "always" });
        self.json(&who, Method::PUT, "/api/tools/permissions", &rule).await;
        let asked = |methods: [&str; 3]| methods.map(|method| server.requests(method));
        // Later calls must not open connections or list tools; the difference shows it.
        let before = asked(["initialize", "server/discover", "tools/list"]);
        let (mut with, mut without, mut first) = (Vec::new(), Vec::new(), None);
        for _ in 0..TOOL_TURNS {
            self.model.push(Step::Calls(vec![("tool-0".to_owned(), json!({}))]));
            self.model.push(Step::Text("Done.".to_owned()));
            let time = self.turn(&who).await;
            first.get_or_insert(time);
            with.push(time);
            // The same number of model calls, but without a call of the MCP server.
            self.model.push(Step::Calls(vec![("nobody".to_owned(), json!({}))]));
            self.model.push(Step::Text("Done.".to_owned()));
            without.push(self.turn(&who).await);
        }
        let after = asked(["initialize", "server/discover", "tools/list"]);
        let (with, without) = (Times::new(with), Times::new(without));
        println!("\n{TOOL_TURNS} turns, each the first of its chat\n");
        println!("| turn | p50, ms | p99, ms |\n|---|---|---|");
        without.row("the model calls a tool that is not there");
        with.row("the model calls the tool");
        println!(
            "| *a call adds to a turn* | {:+.2} | {:+.2} |",
            with.at(0.5) - without.at(0.5),
            with.at(0.99) - without.at(0.99)
        );
        println!(
            "\nthe first turn of all: {:.2} ms; connections opened: {}, lists asked for: {}, calls: {}",
            first.unwrap_or_default(),
            after[0] + after[1] - before[0] - before[1],
            after[2] - before[2],
            server.calls().len()
        );
    }

    /// Runs a turn with the tool and returns its duration.
    async fn turn(&self, who: &Person) -> f64 {
        self.ask(who, json!([{ "name": "tool-0", "serverName": "one" }])).await
    }

    /// Runs a turn with these tools and returns its duration in milliseconds.
    async fn ask(&self, who: &Person, tools: Value) -> f64 {
        let chat = who.new_chat().await;
        let question = json!({ "message": "Look it up", "sessionId": chat, "tools": tools });
        let began = Instant::now();
        let answer = self.json(who, Method::POST, "/functions/v1/ai-chat", &question).await;
        assert_eq!(answer["status"], "done", "{answer}");
        since(began)
    }

    /// Measures memory and latency of many connections.
    async fn connections(&self) {
        let server = ScriptedMcp::start((0..SMALL_TOOL_COUNT).map(tool)).await;
        let held = bare(&server.url, 1, USERS * CONNECTIONS_PER_USER).await["heldKb"].as_f64().unwrap()
            / (USERS * CONNECTIONS_PER_USER) as f64;
        let mut people = Vec::new();
        for _ in 0..USERS {
            people.push(self.person().await);
        }
        // The connections are first stored with an address that does not respond: hashing the passwords of sign-ups
        // took memory, which is released meanwhile.
        let mut rows = Vec::new();
        for who in &people {
            for number in 0..CONNECTIONS_PER_USER {
                rows.push((who, self.connect(who, &format!("s{number}"), "http://127.0.0.1:9/mcp", json!([])).await));
            }
        }
        let before = self.program.rss();
        for (who, id) in &rows {
            let path = format!("/rest/v1/mcp_servers?id=eq.{}", id.as_str().unwrap());
            self.json(who, Method::PATCH, &path, &json!({ "url": server.url })).await;
        }
        let began = Instant::now();
        // In waves, like users who open the web app one after the other.
        for wave in rows.chunks(20) {
            join_all(wave.iter().map(|(who, id)| self.refresh(who, id))).await;
        }
        let opened = since(began);
        let each = (self.program.rss() - before) * 1024.0 / rows.len() as f64;
        let began = Instant::now();
        let names: Vec<String> = (0..CONNECTIONS_PER_USER).map(|number| format!("s{number}")).collect();
        let calls = people.iter().flat_map(|who| names.iter().map(move |name| self.run(who, name)));
        let times = Times::new(join_all(calls).await);
        println!("\n{} connections of {USERS} people\n", rows.len());
        println!("| | |\n|---|---|");
        println!("| memory of a connection, the protocol library alone | {held:.0} kB |");
        println!("| memory of a connection, the program | {each:.0} kB |");
        println!("| all opened and listed, 20 at a time | {opened:.0} ms |");
        println!(
            "| a call over each at the same moment: p50, p99, all | {:.0} ms, {:.0} ms, {:.0} ms |",
            times.at(0.5),
            times.at(0.99),
            since(began)
        );
    }

    /// Measures a server with very many tools.
    async fn many_tools(&self) {
        let server = ScriptedMcp::start((0..LARGE_TOOL_COUNT).map(tool)).await;
        let library = bare(&server.url, 1, 0).await;
        let who = self.person().await;
        let id = self.connect(&who, "many", &server.url, (0..LARGE_TOOL_COUNT).map(tool).collect()).await;
        let before = self.program.rss();
        let timed = async |method: Method, path: &str, body: Value| {
            let began = Instant::now();
            let answer = who.request(method, path).json(&body).send().await.unwrap();
            let bytes = answer.bytes().await.unwrap().len();
            (since(began), bytes as f64 / 1e6)
        };
        let path = format!("/api/connections/{}/refresh", id.as_str().unwrap());
        let (listed, _) = timed(Method::POST, &path, json!({})).await;
        let grown = self.program.rss() - before;
        let (page, size) = timed(Method::GET, "/api/connections", Value::Null).await;
        let (permissions, _) = timed(Method::GET, "/api/tools/permissions", Value::Null).await;
        // The first call pays for what later ones find ready, so it is not measured.
        self.run(&who, "many").await;
        let mut calls = Vec::new();
        for _ in 0..100 {
            calls.push(self.run(&who, "many").await);
        }
        let all: Vec<Value> = (0..LARGE_TOOL_COUNT)
            .map(|number| json!({ "name": format!("tool-{number}"), "serverName": "many" }))
            .collect();
        let mut searches = Vec::new();
        for number in 0..10 {
            self.model
                .push(Step::Calls(vec![("search_tools".to_owned(), json!({ "query": format!("entry {number}") }))]));
            self.model.push(Step::Text("Found.".to_owned()));
            searches.push(self.ask(&who, json!(all)).await);
        }
        println!("\nA server with {LARGE_TOOL_COUNT} tools\n\n| | |\n|---|---|");
        println!(
            "| connect and list, the protocol library alone | {:.0} ms |",
            library["connectMs"].as_f64().unwrap() + library["listMs"].as_f64().unwrap()
        );
        println!("| connect, list and keep, the program | {listed:.0} ms, {grown:.0} MB |");
        println!("| the connections for the page | {page:.0} ms, {size:.1} MB |");
        println!("| the permissions for the page | {permissions:.0} ms |");
        println!("| a call by hand, p50 | {:.2} ms |", Times::new(calls).at(0.5));
        println!("| a turn in which the model searches all of them, p50 | {:.0} ms |", Times::new(searches).at(0.5));
    }
}
