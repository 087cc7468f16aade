//! `cargo xtask dev`: runs the server and the web app with hot reload until Ctrl-C.

use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use crate::command::{end, spawn};
use crate::failure::{Context, Failure, Outcome};
use crate::workspace::Workspace;
use crate::{node, web};

/// Runs both processes. When one ends, the other is ended too. Ctrl-C reaches both, since they share the terminal.
pub fn dev(workspace: &Workspace, arguments: &[String]) -> Outcome {
    web::packages(workspace)?;
    // The binary embeds the web app and does not compile without it.
    web::build(workspace)?;
    let server = &mut workspace.cargo(&["run", "--package", "ai-chat-mcp", "--"]);
    let mut server = Running(spawn(server.args(arguments))?);
    // Not through npm: its shell would not forward the signal that ends it.
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

/// A child process that is ended when the value is dropped.
struct Running(Child);

impl Running {
    /// Returns whether the process has ended.
    fn has_ended(&mut self) -> Outcome<bool> {
        Ok(self.0.try_wait().context("lost a child process")?.is_some())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        end(&mut self.0, "TERM");
    }
}
