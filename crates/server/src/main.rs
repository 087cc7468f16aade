//! The program: read the settings, build the app, serve, shut down.

use std::os::unix::process::CommandExt;
use std::process::{Command as Process, ExitCode};

use clap::{Parser, Subcommand};
use server::{app::App, config::Config, http, telemetry};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Chat with an assistant that uses the tools of your own MCP servers.
///
/// Settings come from the environment or from ai-chat-mcp.toml in the working folder; docs/guide/configuration.md lists
/// them.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the page and the API (this is also what happens without a command).
    Serve,
}

fn main() -> ExitCode {
    let Arguments { command: Some(Command::Serve) | None } = Arguments::parse();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ai-chat-mcp: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let config = Config::load()?;
    start_again_with_threads(&config)?;
    telemetry::start(&config);
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = http::listen(config.listen).await?;
        let app = App::start(config, listener.local_addr()?).await?;
        // 1. Serve until the system asks to stop.  2. Open streams end and connections drain.
        http::serve(app.clone(), listener, telemetry::stop_signal()).await;
        // 3. Runs come to rest and reach the database.  4. Other nodes get what is left of them.  5. The database closes.
        app.stop().await;
        Ok(())
    })
}

/// The built-in model's arithmetic takes its number of threads from an environment variable, and a process cannot safely
/// change its own environment: where a number is set, the program replaces itself with one that has it.
fn start_again_with_threads(config: &Config) -> anyhow::Result<()> {
    const THREADS: &str = "RAYON_NUM_THREADS";
    let Some(threads) = config.local_threads.map(|threads| threads.to_string()) else { return Ok(()) };
    if std::env::var_os(THREADS).is_some_and(|present| *present == *threads) {
        return Ok(());
    }
    let mut again = Process::new(std::env::current_exe()?);
    Err(again.args(std::env::args_os().skip(1)).env(THREADS, threads).exec().into())
}
