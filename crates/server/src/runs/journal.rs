//! The way of a run's events to the database: one writer for all runs, one commit for all that came meanwhile.
//!
//! A token never waits for it. What is not yet written when the process is killed is at most a quarter of a second old.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::RunId;
use store::Store;
use store::runs::Chunk;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::chunks::add_line;

/// The longest time an event waits to be written.
const DELAY: Duration = Duration::from_millis(250);
/// Bytes of one run that wait at most: with more, all that waits is written at once.
const SIZE: usize = 4 * 1024;
/// How long to wait before a failed write is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// How often a write that somebody waits for is tried.
const FLUSH_TRIES: u32 = 3;
/// Bytes that wait while the database does not answer. A run that has more to say is not written down any more: its answer
/// is stored whole at the end, and until then it may not do what has to be known first.
const MOST: usize = 64 * 1024 * 1024;

/// Hands events to the writer.
#[derive(Debug, Clone)]
pub struct Journal {
    inbox: Arc<Inbox>,
}

/// What waits to be written. An event is appended in place: the writer is woken for the first of many, not for each.
#[derive(Debug, Default)]
struct Inbox {
    waiting: Mutex<Waiting>,
    wake: Notify,
    is_stalled: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The events of each run as they will stand in the database, with the number of the last one.
    runs: HashMap<RunId, (u64, String)>,
    /// Of these and of what is being written.
    bytes: usize,
    /// The runs of which something was left out. Few, if any.
    incomplete: HashSet<RunId>,
    /// When they are to be written at the latest.
    due: Option<Instant>,
    /// A run has more than its share.
    is_full: bool,
    /// Answered with whether nothing waits any more of what was pushed of the run before.
    flushes: Vec<(RunId, oneshot::Sender<bool>)>,
    /// Answered with what waits of the run, which is then written elsewhere.
    takes: Vec<(RunId, oneshot::Sender<Option<Chunk>>)>,
    /// The writer has ended.
    is_closed: bool,
}

impl Journal {
    /// A journal, and its writer, which is to be run as a task until `stopping` is cancelled and all is written.
    pub fn new(store: Store, stopping: CancellationToken) -> (Self, impl Future<Output = ()>) {
        let inbox = Arc::new(Inbox::default());
        let writer = Writer { store, inbox: Arc::clone(&inbox) };
        (Self { inbox }, writer.run(stopping))
    }

    /// Whether the last write failed, and what it was to write still waits.
    pub fn is_stalled(&self) -> bool {
        self.inbox.is_stalled.load(Ordering::Relaxed) && self.inbox.waiting().bytes > 0
    }

    /// Takes in an event; returns at once.
    pub fn push(&self, run: RunId, seq: u64, json: &str) {
        let mut waiting = self.inbox.waiting();
        if waiting.is_closed || waiting.incomplete.contains(&run) {
            return;
        }
        if waiting.bytes + json.len() > MOST {
            waiting.incomplete.insert(run);
            tracing::error!(%run, "more waits for the database than is kept; the answer is stored at its end");
            return;
        }
        let (last, lines) = waiting.runs.entry(run).or_default();
        let before = lines.len();
        *last = seq;
        add_line(lines, seq, json);
        let now = lines.len();
        waiting.bytes += now - before;
        let is_first = waiting.due.is_none();
        let fills = now > SIZE && !waiting.is_full;
        if is_first {
            waiting.due = Some(Instant::now() + DELAY);
        }
        waiting.is_full |= fills;
        drop(waiting);
        if is_first || fills {
            self.inbox.wake.notify_one();
        }
    }

    /// Waits until everything of a run that was pushed before is in the database. `false` when it cannot be put there,
    /// though it was tried a few times, or when there was too much of it.
    pub async fn flush(&self, run: RunId) -> bool {
        for attempt in 1..=FLUSH_TRIES {
            let (done, written) = oneshot::channel();
            {
                let mut waiting = self.inbox.waiting();
                if waiting.is_closed {
                    return false;
                }
                waiting.flushes.push((run, done));
            }
            self.inbox.wake.notify_one();
            if written.await == Ok(true) {
                return !self.has_gaps(run);
            }
            if attempt < FLUSH_TRIES {
                tokio::time::sleep(RETRY).await;
            }
        }
        false
    }

