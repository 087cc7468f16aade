//! HTTP requests to providers.

use crate::providers::{WireFormat, endpoint_url};
use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use domain::model::ModelError;
use futures_util::FutureExt;
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use reqwest::{RequestBuilder, Response};
use secrecy::ExposeSecret;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::client::ClientSettings;
use crate::client::backoff::parse_retry_after;
use crate::error_mapping::ProviderErrorBody;
use crate::providers::{Provider, RequestAdjustments};
use crate::transcription::FormBody;

/// Maximum number of idle connections per provider. After a load peak, more of them would hold memory for 90 seconds.
const MAX_IDLE_CONNECTIONS: usize = 64;

/// Maximum number of bytes read of an error response.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// Maximum size of a model list or of a transcript, in bytes.
const MAX_DOCUMENT_BYTES: usize = 8 * 1024 * 1024;

/// A failed attempt to get a response, as [`HttpTransport`] returns it.
#[derive(Debug)]
pub(super) struct RequestFailure {
    pub error: ModelError,
    /// Whether a retry may succeed.
    pub is_transient: bool,
    /// Delay before a retry, as the provider asks.
    pub retry_after: Option<Duration>,
}

impl RequestFailure {
    /// Wraps an error that a retry would repeat.
    pub fn permanent(error: ModelError) -> Self {
        Self { error, is_transient: false, retry_after: None }
    }

    /// Wraps an error that a retry may resolve.
    pub fn transient(error: ModelError) -> Self {
        let retry_after = match &error {
            ModelError::RateLimited { retry_after, .. } => *retry_after,
            _ => None,
        };
        Self { error, is_transient: true, retry_after }
    }
}

/// HTTP connections to providers, and what their models have refused.
#[derive(Debug, Default)]
pub(super) struct HttpTransport {
    pub settings: ClientSettings,
    /// Created on first use, because that reads the system's certificates.
    client: OnceLock<Result<reqwest::Client, reqwest::Error>>,
    /// Adjustments learned from refusals, by the names of the provider and the model.
    learned_adjustments: Mutex<HashMap<(String, String), RequestAdjustments>>,
}

