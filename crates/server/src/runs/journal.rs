//! The way of a run's events to the database: one writer for all runs, one commit for all that came meanwhile.
//!
//! A token never waits for it. What is not yet written when the process is killed is at most a quarter of a second old.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::RunId;
use store::Store;
use store::runs::Chunk;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::event::RunEvent;

/// The longest time an event waits to be written.
const DELAY: Duration = Duration::from_millis(250);
/// The most bytes that wait: more are written at once.
const SIZE: usize = 256 * 1024;
/// How long to wait before a failed write is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// How often a write that somebody waits for is tried.
const FLUSH_TRIES: u32 = 3;
/// Bytes that wait while the database does not answer. A run that has more to say is not written down any more: its answer
/// is stored whole at the end, and until then it may not do what has to be known first.
const MOST: usize = 64 * 1024 * 1024;

enum Message {
    Event {
        run: RunId,
        seq: u64,
        json: String,
    },
    /// Answered with whether nothing waits any more.
    Flush(oneshot::Sender<bool>),
}

/// Hands events to the writer.
#[derive(Debug, Clone)]
pub struct Journal {
    messages: mpsc::UnboundedSender<Message>,
    state: Arc<State>,
}

/// What both ends know.
#[derive(Debug, Default)]
struct State {
    is_stalled: AtomicBool,
    /// Bytes on their way to the writer, and with it.
    bytes: AtomicUsize,
    /// The runs of which something was left out. Few, if any.
    incomplete: Mutex<HashSet<RunId>>,
    has_incomplete: AtomicBool,
}

impl State {
    fn is_incomplete(&self, run: RunId) -> bool {
        self.has_incomplete.load(Ordering::Acquire) && self.incomplete().contains(&run)
    }

    fn incomplete(&self) -> MutexGuard<'_, HashSet<RunId>> {
        self.incomplete.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal {
    /// A journal, and its writer, which is to be run as a task until `stopping` is cancelled and all is written.
    pub fn new(store: Store, stopping: CancellationToken) -> (Self, impl Future<Output = ()>) {
        let (messages, inbox) = mpsc::unbounded_channel();
        let state = Arc::<State>::default();
        let writer = Writer { store, waiting: HashMap::new(), bytes: 0, state: Arc::clone(&state) };
        (Self { messages, state }, writer.run(inbox, stopping))
    }

    /// Whether the last write failed.
    pub fn is_stalled(&self) -> bool {
        self.state.is_stalled.load(Ordering::Relaxed)
    }

    /// Takes in an event; returns at once.
    pub fn push(&self, run: RunId, seq: u64, json: String) {
        if self.state.is_incomplete(run) {
            return;
        }
        if self.state.bytes.fetch_add(json.len(), Ordering::AcqRel) + json.len() > MOST {
            self.state.bytes.fetch_sub(json.len(), Ordering::AcqRel);
            self.state.incomplete().insert(run);
            self.state.has_incomplete.store(true, Ordering::Release);
            tracing::error!(%run, "more waits for the database than is kept; the answer is stored at its end");
            return;
        }
        drop(self.messages.send(Message::Event { run, seq, json }));
    }

    /// Waits until everything of a run that was pushed before is in the database. `false` when it cannot be put there,
    /// though it was tried a few times, or when there was too much of it.
    pub async fn flush(&self, run: RunId) -> bool {
        for attempt in 1..=FLUSH_TRIES {
            let (done, written) = oneshot::channel();
            if self.messages.send(Message::Flush(done)).is_ok() && written.await == Ok(true) {
                return !self.state.is_incomplete(run);
            }
            if attempt < FLUSH_TRIES {
                tokio::time::sleep(RETRY).await;
            }
        }
        false
    }

    /// Whether something of a run was left out, so that it is not written down before its end.
    pub fn has_gaps(&self, run: RunId) -> bool {
        self.state.is_incomplete(run)
    }

    /// The run has ended.
    pub fn forget(&self, run: RunId) {
        if self.state.has_incomplete.load(Ordering::Acquire) {
            let mut incomplete = self.state.incomplete();
            incomplete.remove(&run);
            self.state.has_incomplete.store(!incomplete.is_empty(), Ordering::Release);
        }
    }
}

/// An event as it stands in the journal: its number, a tab, its JSON.
fn line(seq: u64, json: &str) -> String {
    format!("{seq}\t{json}\n")
}

/// One event as a chunk of its own.
pub fn chunk_of(run: RunId, seq: u64, json: &str) -> Chunk {
    Chunk { run, seq: seq as i64, payload: line(seq, json) }
}

/// The lines of a chunk.
pub fn lines(chunk: &str) -> impl Iterator<Item = (u64, &str)> {
    chunk.lines().filter_map(|line| {
        let (seq, json) = line.split_once('\t')?;
        Some((seq.parse().ok()?, json))
    })
}

/// The events of a journal, with their numbers. A line that cannot be read (of another version) costs itself, not the
/// others.
pub fn events_of(chunks: &[String]) -> Vec<(u64, RunEvent)> {
    let event = |(seq, json): (u64, &str)| Some((seq, serde_json::from_str(json).ok()?));
    chunks.iter().flat_map(|chunk| lines(chunk)).filter_map(event).collect()
}

struct Writer {
    store: Store,
    waiting: HashMap<RunId, (u64, String)>,
    bytes: usize,
    state: Arc<State>,
}

impl Writer {
    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Message>, stopping: CancellationToken) {
        let mut due: Option<Instant> = None;
        loop {
            let deadline = due.unwrap_or_else(|| Instant::now() + Duration::from_hours(1));
            tokio::select! {
                biased;
                message = inbox.recv() => match message {
                    Some(Message::Event { run, seq, json }) => {
                        self.take(run, seq, &json);
                        due.get_or_insert_with(|| Instant::now() + DELAY);
                        // While the database is away, the next try has its time.
                        if self.bytes > SIZE && !self.state.is_stalled.load(Ordering::Relaxed) {
                            due = self.write().await;
                        }
                    }
                    Some(Message::Flush(done)) => {
                        due = self.write().await;
                        done.send(due.is_none()).ok();
                    }
                    None => break,
                },
                () = sleep_until(deadline), if due.is_some() => due = self.write().await,
                () = stopping.cancelled(), if inbox.is_empty() && due.is_none() => break,
            }
        }
    }

