//! Metadata of the identity provider (OpenID Connect Discovery 1.0), requested once an hour.

use std::sync::Arc;

use domain::Timestamp;
use platform::config::is_protected;
use serde::Deserialize;
use tokio::sync::Mutex;
use url::Url;

use super::IdentityProvider;
use super::error::OidcError;

/// Name of the document in errors.
const DOCUMENT: &str = "discovery document";
/// Path of the document below the issuer (OpenID Connect Discovery 1.0, section 4).
const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";
/// Age from which the metadata is requested again, in seconds.
const MAX_AGE_SECONDS: i64 = 3600;

/// Metadata of the provider, as far as it is used.
#[derive(Debug, Clone, Deserialize)]
pub struct IssuerMetadata {
    issuer: String,
    /// Page on which users sign in.
    pub authorization_endpoint: Url,
    /// Endpoint that exchanges codes.
    pub token_endpoint: Url,
    /// Endpoint with further claims of a user.
    pub userinfo_endpoint: Option<Url>,
    /// Page that ends a user's session at the provider (OpenID Connect RP-Initiated Logout 1.0).
    pub end_session_endpoint: Option<Url>,
    /// Keys that sign ID tokens.
    pub jwks_uri: Url,
    /// Algorithms of ID tokens. The specification requires the field; RS256 must be among them.
    #[serde(default = "default_algorithms")]
    pub id_token_signing_alg_values_supported: Vec<String>,
    /// How clients authenticate. The default is `client_secret_basic`.
    #[serde(default = "default_client_authentication")]
    pub token_endpoint_auth_methods_supported: Vec<String>,
    /// Whether redirects from the provider name its issuer (RFC 9207).
    #[serde(default)]
    pub authorization_response_iss_parameter_supported: bool,
}

fn default_algorithms() -> Vec<String> {
    vec!["RS256".to_owned()]
}

fn default_client_authentication() -> Vec<String> {
    vec!["client_secret_basic".to_owned()]
}

/// The last metadata and the time of its request.
#[derive(Debug, Default)]
pub struct MetadataCache(Mutex<Option<(Timestamp, Arc<IssuerMetadata>)>>);

impl IdentityProvider {
    /// Returns the provider's metadata. Old metadata is used while the provider does not answer.
    pub async fn metadata(&self) -> Result<Arc<IssuerMetadata>, OidcError> {
        let now = self.clock.now();
        // Held during the request, so that parallel sign-ins make a single one.
        let mut cached = self.metadata.0.lock().await;
        if let Some((requested_at, metadata)) = &*cached
            && now < requested_at.plus_seconds(MAX_AGE_SECONDS)
        {
            return Ok(Arc::clone(metadata));
        }
        let old = cached.as_ref().map(|(_, metadata)| Arc::clone(metadata));
        match (self.request_metadata().await, old) {
            (Ok(metadata), _) => {
                let metadata = Arc::new(metadata);
                *cached = Some((now, Arc::clone(&metadata)));
                Ok(metadata)
            }
            (Err(error), Some(old)) => {
                tracing::warn!(%error, "continuing with old metadata of the identity provider");
                Ok(old)
            }
            (Err(error), None) => Err(error),
        }
    }

    async fn request_metadata(&self) -> Result<IssuerMetadata, OidcError> {
        let url = format!("{}{DISCOVERY_PATH}", self.settings.issuer.trim_end_matches('/'));
        let url = Url::parse(&url).map_err(|_| OidcError::Metadata("the issuer is not a URL"))?;
        let metadata: IssuerMetadata = self.http.get_json(url, DOCUMENT).await?;
        metadata.check(&self.settings.issuer)?;
        Ok(metadata)
    }
}

impl IssuerMetadata {
    /// Rejects metadata of another issuer, which an attacker could have placed there, and unprotected endpoints.
    fn check(&self, issuer: &str) -> Result<(), OidcError> {
        if self.issuer != issuer {
            return Err(OidcError::Metadata("it names another issuer than CHAT_OIDC_ISSUER"));
        }
        let required = [&self.authorization_endpoint, &self.token_endpoint, &self.jwks_uri];
        let optional = self.userinfo_endpoint.iter().chain(&self.end_session_endpoint);
        if required.into_iter().chain(optional).all(is_protected) {
            Ok(())
        } else {
            Err(OidcError::Metadata("an endpoint is not an https:// URL"))
        }
    }
}
