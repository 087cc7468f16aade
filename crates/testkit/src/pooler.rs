//! PgBouncer, the connection pooler in front of PostgreSQL.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reqwest::Url;
use tempfile::TempDir;

/// First version of PgBouncer that can support prepared statements in transactions.
const FIRST_WITH_PREPARED_STATEMENTS: (u32, u32) = (1, 21);

/// A connection pooler in front of a PostgreSQL server. It ends when the value is dropped.
#[derive(Debug)]
pub struct Pooler {
    process: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Pooler {
    /// Starts PgBouncer in front of the server of a database. `pool_mode` is its setting: `session`, `transaction` or
    /// `statement`.
    pub async fn start(database_url: &str, pool_mode: &str) -> Self {
        let server = Url::parse(database_url).unwrap();
        let folder = TempDir::new().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (host, port) = (address.ip(), address.port());
        let password = server.password().map_or_else(String::new, |password| format!(" password={password}"));
        let mut settings = format!(
            "[databases]\n* = host={} port={} user={}{password}\n[pgbouncer]\nlisten_addr = {host}\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = any\npool_mode = {pool_mode}\ndefault_pool_size = 100\n\
             server_login_retry = 1\n",
            server.host_str().unwrap(),
            server.port().unwrap_or(5432),
            server.username(),
        );
        if version() >= FIRST_WITH_PREPARED_STATEMENTS {
            settings.push_str("max_prepared_statements = 0\n");
        }
        let path = folder.path().join("pgbouncer.ini");
        fs::write(&path, settings).unwrap();
        let mut program = pgbouncer();
        // It refuses to run as root.
        if Command::new("id").arg("-u").output().unwrap().stdout == b"0\n" {
            program.args(["-u", "postgres"]);
        }
        let process = program.arg(&path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while TcpStream::connect(address).is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Self { process, address, _folder: folder }
    }

    /// Returns the address of a database behind the pooler.
    pub fn url(&self, database_url: &str) -> String {
        let server = Url::parse(database_url).unwrap();
        format!("postgres://{}@{}{}", server.username(), self.address, server.path())
    }
}

/// Returns PgBouncer, which is not on the `PATH` of every user.
fn pgbouncer() -> Command {
    let installed = Path::new("/usr/sbin/pgbouncer");
    Command::new(if installed.is_file() { installed } else { Path::new("pgbouncer") })
}

fn version() -> (u32, u32) {
    let printed = pgbouncer().arg("--version").output().unwrap().stdout;
    let printed = String::from_utf8(printed).unwrap();
    let mut numbers = printed.lines().next().unwrap().trim_start_matches("PgBouncer ").split('.');
    let mut next = || numbers.next().unwrap().parse().unwrap();
    (next(), next())
}
