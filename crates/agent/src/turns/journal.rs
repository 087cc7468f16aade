//! The event journal: a durable copy of the events of all turns, written in batches by one task.
//!
//! Streaming a token never waits for the database. Events that are not yet written when the process is killed are at
//! most 250 ms old.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::TurnId;
use platform::metrics;
use storage::Storage;
use storage::turns::Chunk;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::journal_codec::append_line;

/// Longest time that an event waits before it is written.
const FLUSH_INTERVAL: Duration = Duration::from_millis(250);
/// Number of waiting bytes of one turn above which everything that waits is written at once.
const FLUSH_BYTES: usize = 4 * 1024;
/// Pause after a failed write.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Number of attempts of a write that a caller waits for.
const MAX_FLUSH_ATTEMPTS: u32 = 3;
/// Maximum number of bytes that wait for the database. A turn with more to write is dropped from the journal: its
/// answer is stored whole at its end, and until then it may not do anything that has to be durable first.
const MAX_BUFFERED_BYTES: usize = 64 * 1024 * 1024;

/// Handle for writing events of turns; cheap to clone.
#[derive(Debug, Clone)]
pub struct Journal {
    buffer: Arc<Buffer>,
}

/// Buffer between the turns and the [`Writer`]. Events are appended to the text of their turn, and the writer is
/// woken for the first event of a batch, not for each.
#[derive(Debug, Default)]
struct Buffer {
    waiting: Mutex<Buffered>,
    wake: Notify,
    /// Whether the last write failed.
    is_stalled: AtomicBool,
}

#[derive(Debug, Default)]
struct Buffered {
    /// Events of each turn, in the format of the database, with the number of the last one.
    turns: HashMap<TurnId, (u64, String)>,
    /// Bytes of the waiting events and of those that are being written.
    bytes: usize,
    /// Turns of which events were dropped; usually empty.
    incomplete: HashSet<TurnId>,
    /// Time by which the waiting events are written.
    due: Option<Instant>,
    /// Time at which the oldest of the waiting events was buffered, those of a flush aside.
    oldest: Option<Instant>,
    /// Whether a turn has more than [`FLUSH_BYTES`] bytes waiting.
    is_full: bool,
    /// Callers that wait until the earlier events of a turn are written. The answer is whether that succeeded.
    flushes: Vec<(TurnId, oneshot::Sender<bool>)>,
    /// Callers that take the waiting events of a turn to write them themselves.
    takes: Vec<(TurnId, oneshot::Sender<Option<Chunk>>)>,
    /// Whether the writer has stopped. Events are discarded then.
    is_closed: bool,
}

impl Journal {
    /// Creates a journal and its writer, which runs as a task until `stopping` is cancelled and everything is
    /// written.
    pub fn new(storage: Storage, stopping: CancellationToken) -> (Self, impl Future<Output = ()>) {
        let buffer = Arc::new(Buffer::default());
        let writer = Writer { storage, buffer: Arc::clone(&buffer) };
        (Self { buffer }, writer.run(stopping))
    }

