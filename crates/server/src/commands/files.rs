//! The command `ai-chat-mcp files`: moves the content of files between the database and object storage.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure};
use clap::{Args, Subcommand, ValueEnum};
use domain::{Clock, SystemClock};
use platform::config::Config;
use platform::logging;
use storage::Storage;
use storage::file_moves::FilePlace;

use super::database::on_database;

/// Number of files that are listed at once.
const FILES_PER_BATCH: i64 = 100;
/// Pause after each file, for the writers of a running server.
const PAUSE: Duration = Duration::from_millis(2);
/// Number of files after which the progress is printed.
const FILES_PER_REPORT: u64 = 100;

/// Arguments of `ai-chat-mcp files`.
#[derive(Debug, Args)]
pub struct FilesCommand {
    #[command(subcommand)]
    action: Action,
}

/// An operation on files.
#[derive(Debug, Subcommand)]
enum Action {
    /// Move the content of existing files to where CHAT_FILES stores new ones, while the server runs or not.
    Move(MoveArguments),
}

/// Arguments of `ai-chat-mcp files move`.
#[derive(Debug, Args)]
#[command(
    after_help = "If it is interrupted, run it again: it continues with what is left.\n\nExit codes: 0 all files are \
                  there, 1 some are not, 2 wrong arguments."
)]
struct MoveArguments {
    /// Move to the database or to the bucket of CHAT_FILES. Default: where CHAT_FILES stores new files.
    #[arg(long, value_name = "PLACE")]
    to: Option<Target>,
}

/// A place for files.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Target {
    Database,
    S3,
}

/// Runs the command.
///
/// # Errors
///
/// The settings are invalid, or the database or the object storage fails.
pub fn run(arguments: FilesCommand) -> anyhow::Result<ExitCode> {
    let Action::Move(arguments) = arguments.action;
    let config = Config::load()?;
    let is_bucket = config.files.location.is_some();
    let place = match arguments.to {
        Some(Target::S3) => FilePlace::Bucket,
        None if is_bucket => FilePlace::Bucket,
        Some(Target::Database) | None => FilePlace::Database,
    };
    ensure!(place == FilePlace::Database || is_bucket, "set CHAT_FILES to the bucket, such as s3://bucket/folder");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let missing = runtime.block_on(async {
        tokio::select! {
            moved = on_database(&config, async |storage: &Storage| move_all(storage, &config, place).await) => moved,
            () = logging::shutdown_signal() => bail!("interrupted; run the command again to continue"),
        }
    })?;
    if place == FilePlace::Database && is_bucket {
        writeln!(io::stdout(), "New files still go to the bucket: remove CHAT_FILES and restart the server.")?;
    }
    Ok(if missing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Moves all files. Returns the number of those whose content is lost.
async fn move_all(storage: &Storage, config: &Config, place: FilePlace) -> anyhow::Result<u64> {
    let storage = storage.clone().with_file_storage(&config.files).await?;
    let files = storage.files();
    let (total, bytes) = files.count_misplaced(place).await?;
    let mut out = io::stdout();
    let target = if place == FilePlace::Database { "the database" } else { "the bucket" };
    writeln!(out, "{total} files ({:.1} MB) are to be moved to {target}.", bytes as f64 / 1e6)?;
    let (mut last, mut done, mut missing) = (None, 0, 0);
    loop {
        let batch = files.list_misplaced(place, last, FILES_PER_BATCH).await?;
        let Some(end) = batch.last() else { break };
        last = Some(end.id);
        for file in batch {
            match files.move_content(file.owner, file.id, place).await {
                Ok(_) => done += 1,
                Err(storage::Error::MissingContent) => {
                    missing += 1;
                    writeln!(out, "The content of the file {} is missing in object storage.", file.id)?;
                }
                Err(error) => {
                    bail!("{done} of {total} files were moved, then {error}; run the command again to continue")
                }
            }
            if done % FILES_PER_REPORT == 0 {
                writeln!(out, "{done} of {total} files.")?;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    // What a running server would do in the background.
    while files.delete_unused_objects(SystemClock.now()).await? {}
    writeln!(out, "Moved {done} files to {target}.")?;
    Ok(missing)
}
