//! The program under test: started, killed, started again at the same place.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::Database;
use tokio::sync::watch;

/// How long a start may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// What everybody knows of the program.
#[derive(Debug, Clone)]
pub struct Life {
    /// Whether it answers.
    pub up: bool,
    /// When it was killed.
    pub kills: Vec<Instant>,
    /// Whether it is not killed any more.
    pub calm: bool,
}

/// The program.
pub struct Program {
    binary: PathBuf,
    folder: TempDir,
    database_url: String,
    model: String,
    port: u16,
    child: Option<Child>,
    life: watch::Sender<Life>,
}

impl Program {
    /// Makes its data folder and database; it does not run yet.
    pub fn new(binary: &Path, database: Database, model: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let database_url = database.create(&folder);
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let life = Life { up: false, kills: Vec::new(), calm: false };
        Self {
            binary: binary.to_owned(),
            folder,
            database_url,
            model: model.to_owned(),
            port,
            child: None,
            life: watch::Sender::new(life),
        }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// For those who have to know whether it is up.
    pub fn life(&self) -> watch::Receiver<Life> {
        self.life.subscribe()
    }

    /// Starts it and waits until it is ready.
    pub async fn start(&mut self) {
        let child = Command::new(&self.binary)
            .env("CHAT_LISTEN", format!("127.0.0.1:{}", self.port))
            .env("CHAT_DATA_DIR", self.folder.path())
            .env("DATABASE_URL", &self.database_url)
            .env("CHAT_LOCAL_MODEL", "off")
            .env("CHAT_RATE_LIMITS", "off")
            .env("OPENAI_BASE_URL", &self.model)
            .env("CHAT_MODEL", "openai/scripted")
            .env("RUST_LOG", "error")
            .spawn()
            .unwrap();
        self.child = Some(child);
        let http = testkit::http_client();
        let began = Instant::now();
        while !http.get(format!("{}/health/ready", self.url())).send().await.is_ok_and(|ready| ready.status() == 200) {
            assert!(began.elapsed() < PATIENCE, "the program does not start");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.life.send_modify(|life| life.up = true);
    }

    /// Ends it as a power cut would.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        self.life.send_modify(|life| {
            life.up = false;
            life.kills.push(Instant::now());
        });
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Says that it is not killed any more.
    pub fn calm_down(&self) {
        self.life.send_modify(|life| life.calm = true);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}
