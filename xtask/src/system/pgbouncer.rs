//! PgBouncer, the connection pooler behind which nodes are tested.

use std::path::PathBuf;

use super::{find_or_install, find_service};
use crate::failure::Outcome;

/// Returns the folder of PgBouncer, and installs it if it is missing.
pub fn ensure() -> Outcome<PathBuf> {
    find_or_install("pgbouncer", "PgBouncer, the connection pooler of the tests,", || find_service("pgbouncer"))
}
