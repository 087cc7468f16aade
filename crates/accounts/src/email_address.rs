//! E-mail addresses as accounts have them.

use super::error::AuthError;
use super::gotrue_error::Refusal;

/// Maximum length of an address, in bytes. The value is GoTrue's.
const MAX_ADDRESS_BYTES: usize = 255;
/// Longest part between two dots of a domain (RFC 1035 section 2.3.4).
const LONGEST_LABEL: usize = 63;

/// The address in lower case, if it is one by the rule that browsers use for their e-mail fields (WHATWG HTML, "valid
/// e-mail address").
pub fn normalize(email: &str) -> Result<String, AuthError> {
    if email.is_empty() {
        return Err(Refusal::invalid("An email address is required").into());
    }
    if email.len() > MAX_ADDRESS_BYTES {
        return Err(Refusal::invalid("An email address is too long").into());
    }
    match email.split_once('@') {
        // The local part is case-sensitive by RFC 5321, but hardly any provider treats it so, and users vary the case
        // that they type.
        Some((local, domain)) if is_local(local) && domain.split('.').all(is_label) => Ok(email.to_ascii_lowercase()),
        _ => Err(Refusal::invalid("Unable to validate email address: invalid format").into()),
    }
}

fn is_local(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}

fn is_label(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=LONGEST_LABEL).contains(&text.len())
        && text.bytes().all(allowed)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_told_from_other_texts() {
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
        fn what_passes_is_stable_and_plain(text in "\\PC{0,40}@\\PC{0,40}") {
            if let Ok(email) = normalize(&text) {
                prop_assert_eq!(normalize(&email).unwrap(), email.clone());
                prop_assert!(email.is_ascii() && !email.contains(char::is_whitespace));
            }
        }
    }
}
