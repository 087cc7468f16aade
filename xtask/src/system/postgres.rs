//! A PostgreSQL server for tests: in a temporary folder, on a free port, removed at the end.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{find_or_install, id, is_root};
use crate::command::{end, find_program, is_program, run_quiet, spawn, tail};
use crate::failure::{Context, Failure, Outcome};

const FOLDER_PREFIX: &str = "ai-chat-mcp-postgres-";
const START_LIMIT: Duration = Duration::from_mins(1);

/// Settings of every server.
const COMMON_SETTINGS: [&str; 3] = ["max_connections=300", "listen_addresses=127.0.0.1", "logging_collector=off"];

/// Settings for data that need not survive a power cut, and for many simultaneous test processes.
const TEST_SETTINGS: [&str; 4] = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=64MB"];

/// Returns the folder of PostgreSQL's programs, and installs them if they are missing.
pub fn ensure() -> Outcome<PathBuf> {
    find_or_install("postgresql", "PostgreSQL, which the storage tests run on,", find)
}

/// A running server. It is stopped and its folder is removed when the value is dropped.
pub struct Postgres {
    server: Child,
    folder: PathBuf,
    port: u16,
}

impl Postgres {
    /// Creates a cluster and starts its server for tests. `programs` comes from [`ensure`].
    pub fn start(programs: &Path) -> Outcome<Self> {
        Self::start_with(programs, &TEST_SETTINGS)
    }

    /// Creates a cluster and starts its server for measurements, with PostgreSQL's default settings but for the number of
    /// connections.
    pub fn start_with_defaults(programs: &Path) -> Outcome<Self> {
        Self::start_with(programs, &[])
    }

    fn start_with(programs: &Path, settings: &[&str]) -> Outcome<Self> {
        sweep();
        let folder = std::env::temp_dir().join(format!("{FOLDER_PREFIX}{}", process::id()));
        let user = User::find()?;
        make_folder(&folder, user.as_ref()).context(format!("cannot make {}", folder.display()))?;
        let started = start_in(&folder, programs, settings, user.as_ref());
        if started.is_err() {
            let _ = fs::remove_dir_all(&folder);
        }
        started
    }

    /// Returns the superuser's URL. No password is necessary: the server listens on the loopback interface, and its
    /// data has no value.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Fast shutdown (SIGINT): the server does not wait for its clients.
        end(&mut self.server, "INT");
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The user that runs the server in place of root, as whom PostgreSQL refuses to run.
struct User {
    id: u32,
    group: u32,
}

impl User {
    /// Returns the [`User`] if this process runs as root.
    fn find() -> Outcome<Option<Self>> {
        if !is_root() {
            return Ok(None);
        }
        let named = |name| Some(Self { id: id(&["-u", name])?, group: id(&["-g", name])? });
        let user = named("postgres").or_else(|| named("nobody"));
        user.map(Some).ok_or_else(|| Failure::new("PostgreSQL does not run as root: make a user `postgres`"))
    }
}

/// Creates a cluster in `folder` and starts it as a [`Postgres`].
fn start_in(folder: &Path, programs: &Path, settings: &[&str], user: Option<&User>) -> Outcome<Postgres> {
    let data = folder.join("data");
    let mut initdb = Command::new(programs.join("initdb"));
    initdb.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "--pgdata"]);
    run_quiet(as_user(initdb.arg(&data), folder, user))?;

    // The log is also how the end of the start is recognised.
    let log = folder.join("log");
    let output = fs::File::create(&log).context(format!("cannot write {}", log.display()))?;
    let errors = output.try_clone().context("cannot share the log")?;
    let port = free_port().context("cannot find a free port")?;
    let mut postgres = dying_with_us(&programs.join("postgres"));
    postgres.arg("-D").arg(&data).arg("-k").arg(folder).args(["-p", &port.to_string()]);
    for setting in COMMON_SETTINGS.iter().chain(settings) {
        postgres.args(["-c", setting]);
    }
    let server = spawn(as_user(&mut postgres, folder, user).stdin(Stdio::null()).stdout(output).stderr(errors))?;
    let mut running = Postgres { server, folder: folder.to_owned(), port };
    running.wait_until_ready(&log)?;
    Ok(running)
}

impl Postgres {
    /// Waits for the line in the log that says that the server accepts connections.
    fn wait_until_ready(&mut self, log: &Path) -> Outcome {
        let started = Instant::now();
        loop {
            let text = fs::read_to_string(log).unwrap_or_default();
            if text.contains("database system is ready to accept connections") {
                return Ok(());
            }
            let ended = self.server.try_wait().is_ok_and(|status| status.is_some());
            if ended || started.elapsed() > START_LIMIT {
                println!("{}", tail(&text, 20));
                return Err(Failure::new("PostgreSQL did not start: see above"));
            }
            sleep(Duration::from_millis(20));
        }
    }
}

/// Returns a command whose process the kernel ends when this process is killed, if `setpriv` is available.
fn dying_with_us(program: &Path) -> Command {
    match find_program("setpriv") {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", "INT"]).arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// Makes a command run in `folder`, as the [`User`] if there is one.
fn as_user<'a>(command: &'a mut Command, folder: &Path, user: Option<&User>) -> &'a mut Command {
    if let Some(user) = user {
        command.uid(user.id).gid(user.group);
    }
    // The clone's folder may be inaccessible to that user.
    command.current_dir(folder).env_remove("LD_LIBRARY_PATH")
}

/// Creates the folder, accessible only to the user who runs the server.
fn make_folder(folder: &Path, user: Option<&User>) -> std::io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir(folder)?;
    // The folder is in a directory that all users can read, and the server has no password.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    user.map_or(Ok(()), |user| chown(folder, Some(user.id), Some(user.group)))
}

/// Removes the folders of test runs that were killed.
fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner =
            name.to_str().and_then(|name| name.strip_prefix(FOLDER_PREFIX)).and_then(|id| id.parse::<u32>().ok());
        if owner.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns a port that is free now.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Returns the newest version in the distribution's folders, or the one on the `PATH`.
fn find() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok().into_iter().flatten().flatten();
    let mut folders: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    folders.sort_unstable_by(|a, b| b.cmp(a));
    let on_path = find_program("initdb").and_then(|program| program.parent().map(Path::to_owned));
    folders
        .into_iter()
        .map(|(_, folder)| folder)
        .chain(on_path)
        .find(|folder| is_program(&folder.join("initdb")) && is_program(&folder.join("postgres")))
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn a_server_runs_and_is_gone_afterwards() {
        let programs = find().expect("`cargo xtask test` installs PostgreSQL");
        let server = Postgres::start(&programs).unwrap();
        let (folder, port) = (server.folder.clone(), server.port);
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
        assert!(server.url().contains(&format!("127.0.0.1:{port}/")));
        drop(server);
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err());
        assert!(!folder.exists());
    }
}
