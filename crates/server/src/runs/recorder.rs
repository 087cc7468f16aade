//! Where the events of a run go: to its viewers, to the journal, and into the answer.

use std::sync::Arc;

use domain::message::Part;
use store::Store;

use super::event::RunEvent;
use super::{Journal, Run};
use crate::app::App;

/// Records one run.
#[derive(Clone)]
pub struct Recorder {
    run: Arc<Run>,
    journal: Journal,
    store: Store,
}

impl Recorder {
    /// For a run that begins.
    pub fn new(app: &App, run: Arc<Run>) -> Self {
        Self { run, journal: app.runs.journal().clone(), store: app.store.clone() }
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Tells everybody.
    pub fn emit(&self, event: &RunEvent) {
        let mut transcript = self.run.transcript();
        transcript.apply(event);
        let (seq, json) = self.run.log.append(event);
        if event.is_lasting() {
            self.journal.push(self.run.id, seq, json);
        }
    }

    /// Writes an event down, and tells it then: nobody sees what a kill could undo, and what follows must not happen
    /// before. `false` when it could not be written, so that it must not happen at all; it is told all the same.
    #[must_use]
    pub async fn emit_durably(&self, event: &RunEvent) -> bool {
        let number = {
            let mut transcript = self.run.transcript();
            transcript.apply(event);
            let (number, json) = self.run.log.hold(event);
            self.journal.push(self.run.id, number, json);
            number
        };
        let written = self.journal.flush().await && self.is_ours().await;
        self.run.log.release(number);
        written
    }

    /// Whether no other node has taken the run over. What this one writes is not kept then.
    async fn is_ours(&self) -> bool {
        if !self.store.is_shared() {
            return true;
        }
        let is_ours = self.store.is_driven_here(self.run.owner, self.run.id).await;
        is_ours.unwrap_or_else(|error| {
            tracing::warn!(%error, run = %self.run.id, "it is not known who drives a run");
            false
        })
    }

    /// The answer as far as it has come.
    pub fn parts(&self) -> Vec<Part> {
        self.run.transcript().clone().into_parts()
    }

    /// The answer as far as it has come; the recorder starts over with nothing.
    pub fn take_parts(&self) -> Vec<Part> {
        std::mem::take(&mut *self.run.transcript()).into_parts()
    }
}
