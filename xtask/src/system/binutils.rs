//! GNU binutils, which show what a program needs.

use std::path::PathBuf;

use super::find_or_install;
use crate::command::find_program;
use crate::failure::Outcome;

/// Returns the path of `readelf`.
pub fn ensure() -> Outcome<PathBuf> {
    find_or_install("binutils", "readelf, which shows the glibc that a program needs,", || find_program("readelf"))
}
