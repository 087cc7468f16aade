//! Usage recording: the tokens and the cost of each model call, reported by the provider or estimated, and recorded
//! however the call ends.

use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::model::{FinishReason, ModelError, ModelEvent, ModelMessage, Request, Usage};
use domain::{ChatId, Clock, MessageId, UserId};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use platform::BackgroundTasks;
use platform::metrics::{self, ModelCallOutcome};
use storage::Storage;
use storage::usage::{Cost, OfAnswer};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::call_span::ModelCallSpan;
use super::catalogue::Price;
use super::quota::{ExpectedUse, QuotaService};
use super::user_providers::is_user_provider;
use super::{ModelId, ModelService};

/// Approximate number of bytes of text per token.
const BYTES_PER_TOKEN: u64 = 4;

/// Approximate number of tokens of a file: a large picture at Anthropic. A document of several pages has more.
const TOKENS_PER_FILE: u64 = 1_600;

/// Name of the models of users' own providers in metrics.
const USER_PROVIDERS: &str = "own";

/// Pause between attempts to record a cost.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Longest wait for costs that are being recorded: an unreachable database must not delay an answer.
const MAX_FLUSH_WAIT: Duration = Duration::from_secs(2);

/// Writer of the [costs](Cost) of model calls.
#[derive(Debug, Clone)]
pub struct UsageRecorder {
    storage: Storage,
    clock: Arc<dyn Clock>,
    tasks: BackgroundTasks,
}

impl UsageRecorder {
    /// Creates a writer to the database. `tasks` are waited for at shutdown.
    pub fn new(storage: Storage, clock: Arc<dyn Clock>, tasks: BackgroundTasks) -> Self {
        Self { storage, clock, tasks }
    }

    /// Creates an empty list for an answer of a chat. Its costs are [recorded separately](UsageTracker::flush) or in
    /// the transaction that stores the answer.
    pub fn track_answer(&self, user: UserId, of: OfAnswer) -> UsageTracker {
        self.track(user, Some(of.chat), Some(of.message))
    }

    /// Creates an empty list for calls that a chat needs besides its answers. Costs are recorded at once.
    pub fn track_chat(&self, user: UserId, chat: ChatId) -> UsageTracker {
        self.track(user, Some(chat), None)
    }

    /// Creates an empty list for a request to the OpenAI-compatible API. Costs are recorded at once.
    pub fn track_request(&self, user: UserId) -> UsageTracker {
        self.track(user, None, None)
    }

    /// Records the cost of a call in a task of its own.
    pub fn record(&self, user: UserId, cost: Cost) {
        let recorder = self.clone();
        self.tasks.spawn("usage", async move { recorder.write(user, &cost).await });
    }

    fn track(&self, user: UserId, chat: Option<ChatId>, message: Option<MessageId>) -> UsageTracker {
        let writes = TaskTracker::new();
        // A tracker must be closed to be waited for. It still accepts tasks.
        writes.close();
        UsageTracker { recorder: self.clone(), user, chat, message, unrecorded: Arc::default(), writes }
    }

    /// Records the cost of a call, and retries for as long as the database is unreachable.
    async fn write(&self, user: UserId, cost: &Cost) {
        let now = self.clock.now();
        loop {
            // During shutdown it is tried once more.
            let is_last = self.tasks.shutdown_token().is_cancelled();
            match self.storage.usage().insert(user, cost, now).await {
                Ok(()) => return,
                Err(error) if error.is_outage() && !is_last => {
                    tracing::warn!(%error, "failed to record the usage of a model call; retrying");
                }
                Err(error) => {
                    tracing::error!(%error, "failed to record the usage of a model call");
                    return;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY_INTERVAL) => {}
                () = self.tasks.shutdown_token().cancelled() => {}
            }
        }
    }
}

/// [Costs](Cost) of the model calls of one answer or of something else, as far as they are not recorded yet. A call's
/// cost is added when the call ends. All clones share the same list.
#[derive(Debug, Clone)]
pub struct UsageTracker {
    recorder: UsageRecorder,
    user: UserId,
    /// Chat that the calls belong to; `None` for a request to the OpenAI-compatible API.
    chat: Option<ChatId>,
    /// Answer that the calls belong to, if they do.
    message: Option<MessageId>,
    /// Costs that are not recorded yet.
    unrecorded: Arc<Mutex<Vec<Cost>>>,
    /// Tasks that record costs.
    writes: TaskTracker,
}

impl UsageTracker {
    /// Returns the costs that are neither recorded nor being recorded.
    pub fn unrecorded(&self) -> Vec<Cost> {
        self.costs().clone()
    }

