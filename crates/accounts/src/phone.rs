//! Telephone numbers. No account here has one; what is none is told apart from what is not offered.

use super::error::AuthError;
use super::gotrue_error::{INVALID_CHANNEL, Refusal};

/// The most digits of a number (ITU-T E.164).
const MOST_DIGITS: usize = 15;

/// Refuses what is no international number. A plus in front and spaces do not count.
pub fn check(number: &str) -> Result<(), AuthError> {
    let digits = number.strip_prefix('+').unwrap_or(number).replace(' ', "");
    let is_number = (2..=MOST_DIGITS).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0');
    if is_number { Ok(()) } else { Err(Refusal::invalid("Invalid phone number format (E.164 required)").into()) }
}

/// Refuses a way to a number that the protocol has only with certain providers, or not at all. None is an SMS.
pub fn check_channel(channel: &str) -> Result<(), AuthError> {
    if ["", "sms"].contains(&channel) { Ok(()) } else { Err(INVALID_CHANNEL.into()) }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn numbers_are_told_from_other_texts() {
        for number in ["+49 30 123456", "12", "123456789012345", "1 2"] {
            assert!(check(number).is_ok(), "{number}");
        }
        for text in ["", "+", "1", "0301234", "phone", "1234567890123456", "++49301", "+49-30"] {
            assert!(check(text).is_err(), "{text}");
        }
    }
}
