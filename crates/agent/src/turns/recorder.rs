//! Recording of a turn's events: in its event log, in the journal, and in the transcript that becomes the answer.

use std::sync::Arc;
use std::time::Duration;

use domain::message::Part;

use super::TurnService;
use super::event::RunEvent;
use super::{Journal, Run, RunLog};

/// Pause between attempts to write an event that the turn must not continue without.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// Recorder of one turn's events.
#[derive(Clone)]
pub struct Recorder {
    run: Arc<Run>,
    /// Journal of durable events; `None` for a temporary chat, of which nothing is written to the database.
    journal: Option<Journal>,
    /// Memory limit of the turn's event log, in bytes.
    most: usize,
}

impl Recorder {
    /// Creates a recorder of a turn that begins or resumes.
    pub fn new(turns: &TurnService, run: Arc<Run>) -> Self {
        let journal = run.home.is_lasting().then(|| turns.journal().clone());
        Self { run, journal, most: turns.limits().turn_bytes }
    }

    /// Returns the turn that is recorded.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Records an event and publishes it at once; the journal writes it within 250 ms if it is durable.
    pub fn emit(&self, event: &RunEvent) {
        // The transcript's lock is held while the event gets its number, so that the order of the log, the journal
        // and the transcript is the same.
        let mut transcript = self.run.transcript();
        transcript.apply(event);
        let (seq, json) = self.run.log.append(event);
        if let Some(journal) = self.journal.as_ref().filter(|_| event.is_lasting()) {
            journal.push(self.run.id, seq, &json);
        }
        self.weigh();
    }

    /// Cancels the turn if its event log exceeds the memory limit.
    fn weigh(&self) {
        if self.run.log.bytes() > self.most {
            self.run.overfull.cancel();
        }
    }

    /// Writes an event to the database and publishes it after that: no subscriber sees what a crash could undo.
    ///
    /// Returns `false` if the event could not be written, or if another node has taken over the turn. The step that
    /// it announces must not happen then. The event is published in either case.
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

    /// Records an event like [`emit_durably`](Self::emit_durably), and repeats the write until the database is back.
    ///
    /// If another node has taken over the turn by then, this never returns, and the turn is cancelled from outside.
    /// If the journal has dropped events of the turn because too many were waiting, it returns at once: the whole
    /// answer is stored at the end of the turn.
    pub async fn emit_surely(&self, event: &RunEvent) {
        let mut written = self.emit_durably(event).await;
        while let Some(journal) = self.journal.as_ref().filter(|journal| !written && !journal.has_gaps(self.run.id)) {
            tokio::time::sleep(WRITE_AGAIN).await;
            written = journal.flush(self.run.id).await && self.is_ours().await;
        }
    }

    /// Returns whether this node still owns the turn. If another node has taken it over, what this one writes is
    /// discarded.
    async fn is_ours(&self) -> bool {
        if !self.run.home.is_shared() {
            return true;
        }
        let is_ours = self.run.home.turns().is_driven_here(self.run.owner, self.run.id).await;
        is_ours.unwrap_or_else(|error| {
            tracing::warn!(%error, run = %self.run.id, "it is not known who drives a run");
            false
        })
    }

    /// Returns the parts of the answer so far; see
    /// [`Transcript::into_parts`](super::transcript::Transcript::into_parts).
    pub fn parts(&self) -> Vec<Part> {
        self.run.transcript().clone().into_parts()
    }

    /// Takes the parts of the answer so far out of the transcript, which is empty then.
    pub fn take_parts(&self) -> Vec<Part> {
        std::mem::take(&mut *self.run.transcript()).into_parts()
    }
}

/// An event that is withheld from subscribers until it is written. It is released when this guard is dropped: the
/// future that waits for the write may be cancelled, and the events after it must not be withheld forever.
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
