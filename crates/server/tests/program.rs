//! The server as a separate process.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use testkit::http_client;

/// The server in a process of its own. It is killed when the value is dropped.
pub struct Program {
    child: Child,
    /// The data folder, which is the working folder as well.
    pub folder: TempDir,
    /// Origin of the server, without a trailing slash.
    pub url: String,
}

/// Returns the program with the settings of tests, which all are in the folder or switched off.
pub fn command(folder: &Path, settings: &[(&str, &str)]) -> Command {
    // The signal SIGXFSZ would end the process; on a full disk there is none.
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_ai-chat-mcp")])
        .current_dir(folder)
        .env("CHAT_DATA_DIR", folder)
        .env("CHAT_LOCAL_MODEL", "off")
        .env("CHAT_RATE_LIMITS", "off")
        .env("CHAT_MCP_REGISTRY", "off")
        .env("RUST_LOG", "off")
        .env_remove("DATABASE_URL")
        .envs(settings.iter().copied());
    command
}

/// Runs a command of the program to its end. Returns its exit code, and what it wrote to standard output and standard
/// error.
pub fn run(folder: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        command(folder, settings).args(arguments).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// Returns an address of this machine that nothing listens on.
pub fn free_address() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

impl Program {
    /// Starts the server on a new database, with these settings in addition to the usual ones.
    pub fn start(model: &str, settings: &[(&str, &str)]) -> Self {
        Self::start_in(TempDir::new().unwrap(), model, settings)
    }

    /// Starts the server on the data in a folder.
    pub fn start_in(folder: TempDir, model: &str, settings: &[(&str, &str)]) -> Self {
        Self::start_logging(folder, model, settings, Stdio::inherit())
    }

    /// Starts the server on the data in a folder, with a place for its log.
    pub fn start_logging(folder: TempDir, model: &str, settings: &[(&str, &str)], log: Stdio) -> Self {
        let listen = free_address();
        let child = command(folder.path(), settings)
            .env("CHAT_LISTEN", &listen)
            .env("OPENAI_BASE_URL", model)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { child, folder, url: format!("http://{listen}") }
    }

    /// Shuts the server down as the operating system would, and returns its data folder.
    pub fn stop(mut self) -> TempDir {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
        std::mem::replace(&mut self.folder, TempDir::new().unwrap())
    }

    /// Waits until the readiness probe responds with this status.
    pub async fn until_ready(&self, status: u16) {
        let (http, url) = (http_client(), format!("{}/health/ready", self.url));
        while !http.get(&url).send().await.is_ok_and(|ready| ready.status() == status) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Limits the size of the process's files, in bytes; `None` removes the limit.
    pub fn limit_files(&self, most: Option<u64>) {
        let most = most.map_or_else(|| "unlimited".to_owned(), |most| most.to_string());
        let arguments = [format!("--pid={}", self.child.id()), format!("--fsize={most}:")];
        assert!(Command::new("prlimit").args(arguments).status().unwrap().success());
    }

    /// Returns the resident memory, in bytes.
    pub fn memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<usize>().unwrap() * 1024
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
