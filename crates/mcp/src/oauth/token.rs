//! The token endpoint: exchanging a code, renewing, revoking.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::Timestamp;
use http::header::AUTHORIZATION;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;
use url::form_urlencoded::byte_serialize;

use super::assertion::assertion;
use super::challenge::scopes;
use super::client::{Client, Proof};
use super::credentials::Tokens;
use super::fetch::{self, Answer};
use super::{Credentials, Secret, SignInError};
use crate::error::quote;
use crate::net::GuardedHttp;

/// A token is renewed this many seconds before its end, so that no request is under way when it comes.
const AHEAD: i64 = 60;
/// More than any token has; longer ones would not fit into a header.
const TOKEN: usize = 32 * 1024;

/// What is asked of the token endpoint.
#[derive(Clone, Copy)]
pub(super) enum Ask<'a> {
    /// The first tokens, for a code that a person brought.
    Code { code: &'a str, verifier: &'a Secret, redirect_uri: &'a Url },
    /// New tokens for old ones.
    Refresh(&'a Secret),
    /// Tokens for the client itself.
    ClientCredentials,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    token_type: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<i64>,
    refresh_token: Option<String>,
    scope: Option<String>,
}

/// Some servers write the number as text.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_f64().map(|seconds| seconds as i64),
        Value::String(text) => text.parse().ok(),
        _ => None,
    })
}

/// Asks for tokens.
pub(super) async fn tokens(
    guard: &GuardedHttp,
    credentials: &Credentials,
    ask: Ask<'_>,
    now: Timestamp,
) -> Result<Tokens, SignInError> {
    let mut form = vec![("resource", credentials.resource.clone())];
    let refresh = match ask {
        Ask::Code { code, verifier, redirect_uri } => {
            form.push(("grant_type", "authorization_code".to_owned()));
            form.push(("code", code.to_owned()));
            form.push(("code_verifier", verifier.expose().to_owned()));
            form.push(("redirect_uri", redirect_uri.to_string()));
            None
        }
        Ask::Refresh(refresh) => {
            form.push(("grant_type", "refresh_token".to_owned()));
            form.push(("refresh_token", refresh.expose().to_owned()));
            Some(refresh)
        }
        Ask::ClientCredentials => {
            form.push(("grant_type", "client_credentials".to_owned()));
            if !credentials.requested.is_empty() {
                form.push(("scope", credentials.requested.join(" ")));
            }
            None
        }
    };
    let answer = post(guard, &credentials.token_endpoint, credentials, form, now).await?;
    if !answer.status.is_success() {
        return Err(refusal(&answer));
    }
    let unreadable = |_| SignInError::Document("its answer holds no token");
    read(serde_json::from_slice(&answer.body).map_err(unreadable)?, refresh, &credentials.requested, now)
}

fn read(
    answer: TokenAnswer,
    refresh: Option<&Secret>,
    requested: &[String],
    now: Timestamp,
) -> Result<Tokens, SignInError> {
    if !answer.token_type.is_none_or(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err(SignInError::Document("its token is of a kind that is not known here"));
    }
    let good =
        |token: &String| !token.is_empty() && token.len() <= TOKEN && token.bytes().all(|b| b.is_ascii_graphic());
    if !good(&answer.access_token) {
        return Err(SignInError::Document("its token cannot be sent"));
    }
    let new = answer.refresh_token.filter(|token| !token.is_empty() && token.len() <= TOKEN).map(Secret::new);
    let lifetime = answer.expires_in.map(|seconds| seconds.max(0));
    Ok(Tokens {
        access: Secret::new(answer.access_token),
        // A server that gives none means that the old one is still good.
        refresh: new.or_else(|| refresh.cloned()),
        scopes: answer.scope.as_deref().map_or_else(|| requested.to_vec(), scopes),
        renew_at: lifetime.map(|seconds| now.plus_seconds(seconds - AHEAD.min(seconds / 4))),
        expires_at: lifetime.map(|seconds| now.plus_seconds(seconds)),
    })
}

