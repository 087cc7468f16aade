//! The `ai-chat-mcp` binary: parses the command line, reads the settings, serves, and shuts down.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use platform::config::Config;
use platform::logging;
use platform::traces::TraceExporter;
use server::commands::{admin, backup, check, completions, doctor, files, health, manual, rekey, restore};
#[cfg(feature = "local")]
use server::model_files as weights;
use server::version::version;
use server::{app::App, service_manager, threads};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Chat with an assistant that uses the tools of your own MCP servers.
///
/// Settings come from the environment or from ai-chat-mcp.toml in the working folder; docs/guide/configuration.md lists
/// them, and docs/guide/commands.md describes the commands.
#[derive(Parser)]
#[command(version = version())]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the page and the API (this is also what happens without a command).
    Serve,
    /// Ask the running server whether it is ready, for health checks of containers.
    Health(health::Health),
    /// Print all settings and where they come from, and everything that is wrong with them.
    Check(check::Check),
    /// Examine everything that the server depends on: database, keys, disk, clock, mail server, model providers.
    Doctor(doctor::Doctor),
    /// Write the database and the files to an archive, while the server runs or not.
    Backup(backup::Backup),
    /// Replace the database and the files by those of a backup.
    Restore(restore::Restore),
    /// Move the content of files between the database and object storage.
    Files(files::FilesCommand),
    /// Replace the master key and the key that signs access tokens, while the server is stopped.
    Rekey(rekey::Rekey),
    /// Manage the accounts of the running server.
    Admin(admin::AdminCommand),
    /// Print a script that completes the commands in a shell.
    Completions(completions::ShellCompletions),
    /// Write the manual pages.
    #[command(hide = true)]
    Manual(manual::Manual),
    /// The built-in model and its files.
    #[cfg(feature = "local")]
    #[command(subcommand)]
    Model(weights::Command),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Some(Command::Serve) | None => {
            want_huge_pages(false);
            run().map(|()| ExitCode::SUCCESS)
        }
        Some(Command::Health(arguments)) => health::run(arguments),
        Some(Command::Check(arguments)) => check::run(arguments),
        Some(Command::Doctor(arguments)) => doctor::run(arguments),
        Some(Command::Backup(arguments)) => backup::run(arguments),
        Some(Command::Restore(arguments)) => restore::run(arguments),
        Some(Command::Files(arguments)) => files::run(arguments),
        Some(Command::Rekey(arguments)) => rekey::run(arguments),
        Some(Command::Admin(arguments)) => admin::run(arguments),
        Some(Command::Completions(arguments)) => completions::run(arguments, Arguments::command()),
        Some(Command::Manual(arguments)) => manual::run(arguments, Arguments::command()),
        #[cfg(feature = "local")]
        Some(Command::Model(command)) => {
            want_huge_pages(true);
            weights::run(command).map(|()| ExitCode::SUCCESS)
        }
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("ai-chat-mcp: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Enables or disables huge pages (2 MB) for this process and its children. They make the built-in model faster, but
/// increase the memory of a server with many users: a page is held while any part of it is used.
fn want_huge_pages(wanted: bool) {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_thp_disable(!wanted);
    #[cfg(not(target_os = "linux"))]
    let _ = wanted;
}

/// Returns the default filter of the log: warnings of everything, and what the crates of this project report.
fn default_log_filter() -> String {
    format!(
        "warn,accounts=info,agent=info,api=info,builtin_servers=info,connections=info,server=info,ai_chat_mcp=info,platform=info,{}",
        mcp::LOG_DIRECTIVE
    )
}

/// Runs the server until it is asked to stop.
fn run() -> anyhow::Result<()> {
    let config = Config::load()?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().thread_keep_alive(threads::IDLE_THREAD_LIFETIME).build()?;
    let traces = config.traces.as_ref();
    let traces =
        traces.map(|settings| TraceExporter::new(settings, version(), runtime.handle().clone())).transpose()?;
    logging::start(&config.log.clone().unwrap_or_else(default_log_filter), traces.as_ref());
    let outcome: anyhow::Result<()> = runtime.block_on(async {
        let listener = http_server::serve::listen(config.listen, "CHAT_LISTEN")?;
        let admin_address = config.admin_listener.as_ref().map(|admin| admin.address);
        let admin_listener =
            admin_address.map(|address| http_server::serve::listen(address, "CHAT_ADMIN_LISTEN")).transpose()?;
        let app = App::start(config, listener.local_addr()?).await?;
        if let Some(listener) = admin_listener {
            app.state.tasks.spawn("admin listener", api::serve_admin(app.state.clone(), listener));
        }
        let stop_requested = logging::shutdown_signal();
        service_manager::report_ready(&app.state.tasks);
        let stop = async {
            stop_requested.await;
            service_manager::report_stopping();
        };
        // 1. Serve until the system requests shutdown.  2. Open streams end and connections drain.
        api::serve(app.state.clone(), listener, stop).await;
        // 3. Turns end and are written to the database.  4. The remaining turns are released to other nodes.  5. The
        // database closes.
        app.stop().await;
        Ok(())
    });
    // 6. The last spans are exported.
    if let Some(traces) = traces {
        traces.stop();
    }
    outcome
}