    /// Returns the bytes of the events that are not written yet.
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.waiting().bytes
    }

    /// Returns whether the last write failed and its events still wait.
    pub fn is_stalled(&self) -> bool {
        self.buffer.is_stalled.load(Ordering::Relaxed) && self.buffer.waiting().bytes > 0
    }

    /// Buffers an event for the next write and returns at once.
    pub fn append(&self, turn_id: TurnId, seq: u64, json: &str) {
        let mut waiting = self.buffer.waiting();
        if waiting.is_closed || waiting.incomplete.contains(&turn_id) {
            return;
        }
        // The whole turn is given up, not single events: a journal with a gap would restore another answer than the
        // model's.
        if waiting.bytes + json.len() > MAX_BUFFERED_BYTES {
            waiting.incomplete.insert(turn_id);
            tracing::error!(%turn_id, "the journal buffer is full; the answer is stored when the turn ends");
            return;
        }
        let (last, lines) = waiting.turns.entry(turn_id).or_default();
        let before = lines.len();
        *last = seq;
        append_line(lines, seq, json);
        let now = lines.len();
        waiting.bytes += now - before;
        // The writer sleeps until `due`. It has to be woken when that is set, and when the buffer becomes full
        // before.
        let is_first = waiting.due.is_none();
        let fills = now > FLUSH_BYTES && !waiting.is_full;
        waiting.oldest.get_or_insert_with(Instant::now);
        if is_first {
            waiting.due = Some(Instant::now() + FLUSH_INTERVAL);
        }
        waiting.is_full |= fills;
        drop(waiting);
        if is_first || fills {
            self.buffer.wake.notify_one();
        }
    }

    /// Waits until all earlier events of a turn are in the database.
    ///
    /// Returns `false` if that failed after three attempts, or if events of the turn were dropped.
    pub async fn flush(&self, turn_id: TurnId) -> bool {
        // A few attempts bridge a short interruption, such as a restart of the database, without failing the tool call.
        for attempt in 1..=MAX_FLUSH_ATTEMPTS {
            let (done, written) = oneshot::channel();
            {
                let mut waiting = self.buffer.waiting();
                if waiting.is_closed {
                    return false;
                }
                waiting.flushes.push((turn_id, done));
            }
            self.buffer.wake.notify_one();
            if written.await == Ok(true) {
                return !self.is_lossy(turn_id);
            }
            if attempt < MAX_FLUSH_ATTEMPTS {
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        }
        false
    }

    /// Takes the events of a turn that are not written yet, so that the caller can write them in the transaction that
    /// ends the turn. All earlier events are in the database when this returns. If that transaction fails, they are
    /// [given back](Self::return_unwritten). Returns `None` if nothing waits.
    pub async fn take(&self, turn_id: TurnId) -> Option<Chunk> {
        let (given, taken) = oneshot::channel();
        {
            let mut waiting = self.buffer.waiting();
            if waiting.is_closed {
                return None;
            }
            waiting.takes.push((turn_id, given));
        }
        self.buffer.wake.notify_one();
        taken.await.ok().flatten()
    }

    /// Buffers events again that were [taken](Self::take) and could not be written.
    pub fn return_unwritten(&self, chunk: Chunk) {
        let mut waiting = self.buffer.waiting();
        if !waiting.is_closed {
            waiting.bytes += chunk.payload.len();
            waiting.put_back(vec![chunk], RETRY_INTERVAL);
        }
        drop(waiting);
        self.buffer.wake.notify_one();
    }

    /// Returns whether events of a turn were dropped, so that it is no longer written to the journal and
    /// [`flush`](Self::flush) fails.
    pub fn is_lossy(&self, turn_id: TurnId) -> bool {
        self.buffer.waiting().incomplete.contains(&turn_id)
    }

    /// Forgets a turn that has ended.
    pub fn forget(&self, turn_id: TurnId) {
        self.buffer.waiting().incomplete.remove(&turn_id);
    }
}

impl Buffered {
    /// Removes and returns the events to write: all of them, or those of the turns that a caller waits for.
    fn take_chunks(&mut self, is_all: bool) -> Vec<Chunk> {
        if is_all {
            self.due = None;
            self.is_full = false;
            return self
                .turns
                .drain()
                .map(|(turn_id, (seq, payload))| Chunk { turn: turn_id, seq: seq as i64, payload })
                .collect();
        }
        let turns: Vec<TurnId> = self.flushes.iter().map(|(turn_id, _)| *turn_id).collect();
        turns.into_iter().filter_map(|turn_id| self.take_turn(turn_id)).collect()
    }

    /// Removes and returns the waiting events of one turn.
    fn take_turn(&mut self, turn_id: TurnId) -> Option<Chunk> {
        let (seq, payload) = self.turns.remove(&turn_id)?;
        if self.turns.is_empty() {
            self.due = None;
            self.oldest = None;
            self.is_full = false;
        }
        Some(Chunk { turn: turn_id, seq: seq as i64, payload })
    }

    /// Buffers events again that could not be written, before those that were added meanwhile, and delays the next
    /// write by `pause`. Their bytes must be counted already.
    fn put_back(&mut self, chunks: Vec<Chunk>, pause: Duration) {
        // The sequence number of an entry is that of its last event, so the joined entry keeps the larger one.
        for Chunk { turn: turn_id, seq, mut payload } in chunks {
            let (last, lines) = self.turns.entry(turn_id).or_default();
            *last = (*last).max(seq as u64);
            payload.push_str(lines);
            *lines = payload;
        }
        self.due = Some(Instant::now() + pause);
    }
}

