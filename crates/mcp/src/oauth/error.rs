//! Why somebody cannot be signed in.

use super::credentials::StoreError;
use crate::Error;

/// Why somebody cannot be signed in. Each text is a clause that reads on after a colon, and holds no secret.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SignInError {
    /// A request did not come through.
    #[error("the sign-in server {0}")]
    Server(#[from] Error),
    /// The server names nobody who could sign somebody in.
    #[error("the server does not say where to sign in")]
    NotOffered,
    /// The server's description is that of another server.
    #[error("the server's description of its sign-in is that of another server")]
    Resource,
    /// The authorization server's description, or its answer, is that of another one.
    #[error("the sign-in server says that it is another one")]
    Issuer,
    /// A secret would go over the network as it is.
    #[error("the sign-in server is not reached over https")]
    Insecure,
    /// The authorization server does not say that it knows PKCE with S256.
    #[error("the sign-in server does not offer PKCE (S256), without which a sign-in can be stolen")]
    Pkce,
    /// A document cannot be used; the text says what is wrong with it.
    #[error("the sign-in server's description cannot be used: {0}")]
    Document(&'static str),
    /// The authorization server knows only clients that somebody registered there by hand.
    #[error("the sign-in server has to be told of this app by hand; enter the client id that it gave")]
    NeedsClient,
    /// The same rights were asked for and granted, and still are not enough.
    #[error("the server keeps asking for rights that it was given")]
    Repeated,
    /// The answer belongs to no sign-in of this person.
    #[error("the answer does not belong to this sign-in")]
    State,
    /// The person took too long.
    #[error("it took too long; start again")]
    Expired,
    /// The person, or the authorization server, said no.
    #[error("it was not allowed ({0})")]
    Denied(String),
    /// The authorization server refused a request of ours.
    #[error("the sign-in server refused: {description} ({code})")]
    Refused {
        /// The error code, such as `invalid_grant`.
        code: String,
        /// The server's words, cut and cleaned.
        description: String,
    },
    /// The private key of the client is none that can be used here: ES256 (P-256) or RS256, as PKCS#8 in PEM.
    #[error("the client's private key cannot be used")]
    Key,
    /// The machine gives no random numbers.
    #[error("there are no random numbers")]
    Random,
    /// The store did not do what it was asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SignInError {
    /// Whether the authorization server said that what it was given (a code, a refresh token) is not good any more.
    pub(super) fn is_invalid_grant(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "invalid_grant")
    }

    /// Whether the authorization server does not know the client any more.
    pub(super) fn is_invalid_client(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "invalid_client" || code == "unauthorized_client")
    }
}