impl HttpTransport {
    /// Creates a transport that may reach any address.
    pub fn new(settings: ClientSettings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Creates a transport over this client only.
    pub fn with_client(client: reqwest::Client) -> Self {
        Self { client: OnceLock::from(Ok(client)), ..Self::default() }
    }

    /// Returns the adjustments that a model's refusals have asked for so far.
    pub fn adjustments_for(&self, provider: &Provider, model: &str) -> RequestAdjustments {
        let learned = self.learned_adjustments.lock().unwrap_or_else(PoisonError::into_inner);
        learned.get(&(provider.name.clone(), model.to_owned())).copied().unwrap_or_default()
    }

    /// Stores the adjustments with which a model accepted a request, for [`Self::adjustments_for`].
    pub fn store_adjustments(&self, provider: &Provider, model: &str, adjustments: RequestAdjustments) {
        let mut learned = self.learned_adjustments.lock().unwrap_or_else(PoisonError::into_inner);
        learned.insert((provider.name.clone(), model.to_owned()), adjustments);
    }

    fn client(&self) -> Result<&reqwest::Client, ModelError> {
        let client = self.client.get_or_init(|| {
            let with_certificates = trusted_client(&self.settings).build();
            // Without any certificates on the system, model servers that speak plain HTTP are still reachable.
            with_certificates.or_else(|error| {
                tracing::warn!(
                    reason = root_cause(&error),
                    "no system certificates found, https connections will fail"
                );
                trusted_client(&self.settings).tls_certs_only([]).build()
            })
        });
        client
            .as_ref()
            .map_err(|error| ModelError::Unavailable(format!("could not create an HTTP client: {}", root_cause(error))))
    }

    /// Sends the JSON `body` and returns once the headers of a successful response have arrived.
    pub async fn post(&self, provider: &Provider, path: &str, body: bytes::Bytes) -> Result<Response, RequestFailure> {
        let client = self.client().map_err(RequestFailure::permanent)?;
        let request = client
            .post(endpoint_url(provider, path))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(ACCEPT, HeaderValue::from_static("text/event-stream"))
            .body(body);
        self.send(provider, request).await
    }

    /// Fetches a document of at most [`MAX_DOCUMENT_BYTES`].
    pub async fn get(&self, provider: &Provider, path: &str) -> Result<Vec<u8>, ModelError> {
        let request = self.client()?.get(endpoint_url(provider, path));
        self.fetch_document(provider, request).await
    }

    /// Sends a form and returns the response, a document of at most [`MAX_DOCUMENT_BYTES`].
    pub async fn post_form(&self, provider: &Provider, path: &str, form: FormBody) -> Result<Vec<u8>, ModelError> {
        let FormBody { content_type, parts } = form;
        // Not every server accepts a body of unknown length.
        let length: usize = parts.iter().map(bytes::Bytes::len).sum();
        let body = reqwest::Body::wrap_stream(futures_util::stream::iter(parts.map(Ok::<_, Infallible>)));
        let request = self.client()?.post(endpoint_url(provider, path)).header(CONTENT_TYPE, content_type);
        self.fetch_document(provider, request.header(CONTENT_LENGTH, length).body(body)).await
    }

    async fn fetch_document(&self, provider: &Provider, request: RequestBuilder) -> Result<Vec<u8>, ModelError> {
        let mut response = self.send(provider, request).await.map_err(|failure| failure.error)?;
        let body = self.read_up_to(MAX_DOCUMENT_BYTES, &mut response).await.map_err(|failure| failure.error)?;
        if body.len() > MAX_DOCUMENT_BYTES {
            return Err(ModelError::Malformed(format!("more than {MAX_DOCUMENT_BYTES} bytes")));
        }
        Ok(body)
    }

    async fn send(&self, provider: &Provider, mut request: RequestBuilder) -> Result<Response, RequestFailure> {
        let headers = provider.api.request_headers();
        for (name, value) in headers.others {
            request = request.header(*name, *value);
        }
        if let Some(key) = &provider.key {
            let mut value = HeaderValue::from_str(&format!("{}{}", headers.key_prefix, key.expose_secret().trim()))
                .map_err(|_| {
                    let message = "the key contains characters that cannot be sent".to_owned();
                    RequestFailure::permanent(ModelError::Unauthorized(message))
                })?;
            // Keeps the key out of debug output of the HTTP library.
            value.set_sensitive(true);
            request = request.header(headers.key_name, value);
        }
        let sent = timeout(self.settings.idle_timeout, request.send()).await;
        let mut response = match sent {
            // Not retried: the provider may be working on the request, and a second wait would be as long.
            Err(_) => return Err(RequestFailure::permanent(ModelError::StreamTimeout(self.settings.idle_timeout))),
            // Nothing of a response has arrived, so a retry repeats nothing.
            Ok(Err(error)) => return Err(RequestFailure::transient(self.unreachable_error(&error))),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = parse_retry_after(response.headers());
        // A body that cannot be read costs only the details: the status is known.
        let body = self.read_up_to(MAX_ERROR_BODY_BYTES, &mut response).await.unwrap_or_default();
        let mut error_body = ProviderErrorBody::parse_body(&body);
        // A header is more exact than what the body says, because gateways set it.
        error_body.retry_after = retry_after.or(error_body.retry_after);
        let retry_after = error_body.retry_after;
        let error = error_body.into_model_error(status.as_u16());
        // The status alone is not enough: some providers answer 429 when the account has no money left.
        let is_transient = matches!(status.as_u16(), 429 | 500 | 502 | 503 | 504 | 529)
            && matches!(error, ModelError::RateLimited { .. } | ModelError::Provider(_));
        Err(RequestFailure { error, is_transient, retry_after })
    }

    /// Returns the next chunk of a body, or `None` at its end. Fails after `idle_timeout` without a byte.
    pub async fn next_chunk(
        &self,
        response: &mut Response,
        idle_timeout: Duration,
    ) -> Result<Option<bytes::Bytes>, RequestFailure> {
        match timeout(idle_timeout, response.chunk()).await {
            Err(_) => Err(RequestFailure::permanent(ModelError::StreamTimeout(idle_timeout))),
            Ok(Err(error)) => Err(RequestFailure::transient(self.unreachable_error(&error))),
            Ok(Ok(chunk)) => Ok(chunk),
        }
    }

    /// Returns the next chunk of a body if it has arrived already, without waiting for it as [`Self::next_chunk`]
    /// does.
    pub async fn buffered_chunk(
        &self,
        response: &mut Response,
    ) -> Option<Result<Option<bytes::Bytes>, RequestFailure>> {
        let mut chunk = response.chunk().now_or_never();
        if chunk.is_none() {
            // The poll above asked the connection's task to read on; it can do so only when this task yields.
            yield_now().await;
            chunk = response.chunk().now_or_never();
        }
        chunk.map(|chunk| chunk.map_err(|error| RequestFailure::transient(self.unreachable_error(&error))))
    }

    /// Reads the body, or its beginning when it is longer than `limit` bytes.
    async fn read_up_to(&self, limit: usize, response: &mut Response) -> Result<Vec<u8>, RequestFailure> {
        let mut body = Vec::new();
        // One byte more than the limit is enough for the caller to see that the body is longer.
        while body.len() <= limit
            && let Some(chunk) = self.next_chunk(response, self.settings.idle_timeout).await?
        {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn unreachable_error(&self, error: &reqwest::Error) -> ModelError {
        ModelError::Unreachable(if error.is_timeout() && error.is_connect() {
            format!("no connection within {} s", self.settings.connect_timeout.as_secs())
        } else if error.is_body() || error.is_decode() {
            "the connection closed before the response was complete".to_owned()
        } else {
            root_cause(error)
        })
    }
}

/// Creates the client for base URLs that the administrator configured.
///
/// HTTP/1.1 only: every response has its own connection, so none waits for a host's limit on parallel HTTP/2 streams,
/// and closing the connection cancels the response.
#[expect(clippy::disallowed_methods, reason = "this is the client for an administrator's URLs")]
fn trusted_client(settings: &ClientSettings) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        .user_agent(concat!("ai-chat-mcp/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(settings.connect_timeout)
        .http1_only()
        // A request is one write followed by a wait, which Nagle's algorithm could only delay.
        .tcp_nodelay(true)
        // A redirect could lead a key and a conversation to another host. Its status becomes an error with advice
        // instead.
        .redirect(reqwest::redirect::Policy::none())
}

/// Returns the message of the innermost cause, without the system's error number. The layers above it contain URLs.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let message = cause.to_string();
    message.split_once(" (os error ").map_or(message.as_str(), |(text, _)| text).to_owned()
}
