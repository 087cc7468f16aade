//! The server and the page with hot reload, side by side until Ctrl-C.

use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use crate::command::{end, spawn};
use crate::failure::{Context, Failure, Outcome};
use crate::workspace::Workspace;
use crate::{node, web};

/// Runs both; when one ends, the other is ended too. Ctrl-C reaches both by itself: they share the terminal.
pub fn dev(workspace: &Workspace, arguments: &[String]) -> Outcome {
    web::packages(workspace)?;
    // The binary takes the built pages in, and does not compile without them.
    web::build(workspace)?;
    let server = &mut workspace.cargo(&["run", "--package", "ai-chat-mcp", "--"]);
    let mut server = Running(spawn(server.args(arguments))?);
    // Not through npm, whose shell would keep the signal that ends it to itself.
    let mut pages = Running(spawn(&mut node::program(&workspace.web(), "vite")?)?);
    loop {
        for (name, running) in [("server", &mut server), ("page", &mut pages)] {
            if running.has_ended()? {
                return Err(Failure::new(format!("the {name} has ended: see above")));
            }
        }
        sleep(Duration::from_millis(200));
    }
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
        end(&mut self.0, "TERM");
    }
}
