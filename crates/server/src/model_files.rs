//! The command `ai-chat-mcp model …`: manages the files of the built-in model.

mod fetch;
mod progress;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Subcommand;
use domain::model::ModelError;
use local_model::weights::{DEFAULT_WEIGHTS, WeightFile};

use crate::digest;
use agent::models::built_in::{WeightsMismatch, verify_length};
use platform::config::{Config, LocalModel};

/// Subcommands of `ai-chat-mcp model`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Fetch the weights of the built-in model and verify them. Resumes an interrupted download.
    Fetch {
        /// URL of a mirror, instead of the maker's server.
        #[arg(long, value_name = "URL", default_value = DEFAULT_WEIGHTS.url)]
        from: String,
        /// Folder for the file. Default: the folder in which the server looks for it.
        #[arg(long, value_name = "FOLDER")]
        into: Option<PathBuf>,
    },
    /// List the files of weights that exist, and whether the program can use them.
    List {
        /// Verify the file's hash as well.
        #[arg(long)]
        check: bool,
    },
    /// Run the model for a server process, over standard input and output.
    #[command(hide = true)]
    Serve {
        /// File of weights.
        weights: PathBuf,
        /// Verify the file's hash against that of the product's own weights first.
        #[arg(long)]
        verify: bool,
    },
}

/// Runs the command.
///
/// # Errors
///
/// Fails with a text for the administrator.
pub fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Fetch { from, into } => {
            let folder = into.map_or_else(|| folders(&Config::load()?).pop().context("there is no folder"), Ok)?;
            tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(fetch::fetch(
                &DEFAULT_WEIGHTS,
                &from,
                &folder,
            ))
        }
        Command::List { check } => list(&Config::load()?, check),
        Command::Serve { weights, verify } => {
            let check = || match verify.then(|| verify_whole(&DEFAULT_WEIGHTS, &weights)) {
                Some(Err(mismatch)) => Err(ModelError::Unavailable(mismatch.to_string())),
                Some(Ok(())) | None => Ok(()),
            };
            Ok(local_model::run_subprocess(&weights, check)?)
        }
    }
}

/// Returns the folders of models, in the order in which they are searched.
fn folders(config: &Config) -> Vec<PathBuf> {
    let mut folders = vec![config.data_dir.join("models")];
    folders.extend(config.model_cache.clone());
    folders
}

/// Verifies the length and the hash of a file.
pub(super) fn verify_whole(weights: &WeightFile, path: &Path) -> Result<(), WeightsMismatch> {
    let other = |difference| WeightsMismatch::Content { path: path.to_owned(), name: weights.name, difference };
    verify_length(weights, path)?;
    let digest = digest::of_file(path).map_err(|error| other(error.to_string()))?;
    if digest == weights.sha256 { Ok(()) } else { Err(other(format!("its SHA-256 is {digest}"))) }
}

/// Prints the files of weights, and whether they can be used. `*` marks the one that the server uses.
fn list(config: &Config, check: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}, {}, {}", DEFAULT_WEIGHTS.name, DEFAULT_WEIGHTS.license, DEFAULT_WEIGHTS.origin)?;
    let mut files = Vec::new();
    for folder in folders(config) {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let found = entries.flatten().map(|entry| entry.path());
        files.extend(found.filter(|path| path.extension().is_some_and(|ending| ending == "gguf")));
    }
    if let LocalModel::File(path) = &config.local_model {
        files.push(path.clone());
    }
    files.sort();
    files.dedup();
    if files.is_empty() {
        writeln!(out, "There are no files of weights. `ai-chat-mcp model fetch` fetches the product's own.")?;
    }
    let used = agent::models::built_in::path_of(config);
    for path in files {
        let is_default = path.file_name().is_some_and(|name| name == DEFAULT_WEIGHTS.file_name);
        let verdict = match local_model::weights::inspect_weights(&path) {
            Err(error) => error.to_string(),
            Ok(_) if is_default && check => verify_whole(&DEFAULT_WEIGHTS, &path)
                .map_or_else(|mismatch| mismatch.to_string(), |()| "whole, hash compared".to_owned()),
            Ok(_) if is_default => verify_length(&DEFAULT_WEIGHTS, &path)
                .map_or_else(|mismatch| mismatch.to_string(), |()| "whole".to_owned()),
            Ok(family) => format!("of the family {family}"),
        };
        let mark = if used.as_ref() == Some(&path) { "*" } else { " " };
        let megabytes = path.metadata().map_or(0, |file| file.len()) / 1_000_000;
        writeln!(out, "{mark} {} ({megabytes} MB): {verdict}", path.display())?;
    }
    Ok(())
}
