//! Requests to Google's token endpoint: authorization codes and refresh tokens for access tokens.

use domain::Timestamp;
use platform::config::GoogleClient;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use url::Url;

use super::error::DriveError;
use super::{GoogleDrive, http};

/// Time before its end from which an access token is no longer used, in seconds, so that none expires in transit.
const RENEWAL_MARGIN_SECONDS: i64 = 60;
/// Lifetime of an access token for which Google names none, in seconds.
const DEFAULT_LIFETIME_SECONDS: i64 = 600;

/// A user's authorisation at Google, as it is sealed in the database.
#[derive(Clone, Serialize, Deserialize)]
pub struct GoogleTokens {
    /// Access token.
    pub access: String,
    /// Refresh token.
    pub refresh: String,
    /// Time at which `access` expires.
    pub expires_at: Timestamp,
}

impl std::fmt::Debug for GoogleTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GoogleTokens")
    }
}

impl GoogleTokens {
    /// Returns whether the access token may still be used.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        now.plus_seconds(RENEWAL_MARGIN_SECONDS) < self.expires_at
    }
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    refresh_token: Option<String>,
    expires_in: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenErrorResponse {
    error: String,
    error_description: String,
}

impl GoogleDrive {
    /// Exchanges an authorization code. Returns `None` if Google rejects the code or issues no refresh token.
    pub(super) async fn exchange_code(
        &self,
        redirect_uri: &Url,
        code: &str,
        verifier: &str,
        now: Timestamp,
    ) -> Result<Option<GoogleTokens>, DriveError> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri.as_str()),
            ("code_verifier", verifier),
        ];
        let Some(response) = self.request_tokens(&form).await? else { return Ok(None) };
        let expires_at = expiry(&response, now);
        let tokens = |refresh| GoogleTokens { access: response.access_token, refresh, expires_at };
        // Without a refresh token the link would end after an hour.
        Ok(response.refresh_token.map(tokens))
    }

    /// Renews an access token. Returns `None` if Google no longer accepts the refresh token.
    pub(super) async fn refresh_tokens(
        &self,
        old: &GoogleTokens,
        now: Timestamp,
    ) -> Result<Option<GoogleTokens>, DriveError> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", old.refresh.as_str())];
        let response = self.request_tokens(&form).await?;
        Ok(response.map(|response| GoogleTokens {
            expires_at: expiry(&response, now),
            access: response.access_token,
            // Without a new refresh token the old one stays valid (RFC 6749, section 6).
            refresh: response.refresh_token.unwrap_or_else(|| old.refresh.clone()),
        }))
    }

    /// Revokes an authorisation at Google.
    pub(super) async fn revoke_tokens(&self, tokens: &GoogleTokens) -> Result<(), DriveError> {
        let url = self.settings.endpoints.revoke.clone();
        // Revoking the refresh token revokes its access tokens as well.
        let request = self.http.client()?.post(url).form(&[("token", tokens.refresh.as_str())]);
        let response = http::request_document(request).await?;
        // Status 400: Google does not know the token, so it is not valid any more either.
        if response.status.is_success() || response.status.as_u16() == 400 {
            Ok(())
        } else {
            Err(DriveError::Rejected { status: response.status.as_u16(), message: String::new() })
        }
    }

    /// Sends a request to the token endpoint. Returns `None` for `invalid_grant`: the code or refresh token is not
    /// valid, and a retry would not help.
    async fn request_tokens(&self, form: &[(&str, &str)]) -> Result<Option<TokenResponse>, DriveError> {
        let GoogleClient { id, secret } = self.settings.client.as_ref().ok_or(DriveError::NotConfigured)?;
        let mut form = form.to_vec();
        form.extend([("client_id", id.as_str()), ("client_secret", secret.expose_secret())]);
        let url = self.settings.endpoints.token.clone();
        let response = http::request_document(self.http.client()?.post(url).form(&form)).await?;
        if response.status.is_success() {
            return response.json().map(Some);
        }
        let problem: TokenErrorResponse = response.json().unwrap_or_default();
        if problem.error == "invalid_grant" {
            return Ok(None);
        }
        let message = if problem.error_description.is_empty() { problem.error } else { problem.error_description };
        Err(DriveError::Rejected { status: response.status.as_u16(), message })
    }
}

/// Returns the time at which the access token of a response expires.
fn expiry(response: &TokenResponse, now: Timestamp) -> Timestamp {
    now.plus_seconds(response.expires_in.unwrap_or(DEFAULT_LIFETIME_SECONDS))
}
