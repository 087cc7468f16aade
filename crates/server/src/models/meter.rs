//! What calls of models cost, told by the provider or estimated, and written down however the call ends.

use std::time::Duration;

use domain::UserId;
use domain::model::{FinishReason, ModelError, ModelEvent, ModelMessage, Request, Usage};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use store::usage::{Cost, OfAnswer};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::{ModelId, allowance};
use crate::app::App;

/// Bytes of text that come to a token, roughly.
const TOKEN: u64 = 4;

/// Between two attempts to write what a call cost.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// How long is waited for what was not written yet: a database that is away must not hold up an answer.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// In whose name a model is asked, and for what.
#[derive(Debug, Clone)]
pub struct Payer {
    /// The person.
    pub user: UserId,
    /// The answer that the call is part of; `None` for a question of another program.
    pub of: Option<OfAnswer>,
    /// The bill that the calls are put on.
    pub bill: Bill,
}

/// What the calls of one answer cost, and whether it is written down yet.
#[derive(Debug, Clone)]
pub struct Bill {
    unwritten: TaskTracker,
}

impl Default for Bill {
    fn default() -> Self {
        let unwritten = TaskTracker::new();
        // Only a closed one can be waited for, and it takes more all the same.
        unwritten.close();
        Self { unwritten }
    }
}

impl Bill {
    /// Waits until everything that was asked for so far is written down, for at most two seconds.
    pub async fn written(&self) {
        if tokio::time::timeout(LONGEST_WAIT, self.unwritten.wait()).await.is_err() {
            tracing::warn!("what a model cost is still to be written");
        }
    }

    fn open(&self) -> TaskTrackerToken {
        self.unwritten.token()
    }
}

/// Asks, and writes down what it cost. Dropping the stream, or `cancel`, ends the answer at the model too.
pub fn ask(
    app: &App,
    payer: Payer,
    model: &ModelId,
    request: Request,
    cancel: CancellationToken,
) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    let (user, bill) = (payer.user, payer.bill.clone());
    let mut meter = Meter {
        app: app.clone(),
        payer,
        model: model.clone(),
        read: bytes(&request),
        written: 0,
        told: Usage::default(),
        has_begun: false,
        is_whole: false,
    };
    let answer = app.models.stream(model, request, user, cancel);
    let (inner, model) = (app.clone(), model.clone());
    // A turn asks many times: what it and others of the person have cost meanwhile counts, too.
    let checked = async move {
        bill.written().await;
        match allowance::check(&inner, user, &model).await {
            Ok(()) => answer,
            Err(over) => futures_util::stream::once(async move { Err(over.into()) }).boxed(),
        }
    };
    futures_util::stream::once(checked).flatten().inspect(move |event| meter.hear(event)).boxed()
}

/// Follows one call. What it cost is written when this is dropped: at its end, when it breaks, or when nobody listens.
struct Meter {
    app: App,
    payer: Payer,
    model: ModelId,
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
        let input_tokens = if self.told.input_tokens > 0 { self.told.input_tokens } else { self.read.div_ceil(TOKEN) };
        let output_tokens = self.told.output_tokens.max(self.written.div_ceil(TOKEN));
        Some((Usage { input_tokens, output_tokens, ..self.told }, true))
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let Some((usage, is_estimate)) = self.cost() else { return };
        let (app, Payer { user, of, bill }) = (self.app.clone(), self.payer.clone());
        let (model, unwritten) = (self.model.clone(), bill.open());
        self.app.tasks.spawn("usage", async move {
            let price = app.models.facts(user, &model).await.and_then(|facts| facts.price);
            let nanos = price.map(|price| price.cost(usage));
            let cost = Cost { call: domain::ids::fresh(), of, model: model.to_string(), usage, is_estimate, nanos };
            write(&app, user, &cost).await;
            drop(unwritten);
        });
    }
}

/// Writes down what a call cost, however long the database is away or too busy.
async fn write(app: &App, user: UserId, cost: &Cost) {
    let now = app.clock.now();
    loop {
        // When the program stops, once more and then no more.
        let is_last = app.tasks.stopping().is_cancelled();
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
            () = app.tasks.stopping().cancelled() => {}
        }
    }
}

/// What a request holds, in bytes.
fn bytes(request: &Request) -> u64 {
    let tools = request.tools.iter().map(|tool| tool.description.len() + tool.input_schema.to_string().len());
    let messages = request.messages.iter().map(ModelMessage::bytes);
    (request.system.len() + tools.sum::<usize>() + messages.sum::<usize>()) as u64
}
