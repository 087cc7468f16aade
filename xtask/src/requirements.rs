//! Checks of the programs that every command needs: Node.js with npm. Cargo checks the version of Rust itself
//! (`rust-version`), and [`system`](crate::system) installs everything else, including Python.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::command::{find_program, run_quiet};
use crate::failure::{Failure, Outcome};

/// Major and minor version, in this order of comparison.
type Version = (u32, u32);

/// Minimum Node.js for npm 10. It is enough on Linux, where the packages include a newer Node.js.
const MIN_NODE_FOR_NPM: Version = (20, 19);
/// Minimum Node.js for the web build and its tests, as vitest 5 demands.
const MIN_NODE_FOR_SCRIPTS: Version = (22, 12);
/// Minimum npm that was tested with the lock file (`npm ci`).
const MIN_NPM: Version = (10, 9);

/// Checks the versions of Node.js and npm.
///
/// # Errors
///
/// Names the missing or outdated program, the necessary version, and how to install it.
pub fn check() -> Outcome {
    let min_node = if brings_node() { MIN_NODE_FOR_NPM } else { MIN_NODE_FOR_SCRIPTS };
    require("Node.js", "node", min_node)?;
    require("npm", "npm", MIN_NPM)
}

/// Returns whether the packages of `web/` include a Node.js for this platform.
fn brings_node() -> bool {
    cfg!(target_os = "linux") && ["x86_64", "aarch64"].contains(&env::consts::ARCH)
}

/// Checks that a program has at least a [`Version`].
fn require(name: &str, program: &str, minimum: Version) -> Outcome {
    let advice = format!(
        "install Node.js 24 with its npm (nodejs.org, or your system's packages); {name} {}.{} is the oldest that works",
        minimum.0, minimum.1
    );
    let Some(path) = find_program(program) else {
        return Err(Failure::new(format!("{name} is missing: {advice}")));
    };
    let installed = installed_version(&path)?;
    let Some(version) = parse_version(&installed) else {
        return Err(Failure::new(format!("`{program} --version` printed \"{installed}\": {advice}")));
    };
    if version < minimum {
        return Err(Failure::new(format!("{name} {installed} is too old: {advice}")));
    }
    Ok(())
}

/// Returns the version that a program prints, without the leading `v`.
fn installed_version(program: &Path) -> Outcome<String> {
    let output = run_quiet(Command::new(program).arg("--version"))?;
    Ok(output.trim().trim_start_matches('v').to_owned())
}

/// Parses a [`Version`] from a text such as "24.21.0".
fn parse_version(text: &str) -> Option<Version> {
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Runs the check with a script in place of the program, which prints `version`.
    fn require_printed(version: &str, minimum: Version) -> Outcome {
        let folder = env::temp_dir().join(format!("xtask-requirements-{}-{version}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("node");
        std::fs::write(&program, format!("#!/bin/sh\necho '{version}'\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let outcome = require("Node.js", program.to_str().unwrap(), minimum);
        std::fs::remove_dir_all(&folder).unwrap();
        outcome
    }

    #[test]
    fn accepts_minimum_and_newer_versions() {
        for version in ["v20.19.0", "v20.20.2", "v24.0.0"] {
            require_printed(version, MIN_NODE_FOR_NPM).unwrap();
        }
    }

    #[test]
    fn rejects_older_version_and_names_the_remedy() {
        let failure = require_printed("v18.20.4", MIN_NODE_FOR_NPM).unwrap_err().to_string();
        assert!(failure.starts_with("Node.js 18.20.4 is too old: install Node.js 24"), "{failure}");
        assert!(failure.contains("20.19 is the oldest"), "{failure}");
    }

    #[test]
    fn rejects_unreadable_version() {
        let failure = require_printed("hello", MIN_NODE_FOR_NPM).unwrap_err().to_string();
        assert!(failure.contains("printed \"hello\""), "{failure}");
    }

    #[test]
    fn names_missing_program() {
        let failure = require("npm", "no-such-program-here", MIN_NPM).unwrap_err().to_string();
        assert!(failure.starts_with("npm is missing: install Node.js 24"), "{failure}");
    }
}
