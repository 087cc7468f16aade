//! Figures of the server and of the page.

use crate::command::run_shown;
use crate::failure::Outcome;
use crate::steps::step;
use crate::system::postgres::{self, Postgres};
use crate::workspace::Workspace;
use crate::{node, web};

/// Builds what is distributed (profile `dist`) and measures it. Without a word, the server and the page; `page` measures the page alone, and
/// any other word goes to the server's bench.
pub fn bench(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let is_page = arguments.iter().any(|argument| argument == "page");
    web::packages(workspace)?;
    web::build(workspace)?;
    let build = ["build", "--profile", "dist", "--package", "ai-chat-mcp"];
    step("compile", || run_shown(&mut workspace.cargo(&build)))?;
    if !is_page {
        server(workspace, arguments)?;
    }
    if !is_page && !arguments.is_empty() {
        return Ok(());
    }
    let mut page = node::script(&workspace.web(), "bench")?;
    page.env("CHAT_BINARY", workspace.dist_binary());
    step("page figures", || run_shown(&mut page))
}

fn server(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let bare = ["build", "--profile", "dist", "--package", "mcp", "--example", "bare"];
    step("compile what it is compared with", || run_shown(&mut workspace.cargo(&bare)))?;
    let programs = postgres::ensure()?;
    let database = step("PostgreSQL", || Postgres::start(&programs))?;
    let mut bench = workspace.cargo(&["run", "--profile", "dist", "--package", "testkit", "--bin", "bench", "--"]);
    bench.args(arguments).env("TEST_POSTGRES_URL", database.url());
    step("server figures", || run_shown(&mut bench))
}
