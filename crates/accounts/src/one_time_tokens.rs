//! Issuing of one-time links and codes, and verification of codes.
//!
//! A link contains 28 random bytes as 56 hexadecimal digits, which is GoTrue's format; the database stores their
//! SHA-256. A code has six digits, so a plain hash of it could be reversed by trying all codes. The database stores an
//! HMAC instead, with a key derived from the master key. The HMAC binds the code to its purpose and address.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use domain::{Timestamp, UserId};
use storage::auth_codes::Challenge;
use storage::one_time_tokens::{OneTimeToken, TokenKind};

use super::error::AuthError;
use platform::secret_sealing::random_bytes;

/// Lifetime of links and codes, in seconds. The value is that of Supabase's development setup.
pub const TOKEN_LIFETIME_SECONDS: i64 = 3600;
/// Maximum number of attempts per code. With at most one email per minute, an attacker has ten guesses per minute among
/// a million codes.
pub const MAX_CODE_ATTEMPTS: i64 = 10;
/// Prefix of the token of a link that continues a PKCE flow.
const PKCE_PREFIX: &str = "pkce_";
const LINK_BYTES: usize = 28;
const CODE_COUNT: u64 = 1_000_000;

/// A new one-time token: the stored row, and the secrets that are only in the email.
#[derive(Debug, Clone)]
pub struct IssuedToken {
    /// Row to store.
    pub token: OneTimeToken,
    /// Secret of the link: its `token` parameter, and `token_hash` in `POST /verify`.
    pub link_token: String,
    /// Code of six digits.
    pub code: String,
}

/// Issuer of one-time tokens and verifier of their codes.
#[derive(Debug)]
pub struct OneTimeTokens {
    key: hmac::Key,
}

impl OneTimeTokens {
    /// Creates an issuer with the HMAC key of codes.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(HMAC_SHA256, key) }
    }

    /// Issues a token for a user, to be sent to `email`. With a challenge, the link continues a PKCE flow.
    pub fn issue(
        &self,
        user: UserId,
        kind: TokenKind,
        email: &str,
        challenge: Option<Challenge>,
        now: Timestamp,
    ) -> Result<IssuedToken, AuthError> {
        let prefix = if challenge.is_some() { PKCE_PREFIX } else { "" };
        let link = random_bytes::<LINK_BYTES>().map_err(AuthError::internal)?;
        let link_token = link.iter().fold(prefix.to_owned(), |token, byte| format!("{token}{byte:02x}"));
        // The modulo bias of 64 random bits is below one in 10^13.
        let number = u64::from_be_bytes(random_bytes().map_err(AuthError::internal)?) % CODE_COUNT;
        let code = format!("{number:06}");
        let token = OneTimeToken {
            id: domain::ids::fresh(),
            user,
            kind,
            email: email.to_owned(),
            // Reauthentication has only a code, which has to be typed into the session that requested it.
            link_hash: (kind != TokenKind::Reauthentication).then(|| link_hash(&link_token)),
            code_hash: hmac::sign(&self.key, &code_mac_input(kind, email, &code)).as_ref().to_vec(),
            challenge,
            expires_at: now.plus_seconds(TOKEN_LIFETIME_SECONDS),
            from_sign_up: false,
        };
        Ok(IssuedToken { token, link_token, code })
    }

    /// Returns whether a code belongs to a token. The comparison takes constant time.
    pub fn is_code_of(&self, code: &str, token: &OneTimeToken) -> bool {
        hmac::verify(&self.key, &code_mac_input(token.kind, &token.email, code), &token.code_hash).is_ok()
    }
}

/// Returns the hash that is stored for the secret of a link.
pub fn link_hash(link_token: &str) -> Vec<u8> {
    digest(&SHA256, link_token.as_bytes()).as_ref().to_vec()
}

/// Returns whether the secret of a link belongs to a PKCE flow.
pub fn is_pkce(link_token: &str) -> bool {
    link_token.starts_with(PKCE_PREFIX)
}

/// Returns the input of a code's HMAC. The parts are separated by NUL, which no address contains.
fn code_mac_input(kind: TokenKind, email: &str, code: &str) -> Vec<u8> {
    [kind.word(), email, code].join("\0").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn issue(kind: TokenKind, email: &str) -> (OneTimeTokens, IssuedToken) {
        let one_time = OneTimeTokens::new(&[7; 32]);
        let issued = one_time.issue(UserId::fresh(), kind, email, None, NOW).unwrap();
        (one_time, issued)
    }

    #[test]
    fn code_is_valid_for_its_own_token_only() {
        let (one_time, issued) = issue(TokenKind::Recovery, "a@b.c");
        assert!(issued.code.len() == 6 && issued.code.bytes().all(|byte| byte.is_ascii_digit()));
        assert!(one_time.is_code_of(&issued.code, &issued.token));
        assert!(!one_time.is_code_of("", &issued.token) && !one_time.is_code_of("1234567", &issued.token));
        let other_address = OneTimeToken { email: "b@b.c".to_owned(), ..issued.token.clone() };
        assert!(!one_time.is_code_of(&issued.code, &other_address));
        let other_kind = OneTimeToken { kind: TokenKind::Confirmation, ..issued.token.clone() };
        assert!(!one_time.is_code_of(&issued.code, &other_kind));
        assert!(!OneTimeTokens::new(&[8; 32]).is_code_of(&issued.code, &issued.token), "another master key");
    }

    #[test]
    fn stored_row_contains_neither_link_nor_code() {
        let (_, issued) = issue(TokenKind::Confirmation, "a@b.c");
        assert_eq!(issued.link_token.len(), 56);
        assert_eq!(issued.token.link_hash, Some(link_hash(&issued.link_token)));
        let stored = format!("{:?}", issued.token);
        assert!(!stored.contains(&issued.link_token) && !stored.contains(&issued.code));
        assert_eq!(issued.token.expires_at, NOW.plus_seconds(3600), "the emails state one hour");
        assert_eq!(
            issue(TokenKind::Reauthentication, "a@b.c").1.token.link_hash,
            None,
            "reauthentication has only a code"
        );
    }
}
