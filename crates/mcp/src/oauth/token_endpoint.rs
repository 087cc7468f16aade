//! Requests to the token and revocation endpoints.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::Timestamp;
use http::header::AUTHORIZATION;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;
use url::form_urlencoded::byte_serialize;

use super::challenge::split_scopes;
use super::credentials::{ClientAuthentication, ClientIdentity, Credentials, SecretString, TokenSet};
use super::error::SignInError;
use super::http::{HttpResponse, parse_oauth_error, send_request};
use super::private_key_jwt::sign_client_assertion;
use crate::net::GuardedHttp;

/// Time before its expiry at which a token is renewed, so that no request is in flight when it expires.
const RENEW_AHEAD_SECONDS: i64 = 60;
/// Maximum length of a token; a longer one would not fit into a header.
const MAX_TOKEN_BYTES: usize = 32 * 1024;

/// Grant of a token request.
#[derive(Clone, Copy)]
pub(super) enum TokenGrant<'a> {
    /// Authorization code of a completed sign-in.
    AuthorizationCode { code: &'a str, verifier: &'a SecretString, redirect_uri: &'a Url },
    /// Refresh token.
    Refresh(&'a SecretString),
    /// The client's own credentials.
    ClientCredentials,
}

/// Response of the token endpoint (RFC 6749, 5.1).
#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    token_type: Option<String>,
    #[serde(default, deserialize_with = "deserialize_seconds")]
    expires_in: Option<i64>,
    refresh_token: Option<String>,
    scope: Option<String>,
}

/// Reads a number of seconds, which some servers send as text.
fn deserialize_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_f64().map(|seconds| seconds as i64),
        Value::String(text) => text.parse().ok(),
        _ => None,
    })
}

/// Requests tokens.
///
/// # Errors
///
/// [`SignInError::Refused`] if the server rejects the grant or the client.
pub(super) async fn request_tokens(
    guard: &GuardedHttp,
    credentials: &Credentials,
    grant: TokenGrant<'_>,
    now: Timestamp,
) -> Result<TokenSet, SignInError> {
    // In every request, whether or not the server supports it (2025-06-18, "Resource Parameter Implementation").
    let mut form = vec![("resource", credentials.resource.clone())];
    let refresh = match grant {
        TokenGrant::AuthorizationCode { code, verifier, redirect_uri } => {
            form.push(("grant_type", "authorization_code".to_owned()));
            form.push(("code", code.to_owned()));
            form.push(("code_verifier", verifier.expose().to_owned()));
            form.push(("redirect_uri", redirect_uri.to_string()));
            None
        }
        TokenGrant::Refresh(refresh) => {
            form.push(("grant_type", "refresh_token".to_owned()));
            form.push(("refresh_token", refresh.expose().to_owned()));
            Some(refresh)
        }
        TokenGrant::ClientCredentials => {
            form.push(("grant_type", "client_credentials".to_owned()));
            if !credentials.requested.is_empty() {
                form.push(("scope", credentials.requested.join(" ")));
            }
            None
        }
    };
    let response = post_as_client(guard, &credentials.token_endpoint, credentials, form, now).await?;
    if !response.status.is_success() {
        return Err(parse_oauth_error(&response));
    }
    let unreadable = |_| SignInError::Document("its answer holds no token");
    parse_tokens(serde_json::from_slice(&response.body).map_err(unreadable)?, refresh, &credentials.requested, now)
}

/// Checks a response and converts it. `refresh` is the refresh token that was used.
fn parse_tokens(
    response: TokenResponse,
    refresh: Option<&SecretString>,
    requested: &[String],
    now: Timestamp,
) -> Result<TokenSet, SignInError> {
    // RFC 6749 requires the field, but some servers omit it for bearer tokens.
    if !response.token_type.is_none_or(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err(SignInError::Document("its token is of a kind that is not known here"));
    }
    let is_sendable = |token: &String| {
        !token.is_empty() && token.len() <= MAX_TOKEN_BYTES && token.bytes().all(|b| b.is_ascii_graphic())
    };
    if !is_sendable(&response.access_token) {
        return Err(SignInError::Document("its token cannot be sent"));
    }
    let new = response
        .refresh_token
        .filter(|token| !token.is_empty() && token.len() <= MAX_TOKEN_BYTES)
        .map(SecretString::new);
    // Some servers send negative numbers for tokens that have expired.
    let lifetime = response.expires_in.map(|seconds| seconds.max(0));
    Ok(TokenSet {
        access: SecretString::new(response.access_token),
        // RFC 6749, 6: without a new refresh token the old one stays valid.
        refresh: new.or_else(|| refresh.cloned()),
        scopes: response.scope.as_deref().map_or_else(|| requested.to_vec(), split_scopes),
        // A quarter of the lifetime at most, or short-lived tokens would be renewed with every request.
        renew_at: lifetime.map(|seconds| now.plus_seconds(seconds - RENEW_AHEAD_SECONDS.min(seconds / 4))),
        expires_at: lifetime.map(|seconds| now.plus_seconds(seconds)),
    })
}

