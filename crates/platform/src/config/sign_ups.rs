//! Settings of the sign-up policy.

use super::host_name::HostName;
use super::source::{ConfigError, Source};

/// Advice for operators who want to give a domain access to something while
/// [unproven addresses are admitted](SignUps::admit_unproven_addresses).
pub const PROVE_ADDRESSES: &str = "set CHAT_AUTOCONFIRM=off, CHAT_SIGNUPS or CHAT_OIDC_ONLY";

/// Policy for the creation of accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignUps {
    /// Any user can sign up; with domains, only users with an address at one of them.
    Open(Vec<HostName>),
    /// Only users whom the operator invites can sign up.
    Invite,
    /// Only the operator creates accounts.
    Closed,
}

impl SignUps {
    /// Reads `CHAT_SIGNUPS` and `CHAT_SIGNUP_DOMAINS`.
    pub(super) fn read(source: &mut Source) -> Result<Self, ConfigError> {
        let choices = [("open", None), ("invite", Some(false)), ("closed", Some(true))];
        let restriction = source.choice("CHAT_SIGNUPS", &choices)?.flatten();
        let domains: Vec<HostName> = source.list("CHAT_SIGNUP_DOMAINS", "domains such as example.com")?;
        let Some(is_closed) = restriction else { return Ok(Self::Open(domains)) };
        if !domains.is_empty() {
            // Rejected, because an operator who sets it expects that these addresses can sign up.
            let reason = "it has no effect unless CHAT_SIGNUPS is open".to_owned();
            return Err(ConfigError::Bad { name: "CHAT_SIGNUP_DOMAINS".to_owned(), reason });
        }
        Ok(if is_closed { Self::Closed } else { Self::Invite })
    }

    /// Returns the value of `CHAT_SIGNUPS`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Open(_) => "open",
            Self::Invite => "invite",
            Self::Closed => "closed",
        }
    }

    /// Returns whether users can sign up without an invitation.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// Returns whether only addresses of certain domains can sign up.
    pub fn restricts_domains(&self) -> bool {
        matches!(self, Self::Open(domains) if !domains.is_empty())
    }

    /// Returns whether users can create accounts with a password and an address that they need not prove, without an
    /// invitation. `is_oidc_only` is true if the identity provider is the only way to sign in.
    pub fn admit_unproven_addresses(&self, autoconfirm: bool, is_oidc_only: bool) -> bool {
        self.is_open() && autoconfirm && !is_oidc_only
    }

    /// Returns whether a user with this address, in lower case, can sign up without an invitation.
    pub fn admit(&self, email: &str) -> bool {
        let Self::Open(domains) = self else { return false };
        let domain = email.rsplit_once('@').map_or("", |(_, domain)| domain);
        domains.is_empty() || domains.iter().any(|allowed| allowed.as_str() == domain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[(&str, &str)]) -> Result<SignUps, String> {
        let mut source = values.iter().fold(Source::default(), |source, (name, value)| source.with(name, *value));
        SignUps::read(&mut source).map_err(|error| error.to_string())
    }

    #[test]
    fn admits_addresses_of_the_domains_only() {
        assert!(read(&[]).unwrap().admit("ann@anywhere.example"));
        let restricted = read(&[("CHAT_SIGNUP_DOMAINS", "example.com, Example.ORG")]).unwrap();
        for email in ["ann@example.com", "bob@example.org", "\"a@b\"@example.com"] {
            assert!(restricted.admit(email), "{email}");
        }
        for email in ["ann@sub.example.com", "ann@example.com.evil.example", "ann@notexample.com", "ann"] {
            assert!(!restricted.admit(email), "{email}");
        }
        for word in ["invite", "closed"] {
            let policy = read(&[("CHAT_SIGNUPS", word)]).unwrap();
            assert_eq!(policy.as_str(), word);
            assert!(!policy.admit("ann@example.com"));
        }
    }

    #[test]
    fn rejects_unknown_words_and_domains_that_have_no_effect() {
        assert!(read(&[("CHAT_SIGNUPS", "off")]).unwrap_err().starts_with("CHAT_SIGNUPS"));
        assert!(
            read(&[("CHAT_SIGNUP_DOMAINS", "https://example.com")]).unwrap_err().starts_with("CHAT_SIGNUP_DOMAINS")
        );
        let both = [("CHAT_SIGNUPS", "closed"), ("CHAT_SIGNUP_DOMAINS", "example.com")];
        assert!(read(&both).unwrap_err().starts_with("CHAT_SIGNUP_DOMAINS"));
    }
}
