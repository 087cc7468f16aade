//! The documents in which servers describe themselves: RFC 9728 (the MCP server) and RFC 8414 (the authorization
//! server).

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::SignInError;
use crate::Error;
use crate::net::Policy;

/// What an MCP server says about itself.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ResourceMetadata {
    pub(super) resource: String,
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
}

/// What an authorization server says about itself.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ServerMetadata {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<Url>,
    pub(super) token_endpoint: Url,
    pub(super) registration_endpoint: Option<Url>,
    pub(super) revocation_endpoint: Option<Url>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
    pub(super) code_challenge_methods_supported: Option<Vec<String>>,
    /// `None` means `client_secret_basic`, by RFC 8414.
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl ResourceMetadata {
    pub(super) fn read(document: Value) -> Result<Self, SignInError> {
        serde_json::from_value(document).map_err(|_| SignInError::Document("it does not describe a server"))
    }
}

impl ServerMetadata {
    pub(super) fn read(document: Value) -> Result<Self, SignInError> {
        serde_json::from_value(document)
            .map_err(|_| SignInError::Document("it names no token endpoint, or none that is an address"))
    }

    /// The endpoints of 2025-03-26, for servers that describe nothing.
    pub(super) fn conventional(origin: &Url) -> Result<Self, SignInError> {
        let at = |path: &str| origin.join(path).map_err(|_| SignInError::NotOffered);
        Ok(Self {
            issuer: origin.origin().ascii_serialization(),
            authorization_endpoint: Some(at("/authorize")?),
            token_endpoint: at("/token")?,
            registration_endpoint: Some(at("/register")?),
            revocation_endpoint: None,
            scopes_supported: vec![],
            // The revision demands it of every server.
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            token_endpoint_auth_methods_supported: Some(vec!["none".to_owned(), "client_secret_post".to_owned()]),
            client_id_metadata_document_supported: false,
            authorization_response_iss_parameter_supported: false,
        })
    }

    /// Refuses endpoints that would give secrets away, or that lead where nobody may go. The browser goes to the first, this server to the others.
    pub(super) fn check_endpoints(&self, policy: &Policy) -> Result<(), SignInError> {
        let endpoints = [
            self.authorization_endpoint.as_ref(),
            Some(&self.token_endpoint),
            self.registration_endpoint.as_ref(),
            self.revocation_endpoint.as_ref(),
        ];
        for endpoint in endpoints.into_iter().flatten() {
            if !policy.is_confidential(endpoint) {
                return Err(SignInError::Insecure);
            }
            policy.check_url(endpoint).map_err(Error::from)?;
        }
        Ok(())
    }

    pub(super) fn check_pkce(&self) -> Result<(), SignInError> {
        let methods = self.code_challenge_methods_supported.as_deref().unwrap_or_default();
        if methods.iter().any(|method| method == "S256") { Ok(()) } else { Err(SignInError::Pkce) }
    }

    /// Whether the token endpoint takes a way of authenticating.
    pub(super) fn takes(&self, method: &str) -> bool {
        match &self.token_endpoint_auth_methods_supported {
            Some(methods) => methods.iter().any(|known| known == method),
            None => method == "client_secret_basic",
        }
    }
}