impl Buffer {
    fn waiting(&self) -> MutexGuard<'_, Buffered> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task that writes the journal.
struct Writer {
    storage: Storage,
    buffer: Arc<Buffer>,
}

/// Next action of the writer.
enum WriterAction {
    Nothing,
    WriteBy(Instant),
    Write,
}

impl Writer {
    /// Writes batches until shutdown.
    async fn run(self, stopping: CancellationToken) {
        loop {
            match self.now() {
                WriterAction::Write => self.write().await,
                WriterAction::WriteBy(due) => tokio::select! {
                    () = self.buffer.wake.notified() => {}
                    () = sleep_until(due) => self.write().await,
                },
                WriterAction::Nothing => tokio::select! {
                    () = self.buffer.wake.notified() => {}
                    // Shutdown is looked at only while nothing waits, so that the turns that end with the process are
                    // written.
                    () = stopping.cancelled() => if self.close() { break },
                },
            }
        }
    }

    /// Returns the next action.
    fn now(&self) -> WriterAction {
        let waiting = self.buffer.waiting();
        match waiting.due {
            // Callers that wait are served at once; everything else waits for its batch.
            _ if !waiting.flushes.is_empty() || !waiting.takes.is_empty() => WriterAction::Write,
            _ if self.is_time(&waiting) => WriterAction::Write,
            Some(due) => WriterAction::WriteBy(due),
            None => WriterAction::Nothing,
        }
    }

    /// Returns whether it is time to write the events of all turns.
    fn is_time(&self, waiting: &Buffered) -> bool {
        // While the database is down, a full buffer does not shorten the pause between attempts.
        let is_full = waiting.is_full && !self.buffer.is_stalled.load(Ordering::Relaxed);
        waiting.due.is_some_and(|due| is_full || due <= Instant::now())
    }

    /// Closes the journal unless something waits again. Both happen under one lock, so that no event is accepted and
    /// then lost.
    fn close(&self) -> bool {
        let mut waiting = self.buffer.waiting();
        waiting.is_closed = waiting.due.is_none() && waiting.flushes.is_empty() && waiting.takes.is_empty();
        waiting.is_closed
    }

