//! PKCE (RFC 7636): a sign-in that ends in the program that began it, and nowhere else.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::UserId;
use storage::auth_codes::{AuthCode, Challenge, ChallengeMethod};

use super::gotrue_error::{
    BAD_CODE_VERIFIER, FLOW_STATE_EXPIRED, FLOW_STATE_NOT_FOUND, Refusal, USER_BANNED, USER_NOT_FOUND,
};
use super::sessions::SignIn;
use super::{AccountService, AuthError};
use platform::secret_sealing::random_bytes;

/// Lifetime of a code, in seconds. The value is GoTrue's default.
const CODE_LIFETIME_SECONDS: i64 = 300;
/// Time for which an expired code is reported as expired instead of unknown, in seconds.
const EXPIRED_CODE_SECONDS: i64 = 24 * 3600;
const CODE_BYTES: usize = 32;

/// What a request says of PKCE: both or neither of the two.
pub fn challenge(text: Option<String>, method: Option<String>) -> Result<Option<Challenge>, Refusal> {
    // GoTrue does not tell an empty field from an absent one.
    let text = text.filter(|text| !text.is_empty());
    let method = method.filter(|method| !method.is_empty());
    let (text, method) = match (text, method) {
        (Some(text), Some(method)) => (text, method),
        (None, None) => return Ok(None),
        _ => return Err(Refusal::invalid("PKCE flow requires code_challenge_method and code_challenge")),
    };
    if !(43..=128).contains(&text.len()) {
        return Err(Refusal::invalid("code challenge has to be between 43 and 128 characters"));
    }
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)) {
        return Err(Refusal::invalid(
            "code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes",
        ));
    }
    // auth-js sends `s256` in lower case, RFC 7636 writes `S256`.
    let methods = [ChallengeMethod::S256, ChallengeMethod::Plain];
    let method = methods.into_iter().find(|known| method.eq_ignore_ascii_case(known.word()));
    let method = method.ok_or(Refusal::invalid("unsupported code_challenge method"))?;
    Ok(Some(Challenge { text, method }))
}

impl AccountService {
    /// A code that the program can exchange for a sign-in of `user`, who proved who they are by `method`.
    pub(super) async fn issue_auth_code(
        &self,

        user: UserId,
        method: &str,
        challenge: Challenge,
    ) -> Result<String, AuthError> {
        let code = URL_SAFE_NO_PAD.encode(random_bytes::<CODE_BYTES>().map_err(AuthError::internal)?);
        let now = self.clock.now();
        let row = AuthCode {
            code_hash: hash(&code),
            user,
            method: method.to_owned(),
            challenge,
            expires_at: now.plus_seconds(CODE_LIFETIME_SECONDS),
        };
        self.storage.auth_codes().insert(&row, now.plus_seconds(-EXPIRED_CODE_SECONDS)).await?;
        Ok(code)
    }

    /// Exchanges a code and its verifier for a sign-in. A wrong verifier leaves the code as it is.
    pub async fn exchange(&self, code: &str, verifier: &str, user_agent: Option<String>) -> Result<SignIn, AuthError> {
        let now = self.clock.now();
        let row = self.storage.auth_codes().get(&hash(code)).await?.ok_or(FLOW_STATE_NOT_FOUND)?;
        if row.expires_at <= now {
            return Err(FLOW_STATE_EXPIRED.into());
        }
        if !fits(verifier, &row.challenge) {
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
        self.open(user, &row.method, user_agent).await
    }
}

fn hash(code: &str) -> Vec<u8> {
    digest(&SHA256, code.as_bytes()).as_ref().to_vec()
}

fn fits(verifier: &str, challenge: &Challenge) -> bool {
    let made = match challenge.method {
        ChallengeMethod::S256 => URL_SAFE_NO_PAD.encode(hash(verifier)),
        ChallengeMethod::Plain => verifier.to_owned(),
    };
    verify_slices_are_equal(made.as_bytes(), challenge.text.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, method: &str) -> Result<Option<Challenge>, Refusal> {
        challenge(Some(text.to_owned()), Some(method.to_owned()))
    }

    #[test]
    fn a_challenge_has_the_form_of_the_rfc() {
        let good = "a".repeat(43);
        assert_eq!(challenge(None, None), Ok(None));
        assert_eq!(parse("", ""), Ok(None));
        assert_eq!(parse(&good, "S256").unwrap().unwrap().method, ChallengeMethod::S256);
        assert_eq!(parse(&good, "plain").unwrap().unwrap().method, ChallengeMethod::Plain);
        for (text, method) in [(good.as_str(), ""), ("", "s256"), ("short", "s256"), (good.as_str(), "s512")] {
            assert_eq!(parse(text, method).unwrap_err().code, "validation_failed", "{text} {method}");
        }
        assert!(parse(&"a".repeat(129), "s256").is_err() && parse(&"/".repeat(43), "s256").is_err());
    }

    #[test]
    fn a_verifier_fits_its_own_challenge() {
        // RFC 7636, appendix B.
        let (verifier, text) =
            ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let s256 = Challenge { text: text.to_owned(), method: ChallengeMethod::S256 };
        assert!(fits(verifier, &s256) && !fits("another", &s256) && !fits(text, &s256));
        let plain = Challenge { text: verifier.to_owned(), method: ChallengeMethod::Plain };
        assert!(fits(verifier, &plain) && !fits(text, &plain));
    }
}
