//! `cargo xtask bench`: benchmarks of the server and of the web app.

use crate::command::run_shown;
use crate::failure::Outcome;
use crate::steps::step;
use crate::system::postgres::{self, Postgres};
use crate::workspace::Workspace;
use crate::{node, web};

/// Builds the distributed binary (profile `dist`) and runs the benchmarks. Without an argument, the server and the
/// web app are measured; `page` selects the web app alone, and other arguments select a benchmark of the server.
pub fn bench(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let is_page = arguments.iter().any(|argument| argument == "page");
    web::packages(workspace)?;
    web::build(workspace)?;
    let build = ["build", "--profile", "dist", "--package", "ai-chat-mcp"];
    step("compile", || run_shown(&mut workspace.cargo(&build)))?;
    if !is_page {
        server(workspace, arguments)?;
    }
    // A selected benchmark of the server does not include the web app.
    if !is_page && !arguments.is_empty() {
        return Ok(());
    }
    let mut page = node::script(&workspace.web(), "bench")?;
    // The web app is measured with the server's own headers and compression.
    page.env("CHAT_BINARY", workspace.dist_binary());
    step("page figures", || run_shown(&mut page))
}

/// Runs the benchmarks of the server, with PostgreSQL and the example that uses the bare protocol library.
fn server(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let bare = ["build", "--profile", "dist", "--package", "mcp", "--example", "bare"];
    step("compile what it is compared with", || run_shown(&mut workspace.cargo(&bare)))?;
    let programs = postgres::ensure()?;
    let database = step("PostgreSQL", || Postgres::start_with_defaults(&programs))?;
    let mut bench = workspace.cargo(&["run", "--profile", "dist", "--package", "testkit", "--bin", "bench", "--"]);
    bench.args(arguments).env("TEST_POSTGRES_URL", database.url());
    step("server figures", || run_shown(&mut bench))
}
