//! Errors of the identity provider, for the log. They contain nothing of the user.

/// Failure of a request to the identity provider, or a response that cannot be trusted.
#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    /// The provider did not answer.
    #[error("the {document} cannot be reached: {reason}")]
    Unreachable {
        /// Requested document.
        document: &'static str,
        /// Cause.
        reason: String,
    },
    /// The provider answered with an error status.
    #[error("the {document} answers with status {status} {code}")]
    Status {
        /// Requested document.
        document: &'static str,
        /// HTTP status.
        status: u16,
        /// OAuth error code, if the response has one.
        code: String,
    },
    /// The response is too large, or not the JSON that the specification describes.
    #[error("the {0} is not readable")]
    Unreadable(&'static str),
    /// The metadata cannot be used.
    #[error("the provider's metadata is not usable: {0}")]
    Metadata(&'static str),
    /// The ID token is not valid.
    #[error("the ID token is not valid: {0}")]
    IdToken(&'static str),
    /// The logout token is not valid.
    #[error("the logout token is not valid: {0}")]
    LogoutToken(&'static str),
    /// The user information belongs to another user.
    #[error("the user information is that of another subject")]
    UserInfo,
}
