//! Recording of a turn's events: in its event log, in the journal, and in the transcript that becomes the answer.

use std::sync::Arc;
use std::time::Duration;

use domain::message::Part;

use super::TurnService;
use super::event::TurnEvent;
use super::{EventLog, Journal, Turn};

/// Pause between attempts to write an event that the turn must not continue without.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Recorder of one turn's events.
#[derive(Clone)]
pub struct EventRecorder {
    turn: Arc<Turn>,
    /// Journal of durable events; `None` for a temporary chat, of which nothing is written to the database.
    journal: Option<Journal>,
    /// Memory limit of the turn's event log, in bytes.
    max_log_bytes: usize,
}

impl EventRecorder {
    /// Creates a recorder of a turn that begins or resumes.
    pub fn new(turns: &TurnService, turn: Arc<Turn>) -> Self {
        let journal = turn.storage.is_lasting().then(|| turns.journal().clone());
        Self { turn, journal, max_log_bytes: turns.limits().turn_bytes }
    }

    /// Returns the turn that is recorded.
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Records an event and publishes it at once; the journal writes it within 250 ms if it is durable.
    pub fn emit(&self, event: &TurnEvent) {
        // The transcript's lock is held while the event gets its number, so that the order of the log, the journal
        // and the transcript is the same.
        let mut transcript = self.turn.transcript();
        transcript.apply(event);
        let (seq, json) = self.turn.event_log.append(event);
        if let Some(journal) = self.journal.as_ref().filter(|_| event.is_lasting()) {
            journal.append(self.turn.id, seq, &json);
        }
        self.check_size();
    }

    /// Cancels the turn if its event log exceeds the memory limit.
    fn check_size(&self) {
        if self.turn.event_log.bytes() > self.max_log_bytes {
            self.turn.memory_exceeded.cancel();
        }
    }

    /// Writes an event to the database and publishes it after that: no subscriber sees what a crash could undo.
    ///
    /// Returns `false` if the event could not be written, or if another node has taken over the turn. The step that
    /// it announces must not happen then. The event is published in either case.
    #[must_use]
    pub async fn emit_synced(&self, event: &TurnEvent) -> bool {
        let Some(journal) = &self.journal else {
            self.emit(event);
            return true;
        };
        // The lock is released before the wait: other calls of the turn record their events meanwhile. Those stay
        // invisible behind this one until it is written, so that the order is kept.
        let _held = {
            let mut transcript = self.turn.transcript();
            transcript.apply(event);
            let (number, json) = self.turn.event_log.append_uncommitted(event);
            journal.append(self.turn.id, number, &json);
            WithheldEvent { log: &self.turn.event_log, number }
        };
        self.check_size();
        // A write that was dropped because another node owns the turn is no error, so the owner is asked after it.
        journal.flush(self.turn.id).await && self.is_still_owner().await
    }

    /// Records an event like [`emit_synced`](Self::emit_synced), and repeats the write until the database is back.
    ///
    /// If another node has taken over the turn by then, this never returns, and the turn is cancelled from outside.
    /// If the journal has dropped events of the turn because too many were waiting, it returns at once: the whole
    /// answer is stored at the end of the turn.
    pub async fn emit_with_retry(&self, event: &TurnEvent) {
        let mut written = self.emit_synced(event).await;
        while let Some(journal) = self.journal.as_ref().filter(|journal| !written && !journal.is_lossy(self.turn.id)) {
            tokio::time::sleep(RETRY_INTERVAL).await;
            written = journal.flush(self.turn.id).await && self.is_still_owner().await;
        }
    }

    /// Returns whether this node still owns the turn. If another node has taken it over, what this one writes is
    /// discarded.
    async fn is_still_owner(&self) -> bool {
        if !self.turn.storage.is_shared() {
            return true;
        }
        let is_still_owner = self.turn.storage.turns().is_driven_here(self.turn.owner, self.turn.id).await;
        is_still_owner.unwrap_or_else(|error| {
            tracing::warn!(%error, turn_id = %self.turn.id, "the owner of the turn could not be read");
            false
        })
    }

    /// Returns the parts of the answer so far; see
    /// [`Transcript::into_parts`](super::transcript::Transcript::into_parts).
    pub fn parts(&self) -> Vec<Part> {
        self.turn.transcript().clone().into_parts()
    }

    /// Takes the parts of the answer so far out of the transcript, which is empty then.
    pub fn take_parts(&self) -> Vec<Part> {
        // Not copied: the answer may be many megabytes, and nothing is recorded any more.
        std::mem::take(&mut *self.turn.transcript()).into_parts()
    }
}

/// An event that is withheld from subscribers until it is written. It is released when this guard is dropped: the
/// future that waits for the write may be cancelled, and the events after it must not be withheld forever.
struct WithheldEvent<'a> {
    log: &'a EventLog,
    number: u64,
}

impl Drop for WithheldEvent<'_> {
    fn drop(&mut self) {
        self.log.commit(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_follows_an_event_is_told_although_nobody_waits_for_it_any_more() {
        let log = EventLog::default();
        let mut cursor = log.follow(0);
        let (number, _) = log.append_uncommitted(&"held");
        let held = WithheldEvent { log: &log, number };
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
