//! Two PostgreSQL servers behind HAProxy: a primary, and a standby that confirms every commit. The primary can be killed,
//! and the standby takes its place. PgBouncer can be in front of HAProxy.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::Pooler;
use tokio::task::block_in_place;

/// Maximum time until a server accepts connections or a standby follows.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// Interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Time of the first checks of HAProxy.
const FIRST_CHECKS: Duration = Duration::from_secs(2);
/// Settings of both servers. They write to a temporary folder and are never switched off, so nothing is synced to a
/// disk: what survives a kill is in the memory of the other one.
const SERVER_SETTINGS: [&str; 5] =
    ["fsync=off", "shared_buffers=64MB", "max_connections=200", "listen_addresses=127.0.0.1", "wal_level=replica"];
/// Messages of HAProxy's check: the start as the user `postgres`, the query `SELECT pg_is_in_recovery()`, and the end, after
/// which the server closes the connection.
const ROLE_QUERY: [&str; 3] = [
    "00000029 00030000 75736572 00 706f737467726573 00 6461746162617365 00 706f7374677265730000",
    "51 0000001f 53454c4543542070675f69735f696e5f7265636f76657279282900",
    "58 00000004",
];
/// The row with `false`, which a primary answers.
const IS_PRIMARY: &str = "44 0000000b 0001 00000001 66";

/// Addresses of a database, as the settings of a node name them.
pub struct DatabaseUrls {
    pub url: String,
    /// Direct address for notifications, beside a pooler.
    pub listen_url: Option<String>,
}

/// A pair of servers, of which one is the primary.
pub struct PostgresPair {
    folder: TempDir,
    owner: Option<(u32, u32)>,
    /// Ports of the two servers.
    ports: [u16; 2],
    servers: [Option<Child>; 2],
    primary: usize,
    /// Number of data folders so far: a killed server starts again with a new one.
    folders: usize,
    proxy_port: u16,
    proxy: Option<Child>,
    pooler: Option<Pooler>,
    /// Whether the nodes get `DATABASE_LISTEN_URL`, the address of HAProxy.
    has_listen_url: bool,
}

