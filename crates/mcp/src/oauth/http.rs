//! Requests to authorization servers: within the network policy, bounded, and encrypted where secrets are sent.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::ACCEPT;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::error::SignInError;
use crate::Error;
use crate::error::sanitize_text;
use crate::net::GuardedHttp;
use crate::transport::http_response;

/// Time limit for one request; a user is waiting.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a response; real ones have a few thousand bytes.
const MAX_RESPONSE_BYTES: usize = 256 * 1024;

/// Response that was read whole.
pub(super) struct HttpResponse {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

/// Fetches a JSON document; `None` if it does not exist.
pub(super) async fn fetch_document(guard: &GuardedHttp, url: &Url) -> Result<Option<Value>, SignInError> {
    let response = send_request(guard, url, |http| http.get(url.clone())).await?;
    match response.status.as_u16() {
        200 => {
            let unreadable = SignInError::Document("it is not JSON");
            serde_json::from_slice(&response.body).map(Some).map_err(|_| unreadable)
        }
        // A redirect counts as absent: its destination is not the well-known address that the document has to have.
        300..=499 => Ok(None),
        // A failing server is not a missing document: the next location could lead to another authorization server.
        status => Err(Error::Status { status }.into()),
    }
}

/// Sends a request and reads the whole response.
///
/// # Errors
///
/// [`SignInError::Insecure`] if a secret could be read on the way to `url`.
pub(super) async fn send_request(
    guard: &GuardedHttp,
    url: &Url,
    request: impl FnOnce(&reqwest::Client) -> reqwest::RequestBuilder,
) -> Result<HttpResponse, SignInError> {
    if !guard.policy().is_confidential(url) {
        return Err(SignInError::Insecure);
    }
    let http = guard.client_for(url)?;
    let work = async {
        let response = request(&http).header(ACCEPT, "application/json").send().await;
        let response = response.map_err(|error| Error::from_http(&error))?;
        let status = response.status();
        Ok(HttpResponse { status, body: http_response::read_body(response, MAX_RESPONSE_BYTES).await? })
    };
    tokio::time::timeout(REQUEST_TIMEOUT, work)
        .await
        .unwrap_or(Err(Error::Timeout(REQUEST_TIMEOUT)))
        .map_err(SignInError::Server)
}

/// Returns the OAuth error in a response that is no success (RFC 6749, 5.2).
pub(super) fn parse_oauth_error(response: &HttpResponse) -> SignInError {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct ErrorBody {
        error: String,
        error_description: String,
    }
    let body: ErrorBody = serde_json::from_slice(&response.body).unwrap_or_default();
    if body.error.is_empty() {
        return Error::Status { status: response.status.as_u16() }.into();
    }
    let (code, description) = (sanitize_text(&body.error), sanitize_text(&body.error_description));
    let description = if description.is_empty() { "without a reason".to_owned() } else { description };
    SignInError::Refused { code, description }
}
