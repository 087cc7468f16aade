//! Kills the program in the middle of turns and looks whether anything was lost or done twice.

use std::process::Command;

use crate::command::run_shown;
use crate::failure::Outcome;
use crate::steps::step;
use crate::system::postgres::{self, Postgres};
use crate::web;
use crate::workspace::Workspace;

/// Builds what `run` runs and haunts it on both databases; the arguments go to the harness.
pub fn crash(workspace: &Workspace, arguments: &[String]) -> Outcome {
    web::packages(workspace)?;
    web::build(workspace)?;
    let programs = postgres::ensure()?;
    let database = step("PostgreSQL", || Postgres::start(&programs))?;
    let mut harness = harness(workspace)?;
    harness.args(arguments).env("TEST_POSTGRES_URL", database.url());
    step("kills", || run_shown(&mut harness))
}

/// Builds the harness and the program that it kills.
fn harness(workspace: &Workspace) -> Outcome<Command> {
    let build = [
        "build",
        "--release",
        "--package",
        "ai-chat-mcp",
        "--package",
        "testkit",
        "--bin",
        "ai-chat-mcp",
        "--bin",
        "crash",
    ];
    step("compile", || run_shown(&mut workspace.cargo(&build)))?;
    let program = workspace.release_binary();
    let mut harness = Command::new(program.with_file_name("crash"));
    harness.arg("--program").arg(program);
    Ok(harness)
}
