//! HAProxy, which leads nodes to the primary of two PostgreSQL servers in the crash test.

use std::path::PathBuf;

use super::{find_or_install, find_service};
use crate::failure::Outcome;

/// Returns the folder of HAProxy, and installs it if it is missing.
pub fn ensure() -> Outcome<PathBuf> {
    find_or_install("haproxy", "HAProxy, which leads to the primary database in the crash test,", || {
        find_service("haproxy")
    })
}
