//! Validation of phone numbers. Accounts have no phone number, but invalid numbers get the same error as in GoTrue.

use super::error::AuthError;
use super::gotrue_error::{GoTrueError, INVALID_CHANNEL};

/// Maximum number of digits of a phone number (ITU-T E.164).
const MAX_DIGITS: usize = 15;

/// Checks that a text is an international phone number. A leading plus and spaces are ignored.
pub fn check_number(number: &str) -> Result<(), AuthError> {
    let digits = number.strip_prefix('+').unwrap_or(number).replace(' ', "");
    let is_number = (2..=MAX_DIGITS).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0');
    if is_number {
        Ok(())
    } else {
        Err(GoTrueError::validation_failed("Invalid phone number format (E.164 required)").into())
    }
}

/// Checks the channel for messages to a phone. Only SMS is valid, which is also the default: GoTrue accepts other
/// channels only with certain providers.
pub fn check_channel(channel: &str) -> Result<(), AuthError> {
    if ["", "sms"].contains(&channel) { Ok(()) } else { Err(INVALID_CHANNEL.into()) }
}

#[cfg(test)]
mod tests {
    use super::check_number;

    #[test]
    fn accepts_international_numbers_only() {
        for number in ["+49 30 123456", "12", "123456789012345", "1 2"] {
            assert!(check_number(number).is_ok(), "{number}");
        }
        for text in ["", "+", "1", "0301234", "phone", "1234567890123456", "++49301", "+49-30"] {
            assert!(check_number(text).is_err(), "{text}");
        }
    }
}
