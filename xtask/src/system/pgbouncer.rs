//! PgBouncer, the connection pooler behind which nodes are tested.

use std::path::{Path, PathBuf};

use super::find_or_install;
use crate::command::{find_program, is_program};
use crate::failure::Outcome;

/// Returns the folder of PgBouncer, and installs it if it is missing.
pub fn ensure() -> Outcome<PathBuf> {
    find_or_install("pgbouncer", "PgBouncer, the connection pooler of the tests,", find)
}

/// Returns the folder of PgBouncer, which is not on the `PATH` of every user.
fn find() -> Option<PathBuf> {
    let services = PathBuf::from("/usr/sbin");
    let on_path = find_program("pgbouncer").and_then(|program| program.parent().map(Path::to_owned));
    on_path.or_else(|| Some(services).filter(|folder| is_program(&folder.join("pgbouncer"))))
}