    /// Writes the events of the turns that a caller waits for and, when it is time, of all turns. After a failure
    /// they wait again, before newer ones.
    async fn write(&self) {
        let (chunks, flushes, oldest) = {
            let mut waiting = self.buffer.waiting();
            // First the callers that take events: these must not be written here as well.
            for (turn_id, given) in std::mem::take(&mut waiting.takes) {
                let taken = waiting.take_turn(turn_id);
                waiting.bytes -= bytes(taken.as_slice());
                // The caller may have been cancelled.
                if let Err(Some(chunk)) = given.send(taken) {
                    waiting.bytes += chunk.payload.len();
                    waiting.put_back(vec![chunk], Duration::ZERO);
                }
            }
            let is_all = self.is_time(&waiting);
            let oldest = if is_all { waiting.oldest.take() } else { None };
            (waiting.take_chunks(is_all), std::mem::take(&mut waiting.flushes), oldest)
        };
        let mut is_written = true;
        if !chunks.is_empty() {
            let written = self.storage.turns().insert_chunks(&chunks).await;
            is_written = written.is_ok();
            self.buffer.is_stalled.store(!is_written, Ordering::Relaxed);
            // Bytes count until they are written, so that a hanging database cannot let the buffer grow without
            // bound.
            let mut waiting = self.buffer.waiting();
            if let Err(error) = written {
                tracing::warn!(%error, turns = chunks.len(), "the journal could not be written; retrying");
                waiting.put_back(chunks, RETRY_INTERVAL);
                waiting.oldest = oldest.or(waiting.oldest);
            } else {
                waiting.bytes -= bytes(&chunks);
                if let Some(oldest) = oldest {
                    metrics::record_journal_delay(oldest.elapsed());
                }
            }
        }
        // Also if nothing was to write: then everything before the request is in the database already.
        for (_, done) in flushes {
            let _ = done.send(is_written);
        }
    }
}

fn bytes(chunks: &[Chunk]) -> usize {
    chunks.iter().map(|chunk| chunk.payload.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_is_told_when_nothing_can_be_written() {
        let folder = tempfile::TempDir::new().unwrap();
        let storage = Storage::open(&format!("sqlite://{}", folder.path().join("test.db").display())).await.unwrap();
        let stopping = CancellationToken::new();
        let (journal, writer) = Journal::new(storage.clone(), stopping.clone());
        let asked = async {
            let turn_id = TurnId::fresh();
            assert!(journal.flush(turn_id).await, "there is nothing to write");
            storage.close().await;
            journal.append(turn_id, 1, "{}");
            let written = journal.flush(turn_id).await;
            assert!(journal.is_stalled());
            written
        };
        tokio::select! {
            written = asked => assert!(!written),
            () = writer => panic!("the writer ended"),
        }
    }

    #[tokio::test]
    async fn what_waits_is_bounded_and_a_turn_with_gaps_is_never_taken_for_written() {
        let folder = tempfile::TempDir::new().unwrap();
        let storage = Storage::open(&format!("sqlite://{}", folder.path().join("test.db").display())).await.unwrap();
        let stopping = CancellationToken::new();
        let (journal, writer) = Journal::new(storage.clone(), stopping.clone());
        let (loud, quiet) = (TurnId::fresh(), TurnId::fresh());
        // The writer does not run yet, as if it hung.
        let piece = "x".repeat(MAX_BUFFERED_BYTES / 16 - 16);
        for seq in 1..=40 {
            journal.append(loud, seq, &piece);
        }
        let bytes = || journal.buffer.waiting().bytes;
        assert!(bytes() <= MAX_BUFFERED_BYTES && bytes() > MAX_BUFFERED_BYTES - 2 * piece.len());
        let asked = async {
            assert!(!journal.flush(loud).await, "something of it was left out");
            assert_eq!(bytes(), 0);
            journal.append(quiet, 1, "{}");
            assert!(journal.flush(quiet).await, "the others go on");
            assert!(!journal.flush(loud).await);
            journal.forget(loud);
            assert!(journal.buffer.waiting().incomplete.is_empty());
        };
        tokio::select! {
            () = asked => {}
            () = writer => panic!("the writer ended"),
        }
    }

    #[tokio::test]
    async fn what_is_taken_back_is_not_written_and_who_waits_for_one_turn_has_that_one_written() {
        let folder = tempfile::TempDir::new().unwrap();
        let storage = Storage::open(&format!("sqlite://{}", folder.path().join("test.db").display())).await.unwrap();
        let (journal, writer) = Journal::new(storage.clone(), CancellationToken::new());
        let (one, other) = (TurnId::fresh(), TurnId::fresh());
        let waits = |turn_id: TurnId| journal.buffer.waiting().turns.get(&turn_id).map(|(_, lines)| lines.clone());
        let asked = async {
            journal.append(one, 1, "{}");
            journal.append(other, 1, "{}");
            assert!(journal.flush(one).await);
            assert_eq!((waits(one), waits(other)), (None, Some("1\t{}\n".to_owned())));
            let taken = journal.take(other).await.unwrap();
            assert_eq!((taken.seq, taken.payload.as_str()), (1, "1\t{}\n"));
            assert!(journal.take(other).await.is_none() && journal.buffer.waiting().due.is_none());
            assert_eq!(journal.buffer.waiting().bytes, 0);
            journal.append(other, 2, "[]");
            journal.return_unwritten(taken);
            assert_eq!(waits(other).as_deref(), Some("1\t{}\n2\t[]\n"));
            // The caller is cancelled before it takes the events.
            drop(tokio::time::timeout(Duration::ZERO, journal.take(other)).await);
            assert!(journal.flush(one).await);
            assert!(journal.flush(other).await);
            assert_eq!((waits(other), journal.buffer.waiting().bytes), (None, 0));
        };
        tokio::select! {
            () = asked => {}
            () = writer => panic!("the writer ended"),
        }
    }
}
