//! `cargo xtask upgrade`: tests this version together with a release.

use std::fs;

use crate::command::run_shown;
use crate::failure::{Context, Failure, Outcome};
use crate::steps::step;
use crate::system::postgres::{self, Postgres};
use crate::workspace::Workspace;
use crate::{node, test, web};

/// Tests that a release, whose program is the argument, and this version work on the same database, one after the other
/// and side by side.
pub fn upgrade(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let [previous] = arguments else {
        return Err(Failure::new("`cargo xtask upgrade` needs the program of a release"));
    };
    let previous = fs::canonicalize(previous).context(format!("cannot find {previous}"))?;
    web::packages(workspace)?;
    let programs = postgres::ensure()?;
    let program = test::compile(workspace)?;
    let database = step("PostgreSQL", || Postgres::start(&programs))?;
    let mut tests = node::script(&workspace.web(), "previous-release")?;
    tests.env("PREVIOUS_BINARY", previous).env("TEST_POSTGRES_URL", database.url());
    tests.env("CHAT_BINARY", program);
    step("both versions", || run_shown(&mut tests))
}
