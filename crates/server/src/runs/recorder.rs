//! Where the events of a run go: to its viewers, to the journal, and into the answer.

use std::sync::Arc;
use std::time::Duration;

use domain::message::Part;

use super::event::RunEvent;
use super::{Journal, Run, RunLog};
use crate::app::App;

/// Between two attempts to write what something waits for.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// Records one run.
#[derive(Clone)]
pub struct Recorder {
    run: Arc<Run>,
    /// None where nothing is to be written down.
    journal: Option<Journal>,
    /// Bytes that the run may say.
    most: usize,
}

impl Recorder {
    /// For a run that begins.
    pub fn new(app: &App, run: Arc<Run>) -> Self {
        let journal = run.home.is_lasting().then(|| app.runs.journal().clone());
        Self { run, journal, most: app.runs.limits().turn_bytes }
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
        if let Some(journal) = self.journal.as_ref().filter(|_| event.is_lasting()) {
            journal.push(self.run.id, seq, &json);
        }
        self.weigh();
    }

    fn weigh(&self) {
        if self.run.log.bytes() > self.most {
            self.run.overfull.cancel();
        }
    }

    /// Writes an event down, and tells it then: nobody sees what a kill could undo, and what follows must not happen
    /// before. `false` when it could not be written, so that it must not happen at all; it is told all the same.
    #[must_use]
    pub async fn emit_durably(&self, event: &RunEvent) -> bool {
        let Some(journal) = &self.journal else {
            self.emit(event);
            return true;
        };
        let _held = {
            let mut transcript = self.run.transcript();
            transcript.apply(event);
            let (number, json) = self.run.log.hold(event);
            journal.push(self.run.id, number, &json);
            Held { log: &self.run.log, number }
        };
        self.weigh();
        journal.flush(self.run.id).await && self.is_ours().await
    }

    /// The same, for as long as it takes: what follows waits until the database is back. Where another node drives the run
    /// by then, nothing follows here any more. Where there was too much to keep, it goes on: the answer is stored whole at
    /// its end.
    pub async fn emit_surely(&self, event: &RunEvent) {
        let mut written = self.emit_durably(event).await;
        while let Some(journal) = self.journal.as_ref().filter(|journal| !written && !journal.has_gaps(self.run.id)) {
            tokio::time::sleep(WRITE_AGAIN).await;
            written = journal.flush(self.run.id).await && self.is_ours().await;
        }
    }

    /// Whether no other node has taken the run over. What this one writes is not kept then.
    async fn is_ours(&self) -> bool {
        if !self.run.home.is_shared() {
            return true;
        }
        let is_ours = self.run.home.is_driven_here(self.run.owner, self.run.id).await;
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

/// An event that is kept back. Who waits for it may be gone before it is written: what follows it must not wait for ever.
struct Held<'a> {
    log: &'a RunLog,
    number: u64,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.log.release(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_follows_an_event_is_told_although_nobody_waits_for_it_any_more() {
        let log = RunLog::default();
        let mut cursor = log.follow(0);
        let (number, _) = log.hold(&"held");
        let held = Held { log: &log, number };
        log.append(&"next");
        let waits = async {
            let _held = held;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = waits => {}
            () = std::future::ready(()) => {}
        }
        let told = log.next(&mut cursor).await.unwrap();
        assert!(told.ends_with(b"data: \"next\"\n\n"), "{told:?}");
    }
}
