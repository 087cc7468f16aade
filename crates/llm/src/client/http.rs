//! One request and its answer, over HTTP.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use domain::model::ModelError;
use futures_util::FutureExt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{RequestBuilder, Response};
use secrecy::ExposeSecret;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::client::Settings;
use crate::client::backoff::asked_wait;
use crate::fault::Fault;
use crate::provider::Provider;
use crate::wire::Concessions;

/// Connections to one provider that are kept open although nothing is asked over them. What a crowd has used would hold
/// its memory for a minute and a half.
const IDLE: usize = 64;

/// The most bytes that are read of a refusal.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// The most bytes that are read of a list of models.
const MAX_LISTING_BYTES: usize = 8 * 1024 * 1024;

/// Why there is no answer.
#[derive(Debug)]
pub(super) struct Failure {
    pub error: ModelError,
    /// It may go better the next time.
    pub is_transient: bool,
    /// How long the provider asks to wait before that.
    pub retry_after: Option<Duration>,
}

impl Failure {
    pub fn lasting(error: ModelError) -> Self {
        Self { error, is_transient: false, retry_after: None }
    }

    pub fn transient(error: ModelError) -> Self {
        let retry_after = match &error {
            ModelError::RateLimited { retry_after, .. } => *retry_after,
            _ => None,
        };
        Self { error, is_transient: true, retry_after }
    }
}

/// Connections to trusted addresses, unless it was made over a client that has rules of its own.
#[derive(Debug, Default)]
pub(super) struct Http {
    pub settings: Settings,
    /// Made when it is first needed: it reads the certificates of the system.
    client: OnceLock<Result<reqwest::Client, String>>,
    /// What models have refused, by the names of the provider and the model, so that they are asked only once.
    conceded: Mutex<HashMap<(String, String), Concessions>>,
}

impl Http {
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Over this client and no other.
    pub fn over(client: reqwest::Client) -> Self {
        Self { client: OnceLock::from(Ok(client)), ..Self::default() }
    }

    /// What a model has refused so far.
    pub fn conceded(&self, provider: &Provider, model: &str) -> Concessions {
        let conceded = self.conceded.lock().unwrap_or_else(PoisonError::into_inner);
        conceded.get(&(provider.name.clone(), model.to_owned())).copied().unwrap_or_default()
    }

    /// Remembers what a model refused and that it took the request then.
    pub fn remember(&self, provider: &Provider, model: &str, concessions: Concessions) {
        let mut conceded = self.conceded.lock().unwrap_or_else(PoisonError::into_inner);
        conceded.insert((provider.name.clone(), model.to_owned()), concessions);
    }

    fn client(&self) -> Result<&reqwest::Client, ModelError> {
        let made = self.client.get_or_init(|| {
            let with_certificates = trusted(&self.settings).build();
            // Without any certificates on the system, model servers that speak plain HTTP are still reachable.
            let client = with_certificates.or_else(|error| {
                tracing::warn!(reason = innermost(&error), "no certificates of the system: https will be refused");
                trusted(&self.settings).tls_certs_only([]).build()
            });
            client.map_err(|error| innermost(&error))
        });
        made.as_ref().map_err(|reason| ModelError::Unavailable(format!("no HTTP client could be made: {reason}")))
    }

    /// Sends the JSON `body` and answers when the head of a success is there.
    pub async fn post(&self, provider: &Provider, path: &str, body: bytes::Bytes) -> Result<Response, Failure> {
        let client = self.client().map_err(Failure::lasting)?;
        let request = client
            .post(provider.address(path))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(ACCEPT, HeaderValue::from_static("text/event-stream"))
            .body(body);
        self.send(provider, request).await
    }

    /// Fetches a small document.
    pub async fn get(&self, provider: &Provider, path: &str) -> Result<Vec<u8>, ModelError> {
        let request = self.client()?.get(provider.address(path));
        let mut response = self.send(provider, request).await.map_err(|failure| failure.error)?;
        let body = self.read_up_to(MAX_LISTING_BYTES, &mut response).await.map_err(|failure| failure.error)?;
        if body.len() > MAX_LISTING_BYTES {
            return Err(ModelError::Malformed(format!("more than {MAX_LISTING_BYTES} bytes")));
        }
        Ok(body)
    }

