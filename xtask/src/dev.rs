//! The server and the page with hot reload, side by side until Ctrl-C.

use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use crate::command::{interrupt, spawn};
use crate::failure::{Context, Outcome};
use crate::workspace::Workspace;
use crate::{node, web};

/// Runs both; when one ends, the other is ended too. Ctrl-C reaches both by itself: they share the terminal.
pub fn dev(workspace: &Workspace, arguments: &[String]) -> Outcome {
    web::packages(workspace)?;
    // The binary takes the built pages in, and does not compile without them.
    web::build(workspace)?;
    let server = &mut workspace.cargo(&["run", "--package", "ai-chat-mcp", "--"]);
    let mut server = Running(spawn(server.args(arguments))?);
    let mut pages = Running(spawn(&mut node::script(&workspace.web(), "dev")?)?);
    while !server.has_ended()? && !pages.has_ended()? {
        sleep(Duration::from_millis(200));
    }
    Ok(())
}

/// A child that is ended when it is let go.
struct Running(Child);

impl Running {
    fn has_ended(&mut self) -> Outcome<bool> {
        Ok(self.0.try_wait().context("lost a child process")?.is_some())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        interrupt(&mut self.0);
    }
}
