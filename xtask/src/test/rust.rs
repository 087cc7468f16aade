//! The Rust tests, by cargo-nextest where it is installed.

use std::process::Command;

use crate::command::find_program;
use crate::workspace::Workspace;

/// The crate of the built-in model, whose tests take every core.
pub const BUILT_IN_MODEL: &str = "local-model";

/// Whose tests are run.
#[derive(Clone, Copy)]
pub enum RustTests {
    Only(&'static str),
    AllBut(&'static str),
}

/// The Rust tests of one crate, or of all others. nextest builds both in one go.
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
