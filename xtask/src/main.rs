//! The developer's commands (`cargo xtask …`). Dependencies are few and small, so that a fresh clone can run them
//! quickly.
//!
//! Every command prints what it is doing and how long it took, installs only what is missing, and fails with one line
//! that says what to do.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a command-line tool: it prints, reads its environment and waits, and no server's task runs here"
)]

mod bench;
mod check;
mod command;
mod crash;
mod dependencies;
mod dev;
mod dist;
mod documents;
mod failure;
mod local_model;
mod node;
mod notices;
mod npm_packages;
mod release_test;
mod requirements;
mod run;
mod steps;
mod system;
mod test;
mod test_counts;
mod tidy;
mod upgrade;
mod web;
mod weights;
mod workspace;

use std::process::ExitCode;

use failure::{Failure, Outcome};
use workspace::Workspace;

const HELP_TEXT: &str = "\
The developer's commands:

  cargo xtask run [ARGS]     build everything, fetch the built-in model, serve on http://localhost:3000;
                             ARGS and the environment go to the program
  cargo xtask test           install what the tests need and run all suites
      --quick                only the checks, the UI tests and most Rust tests, on SQLite
      --only SUITE           run one suite: check, web, rust, crash, conformance, api or e2e
  cargo xtask check          check format, lints, repository rules, dependencies and types
  cargo xtask tidy           check the repository rules alone, without network
  cargo xtask bench [WHAT]   measure the server and the page; WHAT is one of
      streams                streaming beside a bare relay, with its parts `open` and `resume`
      open, resume           open streams alone; replaying a stream alone
      tools                  tool calls beside the bare protocol library
      history [N [FOLDER]]   long histories of N chats (100,000), in databases that are kept in FOLDER
      nodes                  several nodes on one PostgreSQL
      cluster                what users cost four nodes on one PostgreSQL
      page                   the page in Chromium
      local                  the built-in model beside llama.cpp
  cargo xtask eval           measure how often the built-in model is right, with the questions of crates/local-model/eval
      --filter TEXT          only questions whose id begins with TEXT, of the list TEXT, or about TEXT
      --sample N             only every Nth question
      --half tune|held       only the questions for tuning, or those that are held back
      --set development|test the questions for tuning, or those asked before a release (development)
      --tools 14|38          only one set of tools
      --least N              fail below N percent
  cargo xtask crash          kill the server in the middle of turns and check that nothing is lost or done twice
      --kills N              number of kills (200)
      --failovers N          kill the primary of two PostgreSQL servers instead, N times
      --pool-mode MODE       with PgBouncer in front of these servers, in this mode
      --listen direct        with DATABASE_LISTEN_URL, which leads past PgBouncer
      --seed N               seed of an earlier run
      --nodes N              processes on one PostgreSQL, of which one is killed each time (1)
      --servers N            servers per database (2)
      --interval MS          maximum time between two kills (1500)
      --users N              users per server (4)
      --turns N              simultaneous turns per server (one per user)
      --soak MINUTES         in place of the kills: work for a long time with restarts and backups, and watch the memory
  cargo xtask upgrade BINARY test that a release and this version work on the same database
  cargo xtask dev [ARGS]     serve the server and the page with hot reload, until Ctrl-C
  cargo xtask dist           build the packages for operators, in target/distrib
      --image                build the container image as well
  cargo xtask release-test [FOLDER [OTHER]]
                             install, use and remove what dist built (in FOLDER), on a Debian of its own; as root.
                             OTHER is a second build of the commit, which must have the same bytes
  cargo xtask model          fetch the weights of the built-in model, and check those that are there
      --test                 the small weights that the tests use
  cargo xtask notices        write THIRD-PARTY.md, the list of the components of others
  cargo xtask freeze-migrations
                             add new migrations to the list of released ones, which never change, before a release
  cargo xtask help           print this text
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

/// Runs a command in the [`Workspace`]. Only `test` has an exit code of its own.
fn dispatch(command: &str, rest: &[String]) -> Outcome<ExitCode> {
    let workspace = Workspace::find()?;
    let outcome = match command {
        "test" => return test::test(&workspace, rest),
        "run" => run::run(&workspace, rest),
        "check" => no_more(rest).and_then(|()| check::check(&workspace)),
        "tidy" => no_more(rest).and_then(|()| tidy::tidy(&workspace)),
        "bench" if rest == ["local"] => local_model::bench(&workspace),
        "bench" => bench::bench(&workspace, rest),
        "eval" => local_model::eval(&workspace, rest),
        "crash" => crash::crash(&workspace, rest),
        "upgrade" => upgrade::upgrade(&workspace, rest),
        "dev" => dev::dev(&workspace, rest),
        "dist" => dist::dist(&workspace, rest),
        "release-test" => release_test::command(&workspace, rest),
        "freeze-migrations" => no_more(rest).and_then(|()| tidy::frozen_migrations::freeze(&workspace)),
        "notices" => no_more(rest).and_then(|()| notices::command(&workspace)),
        "model" => weights::command(&workspace, rest),
        "help" | "--help" | "-h" => {
            print!("{HELP_TEXT}");
            Ok(())
        }
        other => Err(Failure::new(format!("there is no command `{other}`; `cargo xtask help` lists them"))),
    };
    outcome.map(|()| ExitCode::SUCCESS)
}

/// Rejects arguments of a command that has none.
fn no_more(rest: &[String]) -> Outcome {
    match rest.first() {
        None => Ok(()),
        Some(extra) => {
            Err(Failure::new(format!("`{extra}` is not understood here; `cargo xtask help` shows the usage")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sources that parse the options of these commands.
    const OPTION_READERS: [&str; 5] = [
        include_str!("dist.rs"),
        include_str!("test.rs"),
        include_str!("weights.rs"),
        include_str!("../../crates/testkit/src/bin/crash/main.rs"),
        include_str!("../../crates/local-model/examples/eval/main.rs"),
    ];
    /// Options that the commands pass on their own.
    const PASSED_BY_COMMANDS: [&str; 3] = ["--binary", "--weights", "--release"];

    /// Returns the options that a source matches: `"--kills" =>` and `["--only", "web"]`.
    fn options(source: &str) -> impl Iterator<Item = &str> {
        let lines = source.lines().filter(|line| line.contains("=>"));
        lines.flat_map(|line| line.split('"')).filter(|word| word.starts_with("--") && word.len() > 2)
    }

    #[test]
    fn help_names_every_option() {
        for source in OPTION_READERS {
            // A reader written in another form would pass without being read.
            assert!(options(source).next().is_some(), "no option found in a source");
            for option in options(source) {
                assert!(
                    PASSED_BY_COMMANDS.contains(&option) || HELP_TEXT.contains(option),
                    "{option} is missing in the help"
                );
            }
        }
    }

    #[test]
    fn help_names_every_suite() {
        let suites = ["check", "web", "rust", "crash", "conformance", "api", "e2e"];
        let line = HELP_TEXT.lines().find(|line| line.contains("--only SUITE")).unwrap();
        assert!(suites.iter().all(|suite| line.contains(suite)), "{line}");
    }
}