    fn take(&mut self, run: RunId, seq: u64, json: &str) {
        let (last, payload) = self.waiting.entry(run).or_default();
        *last = seq;
        payload.push_str(&line(seq, json));
        self.bytes += json.len();
    }

    /// Writes what waits. After a failure it still waits, and the time of the next try is returned.
    async fn write(&mut self) -> Option<Instant> {
        if self.waiting.is_empty() {
            return None;
        }
        let chunk = |(run, (seq, payload))| Chunk { run, seq: seq as i64, payload };
        let chunks: Vec<Chunk> = self.waiting.drain().map(chunk).collect();
        let written = self.store.insert_chunks(&chunks).await;
        self.state.is_stalled.store(written.is_err(), Ordering::Relaxed);
        match written {
            Ok(()) => {
                self.state.bytes.fetch_sub(std::mem::take(&mut self.bytes), Ordering::AcqRel);
                None
            }
            Err(error) => {
                tracing::warn!(%error, runs = chunks.len(), "the journal could not be written; trying again");
                self.waiting.extend(chunks.into_iter().map(|chunk| (chunk.run, (chunk.seq as u64, chunk.payload))));
                Some(Instant::now() + RETRY)
            }
        }
    }
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
            journal.push(run, 1, "{}".to_owned());
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
        let piece = "x".repeat(MOST / 16);
        for seq in 1..=40 {
            journal.push(loud, seq, piece.clone());
        }
        assert_eq!(journal.state.bytes.load(Ordering::Acquire), MOST, "and not a byte more");
        let asked = async {
            assert!(!journal.flush(loud).await, "something of it was left out");
            assert_eq!(journal.state.bytes.load(Ordering::Acquire), 0);
            journal.push(quiet, 1, "{}".to_owned());
            assert!(journal.flush(quiet).await, "the others go on");
            assert!(!journal.flush(loud).await);
            journal.forget(loud);
            assert!(!journal.state.has_incomplete.load(Ordering::Acquire));
        };
        tokio::select! {
            () = asked => {}
            () = writer => panic!("the writer ended"),
        }
    }
}
