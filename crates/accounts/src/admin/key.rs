//! API key of the administrator.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Digest, SHA256, digest};
use secrecy::{ExposeSecret, SecretString};

/// The service role key (`CHAT_SERVICE_ROLE_KEY`), stored as its digest. Digests have the same length, so the
/// comparison takes constant time.
#[derive(Debug, Clone, Copy)]
pub struct AdminKey(Digest);

impl AdminKey {
    /// Creates a key from its text.
    pub fn new(key: &SecretString) -> Self {
        Self(digest(&SHA256, key.expose_secret().as_bytes()))
    }

    /// Returns whether a token is the key.
    pub fn matches(&self, token: &str) -> bool {
        verify_slices_are_equal(self.0.as_ref(), digest(&SHA256, token.as_bytes()).as_ref()).is_ok()
    }
}
