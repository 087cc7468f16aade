//! Errors of a sign-in.

use crate::Error;

/// Error of a sign-in. Each text is a clause that follows a colon, and holds no secret.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SignInError {
    /// A request to the authorization server failed.
    #[error("the sign-in server {0}")]
    Server(#[from] Error),
    /// The MCP server names no authorization server.
    #[error("the server does not say where to sign in")]
    NotOffered,
    /// The protected resource metadata is that of another server.
    #[error("the server's description of its sign-in is that of another server")]
    Resource,
    /// The metadata or the callback is that of another authorization server.
    #[error("the sign-in server says that it is another one")]
    Issuer,
    /// A secret would be sent without encryption.
    #[error("the sign-in server is not reached over https")]
    Insecure,
    /// The authorization server does not declare PKCE with S256.
    #[error("the sign-in server does not offer PKCE (S256), without which a sign-in can be stolen")]
    Pkce,
    /// A document cannot be used; the text says why.
    #[error("the sign-in server's description cannot be used: {0}")]
    Document(&'static str),
    /// The authorization server accepts only clients that were registered manually.
    #[error("the sign-in server has to be told of this app by hand; enter the client id that it gave")]
    NeedsClient,
    /// The server asks again for scopes that were just granted.
    #[error("the server keeps asking for rights that it was given")]
    Repeated,
    /// The callback belongs to no pending sign-in of this user.
    #[error("the answer does not belong to this sign-in")]
    State,
    /// The user took too long.
    #[error("it took too long; start again")]
    Expired,
    /// The user or the authorization server denied the sign-in.
    #[error("it was not allowed ({0})")]
    Denied(String),
    /// The authorization server rejected a request of this client.
    #[error("the sign-in server refused: {description} ({code})")]
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
    #[error("there are no random numbers")]
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
#[error("the credentials cannot be kept: {0}")]
pub struct CredentialStoreError(pub String);

impl From<CredentialStoreError> for Error {
    fn from(error: CredentialStoreError) -> Self {
        Self::Renewal(error.to_string())
    }
}
