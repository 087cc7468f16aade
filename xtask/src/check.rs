//! What needs no running program: format, lints, the rules of the house, types.

use std::process::Command;

use crate::command::run_shown;
use crate::failure::{Failure, Outcome};
use crate::steps::step;
use crate::workspace::Workspace;
use crate::{node, tidy, web};

const CLIPPY: [&str; 6] = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];

/// One check: its name, and what it does.
pub type Check = (&'static str, fn(&Workspace) -> Outcome);

/// Every check, cheapest first.
pub const CHECKS: [Check; 4] = [
    ("format", |workspace| shown(&mut workspace.cargo(&["fmt", "--all", "--check"]), "run `cargo fmt --all`")),
    ("lints", |workspace| shown(&mut workspace.cargo(&CLIPPY), "mend what is named above")),
    ("rules", tidy::tidy),
    ("UI types, lints and format", |workspace| {
        shown(&mut node::script(&workspace.web(), "check")?, "mend what is named above; `npm run format` formats")
    }),
];

/// Does all checks and names the ones that failed.
pub fn check(workspace: &Workspace) -> Outcome {
    web::packages(workspace)?;
    // The binary takes the built pages in, and does not compile without them.
    web::build(workspace)?;
    let mut failed = Vec::new();
    for (name, work) in CHECKS {
        if let Err(failure) = step(name, || work(workspace)) {
            failed.push(format!("{name}: {failure}"));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::new(failed.join("\nerror: "))) }
}

fn shown(command: &mut Command, remedy: &str) -> Outcome {
    run_shown(command).map_err(|failure| Failure::new(format!("{failure}; {remedy}")))
}
