//! The program that makes the certificates of mail servers in tests.

use super::find_or_install;
use crate::command::find_program;
use crate::failure::Outcome;

/// Sees to it that `openssl` can be called by its name.
pub fn ensure() -> Outcome {
    find_or_install("openssl", "OpenSSL, which makes certificates for tests,", || find_program("openssl")).map(drop)
}
