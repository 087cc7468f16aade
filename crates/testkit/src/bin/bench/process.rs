//! Processes under measurement.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::Database;

/// A process that is killed when the value is dropped.
pub struct Process {
    child: Child,
    /// URL or origin of the process.
    pub url: String,
    /// URL of the PostgreSQL database that the process uses.
    database: Option<String>,
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Process {
    /// Starts this binary in another role. The first line of its output is its URL.
    pub fn role(arguments: &[&str]) -> Self {
        let mut child =
            Command::new(std::env::current_exe().unwrap()).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        Self { child, url: line.trim().to_owned(), database: None }
    }

    /// Starts the server with a new data folder within `folder` and a new database. Returns the time until it was
    /// ready, too.
    pub async fn program(model: Option<&str>, database: Database, folder: &TempDir) -> (Self, Duration) {
        let own = TempDir::new_in(folder.path()).unwrap();
        let url = database.create(&own);
        drop(own.keep());
        Self::node(model, database, &url, folder, &[]).await
    }

    /// Starts the server on an existing database, with a new data folder within `folder` and additional settings.
    pub async fn node(
        model: Option<&str>,
        database: Database,
        url: &str,
        folder: &TempDir,
        settings: &[(&str, &str)],
    ) -> (Self, Duration) {
        // Removed together with the outer folder, after the server has stopped.
        let own = TempDir::new_in(folder.path()).unwrap().keep();
        Self::start(model, database, url, &own, settings).await
    }

    /// Starts the server on an existing database and data folder.
    pub async fn start(
        model: Option<&str>,
        database: Database,
        url: &str,
        folder: &Path,
        settings: &[(&str, &str)],
    ) -> (Self, Duration) {
        // The port is free again when the listener is dropped here.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let binary = std::env::current_exe().unwrap().with_file_name("ai-chat-mcp");
        let mut command = Command::new(binary);
        command
            .env("CHAT_LISTEN", format!("127.0.0.1:{port}"))
            .env("CHAT_DATA_DIR", folder)
            .env("DATABASE_URL", url)
            .env("CHAT_LOCAL_MODEL", "off")
            .env("CHAT_RATE_LIMITS", "off")
            // More than the number of simultaneous turns in any benchmark.
            .env("CHAT_MAX_TURNS", "6000")
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

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the processor time so far, in seconds.
    pub fn cpu(&self) -> f64 {
        Stat::of(self.child.id()).map_or(0.0, |stat| stat.own_seconds)
    }

    /// Returns the number of writing transactions of the whole database server; `None` for SQLite, which does not
    /// count them.
    pub fn commits(&self) -> Option<u64> {
        let count = "SELECT txid_snapshot_xmax(txid_current_snapshot())";
        let arguments = [self.database.as_deref()?, "--no-psqlrc", "--tuples-only", "--no-align", "-c", count];
        let told = Command::new("psql").args(arguments).output().unwrap();
        Some(String::from_utf8_lossy(&told.stdout).trim().parse().unwrap())
    }

    /// Returns the resident memory, in megabytes.
    pub fn rss(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }
}

/// What the kernel tells about a process.
struct Stat {
    parent: u32,
    /// Processor time so far, in seconds.
    own_seconds: f64,
    /// Processor time of its children that have ended, in seconds.
    children_seconds: f64,
}

impl Stat {
    /// Reads the state of a process; `None` if it has ended.
    fn of(id: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The process name in parentheses can contain spaces, so the fields are counted after it.
        let fields: Vec<u64> =
            stat.rsplit_once(") ")?.1.split(' ').map(|field| field.trim().parse().unwrap_or(0)).collect();
        // `utime` and `stime`, and those of children. USER_HZ is 100 on all Linux systems.
        let seconds = |first: usize| (fields[first] + fields[first + 1]) as f64 / 100.0;
        Some(Self { parent: fields[1] as u32, own_seconds: seconds(11), children_seconds: seconds(13) })
    }
}

/// Returns the processor time of the parent of a process and of all its children so far, in seconds. For a process of
/// PostgreSQL, this is the whole database server.
pub fn cpu_of_siblings(id: u32) -> f64 {
    let parent = Stat::of(id).unwrap().parent;
    let entries =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let siblings = entries.filter_map(Stat::of).filter(|stat| stat.parent == parent);
    let of_parent = Stat::of(parent).unwrap();
    siblings.map(|stat| stat.own_seconds).sum::<f64>() + of_parent.own_seconds + of_parent.children_seconds
}
