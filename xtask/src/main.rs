//! The developer's commands, on the standard library alone, so that a bare clone can run them at once.
//!
//! Every command says what it is doing and how long it took, installs only what is missing, and fails
//! with one line that says what to do.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a command-line tool: it prints, reads its environment and waits, and no server's task runs here"
)]

mod bench;
mod built_in;
mod check;
mod command;
mod crash;
mod dev;
mod failure;
mod json;
mod node;
mod run;
mod steps;
mod suites;
mod system;
mod test;
mod tidy;
mod web;
mod weights;
mod workspace;

use std::process::ExitCode;

use failure::{Failure, Outcome};
use workspace::Workspace;

const HELP: &str = "\
The developer's commands:

  cargo xtask run [args]          build everything, fetch the built-in model, serve on http://localhost:3000;
                                  arguments and environment go to the program
  cargo xtask test [--only WHAT]  install what the tests need and run them all;
                                  WHAT is one of check, web, rust, conformance, api, e2e
  cargo xtask check               format, lints, the rules of the house, types
  cargo xtask tidy                the rules of the house alone, without network
  cargo xtask bench [WHAT]        figures of the server and of the page; WHAT is one of page, streams, tools, history
  cargo xtask bench local         figures of the built-in model beside llama.cpp
  cargo xtask eval [args]         how often the built-in model is right: questions of crates/local/eval;
                                  --filter TEXT, --sample N, --half tune|held, --tools 14|38
  cargo xtask crash [--kills N] [--seed N] [--nodes N]
                                  kill the program in the middle of turns, and look whether anything was lost or done twice
  cargo xtask dev [args]          the server and the page with hot reload, until Ctrl-C
  cargo xtask model [--test]      fetch the built-in model's weights, and check the ones that are there;
                                  --test: the small weights that the tests use
  cargo xtask help                this text
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_else(|| "help".to_owned());
    let rest: Vec<String> = arguments.collect();
    match dispatch(&command, &rest) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: &str, rest: &[String]) -> Outcome<ExitCode> {
    let workspace = Workspace::find()?;
    let outcome = match command {
        "test" => return test::test(&workspace, rest),
        "run" => run::run(&workspace, rest),
        "check" => no_more(rest).and_then(|()| check::check(&workspace)),
        "tidy" => no_more(rest).and_then(|()| tidy::tidy(&workspace)),
        "bench" if rest == ["local"] => built_in::bench(&workspace),
        "bench" => bench::bench(&workspace, rest),
        "eval" => built_in::eval(&workspace, rest),
        "crash" => crash::crash(&workspace, rest),
        "dev" => dev::dev(&workspace, rest),
        "model" => weights::command(&workspace, rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(Failure::new(format!("there is no command `{other}`; `cargo xtask help` lists them"))),
    };
    outcome.map(|()| ExitCode::SUCCESS)
}

fn no_more(rest: &[String]) -> Outcome {
    match rest.first() {
        None => Ok(()),
        Some(extra) => {
            Err(Failure::new(format!("`{extra}` is not understood here; `cargo xtask help` shows the usage")))
        }
    }
}
