//! Confirmation of a command that replaces or deletes data.

use std::io::{self, BufRead, IsTerminal, Write};

/// Asks a question on standard output, and returns whether the answer on standard input is `yes`.
///
/// # Errors
///
/// Standard output cannot be written, or standard input cannot be read.
pub fn ask(question: &str) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    write!(out, "{question} ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if !io::stdin().is_terminal() {
        writeln!(out)?;
    }
    Ok(answer.trim() == "yes")
}
