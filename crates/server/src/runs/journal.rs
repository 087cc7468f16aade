//! The way of a run's events to the database: one writer for all runs, one commit for all that came meanwhile.
//!
//! A token never waits for it. What is not yet written when the process is killed is at most a quarter of a second old.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::RunId;
use store::Store;
use store::runs::Chunk;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::event::RunEvent;

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
    /// Answered with whether nothing waits any more of what was pushed before.
    flushes: Vec<oneshot::Sender<bool>>,
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

    /// Whether the last write failed.
    pub fn is_stalled(&self) -> bool {
        self.inbox.is_stalled.load(Ordering::Relaxed)
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
                waiting.flushes.push(done);
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
    /// What is to be written now.
    fn take_chunks(&mut self) -> Vec<Chunk> {
        self.due = None;
        self.is_full = false;
        self.runs.drain().map(|(run, (seq, payload))| Chunk { run, seq: seq as i64, payload }).collect()
    }
}

impl Inbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appends an event as it stands in the journal: its number, a tab, its JSON.
fn add_line(lines: &mut String, seq: u64, json: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(lines, "{seq}\t{json}");
}

/// Some events as a chunk of their own, numbered from `first` on.
pub fn chunk_of(run: RunId, first: u64, events: &[String]) -> Chunk {
    let mut payload = String::new();
    let mut last = first;
    for (seq, json) in (first..).zip(events) {
        add_line(&mut payload, seq, json);
        last = seq;
    }
    Chunk { run, seq: last as i64, payload }
}

/// The lines of a chunk.
pub fn lines(chunk: &str) -> impl Iterator<Item = (u64, &str)> {
    chunk.lines().filter_map(|line| {
        let (seq, json) = line.split_once('\t')?;
        Some((seq.parse().ok()?, json))
    })
}

/// The events of a journal, with their numbers. A line that cannot be read (of another version) costs itself, not the
/// others. One that stands there twice counts once: what was said to have failed may have been written, and was written
/// again.
pub fn events_of(chunks: &[String]) -> Vec<(u64, RunEvent)> {
    let mut last = 0;
    let is_new = |(seq, _): &(u64, &str)| {
        let is_new = *seq > last;
        last = last.max(*seq);
        is_new
    };
    let event = |(seq, json): (u64, &str)| Some((seq, serde_json::from_str(json).ok()?));
    chunks.iter().flat_map(|chunk| lines(chunk)).filter(is_new).filter_map(event).collect()
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
            _ if !waiting.flushes.is_empty() => Now::Write,
            // A database that does not answer is not asked more often because more waits for it.
            Some(_) if waiting.is_full && !self.inbox.is_stalled.load(Ordering::Relaxed) => Now::Write,
            Some(due) => Now::WriteBy(due),
            None => Now::Nothing,
        }
    }

    /// Ends the journal, unless something waits again.
    fn close(&self) -> bool {
        let mut waiting = self.inbox.waiting();
        waiting.is_closed = waiting.due.is_none() && waiting.flushes.is_empty();
        waiting.is_closed
    }

    /// Writes what waits. After a failure it still waits, before what has come meanwhile.
    async fn write(&self) {
        let (chunks, flushes) = {
            let mut waiting = self.inbox.waiting();
            (waiting.take_chunks(), std::mem::take(&mut waiting.flushes))
        };
        let written = if chunks.is_empty() { Ok(()) } else { self.store.insert_chunks(&chunks).await };
        let is_written = written.is_ok();
        self.inbox.is_stalled.store(!is_written, Ordering::Relaxed);
        if let Err(error) = written {
            tracing::warn!(%error, runs = chunks.len(), "the journal could not be written; trying again");
            self.put_back(chunks);
        } else {
            self.inbox.waiting().bytes -= chunks.iter().map(|chunk| chunk.payload.len()).sum::<usize>();
        }
        for done in flushes {
            done.send(is_written).ok();
        }
    }

    fn put_back(&self, chunks: Vec<Chunk>) {
        let mut waiting = self.inbox.waiting();
        for Chunk { run, seq, mut payload } in chunks {
            let (last, lines) = waiting.runs.entry(run).or_default();
            *last = (*last).max(seq as u64);
            payload.push_str(lines);
            *lines = payload;
        }
        waiting.due = Some(Instant::now() + RETRY);
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

    #[test]
    fn what_was_written_twice_counts_once() {
        let line = |seq: u64| format!("{seq}\t{{\"type\":\"abort\",\"reason\":\"{seq}\"}}\n");
        let chunks = [line(1) + &line(2), line(1) + &line(2) + &line(3), line(5)];
        let numbers: Vec<u64> = events_of(&chunks).into_iter().map(|(seq, _)| seq).collect();
        assert_eq!(numbers, [1, 2, 3, 5]);
    }
}
