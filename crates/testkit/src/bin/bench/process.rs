//! The processes that are measured.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::Database;

/// A process that ends with the value.
pub struct Process {
    child: Child,
    /// Where it is.
    pub url: String,
    /// The PostgreSQL database that it uses.
    database: Option<String>,
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Process {
    /// This program again, in another role; its first line is its address.
    pub fn role(arguments: &[&str]) -> Self {
        let mut child =
            Command::new(std::env::current_exe().unwrap()).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        Self { child, url: line.trim().to_owned(), database: None }
    }

    /// The program, with a new folder in this one, and a new database. Returns how long it took until it was ready.
    pub async fn program(model: Option<&str>, database: Database, folder: &TempDir) -> (Self, Duration) {
        let own = TempDir::new_in(folder.path()).unwrap();
        let url = database.create(&own);
        drop(own.keep());
        Self::node(model, database, &url, folder, &[]).await
    }

    /// The program on a database that there is, with a new folder in this one, and more settings.
    pub async fn node(
        model: Option<&str>,
        database: Database,
        url: &str,
        folder: &TempDir,
        settings: &[(&str, &str)],
    ) -> (Self, Duration) {
        // The outer folder removes it, when the program is gone.
        let own = TempDir::new_in(folder.path()).unwrap().keep();
        Self::start(model, database, url, &own, settings).await
    }

    /// The program on a database and a data folder that there are.
    pub async fn start(
        model: Option<&str>,
        database: Database,
        url: &str,
        folder: &Path,
        settings: &[(&str, &str)],
    ) -> (Self, Duration) {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let binary = std::env::current_exe().unwrap().with_file_name("ai-chat-mcp");
        let mut command = Command::new(binary);
        command
            .env("CHAT_LISTEN", format!("127.0.0.1:{port}"))
            .env("CHAT_DATA_DIR", folder)
            .env("DATABASE_URL", url)
            .env("CHAT_LOCAL_MODEL", "off")
            .env("CHAT_RATE_LIMITS", "off")
            // More than are open at a time in the largest row.
            .env("CHAT_MAX_RUNS", "6000")
            .env("RUST_LOG", "error")
            .envs(settings.iter().copied());
        if let Some(model) = model {
            command.env("OPENAI_BASE_URL", model).env("CHAT_MODEL", "openai/scripted");
        }
        let began = Instant::now();
        let child = command.spawn().unwrap();
        let database = (database == Database::Postgres).then(|| url.to_owned());
        let process = Self { child, url: format!("http://127.0.0.1:{port}"), database };
        let http = testkit::http_client();
        while http.get(format!("{}/health/ready", process.url)).send().await.is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        (process, began.elapsed())
    }

    /// Seconds of processor time so far.
    pub fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        // USER_HZ is 100 on every Linux.
        ticks as f64 / 100.0
    }

    /// Transactions so far that wrote something, of the whole database server; only PostgreSQL counts them.
    pub fn commits(&self) -> Option<u64> {
        let count = "SELECT txid_snapshot_xmax(txid_current_snapshot())";
        let arguments = [self.database.as_deref()?, "--no-psqlrc", "--tuples-only", "--no-align", "-c", count];
        let told = Command::new("psql").args(arguments).output().unwrap();
        Some(String::from_utf8_lossy(&told.stdout).trim().parse().unwrap())
    }

    /// Megabytes in memory.
    pub fn rss(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }
}