    /// Takes back what of a run is not in the database yet, to be written with its end: all before it is there when this
    /// returns. `None` when there is nothing.
    pub async fn take(&self, run: RunId) -> Option<Chunk> {
        let (given, taken) = oneshot::channel();
        {
            let mut waiting = self.inbox.waiting();
            if waiting.is_closed {
                return None;
            }
            waiting.takes.push((run, given));
        }
        self.inbox.wake.notify_one();
        taken.await.ok().flatten()
    }

    /// Takes in again what was [taken](Self::take) and could not be written.
    pub fn give_back(&self, chunk: Chunk) {
        let mut waiting = self.inbox.waiting();
        if !waiting.is_closed {
            waiting.bytes += chunk.payload.len();
            waiting.put_back(vec![chunk], RETRY);
        }
        drop(waiting);
        self.inbox.wake.notify_one();
    }

    /// Whether something of a run was left out, so that it will not be written down any more.
    pub fn has_gaps(&self, run: RunId) -> bool {
        self.inbox.waiting().incomplete.contains(&run)
    }

    /// The run has ended.
    pub fn forget(&self, run: RunId) {
        self.inbox.waiting().incomplete.remove(&run);
    }
}

impl Waiting {
    /// What is to be written now: everything, or of the runs that somebody waits for.
    fn take_chunks(&mut self, is_all: bool) -> Vec<Chunk> {
        if is_all {
            self.due = None;
            self.is_full = false;
            return self.runs.drain().map(|(run, (seq, payload))| Chunk { run, seq: seq as i64, payload }).collect();
        }
        let runs: Vec<RunId> = self.flushes.iter().map(|(run, _)| *run).collect();
        runs.into_iter().filter_map(|run| self.take_run(run)).collect()
    }

    fn take_run(&mut self, run: RunId) -> Option<Chunk> {
        let (seq, payload) = self.runs.remove(&run)?;
        if self.runs.is_empty() {
            self.due = None;
            self.is_full = false;
        }
        Some(Chunk { run, seq: seq as i64, payload })
    }

    /// What could not be written waits again, before what has come meanwhile, and at least so long. Its bytes are counted.
    fn put_back(&mut self, chunks: Vec<Chunk>, pause: Duration) {
        for Chunk { run, seq, mut payload } in chunks {
            let (last, lines) = self.runs.entry(run).or_default();
            *last = (*last).max(seq as u64);
            payload.push_str(lines);
            *lines = payload;
        }
        self.due = Some(Instant::now() + pause);
    }
}

impl Inbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Writer {
    store: Store,
    inbox: Arc<Inbox>,
}

/// What the writer is to do.
enum Now {
    Nothing,
    WriteBy(Instant),
    Write,
}

impl Writer {
    async fn run(self, stopping: CancellationToken) {
        loop {
            match self.now() {
                Now::Write => self.write().await,
                Now::WriteBy(due) => tokio::select! {
                    () = self.inbox.wake.notified() => {}
                    () = sleep_until(due) => self.write().await,
                },
                Now::Nothing => tokio::select! {
                    () = self.inbox.wake.notified() => {}
                    () = stopping.cancelled() => if self.close() { break },
                },
            }
        }
    }

    fn now(&self) -> Now {
        let waiting = self.inbox.waiting();
        match waiting.due {
            _ if !waiting.flushes.is_empty() || !waiting.takes.is_empty() => Now::Write,
            _ if self.is_time(&waiting) => Now::Write,
            Some(due) => Now::WriteBy(due),
            None => Now::Nothing,
        }
    }

    /// Whether everything is to be written, whoever waits.
    fn is_time(&self, waiting: &Waiting) -> bool {
        // A database that does not answer is not asked more often because more waits for it.
        let is_full = waiting.is_full && !self.inbox.is_stalled.load(Ordering::Relaxed);
        waiting.due.is_some_and(|due| is_full || due <= Instant::now())
    }

    /// Ends the journal, unless something waits again.
    fn close(&self) -> bool {
        let mut waiting = self.inbox.waiting();
        waiting.is_closed = waiting.due.is_none() && waiting.flushes.is_empty() && waiting.takes.is_empty();
        waiting.is_closed
    }

