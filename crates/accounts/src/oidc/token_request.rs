//! Requests with a user's grant: the exchange of the code, and the user information.

use reqwest::RequestBuilder;
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::{Url, form_urlencoded};

use super::IdentityProvider;
use super::discovery::IssuerMetadata;
use super::error::OidcError;
use super::http::request_json;

/// Name of the token endpoint in errors.
const TOKEN_ENDPOINT: &str = "token endpoint";
/// Name of the user information in errors.
const USER_INFO: &str = "user information";

/// Response of the token endpoint, as far as it is used.
#[derive(Deserialize)]
pub struct TokenResponse {
    /// Access token, for the user information.
    pub access_token: Option<String>,
    /// ID token.
    pub id_token: String,
}

impl IdentityProvider {
    /// Exchanges the code of a redirect, with the verifier of the authorization request.
    pub async fn exchange_code(
        &self,
        metadata: &IssuerMetadata,
        code: &str,
        verifier: &str,
    ) -> Result<TokenResponse, OidcError> {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("code_verifier", verifier),
        ];
        let request = self.http.client(TOKEN_ENDPOINT)?.post(metadata.token_endpoint.clone());
        let request = self.authenticate_client(request, metadata, &mut form);
        request_json(request.form(&form), TOKEN_ENDPOINT).await
    }

    /// Adds the client's credentials to the head or the form of a request.
    fn authenticate_client<'a>(
        &'a self,
        request: RequestBuilder,
        metadata: &IssuerMetadata,
        form: &mut Vec<(&'static str, &'a str)>,
    ) -> RequestBuilder {
        let client_id = self.settings.client_id.as_str();
        let Some(secret) = &self.settings.client_secret else {
            form.push(("client_id", client_id));
            return request;
        };
        let methods = &metadata.token_endpoint_auth_methods_supported;
        let supports = |method: &str| methods.iter().any(|supported| supported == method);
        if supports("client_secret_post") && !supports("client_secret_basic") {
            form.extend([("client_id", client_id), ("client_secret", secret.expose_secret())]);
            return request;
        }
        // Encoded as a form before they become a header (RFC 6749 section 2.3.1).
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        request.basic_auth(encode(client_id), Some(encode(secret.expose_secret())))
    }

    /// Returns the claims of the user information, which must be about the same user as the ID token (OpenID Connect
    /// Core 1.0, section 5.3.2).
    pub async fn request_user_info(
        &self,
        endpoint: &Url,
        access_token: &str,
        subject: &str,
    ) -> Result<Map<String, Value>, OidcError> {
        let request = self.http.client(USER_INFO)?.get(endpoint.clone()).bearer_auth(access_token);
        let claims: Map<String, Value> = request_json(request, USER_INFO).await?;
        if claims.get("sub").and_then(Value::as_str) == Some(subject) { Ok(claims) } else { Err(OidcError::UserInfo) }
    }
}
