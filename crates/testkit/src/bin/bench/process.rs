//! The processes that are measured.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that ends with the value.
pub struct Process {
    child: Child,
    /// Where it is.
    pub url: String,
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
        Self { child, url: line.trim().to_owned() }
    }

    /// The program. Returns how long it took until it was ready.
    pub async fn program(model: Option<&str>, folder: &std::path::Path) -> (Self, Duration) {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let binary = std::env::current_exe().unwrap().with_file_name("ai-chat-mcp");
        let mut command = Command::new(binary);
        command
            .env("CHAT_LISTEN", format!("127.0.0.1:{port}"))
            .env("CHAT_DATA_DIR", folder)
            .env("CHAT_LOCAL_MODEL", "off")
            .env("CHAT_RATE_LIMITS", "off")
            .env("RUST_LOG", "error");
        if let Some(model) = model {
            command.env("OPENAI_BASE_URL", model).env("CHAT_MODEL", "openai/scripted");
        }
        let began = Instant::now();
        let process = Self { child: command.spawn().unwrap(), url: format!("http://127.0.0.1:{port}") };
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

    /// Megabytes in memory.
    pub fn rss(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }
}
