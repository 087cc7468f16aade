//! What calls of models cost, told by the provider or estimated, and written down however the call ends.

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

/// Bytes of text that come to a token, roughly.
const TOKEN: u64 = 4;

/// Between two attempts to write what a call cost.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// How long is waited for what was not written yet: a database that is away must not hold up an answer.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// What the calls of one answer cost its person, as far as it is not written down. What a call cost is put on it when the call ends.
/// All clones are the same bill.
#[derive(Debug, Clone)]
pub struct Bill {
    user: UserId,
    of: Option<OfAnswer>,
    owed: Arc<Mutex<Vec<Cost>>>,
    unwritten: TaskTracker,
}

impl Bill {
    /// For an answer of a chat. What is owed is [settled](Self::settle), or is written with the answer.
    pub fn of_answer(user: UserId, of: OfAnswer) -> Self {
        Self::new(user, Some(of))
    }

    /// For a question of another program. What a call cost is written down at once.
    pub fn of_question(user: UserId) -> Self {
        Self::new(user, None)
    }

    fn new(user: UserId, of: Option<OfAnswer>) -> Self {
        let unwritten = TaskTracker::new();
        // Only a closed one can be waited for, and it takes more all the same.
        unwritten.close();
        Self { user, of, owed: Arc::default(), unwritten }
    }

    /// What is neither written down nor being written.
    pub fn owed(&self) -> Vec<Cost> {
        self.costs().clone()
    }

    /// What was owed so far has been written down.
    pub fn paid(&self, costs: &[Cost]) {
        self.costs().retain(|owed| costs.iter().all(|paid| paid.call != owed.call));
    }

    /// Has what is owed written down by itself, however long that takes.
    pub fn settle(&self, app: &App) {
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

    /// Has what is owed by then written down when this is dropped: however an answer ends, its costs are.
    pub fn settling<'a>(&'a self, app: &'a App) -> Settling<'a> {
        Settling { bill: self, app }
    }

    /// Waits until what was to be [settled](Self::settle) is written down, for at most two seconds.
    pub async fn settled(&self) {
        if tokio::time::timeout(LONGEST_WAIT, self.unwritten.wait()).await.is_err() {
            tracing::warn!("what a model cost is still to be written");
        }
    }

    fn costs(&self) -> MutexGuard<'_, Vec<Cost>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A bill that is about to be closed.
pub struct Settling<'a> {
    bill: &'a Bill,
    app: &'a App,
}

impl Drop for Settling<'_> {
    fn drop(&mut self) {
        self.bill.settle(self.app);
    }
}

/// Asks, and puts on the bill what it cost. Dropping the stream, or `cancel`, ends the answer at the model too.
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
        // A turn asks many times: what it and others of the person have cost meanwhile counts, too.
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

/// Follows one call. What it cost is put on the bill when this is dropped: at its end, when it breaks, or when nobody listens.
struct Meter {
    app: App,
    bill: Bill,
    model: ModelId,
    price: Option<Price>,
    /// Bytes.
    read: u64,
    /// Bytes.
    written: u64,
    told: Usage,
    has_begun: bool,
    is_whole: bool,
}

impl Meter {
    fn hear(&mut self, event: &Result<ModelEvent, ModelError>) {
        match event {
            Ok(ModelEvent::PartStart { .. } | ModelEvent::File { .. }) => self.has_begun = true,
            Ok(ModelEvent::Delta { text, .. }) => self.written += text.len() as u64,
            Ok(ModelEvent::Usage(usage)) => self.told = *usage,
            Ok(ModelEvent::Finish(reason)) => self.is_whole = *reason != FinishReason::Truncated,
            _ => {}
        }
    }

    /// The tokens, and whether they are an estimate. `None` for a call that came to nothing.
    fn cost(&self) -> Option<(Usage, bool)> {
        if !self.has_begun && self.told == Usage::default() {
            return None;
        }
        // Some providers tell nothing, and most tell it last.
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

/// Writes down what a call cost, however long the database is away or too busy.
async fn write(app: &App, user: UserId, cost: &Cost) {
    let now = app.clock.now();
    loop {
        // When the program stops, once more and then no more.
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

/// Estimates the usage of a call that was cut off after `written_bytes` of its answer, from what was `reported` by then.
pub fn estimate(request: &Request, written_bytes: u64, reported: Usage) -> Usage {
    estimated(reported, bytes(request), written_bytes)
}

fn estimated(reported: Usage, read_bytes: u64, written_bytes: u64) -> Usage {
    let input_tokens = if reported.input_tokens > 0 { reported.input_tokens } else { read_bytes.div_ceil(TOKEN) };
    let output_tokens = reported.output_tokens.max(written_bytes.div_ceil(TOKEN));
    Usage { input_tokens, output_tokens, ..reported }
}

/// What a request holds, in bytes.
fn bytes(request: &Request) -> u64 {
    let tools = request.tools.iter().map(|tool| tool.description.len() + tool.input_schema.to_string().len());
    let messages = request.messages.iter().map(ModelMessage::bytes);
    (request.system.len() + tools.sum::<usize>() + messages.sum::<usize>()) as u64
}
