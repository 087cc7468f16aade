//! Choice of the client identity at an authorization server: registered manually, identified by a metadata URL, or
//! registered dynamically (RFC 7591).

use domain::Timestamp;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use url::Url;

use super::credentials::{
    ClientAuthentication, ClientIdentity, ClientKey, Credentials, DynamicRegistration, RegisteredClient, SecretString,
};
use super::error::SignInError;
use super::http::{parse_oauth_error, send_request};
use super::metadata::{ClientMetadata, ServerMetadata};
use crate::net::GuardedHttp;

/// Supported authentication methods, the preferred one first. The form comes before the header because the revocation
/// endpoint of the official Python library reads the secret from the form only.
const AUTH_METHODS: [&str; 3] = ["client_secret_post", "client_secret_basic", "none"];

/// Response to a dynamic registration (RFC 7591, 3.2.1).
#[derive(Deserialize)]
struct RegistrationResponse {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
    #[serde(default)]
    client_secret_expires_at: i64,
}

/// Chooses the client identity at an authorization server: registered manually, identified by its metadata URL, known
/// from an earlier registration, or registered now.
///
/// # Errors
///
/// [`SignInError::NeedsClient`] if the server offers no registration and the user entered no client.
pub(super) async fn choose_client(
    http: &GuardedHttp,
    metadata: &ClientMetadata,
    server: &ServerMetadata,
    manual: Option<&RegisteredClient>,
    known: Option<&Credentials>,
    now: Timestamp,
) -> Result<ClientIdentity, SignInError> {
    if let Some(client) = manual {
        return manual_client(server, client);
    }
    // A client id that is a metadata URL has to be https and have a path (2025-11-25, "Client ID Metadata Documents").
    let metadata_url = metadata.metadata_url.as_ref().filter(|url| url.scheme() == "https" && url.path() != "/");
    if let (true, Some(metadata_url)) = (server.client_id_metadata_document_supported, metadata_url) {
        return Ok(ClientIdentity {
            id: metadata_url.to_string(),
            proof: ClientAuthentication::None,
            registered: None,
        });
    }
    let is_valid = |registered: &DynamicRegistration| {
        // A registration is for its redirect addresses; after a change of the site's URL the server would reject them.
        registered.redirect_uri == metadata.redirect_uri && registered.until.is_none_or(|until| now < until)
    };
    if let Some(known) = known.filter(|known| known.client.registered.as_ref().is_some_and(is_valid)) {
        return Ok(known.client.clone());
    }
    match &server.registration_endpoint {
        Some(endpoint) => register(http, metadata, server, endpoint).await,
        None => Err(SignInError::NeedsClient),
    }
}

/// Returns a manually registered client with an authentication method that the server accepts.
pub(super) fn manual_client(server: &ServerMetadata, client: &RegisteredClient) -> Result<ClientIdentity, SignInError> {
    let proof = match &client.key {
        ClientKey::None => ClientAuthentication::None,
        ClientKey::PrivateKey(key) => ClientAuthentication::PrivateKeyJwt(key.clone()),
        // RFC 6749, 2.3.1: every server has to accept HTTP Basic, so that is the choice if no method is known.
        ClientKey::Secret(secret) => {
            let only_post =
                server.accepts_auth_method("client_secret_post") && !server.accepts_auth_method("client_secret_basic");
            if only_post {
                ClientAuthentication::Post(secret.clone())
            } else {
                ClientAuthentication::Basic(secret.clone())
            }
        }
    };
    if client.id.trim().is_empty() {
        Err(SignInError::NeedsClient)
    } else {
        Ok(ClientIdentity { id: client.id.clone(), proof, registered: None })
    }
}

/// Registers the product as a client.
async fn register(
    http: &GuardedHttp,
    metadata: &ClientMetadata,
    server: &ServerMetadata,
    endpoint: &Url,
) -> Result<ClientIdentity, SignInError> {
    let requested = AUTH_METHODS.into_iter().find(|method| server.accepts_auth_method(method)).unwrap_or("none");
    let body = metadata.to_registration(requested).to_string();
    let request =
        |http: &reqwest::Client| http.post(endpoint.clone()).header(CONTENT_TYPE, "application/json").body(body);
    let response = send_request(http, endpoint, request).await?;
    if matches!(response.status.as_u16(), 404 | 405 | 501) {
        return Err(SignInError::NotOffered);
    }
    if !response.status.is_success() {
        return Err(parse_oauth_error(&response));
    }
    let unreadable = |_| SignInError::Document("its registration of this app cannot be read");
    let registration: RegistrationResponse = serde_json::from_slice(&response.body).map_err(unreadable)?;
    let secret = registration.client_secret.filter(|secret| !secret.is_empty()).map(SecretString::new);
    // The server may register another method than the one that was requested (RFC 7591, 3.2.1).
    let method = registration.token_endpoint_auth_method.as_deref().unwrap_or(requested);
    let proof = match (method, secret) {
        ("client_secret_basic", Some(secret)) => ClientAuthentication::Basic(secret),
        ("client_secret_post", Some(secret)) => ClientAuthentication::Post(secret),
        ("none", _) | (_, None) => ClientAuthentication::None,
        _ => return Err(SignInError::Document("it wants this app to prove itself in an unknown way")),
    };
    let until = registration.client_secret_expires_at;
    // 0 means that the secret does not expire (RFC 7591, 3.2.1).
    let until = (until > 0).then(|| Timestamp::default().plus_seconds(until));
    let registered = Some(DynamicRegistration { redirect_uri: metadata.redirect_uri.clone(), until });
    Ok(ClientIdentity { id: registration.client_id, proof, registered })
}
