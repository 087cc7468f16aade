//! Chromium of the operating system, for the browser tests. Playwright's own download would be another source to
//! trust.

use std::path::PathBuf;

use super::find_or_install;
use crate::command::find_program;
use crate::failure::Outcome;

/// What the browser is for, in messages.
const PURPOSE: &str = "Chromium, which the browser tests drive,";

/// Returns the browser's program, and installs it if it is missing.
pub fn ensure() -> Outcome<PathBuf> {
    // The same engine without the browser around it: the tests need a quarter less processor time.
    let shell = "chromium-headless-shell";
    find_or_install(shell, PURPOSE, || find_program(shell))
        // Not every system has it.
        .or_else(|_| {
            find_or_install("chromium", PURPOSE, || find_program("chromium").or_else(|| find_program("google-chrome")))
        })
}
