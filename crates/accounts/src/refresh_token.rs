//! Refresh tokens: the session id and rotation counter, authenticated by a MAC. The database stores only the counter,
//! so a copy of the database does not contain valid tokens.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::AuthSessionId;
use uuid::Uuid;

/// First byte of every token, so that the format can change later.
const FORMAT_VERSION: u8 = 1;
const ID_BYTES: usize = 16;
const COUNTER_BYTES: usize = 8;
/// Length of the MAC: an HMAC-SHA-256 truncated to half (RFC 2104 section 5).
const MAC_BYTES: usize = 16;

/// Length of GoTrue's legacy refresh tokens, in characters.
const LEGACY_TOKEN_CHARS: usize = 12;

/// Returns whether a text has the format of a refresh token: this server's, or GoTrue's legacy format, which this
/// server never issued. Other texts get another error in GoTrue.
pub fn has_token_format(text: &str) -> bool {
    let is_legacy =
        text.len() == LEGACY_TOKEN_CHARS && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let length = 1 + ID_BYTES + COUNTER_BYTES + MAC_BYTES;
    is_legacy || URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == length)
}

/// Encoder and decoder of refresh tokens.
#[derive(Debug)]
pub struct RefreshTokenCodec {
    key: hmac::Key,
}

impl RefreshTokenCodec {
    /// Creates a codec with a MAC key.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(HMAC_SHA256, key) }
    }

    /// Returns the token of a session that was rotated `counter` times.
    pub fn encode(&self, session: AuthSessionId, counter: i64) -> String {
        let mut bytes = Vec::with_capacity(1 + ID_BYTES + COUNTER_BYTES + MAC_BYTES);
        bytes.push(FORMAT_VERSION);
        bytes.extend_from_slice(session.0.as_bytes());
        bytes.extend_from_slice(&counter.to_be_bytes());
        let mac = self.mac(&bytes);
        bytes.extend_from_slice(&mac);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns the session and the counter of a token, if this server issued it.
    pub fn decode(&self, token: &str) -> Option<(AuthSessionId, i64)> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (payload, mac) = bytes.split_at_checked(1 + ID_BYTES + COUNTER_BYTES)?;
        // The MAC is verified in constant time, and before any field is interpreted.
        verify_slices_are_equal(&self.mac(payload), mac).ok()?;
        let (&[FORMAT_VERSION], rest) = payload.split_first_chunk()? else { return None };
        let (id, counter) = rest.split_first_chunk::<ID_BYTES>()?;
        Some((AuthSessionId(Uuid::from_bytes(*id)), i64::from_be_bytes(counter.try_into().ok()?)))
    }

    fn mac(&self, bytes: &[u8]) -> [u8; MAC_BYTES] {
        let mut mac = [0; MAC_BYTES];
        for (to, from) in mac.iter_mut().zip(hmac::sign(&self.key, bytes).as_ref()) {
            *to = *from;
        }
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decodes_encoded_tokens(id in any::<u128>(), counter in 0i64.., key in any::<[u8; 32]>()) {
            let tokens = RefreshTokenCodec::new(&key);
            let session = AuthSessionId(Uuid::from_u128(id));
            let token = tokens.encode(session, counter);
            prop_assert_eq!(tokens.decode(&token), Some((session, counter)));
            prop_assert_eq!(RefreshTokenCodec::new(&key.map(|byte| !byte)).decode(&token), None);
        }

        #[test]
        fn rejects_changed_tokens(at in 0usize..41, bit in 0u8..8, counter in 0i64..) {
            let tokens = RefreshTokenCodec::new(&[7; 32]);
            let mut bytes = URL_SAFE_NO_PAD.decode(tokens.encode(AuthSessionId::fresh(), counter)).unwrap();
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(tokens.decode(&URL_SAFE_NO_PAD.encode(&bytes)), None);
        }

        #[test]
        fn rejects_other_texts(text in "\\PC*") {
            prop_assert_eq!(RefreshTokenCodec::new(&[7; 32]).decode(&text), None);
        }
    }

    #[test]
    fn recognizes_the_format_of_tokens() {
        let token = RefreshTokenCodec::new(&[7; 32]).encode(AuthSessionId::fresh(), 3);
        for text in [token.as_str(), &format!("B{}", &token[1..]), "abcdefgh1234"] {
            assert!(has_token_format(text), "{text}");
        }
        for text in ["", "x", "abcdefgh123", "ABCDEFGH1234", "a refresh token", &token[1..], &format!("{token}AA")] {
            assert!(!has_token_format(text), "{text}");
        }
    }

    #[test]
    fn rejects_truncated_and_extended_tokens() {
        let tokens = RefreshTokenCodec::new(&[7; 32]);
        let token = tokens.encode(AuthSessionId::fresh(), 3);
        assert!((0..token.len()).all(|end| tokens.decode(&token[..end]).is_none()));
        assert!(tokens.decode(&format!("{token}AAAA")).is_none());
    }
}
