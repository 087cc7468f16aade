//! Soak: the server works for many users for a long time. It is stopped and killed in the first third, and makes backups
//! all the time. Its memory must not grow afterwards, and it must log no error.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::{Database, ScriptedModel};

use crate::server::TestServer;

/// Time between two rows of the table.
const SAMPLE_INTERVAL: Duration = Duration::from_mins(1);
/// Minutes between two restarts.
const MINUTES_PER_RESTART: u64 = 3;
/// Minutes between two backups.
const MINUTES_PER_BACKUP: u64 = 5;
/// Maximum ratio of the memory in the last third of the time without restarts to that in its first third.
const MAX_GROWTH: f64 = 1.2;

/// A long test.
#[derive(Debug, Clone, Copy)]
pub struct Soak {
    minutes: u64,
}

impl Soak {
    /// Creates a test of this duration, which must be long enough for a backup and for figures to compare.
    pub fn new(minutes: u64) -> Self {
        assert!(minutes > MINUTES_PER_BACKUP, "at least {} minutes", MINUTES_PER_BACKUP + 1);
        Self { minutes }
    }

    /// Returns the duration in minutes.
    pub fn minutes(self) -> usize {
        self.minutes as usize
    }

    /// Runs the test while users are at work, prints a table, and returns the violations.
    pub async fn run(self, database: Database, server: &mut TestServer, model: &ScriptedModel) -> Vec<String> {
        let folder = TempDir::new().unwrap();
        let log = folder.path().join("log");
        server.log_to(&log);
        let mut violations = Vec::new();
        let mut memory = Vec::new();
        println!("| minute | database | memory, MB | open files | |\n|---|---|---|---|---|");
        for minute in 1..=self.minutes {
            tokio::time::sleep(SAMPLE_INTERVAL).await;
            // A run of hours must not store every request.
            model.forget_requests();
            let process = format!("/proc/{}", server.process_id(0));
            let (rss, files) = (rss_mb(&process), std::fs::read_dir(format!("{process}/fd")).unwrap().count());
            let restarts = minute * 3 <= self.minutes && minute % MINUTES_PER_RESTART == 0;
            let event = match (restarts, minute % MINUTES_PER_BACKUP) {
                (true, _) if (minute / MINUTES_PER_RESTART).is_multiple_of(2) => {
                    server.kill(0);
                    server.start(0).await;
                    "killed and started"
                }
                (true, _) => {
                    server.stop(0).await;
                    server.start(0).await;
                    "stopped and started"
                }
                (false, 0) => {
                    let path = folder.path().join("backup.tar.zst");
                    // A backup replaces no file, and the first one has nothing to replace.
                    drop(std::fs::remove_file(&path));
                    let mut backup = server.command(0);
                    backup.arg("backup").arg(&path);
                    violations.extend(run(backup).await.err());
                    "backup"
                }
                _ => "",
            };
            println!("| {minute} | {database:?} | {rss:.0} | {files} | {event} |");
            if minute * 3 > self.minutes {
                memory.push(rss);
            }
        }
        let third = memory.len() / 3;
        let mean = |samples: &[f64]| samples.iter().sum::<f64>() / samples.len() as f64;
        let (first, last) = (mean(&memory[..third]), mean(&memory[memory.len() - third..]));
        println!("memory without restarts: {first:.0} MB in the first third, {last:.0} MB in the last");
        if last > first * MAX_GROWTH {
            violations.push(format!("the memory grew from {first:.0} to {last:.0} MB"));
        }
        let mut doctor = server.command(0);
        doctor.arg("doctor");
        violations.extend(run(doctor).await.err());
        violations.extend(restore(server, database, &folder.path().join("backup.tar.zst")).await.err());
        let errors = std::fs::read_to_string(&log).unwrap_or_default();
        violations.extend(errors.lines().map(|line| format!("logged: {line}")));
        violations
    }
}

/// Restores a backup to another place, and lets the program examine it there.
async fn restore(server: &TestServer, database: Database, backup: &Path) -> Result<(), String> {
    let folder = TempDir::new().unwrap();
    let url = database.create(&folder);
    let command = |arguments: &[&OsStr]| {
        let mut command = server.command(0);
        command.args(arguments).env("DATABASE_URL", &url).env("CHAT_DATA_DIR", folder.path());
        command
    };
    run(command(&["restore".as_ref(), "--yes".as_ref(), backup.as_os_str()])).await?;
    run(command(&["doctor".as_ref()])).await
}

/// Runs a command of the program, and returns what it printed if it failed.
async fn run(command: Command) -> Result<(), String> {
    let began = Instant::now();
    let mut command = tokio::process::Command::from(command);
    let done = command.output().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    println!("{:?}: {} after {:.1} s", command.as_std().get_args().next(), done.status, began.elapsed().as_secs_f64());
    if done.status.success() { Ok(()) } else { Err(format!("{}{}", text(&done.stdout), text(&done.stderr))) }
}

/// Returns the resident memory of a process, in megabytes, by its folder in `/proc`.
fn rss_mb(process: &str) -> f64 {
    let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1000.0
}
