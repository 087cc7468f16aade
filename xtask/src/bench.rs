//! Figures of the server and of the page.

use crate::command::run_shown;
use crate::failure::Outcome;
use crate::steps::step;
use crate::workspace::Workspace;
use crate::{node, web};

/// Builds as for shipping and measures; the arguments go to the server's bench.
pub fn bench(workspace: &Workspace, arguments: &[String]) -> Outcome {
    web::packages(workspace)?;
    web::build(workspace)?;
    let cargo = ["run", "--profile", "dist", "--package", "testkit", "--bin", "bench", "--"];
    step("server figures", || run_shown(workspace.cargo(&cargo).args(arguments)))?;
    step("page figures", || run_shown(&mut node::script(&workspace.web(), "bench")?))
}
