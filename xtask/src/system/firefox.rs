//! Firefox for the browser smoke tests, in the extended-support release that Debian has.

use std::path::PathBuf;

use super::find_or_install;
use crate::command::find_program;
use crate::failure::Outcome;

/// Returns the browser's program, and installs it if it is missing.
pub fn ensure() -> Outcome<PathBuf> {
    find_or_install("firefox-esr", "Firefox, in which the browser tests look at the main paths,", || {
        find_program("firefox-esr").or_else(|| find_program("firefox"))
    })
}
