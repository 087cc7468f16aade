//! `cargo xtask test`: installs what the tests need and runs all suites, whatever fails in between.

mod conformance;
mod report;
mod rust;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;

use crate::check::CHECKS;
use crate::command::run_shown;
use crate::failure::{Failure, Outcome};
use crate::steps::step;
use crate::system::{chromium, firefox, openssl, pgbouncer, postgres, python, webkit};
use crate::weights::{self, Weights};
use crate::workspace::Workspace;
use crate::{crash, local_model, node, requirements, web};
use report::{Report, check, suite, suite_of};
use rust::{BUILT_IN_MODEL, RustTests, rust_tests};

/// Folder of third-party MCP servers that the tests of `mcp` use.
pub const PEERS_FOLDER: &str = "crates/mcp/tests/peers";

/// Folder of the test that compares the running server with its OpenAPI document.
const API_TEST_FOLDER: &str = "crates/api/tests/openapi";

/// The suites that a run includes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Only {
    Everything,
    /// What finds most mistakes in a few minutes: the checks, the UI tests and most Rust tests on SQLite, without the
    /// built-in model, kills, other programs and browser journeys.
    Quick,
    Check,
    Web,
    Rust,
    Crash,
    Conformance,
    Api,
    EndToEnd,
}

impl Only {
    /// Parses the command's arguments to the selected suites ([`Only`]).
    fn read(arguments: &[String]) -> Outcome<Self> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] => Ok(Self::Everything),
            ["--quick"] => Ok(Self::Quick),
            ["--only", "check"] => Ok(Self::Check),
            ["--only", "web"] => Ok(Self::Web),
            ["--only", "rust"] => Ok(Self::Rust),
            ["--only", "crash"] => Ok(Self::Crash),
            ["--only", "conformance"] => Ok(Self::Conformance),
            ["--only", "api"] => Ok(Self::Api),
            ["--only", "e2e"] => Ok(Self::EndToEnd),
            _ => {
                Err(Failure::new("usage: cargo xtask test [--quick | --only check|web|rust|crash|conformance|api|e2e]"))
            }
        }
    }

    /// Returns whether a suite is selected.
    fn wants(self, suite: Self) -> bool {
        match self {
            Self::Everything => true,
            Self::Quick => matches!(suite, Self::Check | Self::Web | Self::Rust),
            only => only == suite,
        }
    }
}

/// Runs the suites and prints a [`Report`], whose last line is "N passed, N failed".
pub fn test(workspace: &Workspace, arguments: &[String]) -> Outcome<ExitCode> {
    let only = Only::read(arguments)?;
    requirements::check()?;
    let mut report = Report::default();
    let mut needs = None;
    report.unless_done("what the tests need", || {
        needs = Some(Needs::install(workspace, only)?);
        Ok(())
    });
    // Without its needs no suite can give a meaningful result.
    let Some(needs) = needs else { return Ok(report.close()) };
    report.unless_done("UI build", || web::build(workspace));

    // The download of the weights runs while the checks do.
    thread::scope(|scope| {
        let weights =
            scope.spawn(|| needs.weights.iter().try_for_each(|weights| weights::ensure(workspace, weights).map(drop)));
        if only.wants(Only::Check) {
            for (name, work) in CHECKS {
                report.add(check(name, || work(workspace)));
            }
        }
        if only.wants(Only::Web) {
            report.add(suite("UI tests", || Ok(needs.set_environment(node::script(&workspace.web(), "test")?))));
        }
        // The tests of the model and the browser tests need the weights.
        report.unless_done("weights", || {
            weights.join().unwrap_or_else(|_| Err(Failure::new("the download of the weights broke off")))
        });
    });

    let mut database = None;
    if let Some(programs) = &needs.postgres {
        report.unless_done("PostgreSQL", || {
            database = Some(step("PostgreSQL", || postgres::Postgres::start(programs))?);
            Ok(())
        });
    }
    let with_database = |tests: Command| {
        let mut tests = needs.set_environment(tests);
        if let Some(database) = &database {
            tests.env("TEST_POSTGRES_URL", database.url());
        }
        tests
    };
    // The tests of the model use all cores, so they run after the others.
    if only.wants(Only::Rust) {
        let others = if only == Only::Quick {
            RustTests::QuickAllBut(BUILT_IN_MODEL)
        } else {
            RustTests::AllBut(BUILT_IN_MODEL)
        };
        report.add(suite("Rust", || Ok(with_database(rust_tests(workspace, others)))));
        if only != Only::Quick {
            let tests = || Ok(with_database(rust_tests(workspace, RustTests::Only(BUILT_IN_MODEL))));
            report.add(suite("built-in model", tests));
        }
    }
    if only.wants(Only::Crash) {
        report.add(suite("kills", || crash::suite(workspace).map(with_database)));
        report.add(suite("kills of nodes", || crash::suite_of_nodes(workspace).map(with_database)));
    }
    if only.wants(Only::Conformance) {
        report.add(suite_of("MCP conformance", || conformance::runs(workspace, &workspace.root.join(PEERS_FOLDER))));
    }
    if let Some(python) = &needs.python {
        report.add(suite("API and its description", || api_check(workspace, python)));
    }
    if only.wants(Only::EndToEnd) {
        report.add(suite("browser journeys", || journeys(workspace).map(with_database)));
    }
    // The server stops before the report is printed.
    drop(database);
    Ok(report.close())
}

