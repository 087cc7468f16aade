//! Chromium of the operating system, for the browser tests. Playwright's own download would be another source to
//! trust.

use std::path::PathBuf;

use super::find_or_install;
use crate::command::find_program;
use crate::failure::Outcome;

/// Returns the browser's program, and installs it if it is missing.
pub fn ensure() -> Outcome<PathBuf> {
    find_or_install("chromium", "Chromium, which the browser tests drive,", || {
        find_program("chromium").or_else(|| find_program("google-chrome"))
    })
}
