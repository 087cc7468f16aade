//! Lifecycle of one request: encoding, adjustments after refusals, retries, and reading the response.

use crate::providers::WireFormat;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::model::{ModelError, ModelEvent, ModelStatus, Request};
use reqwest::Response;
use reqwest::header::HeaderMap;
use tokio::time::{Instant, sleep};

use crate::client::backoff::RetryBackoff;
use crate::client::http::{HttpTransport, RequestFailure};
use crate::client::tick::ReadTicker;
use crate::providers::files::{self, FileRefusal};
use crate::providers::{Provider, RequestAdjustments, StreamDecoder, StreamProgress, drops_parameters};
use crate::redaction::redact_error;

/// Multiple of the idle timeout that a stream may send only keep-alives: some gateways send them while they wait for
/// the host behind them, and some never stop.
const MAX_IDLE_TIMEOUTS_WITHOUT_EVENT: u32 = 5;
/// Notice for the user about a model without tools.
const NO_TOOLS_NOTICE: &str = "This model does not support tools, so it answers without them.";

/// Notice for the user about a model that refused one of its settings.
const NO_PARAMETERS_NOTICE: &str = "This model does not support all of its settings (temperature, top-p or reasoning effort), so it answers without them.";

/// Maximum time without a byte between the end of the text and the usage with the end marker.
const FINISH_TIMEOUT: Duration = Duration::from_secs(5);

/// Number of events after which a batch is returned although more bytes have arrived.
const MAX_BATCH_EVENTS: usize = 256;

/// State machine of one request and its response, polled by [`Self::next_event`].
pub(super) struct RequestLoop {
    http: Arc<HttpTransport>,
    provider: Provider,
    request: Request,
    adjustments: RequestAdjustments,
    backoff: RetryBackoff,
    /// Whether the notice about omitted tools was sent; it is sent once, however often the request is retried.
    has_noted_tools: bool,
    /// Whether the notice about omitted parameters was sent.
    has_noted_parameters: bool,
    /// Whether the notice about omitted files was sent.
    has_noted_files: bool,
    /// Whether an event of the response was read. A retry would repeat it.
    has_begun: bool,
    /// Events that were read and not yet returned.
    pending: VecDeque<ModelEvent>,
    state: State,
}

/// Next step of a [`RequestLoop`].
enum State {
    Send,
    Backoff(Duration),
    Read(Box<OpenResponse>),
    Failed(ModelError),
    Done,
}

/// A response that is being read, in [`State::Read`].
struct OpenResponse {
    response: Response,
    decoder: StreamDecoder,
    last_event_at: Instant,
    /// Whether everything that has arrived is read, so that the next read can wait for a tick.
    is_drained: bool,
    ticker: ReadTicker,
}

impl OpenResponse {
    fn new(response: Response, decoder: StreamDecoder) -> Self {
        Self { response, decoder, last_event_at: Instant::now(), is_drained: false, ticker: ReadTicker::start() }
    }

    /// Decodes a chunk, or the end of the body for `None`. Returns whether the response is complete.
    fn decode_chunk(
        &mut self,
        chunk: Result<Option<Bytes>, RequestFailure>,
        events: &mut Vec<ModelEvent>,
    ) -> Result<bool, RequestFailure> {
        let chunk = match chunk {
            // The model has finished, so it no longer matters how the connection ends.
            Err(_) if self.decoder.progress() == StreamProgress::Finished => None,
            chunk => chunk?,
        };
        let decoded = match &chunk {
            Some(chunk) => self.decoder.push(chunk, events),
            None => self.decoder.finish(events),
        };
        let is_complete = match decoded {
            Ok(()) if chunk.is_some() && self.decoder.progress() == StreamProgress::Closed => {
                self.decoder.finish(events).map(|()| true)
            }
            decoded => decoded.map(|()| chunk.is_none()),
        };
        is_complete.map_err(|error| match error {
            // Some gateways begin every response with status 200 and report failures in its first event.
            error @ (ModelError::RateLimited { .. } | ModelError::Provider(_)) => RequestFailure::transient(error),
            error => RequestFailure::permanent(error),
        })
    }
}

impl RequestLoop {
    /// Creates the loop; nothing is sent before [`Self::next_event`] is called.
    pub fn new(http: Arc<HttpTransport>, provider: Provider, request: Request) -> Self {
        let adjustments = http.adjustments_for(&provider, &request.model);
        Self {
            http,
            provider,
            request,
            adjustments,
            backoff: RetryBackoff::default(),
            has_noted_tools: false,
            has_noted_parameters: false,
            has_noted_files: false,
            has_begun: false,
            pending: VecDeque::new(),
            state: State::Send,
        }
    }

