//! Holds a model for the tests, as `ai-chat-mcp model serve FILE` does for the program.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let file = std::env::args_os().nth(3).map(PathBuf::from);
    local_model::run_subprocess(&file.ok_or(std::io::ErrorKind::InvalidInput)?, || Ok(()))
}
