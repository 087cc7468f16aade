//! `cargo xtask check`: all checks that need no running server: format, lints, repository rules and types.

use std::process::Command;

use crate::command::run_shown;
use crate::failure::{Failure, Outcome};
use crate::steps::step;
use crate::workspace::Workspace;
use crate::{dependencies, node, tidy, web};

const CLIPPY_ARGUMENTS: [&str; 6] = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];

/// A check: its name and its function.
pub type Check = (&'static str, fn(&Workspace) -> Outcome);

/// Each [`Check`], the cheapest first.
pub const CHECKS: [Check; 5] = [
    ("format", |workspace| shown(&mut workspace.cargo(&["fmt", "--all", "--check"]), "run `cargo fmt --all`")),
    ("lints", |workspace| shown(&mut workspace.cargo(&CLIPPY_ARGUMENTS), "mend what is named above")),
    ("rules", tidy::tidy),
    ("dependencies", dependencies::check),
    ("UI types, lints and format", |workspace| {
        shown(&mut node::script(&workspace.web(), "check")?, "mend what is named above; `npm run format` formats")
    }),
];

/// Runs all checks, and reports every failed one.
pub fn check(workspace: &Workspace) -> Outcome {
    web::packages(workspace)?;
    // The binary embeds the web app and does not compile without it.
    web::build(workspace)?;
    let mut failed = Vec::new();
    for (name, work) in CHECKS {
        if let Err(failure) = step(name, || work(workspace)) {
            failed.push(format!("{name}: {failure}"));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::new(failed.join("\nerror: "))) }
}

/// Runs a command and adds the remedy to its failure.
fn shown(command: &mut Command, remedy: &str) -> Outcome {
    run_shown(command).map_err(|failure| Failure::new(format!("{failure}; {remedy}")))
}
