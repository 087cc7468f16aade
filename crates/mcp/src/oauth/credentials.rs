//! Credentials of a sign-in, and the store for them.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{ServerId, Timestamp, UserId};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use url::Url;

use super::error::{CredentialStoreError, SignInError};

/// Owner of credentials: a user's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CredentialOwner {
    /// User.
    pub user: UserId,
    /// Connection.
    pub server: ServerId,
}

/// Store of credentials, one set per owner and issuer. Implementations encrypt what [`Credentials`] serializes to.
pub trait CredentialStore: Send + Sync + fmt::Debug {
    /// Loads all sets of an owner, the most recently saved first: that one is in use.
    fn load(&self, owner: CredentialOwner) -> BoxFuture<'_, Result<Vec<Credentials>, CredentialStoreError>>;

    /// Saves a set, in place of the owner's set of the same [issuer](Credentials::issuer). It has to be durable when
    /// the future completes, because the refresh token that it replaces is not valid any more.
    fn save(&self, owner: CredentialOwner, credentials: Credentials)
    -> BoxFuture<'_, Result<(), CredentialStoreError>>;

    /// Deletes all sets of an owner.
    fn delete(&self, owner: CredentialOwner) -> BoxFuture<'_, Result<(), CredentialStoreError>>;

    /// Locks the credentials of an owner across all processes until the guard is dropped. A store of a single process
    /// needs no lock: [`OAuthClient`](super::OAuthClient) has its own within the process.
    fn lock(&self, owner: CredentialOwner) -> BoxFuture<'_, Result<Box<dyn Send>, CredentialStoreError>> {
        let _ = owner;
        let guard: Box<dyn Send> = Box::new(());
        Box::pin(std::future::ready(Ok(guard)))
    }
}

/// Text that `Debug` does not show.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretString(String);

impl SecretString {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Generates 256 random bits, as unpadded base64url.
    pub(super) fn generate() -> Result<Self, SignInError> {
        let mut bytes = [0; 32];
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| SignInError::Random)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretString")
    }
}

/// Client that was registered at an authorization server manually.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredClient {
    /// Client id.
    pub id: String,
    /// Key that authenticates the client.
    pub key: ClientKey,
}

/// Key that authenticates a [`RegisteredClient`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientKey {
    /// No key: a public client.
    None,
    /// Client secret.
    Secret(SecretString),
    /// Private key (PKCS#8 in PEM; P-256 or RSA) whose public key the authorization server knows.
    PrivateKey(SecretString),
}

/// Identity of the product at one authorization server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClientIdentity {
    pub(super) id: String,
    pub(super) proof: ClientAuthentication,
    /// Dynamic registration that the identity comes from; `None` for other identities.
    pub(super) registered: Option<DynamicRegistration>,
}

/// Authentication of the client at the token endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ClientAuthentication {
    None,
    Basic(SecretString),
    Post(SecretString),
    PrivateKeyJwt(SecretString),
}

/// Terms of a dynamic registration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DynamicRegistration {
    pub(super) redirect_uri: Url,
    /// Expiry of the client secret.
    pub(super) until: Option<Timestamp>,
}

impl ClientIdentity {
    /// Returns the identity with its secret in the form instead of the header, or the other way round.
    ///
    /// Which one a manually registered client needs is known at its server only, and users are given nothing but id and
    /// secret: after a rejection the other one is tried. `None` for other identities.
    pub(super) fn with_other_authentication(&self) -> Option<Self> {
        let proof = match &self.proof {
            _ if self.registered.is_some() => return None,
            ClientAuthentication::Basic(secret) => ClientAuthentication::Post(secret.clone()),
            ClientAuthentication::Post(secret) => ClientAuthentication::Basic(secret.clone()),
            ClientAuthentication::None | ClientAuthentication::PrivateKeyJwt(_) => return None,
        };
        Some(Self { proof, ..self.clone() })
    }
}

/// Credentials of one authorization server: the client identity, and tokens for one MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    pub(super) issuer: String,
    /// Resource identifier of the MCP server (RFC 8707). The tokens are sent nowhere else.
    pub(super) resource: String,
    pub(super) client: ClientIdentity,
    pub(super) token_endpoint: Url,
    pub(super) revocation_endpoint: Option<Url>,
    pub(super) grant: GrantType,
    /// Scopes that were requested.
    pub(super) requested: Vec<String>,
    /// Number of times in a row that the same scopes were requested again.
    pub(super) repeats: u8,
    pub(super) signed_in_at: Timestamp,
    pub(super) tokens: Option<TokenSet>,
}

/// Grant type by which tokens are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum GrantType {
    /// A user signed in.
    AuthorizationCode,
    /// The client acts for itself.
    ClientCredentials,
}

/// Tokens of one sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TokenSet {
    pub(super) access: SecretString,
    pub(super) refresh: Option<SecretString>,
    /// Scopes that were granted.
    pub(super) scopes: Vec<String>,
    /// Time from which the access token is renewed before use.
    pub(super) renew_at: Option<Timestamp>,
    pub(super) expires_at: Option<Timestamp>,
}

impl TokenSet {
    /// Returns whether the access token can be used without renewal.
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        self.renew_at.is_none_or(|at| now < at)
    }

    /// Returns whether the access token has not expired.
    pub(super) fn is_valid(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|at| now < at)
    }
}

impl Credentials {
    /// Returns the issuer, which identifies the set among those of its owner.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns whether there are tokens. Without them, the set holds the client identity only.
    pub fn is_signed_in(&self) -> bool {
        self.tokens.is_some()
    }

    /// Returns the granted scopes.
    pub fn scopes(&self) -> &[String] {
        self.tokens.as_ref().map(|tokens| tokens.scopes.as_slice()).unwrap_or_default()
    }

    /// Returns the expiry of the access token, if the authorization server named one.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.tokens.as_ref()?.expires_at
    }
}

/// Returns whether `resource` identifies the server at `url`: same origin, and the same path or a parent of it.
pub(super) fn resource_covers(resource: &str, url: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (parent, path) = (resource.path().trim_end_matches('/'), url.path());
    let within = path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == url.origin() && resource.origin().is_tuple() && within && resource.fragment().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_covers_its_own_server_only() {
        let covered = |resource: &str| resource_covers(resource, &"https://a.example/v1/mcp".parse().unwrap());
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
    fn debug_does_not_show_secrets() {
        let secret = SecretString::new("s3cret");
        assert_eq!(format!("{secret:?}"), "SecretString");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"s3cret\"");
    }
}
