//! Usage recording: the tokens and the cost of each model call, reported by the provider or estimated, and recorded
//! however the call ends.

use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::UserId;
use domain::model::{FinishReason, ModelError, ModelEvent, ModelMessage, Request, Usage};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use store::usage::{Cost, OfAnswer};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::catalogue::Price;
use super::{ModelId, allowance};
use crate::app::App;

/// Approximate number of bytes of text per token.
const TOKEN: u64 = 4;

/// Pause between attempts to record a cost.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// Longest wait for costs that are being recorded: an unreachable database must not delay an answer.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// [Costs](Cost) of the model calls of one answer, as far as they are not recorded yet. A call's cost is added when
/// the call ends. All clones share the same list.
#[derive(Debug, Clone)]
pub struct Bill {
    user: UserId,
    /// Answer that the calls belong to; `None` for a request to the OpenAI-compatible API.
    of: Option<OfAnswer>,
    /// Costs that are not recorded yet.
    owed: Arc<Mutex<Vec<Cost>>>,
    /// Tasks that record costs.
    unwritten: TaskTracker,
}

impl Bill {
    /// Creates an empty list for an answer of a chat. Its costs are [recorded separately](Self::settle) or in the
    /// transaction that stores the answer.
    pub fn of_answer(user: UserId, of: OfAnswer) -> Self {
        Self::new(user, Some(of))
    }

    /// Creates an empty list for a request to the OpenAI-compatible API. Costs are recorded at once.
    pub fn of_question(user: UserId) -> Self {
        Self::new(user, None)
    }

    fn new(user: UserId, of: Option<OfAnswer>) -> Self {
        let unwritten = TaskTracker::new();
        // A tracker must be closed to be waited for. It still accepts tasks.
        unwritten.close();
        Self { user, of, owed: Arc::default(), unwritten }
    }

    /// Returns the costs that are neither recorded nor being recorded.
    pub fn owed(&self) -> Vec<Cost> {
        self.costs().clone()
    }

    /// Removes costs that have been recorded.
    pub fn paid(&self, costs: &[Cost]) {
        self.costs().retain(|owed| costs.iter().all(|paid| paid.call != owed.call));
    }

    /// Records the costs so far in a task of its own, which retries for as long as the database is unreachable.
    pub fn settle(&self, app: &App) {
        // Taken, so that a concurrent call cannot record them twice.
        let costs = std::mem::take(&mut *self.costs());
        if costs.is_empty() {
            return;
        }
        let (inner, user, unwritten) = (app.clone(), self.user, self.unwritten.token());
        app.tasks.spawn("usage", async move {
            for cost in &costs {
                write(&inner, user, cost).await;
            }
            drop(unwritten);
        });
    }

    /// Returns a guard that records the remaining costs when it is dropped, however the answer ends.
    pub fn settling<'a>(&'a self, app: &'a App) -> Settling<'a> {
        Settling { bill: self, app }
    }

    /// Waits until the costs of earlier calls of [`settle`](Self::settle) are recorded, at most two seconds.
    pub async fn settled(&self) {
        if tokio::time::timeout(LONGEST_WAIT, self.unwritten.wait()).await.is_err() {
            tracing::warn!("what a model cost is still to be written");
        }
    }

    fn costs(&self) -> MutexGuard<'_, Vec<Cost>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard that records the remaining costs when it is dropped; see [`Bill::settling`].
pub struct Settling<'a> {
    bill: &'a Bill,
    app: &'a App,
}

impl Drop for Settling<'_> {
    fn drop(&mut self) {
        self.bill.settle(self.app);
    }
}

/// Calls a model and adds the cost to `bill`. The user's quota is checked first. Dropping the stream, or cancelling
/// `cancel`, also ends the generation at the provider.
pub fn ask(
    app: &App,
    bill: &Bill,
    model: &ModelId,
    request: Request,
    cancel: CancellationToken,
) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    let (app, bill, model) = (app.clone(), bill.clone(), model.clone());
    let read = bytes(&request);
    let answer = app.models.stream(&model, request, bill.user, cancel);
    let checked = async move {
        // A turn makes many calls, and the quota includes the earlier ones and those of the user's other turns. They
        // have to be recorded before it is checked.
        bill.settle(&app);
        bill.settled().await;
        let (checked, facts) =
            tokio::join!(allowance::check(&app, bill.user, &model), app.models.facts(bill.user, &model));
        if let Err(over) = checked {
            return futures_util::stream::once(ready(Err(over.into()))).boxed();
        }
        let price = facts.and_then(|facts| facts.price);
        let (told, is_whole) = (Usage::default(), false);
        let mut meter = Meter { app, bill, model, price, read, written: 0, told, has_begun: false, is_whole };
        answer.inspect(move |event| meter.hear(event)).boxed()
    };
    futures_util::stream::once(checked).flatten().boxed()
}

