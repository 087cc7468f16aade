//! MCP's own conformance suite, for the product's client.

use std::path::Path;
use std::process::Command;

use crate::command::run_shown;
use crate::failure::Outcome;
use crate::node;
use crate::steps::step;
use crate::workspace::Workspace;

/// Everything that a protocol version requires, for each version, and the scenarios of older servers. There is no
/// list of accepted failures.
const REQUIRED_SCENARIOS: [[&str; 2]; 3] =
    [["--requirements", "2026-07-28"], ["--requirements", "2025-11-25"], ["--suite", "backcompat"]];
/// Scenarios that the suite does not count as required, and that this client passes nevertheless.
const ADDITIONAL_SCENARIOS: [&str; 3] =
    ["auth/client-credentials-jwt", "auth/client-credentials-basic", "json-schema-2020-12-preservation"];

/// Builds the client, and returns the runs of the suite that is installed in `folder`.
pub fn runs(workspace: &Workspace, folder: &Path) -> Outcome<Vec<Command>> {
    let build = ["build", "--package", "mcp", "--bin", "mcp-conformance-client"];
    step("compile", || run_shown(&mut workspace.cargo(&build)))?;
    let client = workspace.debug_program("mcp-conformance-client");
    // The suite passes the command to a shell.
    let client = format!("'{}'", client.display());
    let run = |what: [&str; 2]| {
        let mut run = node::program(folder, "conformance")?;
        run.args(["client", "--command", &client]).args(what);
        Ok(run)
    };
    REQUIRED_SCENARIOS
        .into_iter()
        .chain(ADDITIONAL_SCENARIOS.map(|scenario| ["--scenario", scenario]))
        .map(run)
        .collect()
}