    /// Removes costs that have been recorded.
    pub fn mark_recorded(&self, recorded: &[Cost]) {
        self.costs().retain(|cost| recorded.iter().all(|recorded| recorded.call != cost.call));
    }

    /// Records the costs so far in a task of its own, which retries for as long as the database is unreachable.
    pub fn flush(&self) {
        // Taken, so that a concurrent call cannot record them twice.
        let costs = std::mem::take(&mut *self.costs());
        if costs.is_empty() {
            return;
        }
        let (recorder, user, write) = (self.recorder.clone(), self.user, self.writes.token());
        self.recorder.tasks.spawn("usage", async move {
            for cost in &costs {
                recorder.write(user, cost).await;
            }
            drop(write);
        });
    }

    /// Returns a guard that [records](Self::flush) the remaining costs when it is dropped, however the answer ends.
    pub fn flush_on_drop(&self) -> FlushOnDrop<'_> {
        FlushOnDrop(self)
    }

    /// Waits until the costs of earlier calls of [`flush`](Self::flush) are recorded, at most two seconds.
    pub async fn flushed(&self) {
        if tokio::time::timeout(MAX_FLUSH_WAIT, self.writes.wait()).await.is_err() {
            tracing::warn!("usage of a model call is not recorded yet; continuing");
        }
    }

    fn costs(&self) -> MutexGuard<'_, Vec<Cost>> {
        self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard that records the remaining costs when it is dropped; see [`UsageTracker::flush_on_drop`].
pub struct FlushOnDrop<'a>(&'a UsageTracker);

impl Drop for FlushOnDrop<'_> {
    fn drop(&mut self) {
        self.0.flush();
    }
}

impl ModelService {
    /// Calls a model and adds the cost to `usage`. What it may use of the user's quotas is reserved first. Dropping
    /// the stream, or cancelling `cancel`, also ends the generation at the provider.
    pub fn stream_recorded(
        self: &Arc<Self>,
        usage: &UsageTracker,
        model: &ModelId,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let (models, usage, model) = (Arc::clone(self), usage.clone(), model.clone());
        let input_tokens = estimate_input(&request);
        let call = domain::ids::fresh();
        let span = ModelCallSpan::begin(&model, usage.chat, &request);
        let checked = async move {
            // A turn makes many calls, and the quota includes the earlier ones and those of the user's other turns.
            // They have to be recorded before it is checked.
            usage.flush();
            usage.flushed().await;
            if let Err(error) = models.access.check(usage.user, &model).await {
                span.record_rejection(&error);
                return futures_util::stream::once(ready(Err(error))).boxed();
            }
            let facts = models.facts(usage.user, &model).await;
            let price = facts.as_ref().and_then(|facts| facts.price);
            let expected = ExpectedUse {
                input_tokens,
                max_tokens: request.max_tokens,
                output_limit: facts.as_ref().and_then(|facts| facts.output),
                price: models.price(&model, facts.as_ref()),
            };
            let reservation = match models.quotas.reserve(usage.user, &model, call, &expected).await {
                Ok(reservation) => reservation,
                Err(refused) => {
                    let error = refused.into();
                    span.record_rejection(&error);
                    return futures_util::stream::once(ready(Err(error))).boxed();
                }
            };
            let request = Request { max_tokens: reservation.max_tokens.or(request.max_tokens), ..request };
            let events = models.stream(&model, request, usage.user, cancel);
            let mut meter = CallMeter {
                call,
                reserved: reservation.is_stored.then(|| models.quotas.clone()),
                usage,
                model,
                price,
                input_tokens,
                written_bytes: 0,
                reported: Usage::default(),
                started: Instant::now(),
                has_begun: false,
                has_failed: false,
                is_complete: false,
                span,
            };
            events.inspect(move |event| meter.record(event)).boxed()
        };
        futures_util::stream::once(checked).flatten().boxed()
    }
}

/// Observer of one model call. Its cost is added to a [`UsageTracker`] when it is dropped: at the end, after an error,
/// or when the stream is dropped.
struct CallMeter {
    /// Id of the call, under which its usage is reserved and recorded.
    call: Uuid,
    /// Quotas of which the call has reserved something.
    reserved: Option<QuotaService>,
    usage: UsageTracker,
    model: ModelId,
    /// Price of the model; `None` if unknown.
    price: Option<Price>,
    /// Estimated tokens of the request.
    input_tokens: u64,
    /// Size of the output so far, in bytes.
    written_bytes: u64,
    /// Usage that the provider reported.
    reported: Usage,
    /// Start of the call.
    started: Instant,
    /// Whether the model has produced output.
    has_begun: bool,
    /// Whether the provider reported an error, or the output broke off.
    has_failed: bool,
    /// Whether the stream was read to its regular end.
    is_complete: bool,
    /// Span of the call.
    span: ModelCallSpan,
}

