//! The protocol's own conformance suite, against the client of the product.

use std::path::Path;
use std::process::Command;

use crate::command::run_shown;
use crate::failure::Outcome;
use crate::node;
use crate::steps::step;
use crate::workspace::Workspace;

/// All that a revision demands, at that revision, and what older servers need. There is no list of what may fail.
const DEMANDED: [[&str; 2]; 3] =
    [["--requirements", "2026-07-28"], ["--requirements", "2025-11-25"], ["--suite", "backcompat"]];
/// What the suite runs without counting it, and this client does all the same.
const BEYOND: [&str; 3] =
    ["auth/client-credentials-jwt", "auth/client-credentials-basic", "json-schema-2020-12-preservation"];

/// Builds the client and gives the runs of the suite, which is installed in `folder`.
pub fn runs(workspace: &Workspace, folder: &Path) -> Outcome<Vec<Command>> {
    let build = ["build", "--package", "mcp", "--bin", "mcp-conformance-client"];
    step("compile", || run_shown(&mut workspace.cargo(&build)))?;
    let client = workspace.debug_program("mcp-conformance-client");
    // The suite hands the command to a shell.
    let client = format!("'{}'", client.display());
    let run = |what: [&str; 2]| {
        let mut run = node::program(folder, "conformance")?;
        run.args(["client", "--command", &client]).args(what);
        Ok(run)
    };
    DEMANDED.into_iter().chain(BEYOND.map(|scenario| ["--scenario", scenario])).map(run).collect()
}
