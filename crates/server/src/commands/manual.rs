//! The command `ai-chat-mcp manual`: writes the manual pages, for packages.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Command};

/// Arguments of `ai-chat-mcp manual`.
#[derive(Debug, Args)]
pub struct Manual {
    /// Folder in which a page for each command is written.
    folder: PathBuf,
}

/// Writes the pages of `program` and of its commands.
///
/// # Errors
///
/// A page cannot be written.
pub fn run(arguments: Manual, program: Command) -> anyhow::Result<ExitCode> {
    clap_mangen::generate_to(program, &arguments.folder)
        .with_context(|| format!("cannot write to {}", arguments.folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