impl CallMeter {
    /// Takes note of an event of the model.
    fn record(&mut self, event: &Result<ModelEvent, ModelError>) {
        self.span.record_event(event);
        match event {
            Ok(ModelEvent::PartStart { .. } | ModelEvent::File { .. }) if !self.has_begun => {
                self.has_begun = true;
                let duration = self.started.elapsed();
                metrics::record_first_token(&self.label(), duration);
                self.span.record_first_output(duration);
            }
            Ok(ModelEvent::Delta { text, .. }) => self.written_bytes += text.len() as u64,
            Ok(ModelEvent::Usage(usage)) => self.reported = *usage,
            Ok(ModelEvent::Finish(reason)) => {
                self.is_complete = *reason != FinishReason::Truncated;
                self.has_failed = !self.is_complete;
            }
            Err(_) => self.has_failed = true,
            _ => {}
        }
    }

    /// Returns the name of the model in metrics. Users' own providers share one, so that no user is recognised.
    fn label(&self) -> String {
        if is_user_provider(&self.model.provider) { USER_PROVIDERS.to_owned() } else { self.model.to_string() }
    }

    /// Returns how the call has ended.
    fn outcome(&self) -> ModelCallOutcome {
        match (self.is_complete, self.has_failed) {
            (true, _) => ModelCallOutcome::Done,
            (false, true) => ModelCallOutcome::Failed,
            (false, false) => ModelCallOutcome::Stopped,
        }
    }

    /// Returns the usage, and whether it is an estimate. `None` if the call produced nothing.
    fn usage(&self) -> Option<(Usage, bool)> {
        if !self.has_begun && self.reported == Usage::default() {
            return None;
        }
        // Some providers report no usage, and most report it at the end, so a stream that was cut off needs an
        // estimate.
        if self.is_complete && self.reported.input_tokens > 0 {
            return Some((self.reported, false));
        }
        Some((fill_in(self.reported, self.input_tokens, self.written_bytes), true))
    }
}

impl Drop for CallMeter {
    fn drop(&mut self) {
        let label = self.label();
        metrics::record_model_call(&label, self.outcome(), self.started.elapsed());
        self.span.record_end(self.outcome(), self.usage().map(|(usage, _)| usage));
        let Some((usage, is_estimate)) = self.usage() else {
            if let Some(quotas) = self.reserved.take() {
                let (user, call) = (self.usage.user, self.call);
                self.usage.recorder.tasks.spawn("usage", async move { quotas.release(user, call).await });
            }
            return;
        };
        metrics::record_tokens(&label, usage.input_tokens, usage.output_tokens);
        let nanos = self.price.map(|price| price.cost(usage));
        let UsageTracker { chat, message, .. } = self.usage;
        let (call, model) = (self.call, self.model.to_string());
        self.usage.costs().push(Cost { call, chat, message, model, usage, is_estimate, nanos });
        // Nothing records the costs later, as the end of an answer does.
        if message.is_none() {
            self.usage.flush();
        }
    }
}

/// Estimates the usage of a call that was cut off after `written_bytes` of its answer, from what was `reported` by
/// then.
pub fn estimate_usage(request: &Request, written_bytes: u64, reported: Usage) -> Usage {
    fill_in(reported, estimate_input(request), written_bytes)
}

/// Fills in what the provider did not report with estimates.
fn fill_in(reported: Usage, input_tokens: u64, written_bytes: u64) -> Usage {
    let input_tokens = if reported.input_tokens > 0 { reported.input_tokens } else { input_tokens };
    let output_tokens = reported.output_tokens.max(estimate_tokens(written_bytes));
    Usage { input_tokens, output_tokens, ..reported }
}

/// Estimates the tokens of a request.
fn estimate_input(request: &Request) -> u64 {
    let tools = request.tools.iter().map(|tool| tool.description.len() + tool.input_schema.to_string().len());
    let messages = request.messages.iter().map(ModelMessage::bytes);
    let bytes = request.system.len() + tools.sum::<usize>() + messages.sum::<usize>();
    let files = request.messages.iter().map(|message| message.files().len()).sum::<usize>();
    estimate_tokens(bytes as u64) + files as u64 * TOKENS_PER_FILE
}

/// Estimates the tokens of a text from its length in bytes.
pub(super) fn estimate_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}