impl PostgresPair {
    /// Starts both servers, HAProxy, and PgBouncer if `pool_mode` is given. With `has_listen_url`, notifications bypass
    /// PgBouncer.
    pub async fn start(pool_mode: Option<&str>, has_listen_url: bool) -> Self {
        let folder = TempDir::new().unwrap();
        // PostgreSQL refuses to run as root.
        let owner =
            (id(&["-u"]) == Some(0)).then(|| (id(&["-u", "postgres"]).unwrap(), id(&["-g", "postgres"]).unwrap()));
        give(folder.path(), owner);
        let mut pair = Self {
            folder,
            owner,
            ports: [free_port(), free_port()],
            servers: [None, None],
            primary: 0,
            folders: 0,
            proxy_port: free_port(),
            proxy: None,
            pooler: None,
            has_listen_url,
        };
        let data = pair.new_folder();
        let initdb = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "--pgdata"];
        pair.run(Command::new("initdb").args(initdb).arg(&data));
        pair.start_server(0, &data).await;
        pair.add_standby().await;
        pair.start_proxy();
        // HAProxy takes both for primaries until its first checks.
        tokio::time::sleep(FIRST_CHECKS).await;
        if let Some(mode) = pool_mode {
            pair.pooler = Some(Pooler::start(&pair.proxy_url("postgres"), mode).await);
        }
        pair
    }

    /// Creates a database and returns its addresses, behind HAProxy and, if there is one, the pooler.
    pub fn create_database(&self) -> DatabaseUrls {
        let name = format!("test_{}", domain::ids::fresh().simple());
        self.query(self.primary, &format!("CREATE DATABASE {name}"));
        let direct = self.proxy_url(&name);
        let url = self.pooler.as_ref().map_or_else(|| direct.clone(), |pooler| pooler.url(&direct));
        DatabaseUrls { url, listen_url: self.has_listen_url.then_some(direct) }
    }

    fn proxy_url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.proxy_port)
    }

    /// Kills the primary without warning, and makes the standby the primary. The killed server comes back as a new
    /// standby.
    pub async fn fail_over(&mut self) {
        let killed = self.primary;
        if let Some(mut server) = self.servers[killed].take() {
            kill_at_once(&mut server);
        }
        self.primary = 1 - killed;
        self.query(self.primary, "SELECT pg_promote()");
        // Until there is a standby again, commits wait for none.
        self.set_synchronous("");
        self.add_standby().await;
    }

    /// Copies the primary to the other server, starts it, and lets commits wait for it.
    async fn add_standby(&mut self) {
        let (primary, standby) = (self.primary, 1 - self.primary);
        let data = self.new_folder();
        let port = self.ports[primary].to_string();
        let source = ["--host=127.0.0.1", "--username=postgres", "--port", &port];
        let mut copy = Command::new("pg_basebackup");
        copy.args(source).args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--pgdata"]).arg(&data);
        self.run(&mut copy);
        self.start_server(standby, &data).await;
        self.set_synchronous("*");
        let follows = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        wait_for("the standby follows", || self.query(primary, follows) == "1").await;
    }

    fn set_synchronous(&self, names: &str) {
        self.query(self.primary, &format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        self.query(self.primary, "SELECT pg_reload_conf()");
    }

    /// Starts a server and waits until it accepts connections.
    async fn start_server(&mut self, index: usize, data: &Path) {
        let mut server = Command::new("postgres");
        server.arg("-D").arg(data).arg("-k").arg(self.folder.path()).args(["-p", &self.ports[index].to_string()]);
        for setting in SERVER_SETTINGS {
            server.args(["-c", setting]);
        }
        let log = fs::File::create(data.with_extension("log")).unwrap();
        let errors = log.try_clone().unwrap();
        self.servers[index] = Some(self.as_owner(&mut server).stdout(log).stderr(errors).spawn().unwrap());
        wait_for("a server accepts connections", || self.try_query(index, "SELECT 1").is_some()).await;
    }

    /// Starts HAProxy, which sends every connection to the primary, and ends those to a server that is not.
    fn start_proxy(&mut self) {
        let sent = ROLE_QUERY.map(|bytes| format!("tcp-check send-binary {}", bytes.replace(' ', ""))).join("\n  ");
        let expected = IS_PRIMARY.replace(' ', "");
        let [first, second] = self.ports;
        let port = self.proxy_port;
        let settings = format!(
            "defaults\n  mode tcp\n  timeout connect 2s\n  timeout client 1h\n  timeout server 1h\n  timeout check 1s\n\
             listen postgres\n  bind 127.0.0.1:{port}\n  option tcp-check\n  tcp-check connect\n  {sent}\n  \
             tcp-check expect binary {expected}\n  \
             default-server check inter 250ms fall 1 rise 1 on-marked-down shutdown-sessions\n  \
             server first 127.0.0.1:{first}\n  server second 127.0.0.1:{second}\n"
        );
        let path = self.folder.path().join("haproxy.cfg");
        fs::write(&path, settings).unwrap();
        let log = fs::File::create(path.with_extension("log")).unwrap();
        let errors = log.try_clone().unwrap();
        let mut proxy = Command::new("haproxy");
        self.proxy = Some(proxy.arg("-db").arg("-f").arg(&path).stdout(log).stderr(errors).spawn().unwrap());
    }

    /// Creates the path of a data folder that was not used before.
    fn new_folder(&mut self) -> PathBuf {
        self.folders += 1;
        self.folder.path().join(format!("data{}", self.folders))
    }

    /// Runs a statement and returns its first value.
    fn query(&self, index: usize, statement: &str) -> String {
        self.try_query(index, statement).unwrap_or_else(|| panic!("{statement} fails"))
    }

    fn try_query(&self, index: usize, statement: &str) -> Option<String> {
        let url = format!("postgres://postgres@127.0.0.1:{}/postgres", self.ports[index]);
        let mut psql = Command::new("psql");
        psql.args([&url, "--no-psqlrc", "-Atqc", statement]);
        let done = block_in_place(|| psql.output()).unwrap();
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }

    /// Runs a command to its end.
    fn run(&self, command: &mut Command) {
        let done = block_in_place(|| self.as_owner(command).output()).unwrap();
        assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn as_owner<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if let Some((user, group)) = self.owner {
            command.uid(user).gid(group);
        }
        command.current_dir(self.folder.path()).stdin(Stdio::null())
    }
}

impl Drop for PostgresPair {
    fn drop(&mut self) {
        for mut server in self.servers.iter_mut().filter_map(Option::take) {
            kill_at_once(&mut server);
        }
        if let Some(mut proxy) = self.proxy.take() {
            drop(proxy.kill());
            drop(proxy.wait());
        }
    }
}

/// Ends a server and all of its processes at once, without a checkpoint or a farewell to clients.
fn kill_at_once(server: &mut Child) {
    drop(Command::new("kill").args(["-QUIT", &server.id().to_string()]).status());
    drop(server.wait());
}

/// Gives a folder to its owner, for whom alone it is.
fn give(folder: &Path, owner: Option<(u32, u32)>) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    if let Some((user, group)) = owner {
        chown(folder, Some(user), Some(group)).unwrap();
    }
}

/// Returns what `id` prints for these arguments.
fn id(arguments: &[&str]) -> Option<u32> {
    let done = Command::new("id").args(arguments).output().ok()?;
    String::from_utf8_lossy(&done.stdout).trim().parse().ok()
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Waits until a condition holds.
async fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let started_at = Instant::now();
    while !holds() {
        assert!(started_at.elapsed() < START_TIMEOUT, "{what} too late");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
