//! Kills the program in the middle of turns and looks whether anything was lost or done twice.

use std::process::Command;

use crate::command::run_shown;
use crate::failure::Outcome;
use crate::steps::step;
use crate::system::postgres::{self, Postgres};
use crate::workspace::Workspace;

/// Kills in a run of all tests: about a minute and a half.
const IN_TESTS: &str = "200";
/// The same where one of three nodes is killed each time, and stays away for a while: about a minute.
const OF_NODES_IN_TESTS: &str = "12";

/// Builds the program and haunts it on both databases; the arguments go to the harness.
pub fn crash(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let programs = postgres::ensure()?;
    let database = step("PostgreSQL", || Postgres::start(&programs))?;
    let mut harness = harness(workspace)?;
    harness.args(arguments).env("TEST_POSTGRES_URL", database.url());
    step("kills", || run_shown(&mut harness))
}

/// The same among the tests.
pub fn suite(workspace: &Workspace) -> Outcome<Command> {
    let mut harness = harness(workspace)?;
    harness.args(["--kills", IN_TESTS]);
    Ok(harness)
}

/// The same with three nodes that share a database.
pub fn suite_of_nodes(workspace: &Workspace) -> Outcome<Command> {
    let mut harness = harness(workspace)?;
    harness.args(["--nodes", "3", "--kills", OF_NODES_IN_TESTS]);
    Ok(harness)
}

/// Builds the harness and the program that it kills, with overflow checks and debug assertions.
fn harness(workspace: &Workspace) -> Outcome<Command> {
    let build = ["build", "--package", "ai-chat-mcp", "--package", "testkit", "--bin", "ai-chat-mcp", "--bin", "crash"];
    step("compile", || run_shown(&mut workspace.cargo(&build)))?;
    let mut harness = Command::new(workspace.debug_program("crash"));
    harness.arg("--program").arg(workspace.debug_program("ai-chat-mcp"));
    Ok(harness)
}
