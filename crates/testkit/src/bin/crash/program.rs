//! The server under test: one or more processes on one database, which are killed and restarted with the same data
//! and port.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::Database;
use tokio::sync::watch;

use crate::front::Front;

/// Maximum time for a start.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// The master key that the nodes share: any 32 bytes.
const MASTER_KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

/// State of the server, as all users see it.
#[derive(Debug, Clone)]
pub struct Life {
    /// Whether the server accepts requests.
    pub up: bool,
    /// Times at which a node was killed.
    pub kills: Vec<Instant>,
    /// Whether no further kills follow.
    pub calm: bool,
}

/// The server under test.
pub struct Program {
    binary: PathBuf,
    database_url: String,
    model: String,
    nodes: Vec<Node>,
    front: Option<Front>,
    life: watch::Sender<Life>,
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

    fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.end();
    }
}

impl Program {
    /// Creates data folders and the database without starting a process. Several nodes get a load balancer
    /// ([`Front`]).
    pub async fn new(binary: &Path, database: Database, model: &str, nodes: usize) -> Self {
        let nodes: Vec<Node> = (0..nodes).map(|_| Node::new()).collect();
        let database_url = database.create(&nodes[0].folder);
        let front = match nodes.as_slice() {
            [_] => None,
            several => Some(Front::start(several.iter().map(|node| node.port).collect()).await),
        };
        let life = Life { up: false, kills: Vec::new(), calm: false };
        let life = watch::Sender::new(life);
        Self { binary: binary.to_owned(), database_url, model: model.to_owned(), nodes, front, life }
    }

    /// Returns the origin that users call.
    pub fn url(&self) -> String {
        self.front.as_ref().map_or_else(|| self.nodes[0].url(), Front::url)
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Subscribes to the server's state.
    pub fn life(&self) -> watch::Receiver<Life> {
        self.life.subscribe()
    }

    /// Starts a node and waits until it is ready.
    pub async fn start(&mut self, index: usize) {
        let site = self.url();
        let node = &mut self.nodes[index];
        let child = Command::new(&self.binary)
            .env("CHAT_LISTEN", format!("127.0.0.1:{}", node.port))
            .env("CHAT_DATA_DIR", node.folder.path())
            .env("CHAT_MASTER_KEY", MASTER_KEY)
            .env("CHAT_SITE_URL", site)
            .env("DATABASE_URL", &self.database_url)
            .env("CHAT_LOCAL_MODEL", "off")
            .env("CHAT_RATE_LIMITS", "off")
            .env("OPENAI_BASE_URL", &self.model)
            .env("CHAT_MODEL", "openai/scripted")
            .env("RUST_LOG", "error")
            .spawn()
            .unwrap();
        node.child = Some(child);
        let ready = format!("{}/health/ready", node.url());
        let http = testkit::http_client();
        let began = Instant::now();
        while !http.get(&ready).send().await.is_ok_and(|ready| ready.status() == 200) {
            assert!(began.elapsed() < START_TIMEOUT, "the program does not start");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // Users that wait for the server continue from here.
        self.life.send_modify(|life| life.up = true);
    }

    /// Kills a node without warning, as a power cut does.
    pub fn kill(&mut self, index: usize) {
        let alone = self.nodes.len() == 1;
        self.life.send_modify(|life| {
            life.up = !alone;
            life.kills.push(Instant::now());
        });
        // The state changes first: a user who sees a broken connection must not take it for a fault.
        self.nodes[index].end();
    }

    /// Announces that no further kills follow.
    pub fn calm_down(&self) {
        self.life.send_modify(|life| life.calm = true);
    }
}