/// Ends a token at its server. Whether the server did it.
pub(super) async fn revoke(
    guard: &GuardedHttp,
    credentials: &Credentials,
    now: Timestamp,
) -> Result<bool, SignInError> {
    let (Some(endpoint), Some(tokens)) = (&credentials.revocation_endpoint, &credentials.tokens) else {
        return Ok(false);
    };
    // Ending the refresh token ends the access tokens that came of it.
    let (token, kind) = match &tokens.refresh {
        Some(refresh) => (refresh, "refresh_token"),
        None => (&tokens.access, "access_token"),
    };
    let form = vec![("token", token.expose().to_owned()), ("token_type_hint", kind.to_owned())];
    Ok(post(guard, endpoint, credentials, form, now).await?.status.is_success())
}

/// Posts a form as the client.
async fn post(
    guard: &GuardedHttp,
    endpoint: &Url,
    credentials: &Credentials,
    mut form: Vec<(&'static str, String)>,
    now: Timestamp,
) -> Result<Answer, SignInError> {
    let Client { id, proof, .. } = &credentials.client;
    // In the form whatever the proof is: servers made with the official Python library look for it there alone.
    form.push(("client_id", id.clone()));
    let mut header = None;
    match proof {
        Proof::Basic(secret) => header = Some(basic(id, secret)),
        Proof::None => {}
        Proof::Post(secret) => form.push(("client_secret", secret.expose().to_owned())),
        Proof::PrivateKeyJwt(key) => {
            form.push(("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer".to_owned()));
            form.push(("client_assertion", assertion(id, key, &credentials.issuer, now)?));
        }
    }
    fetch::send(guard, endpoint, |http| {
        let request = http.post(endpoint.clone()).form(&form);
        match header {
            Some(header) => request.header(AUTHORIZATION, header),
            None => request,
        }
    })
    .await
}

/// RFC 6749, 2.3.1: both parts are written as in a form first.
fn basic(id: &str, secret: &Secret) -> String {
    let written = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", written(id), written(secret.expose()))))
}

/// The error in an answer that is no success.
pub(super) fn refusal(answer: &Answer) -> SignInError {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Said {
        error: String,
        error_description: String,
    }
    let said: Said = serde_json::from_slice(&answer.body).unwrap_or_default();
    if said.error.is_empty() {
        return crate::Error::Status { status: answer.status.as_u16() }.into();
    }
    let (code, description) = (quote(&said.error), quote(&said.error_description));
    let description = if description.is_empty() { "without a reason".to_owned() } else { description };
    SignInError::Refused { code, description }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tokens(answer: Value) -> Result<Tokens, SignInError> {
        let old = Secret::new("old");
        read(serde_json::from_value(answer).unwrap(), Some(&old), &["a".to_owned()], Timestamp::default())
    }

    #[test]
    fn an_answer_is_read_as_servers_write_it() {
        let read = tokens(json!({ "access_token": "t", "token_type": "bearer", "expires_in": "3600" })).unwrap();
        assert_eq!(read.refresh, Some(Secret::new("old")), "it is still good");
        assert_eq!(read.scopes, ["a"], "what was asked for");
        assert_eq!(read.expires_at, Some(Timestamp::default().plus_seconds(3600)));
        assert_eq!(read.renew_at, Some(Timestamp::default().plus_seconds(3540)));
        let short = tokens(json!({ "access_token": "t", "expires_in": 8, "refresh_token": "new", "scope": "b a" }));
        let short = short.unwrap();
        assert_eq!(short.renew_at, Some(Timestamp::default().plus_seconds(6)));
        assert_eq!((short.refresh, short.scopes.join(" ")), (Some(Secret::new("new")), "b a".to_owned()));
        let endless = tokens(json!({ "access_token": "t" })).unwrap();
        assert!(endless.is_fresh(Timestamp(i64::MAX)) && endless.is_valid(Timestamp(i64::MAX)));
    }

    #[test]
    fn a_token_that_cannot_be_used_is_refused() {
        for answer in [
            json!({ "access_token": "" }),
            json!({ "access_token": "a\r\nb" }),
            json!({ "access_token": "a".repeat(TOKEN + 1) }),
            json!({ "access_token": "t", "token_type": "DPoP" }),
        ] {
            assert!(tokens(answer).is_err());
        }
    }

    #[test]
    fn id_and_secret_are_written_as_in_a_form() {
        assert_eq!(basic("a:b", &Secret::new("c d%")), format!("Basic {}", STANDARD.encode("a%3Ab:c+d%25")));
    }
}
