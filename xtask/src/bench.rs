//! Figures of the server and of the page.

use crate::command::run_shown;
use crate::failure::Outcome;
use crate::steps::step;
use crate::workspace::Workspace;
use crate::{node, web};

/// Builds what `run` runs and measures it; the arguments go to the server's bench. `page` measures the page alone.
pub fn bench(workspace: &Workspace, arguments: &[String]) -> Outcome {
    web::packages(workspace)?;
    web::build(workspace)?;
    let build = ["build", "--release", "--package", "ai-chat-mcp"];
    step("compile", || run_shown(&mut workspace.cargo(&build)))?;
    if !arguments.iter().any(|argument| argument == "page") {
        server(workspace, arguments)?;
    }
    let mut page = node::script(&workspace.web(), "bench")?;
    page.env("CHAT_BINARY", workspace.release_binary());
    step("page figures", || run_shown(&mut page))
}

fn server(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let bare = ["build", "--release", "--package", "mcp", "--example", "bare"];
    step("compile what it is compared with", || run_shown(&mut workspace.cargo(&bare)))?;
    let cargo = ["run", "--release", "--package", "testkit", "--bin", "bench", "--"];
    step("server figures", || run_shown(workspace.cargo(&cargo).args(arguments)))
}
