//! The way of a run's events to the database: one writer for all runs, one commit for all that came meanwhile.
//!
//! A token never waits for it. What is not yet written when the process is killed is at most a quarter of a second old.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
/// Bytes that wait while the database does not answer. More are dropped: the answer itself is written whole at the end.
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
    is_stalled: Arc<AtomicBool>,
}

impl Journal {
    /// A journal, and its writer, which is to be run as a task until `stopping` is cancelled and all is written.
    pub fn new(store: Store, stopping: CancellationToken) -> (Self, impl Future<Output = ()>) {
        let (messages, inbox) = mpsc::unbounded_channel();
        let is_stalled = Arc::new(AtomicBool::new(false));
        let writer = Writer { store, waiting: HashMap::new(), bytes: 0, is_stalled: Arc::clone(&is_stalled) };
        (Self { messages, is_stalled }, writer.run(inbox, stopping))
    }

    /// Whether the last write failed.
    pub fn is_stalled(&self) -> bool {
        self.is_stalled.load(Ordering::Relaxed)
    }

    /// Takes in an event; returns at once.
    pub fn push(&self, run: RunId, seq: u64, json: String) {
        drop(self.messages.send(Message::Event { run, seq, json }));
    }

    /// Waits until everything pushed before is in the database. `false` when it cannot be put there, though it was tried
    /// a few times.
    pub async fn flush(&self) -> bool {
        for attempt in 1..=FLUSH_TRIES {
            let (done, written) = oneshot::channel();
            if self.messages.send(Message::Flush(done)).is_ok() && written.await == Ok(true) {
                return true;
            }
            if attempt < FLUSH_TRIES {
                tokio::time::sleep(RETRY).await;
            }
        }
        false
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
    is_stalled: Arc<AtomicBool>,
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
                        if self.bytes > SIZE {
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
        if self.bytes > MOST {
            return;
        }
        let (last, payload) = self.waiting.entry(run).or_default();
        *last = seq;
        let before = payload.len();
        payload.push_str(&line(seq, json));
        self.bytes += payload.len() - before;
    }

    /// Writes what waits. After a failure it still waits, and the time of the next try is returned.
    async fn write(&mut self) -> Option<Instant> {
        if self.waiting.is_empty() {
            return None;
        }
        let chunks: Vec<Chunk> = self
            .waiting
            .iter()
            .map(|(run, (seq, payload))| Chunk { run: *run, seq: *seq as i64, payload: payload.clone() })
            .collect();
        let written = self.store.insert_chunks(&chunks).await;
        self.is_stalled.store(written.is_err(), Ordering::Relaxed);
        match written {
            Ok(()) => {
                self.waiting.clear();
                self.bytes = 0;
                None
            }
            Err(error) => {
                tracing::warn!(%error, runs = chunks.len(), "the journal could not be written; trying again");
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
            assert!(journal.flush().await, "there is nothing to write");
            store.close().await;
            journal.push(RunId::fresh(), 1, "{}".to_owned());
            let written = journal.flush().await;
            assert!(journal.is_stalled());
            written
        };
        tokio::select! {
            written = asked => assert!(!written),
            () = writer => panic!("the writer ended"),
        }
    }
}
