//! Buildah, which builds container images without a daemon.

use std::path::PathBuf;

use super::find_or_install;
use crate::command::find_program;
use crate::failure::Outcome;

/// Returns the path of `buildah`.
pub fn ensure() -> Outcome<PathBuf> {
    find_or_install("buildah", "Buildah, which builds the container image,", || find_program("buildah"))
}
