//! The program under test: one process or several on one database, killed and started again at the same place.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::Database;
use tokio::sync::watch;

use crate::front::Front;

/// How long a start may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// Any 32 bytes: processes that share a database share the key.
const MASTER_KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

/// What everybody knows of the program.
#[derive(Debug, Clone)]
pub struct Life {
    /// Whether it answers.
    pub up: bool,
    /// When it, or one of its processes, was killed.
    pub kills: Vec<Instant>,
    /// Whether it is not killed any more.
    pub calm: bool,
}

/// The program.
pub struct Program {
    binary: PathBuf,
    database_url: String,
    model: String,
    nodes: Vec<Node>,
    front: Option<Front>,
    life: watch::Sender<Life>,
}

/// One process of it.
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
    /// Makes its data folders and database; it does not run yet. Several processes stand behind a front that gives each
    /// connection to the next of them.
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

    /// Where it is.
    pub fn url(&self) -> String {
        self.front.as_ref().map_or_else(|| self.nodes[0].url(), Front::url)
    }

    /// How many processes it has.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// For those who have to know whether it is up.
    pub fn life(&self) -> watch::Receiver<Life> {
        self.life.subscribe()
    }

    /// Starts one of its processes and waits until it is ready.
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
            assert!(began.elapsed() < PATIENCE, "the program does not start");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.life.send_modify(|life| life.up = true);
    }

    /// Ends one of its processes as a power cut would.
    pub fn kill(&mut self, index: usize) {
        let alone = self.nodes.len() == 1;
        self.life.send_modify(|life| {
            life.up = !alone;
            life.kills.push(Instant::now());
        });
        self.nodes[index].end();
    }

    /// Says that it is not killed any more.
    pub fn calm_down(&self) {
        self.life.send_modify(|life| life.calm = true);
    }
}
