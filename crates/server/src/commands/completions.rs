//! The command `ai-chat-mcp completions`: prints a script that completes the commands in a shell.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

/// Arguments of `ai-chat-mcp completions`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 the script is printed, 1 standard output cannot be written, 2 unknown shell.")]
pub struct ShellCompletions {
    /// Name of the shell.
    shell: Shell,
}

/// Prints the script for all commands of `program`.
///
/// # Errors
///
/// Standard output cannot be written.
pub fn run(arguments: ShellCompletions, mut program: Command) -> anyhow::Result<ExitCode> {
    let name = program.get_name().to_owned();
    // Not written at once, because the library panics when it cannot write.
    let mut script = Vec::new();
    generate(arguments.shell, &mut program, name, &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
