//! HAProxy, which leads nodes to the primary of two PostgreSQL servers in the crash test.

use std::path::{Path, PathBuf};

use super::find_or_install;
use crate::command::{find_program, is_program};
use crate::failure::Outcome;

/// Returns the folder of HAProxy, and installs it if it is missing.
pub fn ensure() -> Outcome<PathBuf> {
    find_or_install("haproxy", "HAProxy, which leads to the primary database in the crash test,", find)
}

/// Returns the folder of HAProxy, which is not on the `PATH` of every user.
fn find() -> Option<PathBuf> {
    let services = PathBuf::from("/usr/sbin");
    let on_path = find_program("haproxy").and_then(|program| program.parent().map(Path::to_owned));
    on_path.or_else(|| Some(services).filter(|folder| is_program(&folder.join("haproxy"))))
}
