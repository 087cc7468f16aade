//! What is kept of a sign-in, and where.

use std::fmt;

use domain::{ServerId, Timestamp, UserId};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use url::Url;

use super::client::Client;

/// Whose credentials, and for which of their connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// The person.
    pub user: UserId,
    /// The connection.
    pub server: ServerId,
}

/// Keeps credentials, one set for each owner and issuer. They are secrets: seal what [`Credentials`] serialises to.
pub trait CredentialStore: Send + Sync + fmt::Debug {
    /// All sets of an owner, the one that was saved last first: that one is in use.
    fn load(&self, owner: Owner) -> BoxFuture<'_, Result<Vec<Credentials>, StoreError>>;

    /// Keeps a set, in place of the owner's set of the same [issuer](Credentials::issuer). It is stored when the
    /// future is done, not later: a refresh token may have been used up for it.
    fn save(&self, owner: Owner, credentials: Credentials) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Removes all sets of an owner.
    fn delete(&self, owner: Owner) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Waits until nobody else changes the owner's credentials, on any node, and keeps others out until the guard is
    /// dropped. A store that only one process uses needs none: that process keeps its own order.
    fn lock(&self, owner: Owner) -> BoxFuture<'_, Result<Box<dyn Send>, StoreError>> {
        let _ = owner;
        let guard: Box<dyn Send> = Box::new(());
        Box::pin(std::future::ready(Ok(guard)))
    }
}

/// The store did not do what it was asked; the text says why, and holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the credentials cannot be kept: {0}")]
pub struct StoreError(pub String);

/// A text that is not shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// What an authorization server gave: a client, and tokens for one MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    pub(super) issuer: String,
    /// The server that the tokens are for, as it names itself; they are sent nowhere else.
    pub(super) resource: String,
    pub(super) client: Client,
    pub(super) token_endpoint: Url,
    pub(super) revocation_endpoint: Option<Url>,
    pub(super) grant: Grant,
    /// The scopes that were asked for.
    pub(super) requested: Vec<String>,
    /// How often in a row the same scopes were asked for again.
    pub(super) repeats: u8,
    pub(super) signed_in_at: Timestamp,
    pub(super) tokens: Option<Tokens>,
}

/// How tokens are to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Grant {
    /// A person signed in.
    AuthorizationCode,
    /// The client stands for itself.
    ClientCredentials,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// The scopes that were granted.
    pub(super) scopes: Vec<String>,
    /// From then on it is renewed before it is used.
    pub(super) renew_at: Option<Timestamp>,
    pub(super) expires_at: Option<Timestamp>,
}

impl Tokens {
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        self.renew_at.is_none_or(|at| now < at)
    }

    pub(super) fn is_valid(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|at| now < at)
    }
}

impl Credentials {
    /// The authorization server that they are of. It is the key of the set within its owner's.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Whether there are tokens; without them, only the client is known there.
    pub fn is_signed_in(&self) -> bool {
        self.tokens.is_some()
    }

    /// The scopes that were granted.
    pub fn scopes(&self) -> &[String] {
        self.tokens.as_ref().map(|tokens| tokens.scopes.as_slice()).unwrap_or_default()
    }

    /// When the access token ends, if the authorization server said so.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.tokens.as_ref()?.expires_at
    }
}

/// Whether `resource` stands for the server at `url`: the same origin, and the same path or one above it.
pub(super) fn covers(resource: &str, url: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (above, path) = (resource.path().trim_end_matches('/'), url.path());
    let within = path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == url.origin() && resource.origin().is_tuple() && within && resource.fragment().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_covers_its_own_server_only() {
        let covered = |resource: &str| covers(resource, &"https://a.example/v1/mcp".parse().unwrap());
        for good in [
            "https://a.example",
            "https://A.example:443/",
            "https://a.example/v1",
            "https://a.example/v1/",
            "https://a.example/v1/mcp",
            "https://a.example/v1/mcp?x=1",
        ] {
            assert!(covered(good), "{good}");
        }
        for bad in [
            "http://a.example/v1/mcp",
            "https://b.example/v1/mcp",
            "https://a.example:8443/v1/mcp",
            "https://a.example/v1/mcp/x",
            "https://a.example/v1/mc",
            "https://a.example/v",
            "https://a.example/V1",
            "https://a.example/#x",
            "urn:a:b",
            "a.example",
        ] {
            assert!(!covered(bad), "{bad}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let secret = Secret::new("s3cret");
        assert_eq!(format!("{secret:?}"), "Secret");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"s3cret\"");
    }
}
