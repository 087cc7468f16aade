//! HTTP client for providers: the only module that uses the network.

mod backoff;
mod http;
mod request_loop;
mod tick;

use crate::providers::WireFormat;
use std::sync::Arc;
use std::time::Duration;

use domain::model::{ModelError, ModelEvent, Request};
use futures_util::Stream;

use crate::providers::Provider;
use crate::redaction::redact_error;
use crate::transcription::{self, Recording, TranscribedText};

use http::HttpTransport;
use request_loop::RequestLoop;

/// Timeouts and retry limits of a [`Client`].
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// Maximum time to connect.
    pub connect_timeout: Duration,
    /// Maximum time without a byte, before the response begins and between two pieces of it. There is no limit for the
    /// whole response, because a good one may take many minutes.
    pub idle_timeout: Duration,
    /// Maximum number of retries of a request that failed before the first event of its response.
    pub max_retries: u32,
    /// Upper bound of the random delay before the first retry; it doubles with each retry.
    pub initial_backoff: Duration,
    /// Maximum total delay between the attempts of one request. When a provider asks for a longer wait, its error is
    /// returned instead of a retry.
    pub max_total_backoff: Duration,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(2),
            max_retries: 4,
            initial_backoff: Duration::from_millis(500),
            max_total_backoff: Duration::from_mins(1),
        }
    }
}

/// Client for model providers. Cheap to clone.
///
/// It trusts base URLs and may reach private networks, so it must never be given a URL from a user, unless it was
/// created with [`Client::with_http_client`].
#[derive(Debug, Clone, Default)]
pub struct Client {
    http: Arc<HttpTransport>,
}

impl Client {
    /// Creates a client with the default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a client with other timeouts and limits.
    pub fn with_settings(settings: ClientSettings) -> Self {
        Self { http: Arc::new(HttpTransport::new(settings)) }
    }

    /// Creates a client that sends over `http`, which decides what may be reached: for a base URL that a user entered.
    /// Adjustments learned from refusals are not shared with other clients.
    pub fn with_http_client(http: reqwest::Client) -> Self {
        Self { http: Arc::new(HttpTransport::with_client(http)) }
    }

    /// Sends the request and streams the response.
    ///
    /// Nothing is sent before the stream is polled. Dropping the stream closes the connection, which is how a
    /// response is cancelled. The stream ends after [`ModelEvent::Finish`] or after the first error.
    pub fn stream(
        &self,
        provider: &Provider,
        request: Request,
    ) -> impl Stream<Item = Result<ModelEvent, ModelError>> + Send + use<> {
        // Boxed, because `unfold` moves the state with every event.
        let request_loop = Box::new(RequestLoop::new(Arc::clone(&self.http), provider.clone(), request));
        futures_util::stream::unfold(request_loop, |mut request_loop| async move {
            let event = request_loop.next_event().await?;
            Some((event, request_loop))
        })
    }

    /// Has a model of a provider transcribe a recording, for an API that [supports](transcription::is_supported) it.
    /// Does not retry.
    pub async fn transcribe(
        &self,
        provider: &Provider,
        model: &str,
        recording: &Recording,
    ) -> Result<TranscribedText, ModelError> {
        // Random, so that it does not occur in the recording.
        let boundary = format!("{:032x}", rand::random::<u128>());
        let form = transcription::encode(recording, model, &boundary);
        let body = self.http.post_form(provider, transcription::PATH, form).await;
        body.and_then(|body| transcription::decode(&body))
            .map_err(|error| redact_error(error, provider.key.as_ref(), None))
    }

    /// Lists the names of the provider's models, in its order. Does not retry.
    pub async fn list_models(&self, provider: &Provider) -> Result<Vec<String>, ModelError> {
        let body = self.http.get(provider, provider.api.models_path()).await;
        body.and_then(|body| provider.api.parse_model_names(&body))
            .map_err(|error| redact_error(error, provider.key.as_ref(), None))
    }
}
