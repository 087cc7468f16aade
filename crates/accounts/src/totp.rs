//! Time-based one-time passwords (RFC 6238) as every authenticator app reads them: SHA-1, six digits, thirty seconds.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac::{self, HMAC_SHA1_FOR_LEGACY_USE_ONLY};
use data_encoding::BASE32_NOPAD;
use url::form_urlencoded::byte_serialize;

use platform::secret_sealing::{SealError, random_bytes};

/// Seconds of a step (RFC 6238 section 4.1).
const PERIOD: i64 = 30;
/// A code has six digits.
const MODULUS: u32 = 1_000_000;
/// Steps by which the clock of a telephone may differ, or a person be late (RFC 6238 section 5.2).
const SKEW: i64 = 1;
/// As long as the hash (RFC 4226 section 4).
const SECRET_BYTES: usize = 20;

/// What a person's authenticator app and the server both know.
pub struct Secret(Vec<u8>);

impl Secret {
    /// A new one.
    pub fn fresh() -> Result<Self, SealError> {
        Ok(Self(random_bytes::<SECRET_BYTES>()?.to_vec()))
    }

    /// From its bytes.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// As people type it into an app: base32 (RFC 4648).
    pub fn to_base32(&self) -> String {
        BASE32_NOPAD.encode(&self.0)
    }

    /// From what people type.
    pub fn from_base32(text: &str) -> Option<Self> {
        BASE32_NOPAD.decode(text.as_bytes()).ok().map(Self)
    }

    /// The address that an app reads from a QR code: who gave the secret out, for which account.
    pub fn to_uri(&self, issuer: &str, account: &str) -> String {
        let (issuer, account) = (percent_encoded(issuer), percent_encoded(account));
        let secret = self.to_base32();
        format!(
            "otpauth://totp/{issuer}:{account}?algorithm=SHA1&digits=6&issuer={issuer}&period={PERIOD}&secret={secret}"
        )
    }

    /// The step whose code this is, if it is the code of now or of a neighbouring step. Takes as long for every code of
    /// six digits.
    pub fn step_of(&self, code: &str, seconds: i64) -> Option<i64> {
        let now = seconds.div_euclid(PERIOD);
        let mut found = None;
        // No early exit: the time must not tell which step matched.
        for step in now - SKEW..=now + SKEW {
            let right = verify_slices_are_equal(self.code(step).as_bytes(), code.trim().as_bytes()).is_ok();
            found = if right { Some(step) } else { found };
        }
        found
    }

    /// The code of a moment, in seconds since 1970: what the authenticator app shows.
    pub fn code_at(&self, seconds: i64) -> String {
        self.code(seconds.div_euclid(PERIOD))
    }

    /// The code of a step (RFC 4226 section 5.3).
    fn code(&self, step: i64) -> String {
        let key = hmac::Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.0);
        let tag = hmac::sign(&key, &step.to_be_bytes());
        let tag = tag.as_ref();
        // Dynamic truncation; the highest bit is cleared so that signed and unsigned arithmetic agree (RFC 4226 section
        // 5.3).
        let offset = usize::from(tag.last().copied().unwrap_or_default() & 0xf);
        let number = tag.iter().skip(offset).take(4).fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
        format!("{:06}", (number & 0x7fff_ffff) % MODULUS)
    }
}

/// Apps do not read `+` as a space.
fn percent_encoded(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6238 appendix B, the last six of its eight digits.
    #[test]
    fn codes_are_those_of_the_standard() {
        let secret = Secret::from_bytes(b"12345678901234567890".to_vec());
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
            assert_eq!(secret.step_of(code, seconds), Some(seconds / PERIOD));
        }
    }

    #[test]
    fn a_code_is_good_one_step_early_and_late_and_no_longer() {
        let secret = Secret::from_bytes(b"12345678901234567890".to_vec());
        let at = |seconds| secret.step_of("005924", seconds);
        let step = 1_234_567_890 / PERIOD;
        assert_eq!((at(step * 30 - 30), at(step * 30 + 59)), (Some(step), Some(step)));
        assert_eq!((at(step * 30 - 31), at(step * 30 + 60)), (None, None));
        for wrong in ["", "5924", "0005924", "00592", "005925", "abcdef", "００５９２４"] {
            assert_eq!(secret.step_of(wrong, 1_234_567_890), None, "{wrong}");
        }
        assert_eq!(secret.step_of(" 005924 ", 1_234_567_890), Some(step));
    }

    #[test]
    fn the_address_names_the_account_and_holds_the_secret() {
        let secret = Secret::from_bytes(b"12345678901234567890".to_vec());
        assert_eq!(
            secret.to_uri("Ann's: chat & more", "ann+a@example.com"),
            "otpauth://totp/Ann%27s%3A%20chat%20%26%20more:ann%2Ba%40example.com?algorithm=SHA1&digits=6\
             &issuer=Ann%27s%3A%20chat%20%26%20more&period=30&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
        );
        assert_eq!(Secret::fresh().unwrap().to_base32().len(), 32);
        assert_eq!(Secret::from_base32(&secret.to_base32()).unwrap().as_bytes(), secret.as_bytes());
    }
}
