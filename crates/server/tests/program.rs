//! The server as a separate process.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use testkit::http_client;

/// The server in a process of its own. It is killed when the value is dropped.
pub struct Program {
    child: Child,
    _folder: TempDir,
    /// Origin of the server, without a trailing slash.
    pub url: String,
}

impl Program {
    /// Starts the server on a new database, with these settings in addition to the usual ones.
    pub fn start(model: &str, settings: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let listen = format!("127.0.0.1:{port}");
        // The signal SIGXFSZ would end the process; on a full disk there is none.
        let child = Command::new("sh")
            .args(["-c", "trap '' XFSZ; exec \"$0\"", env!("CARGO_BIN_EXE_ai-chat-mcp")])
            .current_dir(folder.path())
            .env("CHAT_LISTEN", &listen)
            .env("CHAT_DATA_DIR", folder.path())
            .env("CHAT_LOCAL_MODEL", "off")
            .env("CHAT_RATE_LIMITS", "off")
            .env("OPENAI_BASE_URL", model)
            .env("RUST_LOG", "off")
            .env_remove("DATABASE_URL")
            .envs(settings.iter().copied())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, _folder: folder, url: format!("http://{listen}") }
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