    /// Returns the next event, or `None` at the end of the response.
    pub async fn next_event(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(Ok(event));
            }
            // `Done` is left behind while a step runs: a stream that is dropped and polled again sends nothing.
            self.state = match std::mem::replace(&mut self.state, State::Done) {
                State::Send => self.send().await.unwrap_or_else(|failure| self.retry_or_fail(failure)),
                State::Backoff(delay) => {
                    sleep(delay).await;
                    State::Send
                }
                State::Read(response) => {
                    self.read(response).await.unwrap_or_else(|failure| self.retry_or_fail(failure))
                }
                State::Failed(error) => {
                    return Some(Err(redact_error(error, self.provider.key.as_ref(), Some(&self.request))));
                }
                State::Done => return None,
            };
        }
    }

    /// Sends the request, adjusted until the provider accepts it.
    async fn send(&mut self) -> Result<State, RequestFailure> {
        let api = self.provider.api;
        loop {
            // Encoded again for each attempt, because the adjustments may have changed.
            let encoded = api.encode(&self.request, self.adjustments).map_err(RequestFailure::permanent)?;
            match self.http.post(&self.provider, &encoded.path, encoded.body.into()).await {
                Ok(mut response) => {
                    // The headers would hold the buffer they were read into until the response ends.
                    *response.headers_mut() = HeaderMap::new();
                    // Learned only now: an adjustment counts once the model has accepted it.
                    if self.adjustments != self.http.adjustments_for(&self.provider, &self.request.model) {
                        self.http.store_adjustments(&self.provider, &self.request.model, self.adjustments);
                    }
                    if self.adjustments.omit_tools && !self.request.tools.is_empty() && !self.has_noted_tools {
                        self.has_noted_tools = true;
                        self.pending.push_back(ModelEvent::Notice(NO_TOOLS_NOTICE.to_owned()));
                    }
                    if drops_parameters(&self.request, self.adjustments) && !self.has_noted_parameters {
                        self.has_noted_parameters = true;
                        self.pending.push_back(ModelEvent::Notice(NO_PARAMETERS_NOTICE.to_owned()));
                    }
                    if let Some(text) =
                        files::omitted_files_notice(&self.request, self.adjustments).filter(|_| !self.has_noted_files)
                    {
                        self.has_noted_files = true;
                        self.pending.push_back(ModelEvent::Notice(text.to_owned()));
                    }
                    let decoder = StreamDecoder::new(api, &self.request);
                    return Ok(State::Read(Box::new(OpenResponse::new(response, decoder))));
                }
                Err(failure) => {
                    // llama.cpp reports with status 500 that a model does not support pictures.
                    let (ModelError::Refused(refusal) | ModelError::Provider(refusal)) = &failure.error else {
                        return Err(failure);
                    };
                    // A fault of the server is no refusal, except for files.
                    let is_refused = matches!(failure.error, ModelError::Refused(_));
                    match files::classify_file_refusal(refusal, self.adjustments, &self.request) {
                        Some(FileRefusal::Unsupported(adjustments)) => self.adjustments = adjustments,
                        Some(FileRefusal::InvalidFile) if is_refused => self.omit_files(failure.error),
                        _ => match api.adjust_after_refusal(refusal, self.adjustments).filter(|_| is_refused) {
                            Some(adjustments) => self.adjustments = adjustments,
                            None => return Err(failure),
                        },
                    }
                }
            }
        }
    }

    /// Omits all files of the conversation after the provider refused one of them, because it would refuse every later
    /// message of the chat too.
    fn omit_files(&mut self, refusal: ModelError) {
        let refusal = redact_error(refusal, self.provider.key.as_ref(), Some(&self.request));
        let text =
            format!("A picture or document of this chat could not be used, so the model answers without it: {refusal}");
        self.pending.push_back(ModelEvent::Notice(text));
        // The request has no files any more, so this happens at most once and the loop in `send` ends.
        self.request = files::replace_all_files(&self.request);
    }

    /// Reads everything that has arrived of a response, or waits for its next chunk at a tick of its [`ReadTicker`].
    async fn read(&mut self, mut open: Box<OpenResponse>) -> Result<State, RequestFailure> {
        if std::mem::take(&mut open.is_drained) {
            open.ticker.wait_for_tick().await;
        }
        let idle_timeout = self.http.settings.idle_timeout;
        let is_finished = open.decoder.progress() == StreamProgress::Finished;
        // Some gateways leave the connection open after the last event.
        let timeout = if is_finished { idle_timeout.min(FINISH_TIMEOUT) } else { idle_timeout };
        let mut chunk = self.http.next_chunk(&mut open.response, timeout).await;
        let mut events = Vec::new();
        let is_complete = loop {
            let is_complete = open.decode_chunk(chunk, &mut events);
            // While the response is young every chunk is returned at once, because users wait for the first words.
            if !matches!(is_complete, Ok(false)) || events.len() >= MAX_BATCH_EVENTS || !open.ticker.is_active() {
                break is_complete;
            }
            let Some(next) = self.http.buffered_chunk(&mut open.response).await else {
                open.is_drained = true;
                break is_complete;
            };
            chunk = next;
        };
        let is_silent =
            events.is_empty() && open.last_event_at.elapsed() > idle_timeout * MAX_IDLE_TIMEOUTS_WITHOUT_EVENT;
        if !events.is_empty() {
            self.has_begun = true;
            open.last_event_at = Instant::now();
        }
        // Events that were decoded before a failure are returned before it.
        self.pending.extend(events);
        match is_complete? {
            true => Ok(State::Done),
            false if is_silent => {
                Err(RequestFailure::permanent(ModelError::StreamTimeout(open.last_event_at.elapsed())))
            }
            false => Ok(State::Read(open)),
        }
    }

    /// Returns the state after a failed attempt: [`State::Backoff`] or [`State::Failed`].
    fn retry_or_fail(&mut self, failure: RequestFailure) -> State {
        // Once events were returned, a retry would repeat them.
        if self.has_begun || !failure.is_transient {
            return State::Failed(failure.error);
        }
        let Some(delay) = self.backoff.next_delay(&self.http.settings, failure.retry_after) else {
            return State::Failed(failure.error);
        };
        let after_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(provider = self.provider.name, after_ms, "retrying a model request");
        self.pending.push_back(ModelEvent::Status(ModelStatus::Retrying { after_ms }));
        State::Backoff(delay)
    }
}
