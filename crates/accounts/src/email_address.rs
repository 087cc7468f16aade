//! Validation and normalization of email addresses.

use super::error::AuthError;
use super::gotrue_error::GoTrueError;

/// Maximum length of an address, in bytes. The value is GoTrue's.
pub const MAX_ADDRESS_BYTES: usize = 255;
/// Maximum length of a label of a domain name, in bytes (RFC 1035 section 2.3.4).
const MAX_LABEL_BYTES: usize = 63;

/// Validates an address by the rule of browsers for email fields (WHATWG HTML, "valid e-mail address"), and returns it
/// in lower case.
pub fn normalize(email: &str) -> Result<String, AuthError> {
    if email.is_empty() {
        return Err(GoTrueError::validation_failed("An email address is required").into());
    }
    if email.len() > MAX_ADDRESS_BYTES {
        return Err(GoTrueError::validation_failed("An email address is too long").into());
    }
    match email.split_once('@') {
        // The local part is case-sensitive by RFC 5321, but in practice providers ignore the case, and users type it
        // inconsistently.
        Some((local, domain)) if is_local(local) && domain.split('.').all(is_label) => Ok(email.to_ascii_lowercase()),
        _ => Err(GoTrueError::validation_failed("Unable to validate email address: invalid format").into()),
    }
}

fn is_local(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}

fn is_label(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=MAX_LABEL_BYTES).contains(&text.len())
        && text.bytes().all(allowed)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn accepts_valid_addresses_only() {
        for good in ["a@b", "Ann.Lee+chat@Mail.Example.COM", "o'neill@x-y.org", "a@localhost"] {
            assert_eq!(normalize(good).unwrap(), good.to_lowercase());
        }
        for bad in ["", "a", "@b", "a@", "a@b@c", "a b@c", "a@-b", "a@b-", "a@b..c", "a@b.", "ä@b", "a@b\0", " a@b"] {
            assert!(normalize(bad).is_err(), "{bad:?}");
        }
        assert!(normalize(&format!("{}@b", "a".repeat(254))).is_err());
    }

    proptest! {
        #[test]
        fn normalized_addresses_are_ascii_and_stable(text in "\\PC{0,40}@\\PC{0,40}") {
            if let Ok(email) = normalize(&text) {
                prop_assert_eq!(normalize(&email).unwrap(), email.clone());
                prop_assert!(email.is_ascii() && !email.contains(char::is_whitespace));
            }
        }
    }
}
