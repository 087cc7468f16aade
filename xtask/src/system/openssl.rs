//! OpenSSL, which creates certificates of mail servers in tests.

use super::find_or_install;
use crate::command::find_program;
use crate::failure::Outcome;

/// Ensures that `openssl` is on the `PATH`.
pub fn ensure() -> Outcome {
    find_or_install("openssl", "OpenSSL, which makes certificates for tests,", || find_program("openssl")).map(drop)
}
