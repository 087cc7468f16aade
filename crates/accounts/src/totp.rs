//! Time-based one-time passwords (RFC 6238), with the parameters that all authenticator apps support: SHA-1, six
//! digits, thirty seconds.

use totp_rs::{Algorithm, Builder, Totp};
use url::form_urlencoded::byte_serialize;

use platform::secret_sealing::{SealError, random_bytes};

/// Length of a time step, in seconds (RFC 6238 section 4.1).
const PERIOD_SECONDS: u64 = 30;
/// Number of digits of a code.
const CODE_DIGITS: u8 = 6;
/// Number of steps that a code may be early or late, for clock drift and slow typing (RFC 6238 section 5.2).
const SKEW_STEPS: u16 = 1;
/// Length of a secret, in bytes: that of the hash (RFC 4226 section 4).
const SECRET_BYTES: usize = 20;

/// Secret that a user's authenticator app and the server share.
pub struct TotpSecret(Totp);

impl TotpSecret {
    /// Generates a random secret.
    pub fn fresh() -> Result<Self, SealError> {
        Ok(Self::from_bytes(random_bytes::<SECRET_BYTES>()?.to_vec()))
    }

    /// Wraps the bytes of a stored secret.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self::from_secret(bytes.into())
    }

    /// Parses a secret that was typed in base32 (RFC 4648).
    pub fn from_base32(text: &str) -> Option<Self> {
        totp_rs::Secret::try_from_base32(text).ok().map(Self::from_secret)
    }

    fn from_secret(secret: totp_rs::Secret) -> Self {
        // `build` would only add a check of the secret's length, which `fresh` guarantees.
        let totp = Builder::new()
            .with_algorithm(Algorithm::SHA1)
            .with_digits(CODE_DIGITS)
            .with_skew(SKEW_STEPS)
            .with_step_duration(PERIOD_SECONDS)
            .with_secret(secret)
            .build_noncompliant();
        Self(totp)
    }

    /// Returns the bytes of the secret, for encryption.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.secret().as_bytes()
    }

    /// Returns the secret in base32, for users who type it into an app.
    pub fn to_base32(&self) -> String {
        self.0.secret().to_base32()
    }

    /// Returns the `otpauth:` URI for the QR code, with the issuer, the account and the secret.
    pub fn to_uri(&self, issuer: &str, account: &str) -> String {
        let (issuer, account) = (percent_encoded(issuer), percent_encoded(account));
        let secret = self.to_base32();
        // Like GoTrue, it contains the parameters with default values, in this order.
        format!(
            "otpauth://totp/{issuer}:{account}?algorithm=SHA1&digits={CODE_DIGITS}&issuer={issuer}&period={PERIOD_SECONDS}&secret={secret}"
        )
    }

    /// Returns the time step of a code if it is within one step of the current one, and `None` otherwise.
    pub fn step_of(&self, code: &str, seconds: i64) -> Option<i64> {
        let step = self.0.check(code.trim(), u64::try_from(seconds).ok()?)?;
        i64::try_from(step).ok()
    }

    /// Returns the code at a time in seconds since 1970, as the authenticator app shows it.
    pub fn code_at(&self, seconds: i64) -> String {
        self.0.generate(u64::try_from(seconds).unwrap_or_default()).to_string()
    }
}

/// Encodes a space as `%20`, because apps do not read `+` as a space.
fn percent_encoded(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6238 appendix B, the last six of its eight digits.
    #[test]
    fn codes_match_the_test_vectors() {
        let secret = TotpSecret::from_bytes(b"12345678901234567890".to_vec());
        let table = [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ];
        for (seconds, code) in table {
            assert_eq!(secret.code_at(seconds), code);
            assert_eq!(secret.step_of(code, seconds), Some(seconds / 30));
        }
    }

    #[test]
    fn accepts_codes_one_step_early_or_late() {
        let secret = TotpSecret::from_bytes(b"12345678901234567890".to_vec());
        let at = |seconds| secret.step_of("005924", seconds);
        let step = 1_234_567_890 / 30;
        assert_eq!((at(step * 30 - 30), at(step * 30 + 59)), (Some(step), Some(step)));
        assert_eq!((at(step * 30 - 31), at(step * 30 + 60)), (None, None));
        for wrong in ["", "5924", "+05924", "-05924", "0005924", "00592", "005925", "abcdef", "００５９２４"] {
            assert_eq!(secret.step_of(wrong, 1_234_567_890), None, "{wrong}");
        }
        assert_eq!(secret.step_of(" 005924 ", 1_234_567_890), Some(step));
    }

    #[test]
    fn uri_contains_the_account_and_the_secret() {
        let secret = TotpSecret::from_bytes(b"12345678901234567890".to_vec());
        assert_eq!(
            secret.to_uri("Ann's: chat & more", "ann+a@example.com"),
            "otpauth://totp/Ann%27s%3A%20chat%20%26%20more:ann%2Ba%40example.com?algorithm=SHA1&digits=6\
             &issuer=Ann%27s%3A%20chat%20%26%20more&period=30&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
        );
        assert_eq!(TotpSecret::fresh().unwrap().to_base32().len(), 32);
        assert_eq!(TotpSecret::from_base32(&secret.to_base32()).unwrap().as_bytes(), secret.as_bytes());
    }
}