/// Observer of one model call. It adds to a [`Bill`]. Its cost is added when it is dropped: at the end, after an
/// error, or when the stream is dropped.
struct Meter {
    app: App,
    bill: Bill,
    model: ModelId,
    /// Price of the model; `None` if unknown.
    price: Option<Price>,
    /// Size of the request, in bytes.
    read: u64,
    /// Size of the output so far, in bytes.
    written: u64,
    /// Usage that the provider reported.
    told: Usage,
    /// Whether the model has produced output.
    has_begun: bool,
    /// Whether the stream was read to its regular end.
    is_whole: bool,
}

impl Meter {
    /// Takes note of an event of the model.
    fn hear(&mut self, event: &Result<ModelEvent, ModelError>) {
        match event {
            Ok(ModelEvent::PartStart { .. } | ModelEvent::File { .. }) => self.has_begun = true,
            Ok(ModelEvent::Delta { text, .. }) => self.written += text.len() as u64,
            Ok(ModelEvent::Usage(usage)) => self.told = *usage,
            Ok(ModelEvent::Finish(reason)) => self.is_whole = *reason != FinishReason::Truncated,
            _ => {}
        }
    }

    /// Returns the usage, and whether it is an estimate. `None` if the call produced nothing.
    fn cost(&self) -> Option<(Usage, bool)> {
        if !self.has_begun && self.told == Usage::default() {
            return None;
        }
        // Some providers report no usage, and most report it at the end, so a stream that was cut off needs an
        // estimate.
        let is_told = self.is_whole && self.told.input_tokens > 0;
        if is_told {
            return Some((self.told, false));
        }
        Some((estimated(self.told, self.read, self.written), true))
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let Some((usage, is_estimate)) = self.cost() else { return };
        let nanos = self.price.map(|price| price.cost(usage));
        let (call, of) = (domain::ids::fresh(), self.bill.of);
        self.bill.costs().push(Cost { call, of, model: self.model.to_string(), usage, is_estimate, nanos });
        if of.is_none() {
            self.bill.settle(&self.app);
        }
    }
}

/// Records the cost of a call, and retries for as long as the database is unreachable.
async fn write(app: &App, user: UserId, cost: &Cost) {
    let now = app.clock.now();
    loop {
        // During shutdown it is tried once more.
        let is_last = app.tasks.shutdown_token().is_cancelled();
        match app.store.insert_cost(user, cost, now).await {
            Ok(()) => return,
            Err(error) if error.is_outage() && !is_last => {
                tracing::warn!(%error, "what a model cost could not be written; trying again");
            }
            Err(error) => {
                tracing::error!(%error, "what a model cost could not be written");
                return;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(WRITE_AGAIN) => {}
            () = app.tasks.shutdown_token().cancelled() => {}
        }
    }
}

/// Estimates the usage of a call that was cut off after `written_bytes` of its answer, from what was `reported` by
/// then.
pub fn estimate(request: &Request, written_bytes: u64, reported: Usage) -> Usage {
    estimated(reported, bytes(request), written_bytes)
}

/// Fills in what the provider did not report with estimates from the number of bytes.
fn estimated(reported: Usage, read_bytes: u64, written_bytes: u64) -> Usage {
    let input_tokens = if reported.input_tokens > 0 { reported.input_tokens } else { read_bytes.div_ceil(TOKEN) };
    let output_tokens = reported.output_tokens.max(written_bytes.div_ceil(TOKEN));
    Usage { input_tokens, output_tokens, ..reported }
}

/// Returns the size of a request in bytes, without its files.
fn bytes(request: &Request) -> u64 {
    let tools = request.tools.iter().map(|tool| tool.description.len() + tool.input_schema.to_string().len());
    let messages = request.messages.iter().map(ModelMessage::bytes);
    (request.system.len() + tools.sum::<usize>() + messages.sum::<usize>()) as u64
}
