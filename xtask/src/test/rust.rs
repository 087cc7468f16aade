//! The Rust tests, run by cargo-nextest if it is installed.

use std::process::Command;
use std::thread;

use crate::command::find_program;
use crate::workspace::Workspace;

/// The crate of the built-in model, whose tests use all cores.
pub const BUILT_IN_MODEL: &str = "local-model";

/// Test modules that a quick run leaves out: sweeps over all routes, failing disks, databases and nodes, hostile peers.
/// They take more than half of the time and rarely fail alone.
const SLOW_MODULES: [&str; 7] =
    ["routes::", "outages::", "nodes::", "hostile::", "client_limits::", "network_policy::", "http_server::"];

/// Tests that a quick run executes at a time. Most tests wait for timers and sockets, so more tests than cores fit.
const QUICK_THREADS: &str = "5";

/// Returns how many tests a whole run executes at a time. The sweeps over all routes use a core each, so that fewer fit than
/// in a quick run: with three tests on two cores, it takes 496 s in place of 584 s.
fn threads_of_all(cores: usize) -> usize {
    cores + cores.div_ceil(2)
}

/// Selection of Rust tests.
#[derive(Clone, Copy)]
pub enum RustTests {
    /// All of one crate.
    Only(&'static str),
    /// All of the other crates.
    AllBut(&'static str),
    /// All of the other crates without [`SLOW_MODULES`].
    QuickAllBut(&'static str),
}

/// Returns the command that runs these [`RustTests`]. nextest builds all of them at once.
pub fn rust_tests(workspace: &Workspace, which: RustTests) -> Command {
    if find_program("cargo-nextest").is_some() { with_nextest(workspace, which) } else { with_cargo(workspace, which) }
}

fn with_nextest(workspace: &Workspace, which: RustTests) -> Command {
    let filter = match which {
        RustTests::Only(package) => format!("package({package})"),
        RustTests::AllBut(package) => format!("not package({package})"),
        RustTests::QuickAllBut(package) => {
            format!("not package({package}) and not test(/^({})/)", SLOW_MODULES.join("|"))
        }
    };
    let mut tests = workspace.cargo(&["nextest", "run", "--workspace", "--no-fail-fast", "--filterset", &filter]);
    let threads = match which {
        RustTests::QuickAllBut(_) => QUICK_THREADS.to_owned(),
        _ => threads_of_all(thread::available_parallelism().map_or(2, usize::from)).to_string(),
    };
    tests.args(["--test-threads", &threads]);
    tests
}

fn with_cargo(workspace: &Workspace, which: RustTests) -> Command {
    match which {
        RustTests::Only(package) => workspace.cargo(&["test", "--no-fail-fast", "--package", package]),
        RustTests::AllBut(package) => workspace.cargo(&["test", "--no-fail-fast", "--workspace", "--exclude", package]),
        RustTests::QuickAllBut(package) => {
            let mut tests = workspace.cargo(&["test", "--no-fail-fast", "--workspace", "--exclude", package, "--"]);
            tests.args(SLOW_MODULES.iter().flat_map(|module| ["--skip", module]));
            tests
        }
    }
}
