//! Requests to the addresses that the administrator configured, and responses of limited size.

use std::error::Error;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, RequestBuilder, StatusCode};
use serde::de::DeserializeOwned;

use super::error::DriveError;

/// Maximum time to connect to Google.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time of a request, including the response body.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum size of a JSON response, in bytes. 100 files with their names need far less.
pub const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;

/// HTTP client for Google. It is created at the first use, because that reads the system's certificates.
#[derive(Debug, Default)]
pub struct GoogleHttp(OnceLock<Result<Client, reqwest::Error>>);

/// A response whose body may be truncated.
#[derive(Debug)]
pub struct GoogleResponse {
    /// HTTP status.
    pub status: StatusCode,
    /// Body, or its beginning.
    pub body: Vec<u8>,
    /// `true` if the body is longer than what was read.
    pub is_truncated: bool,
}

impl GoogleHttp {
    /// Returns the client, and creates it at the first use.
    pub fn client(&self) -> Result<&Client, DriveError> {
        let built = self.0.get_or_init(|| {
            // Without system certificates, an endpoint with plain HTTP is still reachable.
            builder().build().or_else(|_| builder().tls_certs_only([]).build())
        });
        built.as_ref().map_err(|error| DriveError::Unreachable(root_cause(error)))
    }
}

#[expect(clippy::disallowed_methods, reason = "Google's addresses are the administrator's")]
fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("ai-chat-mcp/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(REQUEST_TIMEOUT)
        // A redirect could carry the access token to another host.
        .redirect(reqwest::redirect::Policy::none())
}

/// Sends a request and reads a JSON document.
pub async fn request_document(request: RequestBuilder) -> Result<GoogleResponse, DriveError> {
    let response = send(request, MAX_DOCUMENT_BYTES).await?;
    if response.is_truncated { Err(DriveError::Unreadable) } else { Ok(response) }
}

/// Sends a request and reads at most `max_bytes` of the response body.
pub async fn send(request: RequestBuilder, max_bytes: usize) -> Result<GoogleResponse, DriveError> {
    let unreachable = |error: reqwest::Error| {
        DriveError::Unreachable(if error.is_timeout() { "it took too long".into() } else { root_cause(&error) })
    };
    let mut response = request.send().await.map_err(unreachable)?;
    let status = response.status();
    let mut body = Vec::new();
    // At least one byte more than the limit is read, which shows that the body is longer.
    while body.len() <= max_bytes
        && let Some(chunk) = response.chunk().await.map_err(unreachable)?
    {
        body.extend_from_slice(&chunk);
    }
    let is_truncated = body.len() > max_bytes;
    body.truncate(max_bytes);
    Ok(GoogleResponse { status, body, is_truncated })
}

impl GoogleResponse {
    /// Decodes the body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, DriveError> {
        serde_json::from_slice(&self.body).map_err(|_| DriveError::Unreadable)
    }
}

/// Returns the innermost cause, which is the most specific; the outer ones contain addresses.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