    async fn send(&self, provider: &Provider, mut request: RequestBuilder) -> Result<Response, Failure> {
        let head = provider.wire.head();
        for (name, value) in head.others {
            request = request.header(*name, *value);
        }
        if let Some(key) = &provider.key {
            let mut value = HeaderValue::from_str(&format!("{}{}", head.key_prefix, key.expose_secret().trim()))
                .map_err(|_| {
                    let message = "it holds characters that cannot be sent".to_owned();
                    Failure::lasting(ModelError::Unauthorized(message))
                })?;
            value.set_sensitive(true);
            request = request.header(head.key_name, value);
        }
        let sent = timeout(self.settings.idle, request.send()).await;
        let mut response = match sent {
            Err(_) => return Err(Failure::lasting(ModelError::Silent(self.settings.idle))),
            // Nothing of an answer has come, so nothing is lost by asking again.
            Ok(Err(error)) => return Err(Failure::transient(self.unreachable(&error))),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = asked_wait(response.headers());
        let body = self.read_up_to(MAX_REFUSAL_BYTES, &mut response).await.unwrap_or_default();
        let mut fault = Fault::from_body(&body);
        fault.retry_after = retry_after.or(fault.retry_after);
        let retry_after = fault.retry_after;
        let error = fault.into_error(status.as_u16());
        let is_transient = matches!(status.as_u16(), 429 | 500 | 502 | 503 | 504 | 529)
            && matches!(error, ModelError::RateLimited { .. } | ModelError::Provider(_));
        Err(Failure { error, is_transient, retry_after })
    }

    /// The next piece of a body, or nothing when it is over. `idle` is the longest silence.
    pub async fn piece(&self, response: &mut Response, idle: Duration) -> Result<Option<bytes::Bytes>, Failure> {
        match timeout(idle, response.chunk()).await {
            Err(_) => Err(Failure::lasting(ModelError::Silent(idle))),
            Ok(Err(error)) => Err(Failure::transient(self.unreachable(&error))),
            Ok(Ok(piece)) => Ok(piece),
        }
    }

    /// The next piece of a body if it has come, or nothing: then it may come any moment.
    pub async fn piece_at_hand(&self, response: &mut Response) -> Option<Result<Option<bytes::Bytes>, Failure>> {
        let mut piece = response.chunk().now_or_never();
        if piece.is_none() {
            // The task of the connection reads on only when it is asked to, which was done.
            yield_now().await;
            piece = response.chunk().now_or_never();
        }
        piece.map(|piece| piece.map_err(|error| Failure::transient(self.unreachable(&error))))
    }

    /// The body, or the beginning of it when it is longer than `limit`.
    async fn read_up_to(&self, limit: usize, response: &mut Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while body.len() <= limit
            && let Some(piece) = self.piece(response, self.settings.idle).await?
        {
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    fn unreachable(&self, error: &reqwest::Error) -> ModelError {
        ModelError::Unreachable(if error.is_timeout() && error.is_connect() {
            format!("no connection within {} s", self.settings.connect.as_secs())
        } else if error.is_body() || error.is_decode() {
            "the connection broke before the answer was whole".to_owned()
        } else {
            innermost(error)
        })
    }
}

/// The client for addresses that the administrator gave. HTTP/1.1 only: every answer has a connection of its own, so
/// none waits behind a host's limit on parallel HTTP/2 streams, and closing it is how an answer is cancelled.
#[expect(clippy::disallowed_methods, reason = "this is the client for an administrator's URLs")]
fn trusted(settings: &Settings) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .pool_max_idle_per_host(IDLE)
        .user_agent(concat!("ai-chat-mcp/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(settings.connect)
        .http1_only()
        .tcp_nodelay(true)
        .redirect(reqwest::redirect::Policy::none())
}

/// The cause at the bottom, which says most, without the system's number for it; the layers above it name addresses.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let told = cause.to_string();
    told.split_once(" (os error ").map_or(told.as_str(), |(words, _)| words).to_owned()
}
