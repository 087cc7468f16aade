//! One-time links and codes: making them, and telling whether a code is the right one.
//!
//! A link carries 28 random bytes as 56 hexadecimal digits, which is the form the protocol has; the database keeps their
//! SHA-256. A code has six digits, so a plain hash of it could be searched through: the database keeps an HMAC with a key
//! derived from the master key. The code is bound to its purpose and to the address it was sent to.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use domain::{Timestamp, UserId};
use storage::auth_codes::Challenge;
use storage::one_time_tokens::{OneTimeToken, TokenKind};

use super::error::AuthError;
use platform::secret_sealing::random_bytes;

/// Lifetime of a link and of a code, in seconds: an hour, as in Supabase's development setup.
pub const TOKEN_LIFETIME_SECONDS: i64 = 3600;
/// Maximum number of attempts per code. With at most one mail per minute, an attacker has ten guesses in a million per
/// minute.
pub const MAX_CODE_ATTEMPTS: i64 = 10;
/// Prefix of the token of a link whose sign-in ends with PKCE.
const PKCE_PREFIX: &str = "pkce_";
const LINK_BYTES: usize = 28;
const CODE_COUNT: u64 = 1_000_000;

/// A new token: what is stored, and what only the letter knows.
#[derive(Debug, Clone)]
pub struct Issued {
    /// What is stored.
    pub token: OneTimeToken,
    /// What the link carries as `token`, and a program shows as `token_hash`.
    pub link_token: String,
    /// The six digits.
    pub code: String,
}

/// Makes tokens and compares codes.
#[derive(Debug)]
pub struct OneTime {
    key: hmac::Key,
}

impl OneTime {
    /// With the key that codes are hashed with.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(HMAC_SHA256, key) }
    }

    /// A new token for a person, to be sent to `email`. With a challenge, its link ends with PKCE.
    pub fn issue(
        &self,
        user: UserId,
        kind: TokenKind,
        email: &str,
        challenge: Option<Challenge>,
        now: Timestamp,
    ) -> Result<Issued, AuthError> {
        let prefix = if challenge.is_some() { PKCE_PREFIX } else { "" };
        let link = random_bytes::<LINK_BYTES>().map_err(AuthError::internal)?;
        let link_token = link.iter().fold(prefix.to_owned(), |token, byte| format!("{token}{byte:02x}"));
        // Of 2^64 equally likely numbers the remainders are equally likely up to one in 10^13.
        let number = u64::from_be_bytes(random_bytes().map_err(AuthError::internal)?) % CODE_COUNT;
        let code = format!("{number:06}");
        let token = OneTimeToken {
            id: domain::ids::fresh(),
            user,
            kind,
            email: email.to_owned(),
            // GoTrue mails only a code for reauthentication: it has to be typed into the session that asked for it.
            link_hash: (kind != TokenKind::Reauthentication).then(|| link_hash(&link_token)),
            code_hash: hmac::sign(&self.key, &said(kind, email, &code)).as_ref().to_vec(),
            challenge,
            expires_at: now.plus_seconds(TOKEN_LIFETIME_SECONDS),
            from_sign_up: false,
        };
        Ok(Issued { token, link_token, code })
    }

    /// Whether this is the token's code. Takes the same time for every code.
    pub fn is_code_of(&self, code: &str, token: &OneTimeToken) -> bool {
        hmac::verify(&self.key, &said(token.kind, &token.email, code), &token.code_hash).is_ok()
    }
}

/// What is stored of a link's token.
pub fn link_hash(link_token: &str) -> Vec<u8> {
    digest(&SHA256, link_token.as_bytes()).as_ref().to_vec()
}

/// Whether the sign-in of this link's token ends with PKCE.
pub fn is_pkce(link_token: &str) -> bool {
    link_token.starts_with(PKCE_PREFIX)
}

/// Returns the text whose HMAC is stored for a code. NUL separates the parts, because no address contains it.
fn said(kind: TokenKind, email: &str, code: &str) -> Vec<u8> {
    [kind.word(), email, code].join("\0").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn issue(kind: TokenKind, email: &str) -> (OneTime, Issued) {
        let one_time = OneTime::new(&[7; 32]);
        let issued = one_time.issue(UserId::fresh(), kind, email, None, NOW).unwrap();
        (one_time, issued)
    }

    #[test]
    fn a_code_is_good_for_its_own_token_only() {
        let (one_time, issued) = issue(TokenKind::Recovery, "a@b.c");
        assert!(issued.code.len() == 6 && issued.code.bytes().all(|byte| byte.is_ascii_digit()));
        assert!(one_time.is_code_of(&issued.code, &issued.token));
        assert!(!one_time.is_code_of("", &issued.token) && !one_time.is_code_of("1234567", &issued.token));
        let elsewhere = OneTimeToken { email: "b@b.c".to_owned(), ..issued.token.clone() };
        assert!(!one_time.is_code_of(&issued.code, &elsewhere));
        let otherwise = OneTimeToken { kind: TokenKind::Confirmation, ..issued.token.clone() };
        assert!(!one_time.is_code_of(&issued.code, &otherwise));
        assert!(!OneTime::new(&[8; 32]).is_code_of(&issued.code, &issued.token), "another master key");
    }

    #[test]
    fn what_is_stored_does_not_hold_the_link_or_the_code() {
        let (_, issued) = issue(TokenKind::Confirmation, "a@b.c");
        assert_eq!(issued.link_token.len(), 56);
        assert_eq!(issued.token.link_hash, Some(link_hash(&issued.link_token)));
        let stored = format!("{:?}", issued.token);
        assert!(!stored.contains(&issued.link_token) && !stored.contains(&issued.code));
        assert_eq!(issued.token.expires_at, NOW.plus_seconds(3600), "the letters say one hour");
        assert_eq!(issue(TokenKind::Reauthentication, "a@b.c").1.token.link_hash, None, "there is a code alone");
    }
}
