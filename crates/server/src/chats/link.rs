//! The token in the link of a share.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use platform::secret_sealing::random_bytes;

/// 256 random bits: nobody finds one by trying.
const BYTES: usize = 32;

/// A new token.
pub fn fresh() -> anyhow::Result<String> {
    Ok(URL_SAFE_NO_PAD.encode(random_bytes::<BYTES>()?))
}

/// What is stored of a token.
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
