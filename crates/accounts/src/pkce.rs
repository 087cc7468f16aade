//! PKCE (RFC 7636): only the client that started a flow can exchange its auth code for a session.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::UserId;
use storage::auth_codes::{self, AuthCode, Challenge, ChallengeMethod};
use storage::auth_sessions::ProviderSession;

use super::audit::RequestOrigin;
use super::gotrue_error::{
    BAD_CODE_VERIFIER, FLOW_STATE_EXPIRED, FLOW_STATE_NOT_FOUND, GoTrueError, USER_BANNED, USER_NOT_FOUND,
};
use super::sessions::UserSession;
use super::{AccountService, AuthError};
use platform::secret_sealing::random_bytes;

/// Time for which an expired code is reported as expired instead of unknown, in seconds.
const EXPIRED_CODE_SECONDS: i64 = 24 * 3600;
const CODE_BYTES: usize = 32;

/// Minimum length of a challenge, in characters (RFC 7636 section 4.2).
const MIN_CHALLENGE_CHARS: usize = 43;
/// Maximum length of a challenge, in characters (RFC 7636 section 4.2).
pub const MAX_CHALLENGE_CHARS: usize = 128;

/// Parses the PKCE challenge and method of a request, which need to be present both or not at all.
pub fn parse_challenge(text: Option<String>, method: Option<String>) -> Result<Option<Challenge>, GoTrueError> {
    // GoTrue treats an empty field as missing.
    let text = text.filter(|text| !text.is_empty());
    let method = method.filter(|method| !method.is_empty());
    let (text, method) = match (text, method) {
        (Some(text), Some(method)) => (text, method),
        (None, None) => return Ok(None),
        _ => return Err(GoTrueError::validation_failed("PKCE flow requires code_challenge_method and code_challenge")),
    };
    if !(MIN_CHALLENGE_CHARS..=MAX_CHALLENGE_CHARS).contains(&text.len()) {
        return Err(GoTrueError::validation_failed("code challenge has to be between 43 and 128 characters"));
    }
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)) {
        return Err(GoTrueError::validation_failed(
            "code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes",
        ));
    }
    // auth-js sends `s256` in lower case, RFC 7636 writes `S256`.
    let methods = [ChallengeMethod::S256, ChallengeMethod::Plain];
    let method = methods.into_iter().find(|known| method.eq_ignore_ascii_case(known.word()));
    let method = method.ok_or(GoTrueError::validation_failed("unsupported code_challenge method"))?;
    Ok(Some(Challenge { text, method }))
}

impl AccountService {
    /// Issues an auth code, which the client can exchange for a session of `user`. `method` is the method of
    /// authentication for the `amr` claim, and `provider_session` the session at the identity provider in which the user
    /// authenticated.
    pub(super) async fn issue_auth_code(
        &self,
        user: UserId,
        method: &str,
        provider_session: Option<ProviderSession>,
        challenge: Challenge,
    ) -> Result<String, AuthError> {
        let code = URL_SAFE_NO_PAD.encode(random_bytes::<CODE_BYTES>().map_err(AuthError::internal)?);
        let now = self.clock.now();
        let row = AuthCode {
            code_hash: sha256(&code),
            user,
            method: method.to_owned(),
            provider_session,
            challenge,
            expires_at: auth_codes::expiry(now),
        };
        self.storage.auth_codes().insert(&row, now.plus_seconds(-EXPIRED_CODE_SECONDS)).await?;
        Ok(code)
    }

    /// Exchanges an auth code and its verifier for a session. A wrong verifier does not use up the code.
    pub async fn exchange_auth_code(
        &self,
        code: &str,
        verifier: &str,
        origin: RequestOrigin,
    ) -> Result<UserSession, AuthError> {
        let now = self.clock.now();
        let row = self.storage.auth_codes().get(&sha256(code)).await?.ok_or(FLOW_STATE_NOT_FOUND)?;
        if row.expires_at <= now {
            return Err(FLOW_STATE_EXPIRED.into());
        }
        if !matches_challenge(verifier, &row.challenge) {
            return Err(BAD_CODE_VERIFIER.into());
        }
        let user = self.storage.users().get(row.user).await?.ok_or(USER_NOT_FOUND)?;
        if user.is_banned(now) {
            return Err(USER_BANNED.into());
        }
        // Deleting the row decides which of two concurrent exchanges of the same code succeeds (RFC 6749 section
        // 4.1.2).
        if !self.storage.auth_codes().delete(row.user, &row.code_hash).await? {
            return Err(FLOW_STATE_NOT_FOUND.into());
        }
        self.create_session_within(user, &row.method, row.provider_session.as_ref(), origin).await
    }
}

fn sha256(code: &str) -> Vec<u8> {
    digest(&SHA256, code.as_bytes()).as_ref().to_vec()
}

fn matches_challenge(verifier: &str, challenge: &Challenge) -> bool {
    let computed = match challenge.method {
        ChallengeMethod::S256 => URL_SAFE_NO_PAD.encode(sha256(verifier)),
        ChallengeMethod::Plain => verifier.to_owned(),
    };
    verify_slices_are_equal(computed.as_bytes(), challenge.text.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, method: &str) -> Result<Option<Challenge>, GoTrueError> {
        parse_challenge(Some(text.to_owned()), Some(method.to_owned()))
    }

    #[test]
    fn parses_challenges_as_the_rfc_defines_them() {
        let good = "a".repeat(43);
        assert_eq!(parse_challenge(None, None), Ok(None));
        assert_eq!(parse("", ""), Ok(None));
        assert_eq!(parse(&good, "S256").unwrap().unwrap().method, ChallengeMethod::S256);
        assert_eq!(parse(&good, "plain").unwrap().unwrap().method, ChallengeMethod::Plain);
        for (text, method) in [(good.as_str(), ""), ("", "s256"), ("short", "s256"), (good.as_str(), "s512")] {
            assert_eq!(parse(text, method).unwrap_err().code, "validation_failed", "{text} {method}");
        }
        assert!(parse(&"a".repeat(129), "s256").is_err() && parse(&"/".repeat(43), "s256").is_err());
    }

    #[test]
    fn verifier_matches_its_own_challenge_only() {
        // RFC 7636, appendix B.
        let (verifier, text) =
            ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let s256 = Challenge { text: text.to_owned(), method: ChallengeMethod::S256 };
        assert!(
            matches_challenge(verifier, &s256)
                && !matches_challenge("another", &s256)
                && !matches_challenge(text, &s256)
        );
        let plain = Challenge { text: verifier.to_owned(), method: ChallengeMethod::Plain };
        assert!(matches_challenge(verifier, &plain) && !matches_challenge(text, &plain));
    }
}
