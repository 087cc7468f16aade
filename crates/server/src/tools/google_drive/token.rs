//! The token endpoint: codes and refresh tokens go in, access tokens come out.

use domain::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

use super::error::DriveError;
use super::http::{self, Http};
use platform::config::{Config, GoogleClient};

/// An access token is renewed this many seconds before its end, so that no request carries one that ends on its way.
const MARGIN: i64 = 60;
/// How long a token is taken to be good that does not say it, in seconds.
const DEFAULT_LIFETIME: i64 = 600;

/// A person's authorisation, as it is sealed.
#[derive(Clone, Serialize, Deserialize)]
pub struct Token {
    pub access: String,
    pub refresh: String,
    /// When `access` ends.
    pub expires_at: Timestamp,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// Whether it may be sent.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        now.plus_seconds(MARGIN) < self.expires_at
    }
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    refresh_token: Option<String>,
    expires_in: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Denied {
    error: String,
    error_description: String,
}

/// Exchanges the code that came back with a person. `None` when Google gave no refresh token or no longer knows the code.
pub async fn exchange(
    http: &Http,
    config: &Config,
    redirect: &Url,
    code: &str,
    verifier: &str,
    now: Timestamp,
) -> Result<Option<Token>, DriveError> {
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect.as_str()),
        ("code_verifier", verifier),
    ];
    let Some(granted) = request(http, config, &form).await? else { return Ok(None) };
    let expires_at = expiry(&granted, now);
    let token = |refresh| Token { access: granted.access_token, refresh, expires_at };
    Ok(granted.refresh_token.map(token))
}

/// Renews a token. `None` when Google does not accept it any more.
pub async fn renew(http: &Http, config: &Config, old: &Token, now: Timestamp) -> Result<Option<Token>, DriveError> {
    let form = [("grant_type", "refresh_token"), ("refresh_token", old.refresh.as_str())];
    let granted = request(http, config, &form).await?;
    Ok(granted.map(|granted| Token {
        expires_at: expiry(&granted, now),
        access: granted.access_token,
        refresh: granted.refresh_token.unwrap_or_else(|| old.refresh.clone()),
    }))
}

/// Tells Google that a token is no longer wanted.
pub async fn revoke(http: &Http, config: &Config, token: &Token) -> Result<(), DriveError> {
    let request =
        http.client()?.post(config.google_endpoints.revoke.clone()).form(&[("token", token.refresh.as_str())]);
    let answer = http::document(request).await?;
    // A token that Google does not know is as good as revoked.
    if answer.status.is_success() || answer.status.as_u16() == 400 {
        Ok(())
    } else {
        Err(DriveError::Refused { status: answer.status.as_u16(), message: String::new() })
    }
}

/// `None` for `invalid_grant`: what was sent is not accepted, and asking again changes nothing.
async fn request(http: &Http, config: &Config, form: &[(&str, &str)]) -> Result<Option<Granted>, DriveError> {
    let GoogleClient { id, secret } = config.google.as_ref().ok_or(DriveError::NotConfigured)?;
    let secret: &SecretString = secret;
    let mut form = form.to_vec();
    form.extend([("client_id", id.as_str()), ("client_secret", secret.expose_secret())]);
    let answer = http::document(http.client()?.post(config.google_endpoints.token.clone()).form(&form)).await?;
    if answer.status.is_success() {
        return answer.read().map(Some);
    }
    let denied: Denied = answer.read().unwrap_or_default();
    if denied.error == "invalid_grant" {
        return Ok(None);
    }
    let message = if denied.error_description.is_empty() { denied.error } else { denied.error_description };
    Err(DriveError::Refused { status: answer.status.as_u16(), message })
}

fn expiry(granted: &Granted, now: Timestamp) -> Timestamp {
    now.plus_seconds(granted.expires_in.unwrap_or(DEFAULT_LIFETIME))
}
