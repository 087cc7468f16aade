//! The only part that touches the network.

mod backoff;
mod beat;
mod exchange;
mod http;

use std::sync::Arc;
use std::time::Duration;

use domain::model::{ModelError, ModelEvent, Request};
use futures_util::Stream;

use crate::discretion::without_secrets;
use crate::provider::Provider;

use exchange::Exchange;
use http::Http;

/// How long a client waits, and how often it tries again.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The longest wait for a connection.
    pub connect: Duration,
    /// The longest silence: before the answer begins, and between two pieces of it. There is no limit in all,
    /// because a good answer may take many minutes.
    pub idle: Duration,
    /// How often a request is sent again when it failed before the first event of the answer.
    pub retries: u32,
    /// The upper end of the random wait before the first retry; it doubles with each one.
    pub backoff: Duration,
    /// The longest time that is waited between the tries of one request in all. A provider that asks for more gets
    /// no further try; its error is told instead.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_mins(2),
            retries: 4,
            backoff: Duration::from_millis(500),
            patience: Duration::from_mins(1),
        }
    }
}

/// Speaks to providers. Cheap to clone.
///
/// Unless it is made [over](Client::over) somebody else's HTTP client, its addresses are trusted: it may reach private
/// networks, so it must never be given an address from a user.
#[derive(Debug, Clone, Default)]
pub struct Client {
    http: Arc<Http>,
}

impl Client {
    /// A client with the usual patience.
    pub fn new() -> Self {
        Self::default()
    }

    /// A client with other limits.
    pub fn with(settings: Settings) -> Self {
        Self { http: Arc::new(Http::new(settings)) }
    }

    /// A client that sends over `http`, which decides what may be reached: for an address that a person gave. What a
    /// model of it refused is remembered for this client alone.
    pub fn over(http: reqwest::Client) -> Self {
        Self { http: Arc::new(Http::over(http)) }
    }

    /// Asks, and streams the answer. Nothing is sent before the stream is polled; dropping it closes the connection,
    /// which is how an answer is cancelled. The stream ends after a [`ModelEvent::Finish`] or after the first error.
    pub fn stream(
        &self,
        provider: &Provider,
        request: Request,
    ) -> impl Stream<Item = Result<ModelEvent, ModelError>> + Send + use<> {
        let exchange = Box::new(Exchange::new(Arc::clone(&self.http), provider.clone(), request));
        futures_util::stream::unfold(exchange, |mut exchange| async move {
            let said = exchange.next().await?;
            Some((said, exchange))
        })
    }

    /// The names of the models that the provider offers, in its order. Asked once, without retries.
    pub async fn list_models(&self, provider: &Provider) -> Result<Vec<String>, ModelError> {
        let body = self.http.get(provider, provider.wire.models_path()).await;
        body.and_then(|body| provider.wire.model_names(&body))
            .map_err(|error| without_secrets(error, provider.key.as_ref(), None))
    }
}
