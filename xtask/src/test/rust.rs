//! The Rust tests, run by cargo-nextest if it is installed.

use std::process::Command;

use crate::command::find_program;
use crate::workspace::Workspace;

/// The crate of the built-in model, whose tests use all cores.
pub const BUILT_IN_MODEL: &str = "local-model";

/// Selection of Rust tests.
#[derive(Clone, Copy)]
pub enum RustTests {
    Only(&'static str),
    AllBut(&'static str),
}

/// Returns the command that runs these [`RustTests`]. nextest builds both at once.
pub fn rust_tests(workspace: &Workspace, which: RustTests) -> Command {
    if find_program("cargo-nextest").is_some() {
        let filter = match which {
            RustTests::Only(package) => format!("package({package})"),
            RustTests::AllBut(package) => format!("not package({package})"),
        };
        workspace.cargo(&["nextest", "run", "--workspace", "--no-fail-fast", "--filterset", &filter])
    } else {
        match which {
            RustTests::Only(package) => workspace.cargo(&["test", "--no-fail-fast", "--package", package]),
            RustTests::AllBut(package) => {
                workspace.cargo(&["test", "--no-fail-fast", "--workspace", "--exclude", package])
            }
        }
    }
}
