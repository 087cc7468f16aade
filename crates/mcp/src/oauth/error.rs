//! Errors of a sign-in.

use crate::Error;

/// Error of a sign-in. Each text is a clause that follows a colon, and holds no secret.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SignInError {
    /// A request to the authorization server failed.
    #[error("the authorization server {0}")]
    Server(#[from] Error),
    /// The MCP server names no authorization server.
    #[error("the server does not name its authorization server")]
    NotOffered,
    /// The protected resource metadata is that of another server.
    #[error("the server's authorization metadata belongs to another server")]
    Resource,
    /// The metadata or the callback is that of another authorization server.
    #[error("the authorization server identifies itself as another one")]
    Issuer,
    /// A secret would be sent without encryption.
    #[error("the authorization server does not use https")]
    Insecure,
    /// The authorization server does not declare PKCE with S256.
    #[error("the authorization server does not support PKCE (S256), which a secure sign-in requires")]
    Pkce,
    /// A document cannot be used; the text says why.
    #[error("the authorization server's metadata cannot be used: {0}")]
    Document(&'static str),
    /// The authorization server accepts only clients that were registered manually.
    #[error("the authorization server requires manual registration; enter the client id that it issued")]
    NeedsClient,
    /// The server asks again for scopes that were just granted.
    #[error("the server requests permissions that were already granted")]
    Repeated,
    /// The callback belongs to no pending sign-in of this user.
    #[error("the response does not belong to this sign-in")]
    State,
    /// The user took too long.
    #[error("the sign-in expired; start again")]
    Expired,
    /// The user or the authorization server denied the sign-in.
    #[error("authorization was denied ({0})")]
    Denied(String),
    /// The authorization server rejected a request of this client.
    #[error("the authorization server refused the request: {description} ({code})")]
    Refused {
        /// Error code, such as `invalid_grant`.
        code: String,
        /// Description of the server, sanitized.
        description: String,
    },
    /// The private key is not usable: ES256 (P-256) or RS256, as PKCS#8 in PEM.
    #[error("the client's private key cannot be used")]
    Key,
    /// The operating system provides no random numbers.
    #[error("the system returned no random numbers")]
    Random,
    /// The credential store failed.
    #[error(transparent)]
    Store(#[from] CredentialStoreError),
}

impl SignInError {
    /// Returns whether a code or refresh token is not valid any more.
    pub(super) fn is_invalid_grant(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "invalid_grant")
    }

    /// Returns whether the authorization server does not know the client, or not any more.
    pub(super) fn is_invalid_client(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "invalid_client" || code == "unauthorized_client")
    }
}

/// Failure of a [`CredentialStore`](super::CredentialStore); the text says why and holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the credentials cannot be stored: {0}")]
pub struct CredentialStoreError(pub String);

impl From<CredentialStoreError> for Error {
    fn from(error: CredentialStoreError) -> Self {
        Self::Renewal(error.to_string())
    }
}
