//! WebAuthn, for [passkeys](crate::passkeys) and [security keys](crate::mfa): the site whose credentials are used, and
//! the responses of authenticators.

pub mod ceremony;
mod public_key;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::AccountService;
use ceremony::{CeremonyError, RelyingParty};

impl AccountService {
    /// Returns this site as browsers know it; `None` if it has no domain name, without which they create no credentials.
    pub(super) fn webauthn_site(&self) -> Option<RelyingParty> {
        RelyingParty::new(&self.settings.site_url, self.settings.is_site_url_configured)
    }

    /// Returns whether users can sign in in other ways than with the identity provider.
    pub(super) fn has_own_sign_in(&self) -> bool {
        self.oidc().is_none_or(|oidc| !oidc.is_only)
    }
}

/// Parses the response of an authenticator; `None` if it has not the expected shape.
pub(super) fn parse_response<T: DeserializeOwned>(credential: Value) -> Option<T> {
    serde_json::from_value(credential).ok()
}

/// Logs why a response is rejected. The client learns only that it is, as in GoTrue.
pub(super) fn log_rejection(error: CeremonyError) {
    tracing::debug!(%error, "the response of an authenticator was rejected");
}
