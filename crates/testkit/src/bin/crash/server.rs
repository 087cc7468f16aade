//! The server under test: one or more processes on one database, which are killed and restarted with the same data
//! and port.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::Database;
use tokio::sync::watch;

use crate::load_balancer::LoadBalancer;
use crate::postgres_pair::{DatabaseUrls, PostgresPair};

/// Maximum time for a start.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// The master key that the nodes share: any 32 bytes.
const MASTER_KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

/// State of the server, as all users see it.
#[derive(Debug, Clone)]
pub struct ServerState {
    /// Whether the server accepts requests.
    pub is_up: bool,
    /// Times at which a node was killed.
    pub kills: Vec<Instant>,
    /// Whether the database is killed instead of the nodes, so that a request can be refused without being lost.
    pub kills_database: bool,
    /// Whether no further kills follow.
    pub kills_are_over: bool,
}

/// The server under test.
pub struct TestServer {
    binary: PathBuf,
    database: DatabaseUrls,
    model: String,
    nodes: Vec<Node>,
    load_balancer: Option<LoadBalancer>,
    /// File for the logs of the nodes.
    log: Option<PathBuf>,
    state: watch::Sender<ServerState>,
}

/// A process of the server.
struct Node {
    folder: TempDir,
    port: u16,
    child: Option<Child>,
}

impl Node {
    fn new() -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { folder: TempDir::new().unwrap(), port, child: None }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

impl TestServer {
    /// Creates data folders, and the database if there is no pair of servers for it, without starting a process. Several
    /// nodes get a [`LoadBalancer`].
    pub async fn new(
        binary: &Path,
        database: Database,
        pair: Option<&PostgresPair>,
        model: &str,
        nodes: usize,
    ) -> Self {
        let nodes: Vec<Node> = (0..nodes).map(|_| Node::new()).collect();
        let database = pair.map_or_else(
            || DatabaseUrls { url: database.create(&nodes[0].folder), listen_url: None },
            PostgresPair::create_database,
        );
        let load_balancer = match nodes.as_slice() {
            [_] => None,
            several => Some(LoadBalancer::start(several.iter().map(|node| node.port).collect()).await),
        };
        let state = watch::Sender::new(ServerState {
            is_up: false,
            kills: Vec::new(),
            kills_database: pair.is_some(),
            kills_are_over: false,
        });
        Self { binary: binary.to_owned(), database, model: model.to_owned(), nodes, load_balancer, log: None, state }
    }

    /// Returns the origin that users call.
    pub fn url(&self) -> String {
        self.load_balancer.as_ref().map_or_else(|| self.nodes[0].url(), LoadBalancer::url)
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Subscribes to the server's state.
    pub fn state(&self) -> watch::Receiver<ServerState> {
        self.state.subscribe()
    }

    /// Starts a node and waits until it is ready.
    pub async fn start(&mut self, index: usize) {
        let mut command = self.command(index);
        if let Some(log) = &self.log {
            command.stderr(File::options().create(true).append(true).open(log).unwrap());
        }
        let node = &mut self.nodes[index];
        node.child = Some(command.spawn().unwrap());
        let ready_url = format!("{}/health/ready", node.url());
        let http = testkit::http_client();
        let started_at = Instant::now();
        while !http.get(&ready_url).send().await.is_ok_and(|response| response.status() == 200) {
            assert!(started_at.elapsed() < START_TIMEOUT, "the server does not start");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // Users that wait for the server continue from here.
        self.state.send_modify(|state| state.is_up = true);
    }

    /// Returns the program with the settings of a node.
    pub fn command(&self, index: usize) -> Command {
        let node = &self.nodes[index];
        let mut command = Command::new(&self.binary);
        command
            .env("CHAT_LISTEN", format!("127.0.0.1:{}", node.port))
            .env("CHAT_DATA_DIR", node.folder.path())
            .env("CHAT_MASTER_KEY", MASTER_KEY)
            .env("CHAT_SITE_URL", self.url())
            .env("DATABASE_URL", &self.database.url)
            .envs(self.database.listen_url.iter().map(|url| ("DATABASE_LISTEN_URL", url)))
            .env("CHAT_LOCAL_MODEL", "off")
            .env("CHAT_RATE_LIMITS", "off")
            .env("OPENAI_BASE_URL", &self.model)
            .env("CHAT_MODEL", "openai/scripted")
            .env("RUST_LOG", "error");
        command
    }

    /// Appends what nodes that start from now on log to a file, in place of printing it.
    pub fn log_to(&mut self, path: &Path) {
        self.log = Some(path.to_owned());
    }

    /// Returns the process id of a running node.
    pub fn process_id(&self, index: usize) -> u32 {
        self.nodes[index].child.as_ref().unwrap().id()
    }

    /// Stops a node as an operator does, and waits until it has ended.
    pub async fn stop(&mut self, index: usize) {
        self.announce_end_of_node();
        let mut child = self.nodes[index].child.take().unwrap();
        let id = child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().unwrap();
        tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap();
    }

    /// Kills a node without warning, as a power cut does.
    pub fn kill(&mut self, index: usize) {
        self.announce_end_of_node();
        self.nodes[index].kill();
    }

    /// Records that a node is about to end. The state changes first: a user who sees a broken connection must not report
    /// it as a violation.
    fn announce_end_of_node(&self) {
        let is_only_node = self.nodes.len() == 1;
        self.state.send_modify(|state| {
            state.is_up = !is_only_node;
            state.kills.push(Instant::now());
        });
    }

    /// Records that the database is about to be killed.
    pub fn announce_kill_of_database(&self) {
        self.state.send_modify(|state| state.kills.push(Instant::now()));
    }

    /// Announces that no further kills follow.
    pub fn announce_end_of_kills(&self) {
        self.state.send_modify(|state| state.kills_are_over = true);
    }
}
