//! `cargo xtask crash`: kills the server in the middle of turns, and checks that nothing was lost or done twice.

use std::env;
use std::process::Command;

use crate::command::run_shown;
use crate::failure::{Context, Outcome};
use crate::steps::step;
use crate::system::postgres::{self, Postgres};
use crate::system::{haproxy, pgbouncer};
use crate::workspace::Workspace;

/// Number of kills among the tests, which take about a minute and a half.
const IN_TESTS: &str = "200";
/// Number of kills among the tests with three nodes, which take about a minute: a killed node stays away for a while.
const OF_NODES_IN_TESTS: &str = "12";
/// Builds the server and runs the crash test on both databases. The arguments are those of the crash test.
pub fn crash(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let programs = postgres::ensure()?;
    let database = step("PostgreSQL", || Postgres::start(&programs))?;
    let mut harness = if arguments.iter().any(|argument| argument == "--failovers") {
        if arguments.iter().any(|argument| argument == "--pool-mode") {
            pgbouncer::ensure()?;
        }
        failovers(workspace)?
    } else {
        harness(workspace)?
    };
    harness.args(arguments).env("TEST_POSTGRES_URL", database.url());
    step("kills", || run_shown(&mut harness))
}

/// Returns the crash test as a suite of `cargo xtask test`.
pub fn suite(workspace: &Workspace) -> Outcome<Command> {
    let mut harness = harness(workspace)?;
    harness.args(["--kills", IN_TESTS]);
    Ok(harness)
}

/// Returns the crash test with three nodes on one database.
pub fn suite_of_nodes(workspace: &Workspace) -> Outcome<Command> {
    let mut harness = harness(workspace)?;
    harness.args(["--nodes", "3", "--kills", OF_NODES_IN_TESTS]);
    Ok(harness)
}

/// Returns the crash test with the programs of PostgreSQL and HAProxy on its `PATH`.
fn failovers(workspace: &Workspace) -> Outcome<Command> {
    let mut harness = harness(workspace)?;
    let inherited = env::var_os("PATH").unwrap_or_default();
    let folders = [postgres::ensure()?, haproxy::ensure()?].into_iter().chain(env::split_paths(&inherited));
    harness.env("PATH", env::join_paths(folders).context("cannot extend the PATH")?);
    Ok(harness)
}

/// Builds the crash test and the server in the debug profile, whose overflow checks and assertions should fire.
fn harness(workspace: &Workspace) -> Outcome<Command> {
    let build = ["build", "--package", "ai-chat-mcp", "--package", "testkit", "--bin", "ai-chat-mcp", "--bin", "crash"];
    step("compile", || run_shown(&mut workspace.cargo(&build)))?;
    let mut harness = Command::new(workspace.debug_program("crash"));
    harness.arg("--binary").arg(workspace.debug_program("ai-chat-mcp"));
    Ok(harness)
}
