//! Metadata documents: of the MCP server (RFC 9728), of the authorization server (RFC 8414), and of the product as a
//! client (RFC 7591, and client ID metadata documents).

use serde::Deserialize;
use serde_json::{Value, json};
use url::{Host, Url};

use super::error::SignInError;
use crate::Error;
use crate::net::NetworkPolicy;

/// Protected resource metadata of an MCP server (RFC 9728).
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ResourceMetadata {
    pub(super) resource: String,
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
}

/// Metadata of an authorization server (RFC 8414).
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
    /// `None` means `client_secret_basic` (RFC 8414, 2).
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl ResourceMetadata {
    /// Parses the document.
    pub(super) fn parse(document: Value) -> Result<Self, SignInError> {
        serde_json::from_value(document).map_err(|_| SignInError::Document("it does not describe a server"))
    }
}

impl ServerMetadata {
    /// Parses the document.
    pub(super) fn parse(document: Value) -> Result<Self, SignInError> {
        serde_json::from_value(document)
            .map_err(|_| SignInError::Document("it names no token endpoint, or none that is an address"))
    }

    /// Returns the default endpoints of 2025-03-26 ("Fallbacks for Servers without Metadata Discovery").
    pub(super) fn with_default_endpoints(origin: &Url) -> Result<Self, SignInError> {
        let at = |path: &str| origin.join(path).map_err(|_| SignInError::NotOffered);
        Ok(Self {
            issuer: origin.origin().ascii_serialization(),
            authorization_endpoint: Some(at("/authorize")?),
            token_endpoint: at("/token")?,
            registration_endpoint: Some(at("/register")?),
            revocation_endpoint: None,
            scopes_supported: vec![],
            // The revision requires PKCE of every server.
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            token_endpoint_auth_methods_supported: Some(vec!["none".to_owned(), "client_secret_post".to_owned()]),
            client_id_metadata_document_supported: false,
            authorization_response_iss_parameter_supported: false,
        })
    }

    /// Checks that no endpoint would receive secrets without encryption or violates the network policy.
    pub(super) fn check_endpoints(&self, policy: &NetworkPolicy) -> Result<(), SignInError> {
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

    /// Checks that the server declares PKCE with S256, which the MCP specification requires of clients.
    pub(super) fn check_pkce(&self) -> Result<(), SignInError> {
        let methods = self.code_challenge_methods_supported.as_deref().unwrap_or_default();
        if methods.iter().any(|method| method == "S256") { Ok(()) } else { Err(SignInError::Pkce) }
    }

    /// Returns whether the token endpoint accepts an authentication method.
    pub(super) fn accepts_auth_method(&self, method: &str) -> bool {
        match &self.token_endpoint_auth_methods_supported {
            Some(methods) => methods.iter().any(|known| known == method),
            None => method == "client_secret_basic",
        }
    }
}

/// Metadata of the product as an OAuth client.
#[derive(Debug, Clone)]
pub struct ClientMetadata {
    /// Name that users see on the consent page.
    pub name: String,
    /// Address to which the browser returns.
    pub redirect_uri: Url,
    /// Public `https` address of the [document](Self::to_document), if authorization servers can reach it. It is the
    /// client id at servers that support client ID metadata documents.
    pub metadata_url: Option<Url>,
}

impl ClientMetadata {
    /// Returns the client ID metadata document, to be served as JSON at [`metadata_url`](Self::metadata_url).
    pub fn to_document(&self) -> Value {
        let mut document = self.to_registration("none");
        document["client_id"] = self.metadata_url.as_ref().map(Url::as_str).into();
        document
    }

    /// Returns the body of a dynamic registration with an authentication method (RFC 7591, 2).
    pub(super) fn to_registration(&self, auth_method: &str) -> Value {
        json!({
            "client_name": self.name,
            "redirect_uris": [self.redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": auth_method,
            // OpenID Connect allows `http://localhost` to native applications only.
            "application_type": if is_loopback(&self.redirect_uri) { "native" } else { "web" },
        })
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}
