//! Requests to the addresses of the identity provider, which the operator configured or the provider announced.

use std::error::Error;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, RequestBuilder};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::error::OidcError;

/// Maximum time to connect to the provider.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time of a request, including the response body. A user waits for it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a response, in bytes. Metadata and keys have a few kilobytes.
const MAX_DOCUMENT_BYTES: usize = 512 * 1024;
/// Maximum length of an error code in the log, in characters.
const MAX_ERROR_CODE_CHARS: usize = 60;

/// HTTP client for the identity provider. It is created at the first use, because that reads the system's certificates.
#[derive(Debug, Default)]
pub struct ProviderHttp(OnceLock<Result<Client, reqwest::Error>>);

/// Error response of OAuth (RFC 6749 section 5.2).
#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorResponse {
    error: String,
}

impl ProviderHttp {
    /// Returns the client, and creates it at the first use.
    pub fn client(&self, document: &'static str) -> Result<&Client, OidcError> {
        let built = self.0.get_or_init(|| {
            // Without system certificates, a provider on loopback with plain HTTP is still reachable.
            builder().build().or_else(|_| builder().tls_certs_only([]).build())
        });
        built.as_ref().map_err(|error| OidcError::Unreachable { document, reason: root_cause(error) })
    }

    /// Requests a public JSON document. `document` names it in errors.
    pub async fn get_json<T: DeserializeOwned>(&self, url: Url, document: &'static str) -> Result<T, OidcError> {
        request_json(self.client(document)?.get(url), document).await
    }
}

#[expect(clippy::disallowed_methods, reason = "the provider's addresses are the administrator's")]
fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("ai-chat-mcp/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(REQUEST_TIMEOUT)
        // A redirect could carry the code or the client secret to another host.
        .redirect(reqwest::redirect::Policy::none())
}

/// Sends a request and reads a JSON document.
pub async fn request_json<T: DeserializeOwned>(
    request: RequestBuilder,
    document: &'static str,
) -> Result<T, OidcError> {
    let unreachable = |error: reqwest::Error| OidcError::Unreachable {
        document,
        reason: if error.is_timeout() { "it took too long".into() } else { root_cause(&error) },
    };
    let request = request.header(reqwest::header::ACCEPT, "application/json");
    let mut response = request.send().await.map_err(unreachable)?;
    let status = response.status();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_DOCUMENT_BYTES {
            return Err(OidcError::Unreadable(document));
        }
    }
    if !status.is_success() {
        let code = serde_json::from_slice::<ErrorResponse>(&body).unwrap_or_default().error;
        // The code is from the provider: only what the specification allows goes to the log.
        let is_plain = |char: &char| char.is_ascii_alphanumeric() || "_-. ".contains(*char);
        let code = code.chars().filter(is_plain).take(MAX_ERROR_CODE_CHARS).collect();
        return Err(OidcError::Status { document, status: status.as_u16(), code });
    }
    serde_json::from_slice(&body).map_err(|_| OidcError::Unreadable(document))
}

/// Returns the innermost cause, which is the most specific; the outer ones contain addresses.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
