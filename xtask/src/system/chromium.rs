//! The browser of the journeys: the system's own, because a test tool's download is one more source.

use std::path::PathBuf;

use super::find_or_install;
use crate::command::find_program;
use crate::failure::Outcome;

/// The browser's program, installed when it is missing.
pub fn ensure() -> Outcome<PathBuf> {
    find_or_install("chromium", "Chromium, which the browser tests drive,", || {
        find_program("chromium").or_else(|| find_program("google-chrome"))
    })
}