    /// Writes what waits: of the runs that somebody waits for, and when it is time, of all. After a failure it still waits,
    /// before what has come meanwhile.
    async fn write(&self) {
        let (chunks, flushes) = {
            let mut waiting = self.inbox.waiting();
            for (run, given) in std::mem::take(&mut waiting.takes) {
                let taken = waiting.take_run(run);
                waiting.bytes -= bytes(taken.as_slice());
                // Who asked may have gone away.
                if let Err(Some(chunk)) = given.send(taken) {
                    waiting.bytes += chunk.payload.len();
                    waiting.put_back(vec![chunk], Duration::ZERO);
                }
            }
            let is_all = self.is_time(&waiting);
            (waiting.take_chunks(is_all), std::mem::take(&mut waiting.flushes))
        };
        let mut is_written = true;
        if !chunks.is_empty() {
            let written = self.store.insert_chunks(&chunks).await;
            is_written = written.is_ok();
            self.inbox.is_stalled.store(!is_written, Ordering::Relaxed);
            let mut waiting = self.inbox.waiting();
            if let Err(error) = written {
                tracing::warn!(%error, runs = chunks.len(), "the journal could not be written; trying again");
                waiting.put_back(chunks, RETRY);
            } else {
                waiting.bytes -= bytes(&chunks);
            }
        }
        for (_, done) in flushes {
            done.send(is_written).ok();
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
        let store = Store::open(&format!("sqlite://{}", folder.path().join("test.db").display())).await.unwrap();
        let stopping = CancellationToken::new();
        let (journal, writer) = Journal::new(store.clone(), stopping.clone());
        let asked = async {
            let run = RunId::fresh();
            assert!(journal.flush(run).await, "there is nothing to write");
            store.close().await;
            journal.push(run, 1, "{}");
            let written = journal.flush(run).await;
            assert!(journal.is_stalled());
            written
        };
        tokio::select! {
            written = asked => assert!(!written),
            () = writer => panic!("the writer ended"),
        }
    }

    #[tokio::test]
    async fn what_waits_is_bounded_and_a_run_with_gaps_is_never_taken_for_written() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Store::open(&format!("sqlite://{}", folder.path().join("test.db").display())).await.unwrap();
        let stopping = CancellationToken::new();
        let (journal, writer) = Journal::new(store.clone(), stopping.clone());
        let (loud, quiet) = (RunId::fresh(), RunId::fresh());
        // The writer does not run yet, as if it hung.
        let piece = "x".repeat(MOST / 16 - 16);
        for seq in 1..=40 {
            journal.push(loud, seq, &piece);
        }
        let bytes = || journal.inbox.waiting().bytes;
        assert!(bytes() <= MOST && bytes() > MOST - 2 * piece.len());
        let asked = async {
            assert!(!journal.flush(loud).await, "something of it was left out");
            assert_eq!(bytes(), 0);
            journal.push(quiet, 1, "{}");
            assert!(journal.flush(quiet).await, "the others go on");
            assert!(!journal.flush(loud).await);
            journal.forget(loud);
            assert!(journal.inbox.waiting().incomplete.is_empty());
        };
        tokio::select! {
            () = asked => {}
            () = writer => panic!("the writer ended"),
        }
    }

    #[tokio::test]
    async fn what_is_taken_back_is_not_written_and_who_waits_for_one_run_has_that_one_written() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Store::open(&format!("sqlite://{}", folder.path().join("test.db").display())).await.unwrap();
        let (journal, writer) = Journal::new(store.clone(), CancellationToken::new());
        let (one, other) = (RunId::fresh(), RunId::fresh());
        let waits = |run: RunId| journal.inbox.waiting().runs.get(&run).map(|(_, lines)| lines.clone());
        let asked = async {
            journal.push(one, 1, "{}");
            journal.push(other, 1, "{}");
            assert!(journal.flush(one).await);
            assert_eq!((waits(one), waits(other)), (None, Some("1\t{}\n".to_owned())));
            let taken = journal.take(other).await.unwrap();
            assert_eq!((taken.seq, taken.payload.as_str()), (1, "1\t{}\n"));
            assert!(journal.take(other).await.is_none() && journal.inbox.waiting().due.is_none());
            assert_eq!(journal.inbox.waiting().bytes, 0);
            journal.push(other, 2, "[]");
            journal.give_back(taken);
            assert_eq!(waits(other).as_deref(), Some("1\t{}\n2\t[]\n"));
            // Nobody takes it after all.
            drop(tokio::time::timeout(Duration::ZERO, journal.take(other)).await);
            assert!(journal.flush(one).await);
            assert!(journal.flush(other).await);
            assert_eq!((waits(other), journal.inbox.waiting().bytes), (None, 0));
        };
        tokio::select! {
            () = asked => {}
            () = writer => panic!("the writer ended"),
        }
    }
}