/// Builds the server for the suites that run it, and returns its path. The debug profile shares its dependencies with
/// the Rust tests, and its assertions and overflow checks hold in the browser tests, too.
pub fn compile(workspace: &Workspace) -> Outcome<PathBuf> {
    step("compile", || run_shown(&mut workspace.cargo(&["build", "--package", "ai-chat-mcp"])))?;
    Ok(workspace.debug_program("ai-chat-mcp"))
}

/// Returns the test of the OpenAPI document.
fn api_check(workspace: &Workspace, python: &Path) -> Outcome<Command> {
    let program = compile(workspace)?;
    let mut check = Command::new(python);
    check.arg(workspace.root.join(API_TEST_FOLDER).join("run.py")).arg(program);
    Ok(check)
}

/// Returns the browser tests.
fn journeys(workspace: &Workspace) -> Outcome<Command> {
    let program = compile(workspace)?;
    let mut journeys = node::script(&workspace.web(), "e2e")?;
    journeys.env("CHAT_BINARY", program);
    Ok(journeys)
}

/// Programs and files that the selected suites need.
struct Needs {
    chromium: Option<PathBuf>,
    firefox: Option<PathBuf>,
    /// WebKit's WebDriver.
    webkit: Option<PathBuf>,
    postgres: Option<PathBuf>,
    python: Option<PathBuf>,
    /// A Python with llama.cpp.
    llama: Option<PathBuf>,
    /// A Python with an OpenID Connect provider.
    identity_provider: Option<PathBuf>,
    weights: Vec<&'static Weights>,
}

impl Needs {
    /// Installs what the selected suites need.
    fn install(workspace: &Workspace, only: Only) -> Outcome<Self> {
        let (rust, journeys) = (only.wants(Only::Rust), only.wants(Only::EndToEnd));
        let chromium = if journeys || only.wants(Only::Web) { Some(chromium::ensure()?) } else { None };
        let firefox = if journeys { Some(firefox::ensure()?) } else { None };
        let webkit = if journeys { Some(webkit::ensure()?) } else { None };
        if journeys {
            openssl::ensure()?;
        }
        let postgres = if only != Only::Quick && (rust || journeys || only.wants(Only::Crash)) {
            Some(postgres::ensure()?)
        } else {
            None
        };
        if rust && postgres.is_some() {
            pgbouncer::ensure()?;
        }
        let requirements = workspace.root.join(API_TEST_FOLDER).join("requirements.txt");
        let python = if only.wants(Only::Api) { Some(python::ensure(&requirements)?) } else { None };
        web::packages(workspace)?;
        let peers = workspace.root.join(PEERS_FOLDER);
        if (rust || journeys || only.wants(Only::Conformance)) && peers.join("package.json").is_file() {
            node::install("MCP servers of other makers", &peers)?;
        }
        let mut weights = Vec::new();
        if (rust && only != Only::Quick) || journeys {
            weights.extend([&weights::SMALL_MODEL, &weights::BUILT_IN]);
        }
        let llama = if journeys { Some(python::ensure(&local_model::llama_requirements(workspace))?) } else { None };
        let requirements = workspace.web().join("e2e/requirements.txt");
        let identity_provider = if journeys { Some(python::ensure(&requirements)?) } else { None };
        Ok(Self { chromium, firefox, webkit, postgres, python, llama, identity_provider, weights })
    }

    /// Adds the environment variables that the tests read.
    fn set_environment(&self, mut tests: Command) -> Command {
        tests.env("CI", "1");
        // Test runners print colours if `CI` is set, even to a file.
        if !std::io::stdout().is_terminal() {
            tests.env("NO_COLOR", "1");
        }
        if let Some(chromium) = &self.chromium {
            tests.env("CHROMIUM", chromium);
        }
        if let Some(firefox) = &self.firefox {
            tests.env("FIREFOX", firefox);
        }
        if let Some(webkit) = &self.webkit {
            tests.env("WEBKIT_DRIVER", webkit);
        }
        if let (Some(llama), Ok(small)) = (&self.llama, weights::path(&weights::SMALL_MODEL)) {
            tests.env("LLAMA_PYTHON", llama).env("SMALL_WEIGHTS", small);
        }
        if let Some(identity_provider) = &self.identity_provider {
            tests.env("OIDC_PYTHON", identity_provider);
        }
        tests
    }
}