/// Revokes the tokens (RFC 7009). Returns whether the server confirmed it; some have no endpoint for it.
pub(super) async fn revoke_tokens(
    guard: &GuardedHttp,
    credentials: &Credentials,
    now: Timestamp,
) -> Result<bool, SignInError> {
    let (Some(endpoint), Some(tokens)) = (&credentials.revocation_endpoint, &credentials.tokens) else {
        return Ok(false);
    };
    // Revoking the refresh token revokes the access tokens that it was used for (RFC 7009, 2.1).
    let (token, kind) = match &tokens.refresh {
        Some(refresh) => (refresh, "refresh_token"),
        None => (&tokens.access, "access_token"),
    };
    let form = vec![("token", token.expose().to_owned()), ("token_type_hint", kind.to_owned())];
    Ok(post_as_client(guard, endpoint, credentials, form, now).await?.status.is_success())
}

/// Posts a form with the authentication of the client.
async fn post_as_client(
    guard: &GuardedHttp,
    endpoint: &Url,
    credentials: &Credentials,
    mut form: Vec<(&'static str, String)>,
    now: Timestamp,
) -> Result<HttpResponse, SignInError> {
    let ClientIdentity { id, proof, .. } = &credentials.client;
    // In the form whatever the method: the official Python library looks for the id there only.
    form.push(("client_id", id.clone()));
    let mut header = None;
    match proof {
        ClientAuthentication::Basic(secret) => header = Some(basic_header(id, secret)),
        ClientAuthentication::None => {}
        ClientAuthentication::Post(secret) => form.push(("client_secret", secret.expose().to_owned())),
        ClientAuthentication::PrivateKeyJwt(key) => {
            form.push(("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer".to_owned()));
            form.push(("client_assertion", sign_client_assertion(id, key, &credentials.issuer, now)?));
        }
    }
    send_request(guard, endpoint, |http| {
        let request = http.post(endpoint.clone()).form(&form);
        match header {
            Some(header) => request.header(AUTHORIZATION, header),
            None => request,
        }
    })
    .await
}

/// Builds the header of HTTP Basic, in which id and secret are form-encoded first (RFC 6749, 2.3.1).
fn basic_header(id: &str, secret: &SecretString) -> String {
    let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", encode(id), encode(secret.expose()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(answer: Value) -> Result<TokenSet, SignInError> {
        let old = SecretString::new("old");
        parse_tokens(serde_json::from_value(answer).unwrap(), Some(&old), &["a".to_owned()], Timestamp::default())
    }

    #[test]
    fn parses_token_responses_as_servers_write_them() {
        let read = parse(json!({ "access_token": "t", "token_type": "bearer", "expires_in": "3600" })).unwrap();
        assert_eq!(read.refresh, Some(SecretString::new("old")), "it is still good");
        assert_eq!(read.scopes, ["a"], "what was asked for");
        assert_eq!(read.expires_at, Some(Timestamp::default().plus_seconds(3600)));
        assert_eq!(read.renew_at, Some(Timestamp::default().plus_seconds(3540)));
        let short = parse(json!({ "access_token": "t", "expires_in": 8, "refresh_token": "new", "scope": "b a" }));
        let short = short.unwrap();
        assert_eq!(short.renew_at, Some(Timestamp::default().plus_seconds(6)));
        assert_eq!((short.refresh, short.scopes.join(" ")), (Some(SecretString::new("new")), "b a".to_owned()));
        let endless = parse(json!({ "access_token": "t" })).unwrap();
        assert!(endless.is_fresh(Timestamp(i64::MAX)) && endless.is_valid(Timestamp(i64::MAX)));
    }

    #[test]
    fn rejects_unusable_tokens() {
        for answer in [
            json!({ "access_token": "" }),
            json!({ "access_token": "a\r\nb" }),
            json!({ "access_token": "a".repeat(MAX_TOKEN_BYTES + 1) }),
            json!({ "access_token": "t", "token_type": "DPoP" }),
        ] {
            assert!(parse(answer).is_err());
        }
    }

    #[test]
    fn basic_header_form_encodes_id_and_secret() {
        assert_eq!(
            basic_header("a:b", &SecretString::new("c d%")),
            format!("Basic {}", STANDARD.encode("a%3Ab:c+d%25"))
        );
    }
}
