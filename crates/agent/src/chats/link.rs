//! Tokens in links to shared chats.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use platform::secret_sealing::random_bytes;

/// Length of a link's token, in bytes: 256 random bits cannot be guessed.
const TOKEN_BYTES: usize = 32;

/// Generates a token.
///
/// # Errors
///
/// Fails if the system has no random numbers.
pub fn fresh() -> anyhow::Result<String> {
    Ok(URL_SAFE_NO_PAD.encode(random_bytes::<TOKEN_BYTES>()?))
}

/// Returns the SHA-256 of a token of [`fresh`], which is stored instead of the token itself.
pub fn hash(token: &str) -> Vec<u8> {
    digest(&SHA256, token.as_bytes()).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_differ() {
        let (one, other) = (fresh().unwrap(), fresh().unwrap());
        assert_eq!((one.len(), hash(&one).len()), (43, 32));
        assert!(one != other && hash(&one) != hash(&other));
    }
}
