//! Recording of a turn's events: in its event log, in the journal, and in the transcript that becomes the answer.

use std::sync::Arc;
use std::time::Duration;

use domain::message::Part;
use platform::BackgroundTasks;

use super::TurnService;
use super::event::TurnEvent;
use super::{Journal, Turn};

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
    tasks: BackgroundTasks,
}

impl EventRecorder {
    /// Creates a recorder of a turn that begins or resumes.
    pub fn new(turns: &TurnService, turn: Arc<Turn>) -> Self {
        let journal = turn.storage.is_lasting().then(|| turns.journal().clone());
        Self { turn, journal, max_log_bytes: turns.limits().turn_bytes, tasks: turns.tasks.clone() }
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
    /// it announces must not happen then. An event that could not be written is published all the same, so that
    /// subscribers can follow the turn while the database is down.
    #[must_use]
    pub async fn emit_synced(&self, event: &TurnEvent) -> bool {
        let Some(journal) = &self.journal else {
            self.emit(event);
            return true;
        };
        // The lock is released before the wait: other calls of the turn record their events meanwhile. Those stay
        // invisible behind this one until it is written, so that the order is kept.
        let number = {
            let mut transcript = self.turn.transcript();
            transcript.apply(event);
            let (number, json) = self.turn.event_log.append_uncommitted(event);
            journal.append(self.turn.id, number, &json);
            number
        };
        self.check_size();
        // A task of its own, because the caller is cancelled when the turn is stopped: the event is published when it
        // is written, neither earlier nor never.
        let write = self.clone().publish_written(journal.clone(), number);
        self.tasks.spawn_and_wait("event", write).await.unwrap_or_default()
    }

    /// Waits until an event of the log is written, and publishes it. Returns whether it was written.
    async fn publish_written(self, journal: Journal, number: u64) -> bool {
        let mut is_written = journal.flush(self.turn.id).await;
        // A write that was dropped because another node owns the turn is no error, so the owner is asked after it.
        // That node does not know the event, so that it is not published.
        if is_written {
            match self.is_still_owner().await {
                Ok(true) => {}
                Ok(false) => return false,
                Err(()) => is_written = false,
            }
        }
        self.turn.event_log.commit(number);
        is_written
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
            written = journal.flush(self.turn.id).await && self.is_still_owner().await == Ok(true);
        }
    }

    /// Returns whether this node still owns the turn. If another node has taken it over, what this one writes is
    /// discarded. Returns `Err` if the database does not say.
    async fn is_still_owner(&self) -> Result<bool, ()> {
        if !self.turn.storage.is_shared() {
            return Ok(true);
        }
        let is_still_owner = self.turn.storage.turns().is_driven_here(self.turn.owner, self.turn.id).await;
        is_still_owner.map_err(|error| {
            tracing::warn!(%error, turn_id = %self.turn.id, "the owner of the turn could not be read");
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::{Mutex, OnceLock};

    use domain::clock::SystemClock;
    use domain::{ChatId, MessageId, TurnId, UserId};
    use futures_util::FutureExt;

    use storage::Storage;
    use storage::usage::OfAnswer;
    use tokio_util::sync::CancellationToken;

    use super::super::EventLog;
    use super::super::background_calls::ActiveCalls;
    use super::super::event::NoticeData;
    use super::super::pending_interactions::PendingInteractions;
    use super::*;
    use crate::models::usage_recording::UsageRecorder;

    fn turn(storage: &Storage, tasks: &BackgroundTasks) -> Turn {
        let (id, chat, message_id, owner) = (TurnId::fresh(), ChatId::fresh(), MessageId::fresh(), UserId::fresh());
        let usage = UsageRecorder::new(storage.clone(), Arc::new(SystemClock), tasks.clone());
        Turn {
            id,
            chat,
            owner,
            storage: storage.clone(),
            message_id,
            event_log: EventLog::default(),
            transcript: Mutex::default(),
            interactions: PendingInteractions::default(),
            calls: ActiveCalls::default(),
            usage: usage.track_answer(owner, OfAnswer { chat, message: message_id }),
            stop: CancellationToken::new(),
            is_preempted: AtomicBool::new(false),
            memory_exceeded: CancellationToken::new(),
            ownership_lost: CancellationToken::new(),
            result: OnceLock::new(),
        }
    }

    fn notice(text: &str) -> TurnEvent {
        TurnEvent::DataNotice { data: NoticeData { text: text.to_owned() } }
    }

    #[tokio::test]
    async fn an_event_whose_caller_is_cancelled_is_published_when_it_is_written_and_not_before() {
        let folder = tempfile::TempDir::new().unwrap();
        let storage = Storage::open(&format!("sqlite://{}", folder.path().join("test.db").display())).await.unwrap();
        let tasks = BackgroundTasks::default();
        let (journal, writer) = Journal::new(storage.clone(), CancellationToken::new());
        let turn = Arc::new(turn(&storage, &tasks));
        let recorder = EventRecorder { turn: Arc::clone(&turn), journal: Some(journal), max_log_bytes: 1 << 20, tasks };
        let mut cursor = turn.event_log.follow(0);
        // The writer does not run yet, as if the database hung.
        let cancelled = tokio::time::timeout(Duration::from_millis(50), recorder.emit_synced(&notice("first"))).await;
        assert!(cancelled.is_err());
        recorder.emit(&notice("second"));
        assert!(turn.event_log.next(&mut cursor).now_or_never().is_none(), "nothing is written yet");
        let published = async {
            let piece = turn.event_log.next(&mut cursor).await.unwrap();
            String::from_utf8(piece.to_vec()).unwrap()
        };
        tokio::select! {
            published = published => assert!(published.contains("first") && published.contains("second"), "{published}"),
            () = writer => panic!("the writer ended"),
        }
    }
}
