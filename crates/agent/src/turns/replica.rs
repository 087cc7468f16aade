//! Followers of turns that run on other nodes: copies of their logs, read from the journal, for subscribers on this
//! node.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use domain::{ChatId, RunId, UserId};
use tokio::sync::Notify;

use super::chunks::lines;
use super::event::RunEvent;
use super::{RunLog, TurnService};

/// Interval at which the journal is read when no message on the cluster bus has arrived.
const LOOK: Duration = Duration::from_secs(1);

/// Copy of the [event log](RunLog) of a turn on another node. It is updated while a subscriber holds it.
#[derive(Debug, Default)]
pub struct Replica {
    log: RunLog,
}

impl AsRef<RunLog> for Replica {
    fn as_ref(&self) -> &RunLog {
        &self.log
    }
}

/// Copies by turn, each with the notification that wakes its reader.
type ByRun = HashMap<RunId, (Weak<Replica>, Arc<Notify>)>;

/// [Copies](Replica) of remote logs that have subscribers on this node.
#[derive(Debug, Default)]
pub struct Replicas(Mutex<ByRun>);

impl Replicas {
    fn all(&self) -> MutexGuard<'_, ByRun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a copy that is not updated any more, unless a newer copy of the same turn has replaced it.
    fn forget(&self, run: RunId, news: &Arc<Notify>) {
        let mut replicas = self.all();
        if replicas.get(&run).is_some_and(|(_, own)| Arc::ptr_eq(own, news)) {
            replicas.remove(&run);
        }
    }
}

impl TurnService {
    /// Returns a copy of the log of the turn that runs in a chat on another node. If `wanted` is given, it must be
    /// that turn.
    ///
    /// # Errors
    ///
    /// Fails if the database is unreachable.
    pub async fn replica(
        &self,
        (owner, chat): (UserId, ChatId),
        wanted: Option<RunId>,
    ) -> Result<Option<Arc<Replica>>, storage::Error> {
        if !self.storage.is_shared() {
            return Ok(None);
        }
        let found = self.storage.turns().find_running(owner, chat).await?;
        let Some(run) = found.filter(|run| wanted.is_none_or(|wanted| wanted == *run)) else { return Ok(None) };
        if let Some(replica) = self.replicas.all().get(&run).and_then(|(replica, _)| replica.upgrade()) {
            return Ok(Some(replica));
        }
        let (replica, news) = (Arc::new(Replica::default()), Arc::new(Notify::new()));
        // Weak: a copy is dropped with its last subscriber. Two requests at once may both create one; the later
        // replaces the earlier, whose subscribers keep it.
        self.replicas.all().insert(run, (Arc::downgrade(&replica), Arc::clone(&news)));
        // Read once before it is returned: a subscriber that reconnects must find the events it has seen.
        let mut last = 0;
        match read(self, owner, run, &mut last, &replica.log).await {
            Ok(true) => {
                self.tasks.spawn("replica", feed(self.clone(), owner, run, (Arc::downgrade(&replica), news), last));
            }
            read => {
                self.replicas.forget(run, &news);
                replica.log.leave();
                read?;
            }
        }
        Ok(Some(replica))
    }

    /// Wakes the reader of a turn that has new events on another node.
    pub fn wake(&self, run: RunId) {
        if let Some((_, news)) = self.replicas.all().get(&run) {
            news.notify_one();
        }
    }

    /// Wakes the readers of all turns, after messages on the cluster bus may have been missed.
    pub fn wake_all(&self) {
        for (_, news) in self.replicas.all().values() {
            news.notify_one();
        }
    }
}

/// Reads the journal into a copy until the turn ends, the last subscriber leaves, or the process stops.
async fn feed(
    turns: TurnService,
    owner: UserId,
    run: RunId,
    (replica, news): (Weak<Replica>, Arc<Notify>),
    mut last: u64,
) {
    loop {
        tokio::select! {
            () = news.notified() => {}
            () = tokio::time::sleep(LOOK) => {}
            () = turns.tasks.shutdown_token().cancelled() => break,
        }
        let Some(replica) = replica.upgrade() else { break };
        match read(&turns, owner, run, &mut last, &replica.log).await {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => tracing::warn!(%error, %run, "the log of a run on another node could not be read"),
        }
    }
    turns.replicas.forget(run, &news);
    if let Some(replica) = replica.upgrade() {
        // If the log was not closed with its end: subscribers reconnect, or load the stored answer.
        replica.log.leave();
    }
}

/// Reads new events. Returns `false` if none will follow.
async fn read(
    turns: &TurnService,
    owner: UserId,
    run: RunId,
    last: &mut u64,
    log: &RunLog,
) -> Result<bool, storage::Error> {
    // In this order: if the turn is not in progress when asked, all of its events are in the journal when they are
    // read.
    let is_running = turns.storage.turns().is_running(owner, run).await?;
    let chunks = turns.storage.turns().list_chunks_after(owner, run, *last).await?;
    Ok(take(&chunks, last, log) && is_running)
}

/// Appends new events. Returns `false` after the last event of the turn. That is stored together with the answer, so
/// it may be read in the same round in which the turn was still in progress.
fn take(chunks: &[(u64, String)], last: &mut u64, log: &RunLog) -> bool {
    let mut has_ended = false;
    for (seq, chunk) in chunks {
        for (number, json) in lines(chunk) {
            log.append_at(number, json);
            has_ended = matches!(
                serde_json::from_str(json),
                Ok(RunEvent::Finish { .. } | RunEvent::Error { .. } | RunEvent::Abort { .. })
            );
        }
        *last = *seq;
    }
    if has_ended {
        log.close();
    }
    !has_ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_end_that_was_written_between_two_questions_is_told() {
        let (log, mut last) = (RunLog::default(), 0);
        let word = r#"{"type":"text-delta","id":"0-0","delta":"word"}"#;
        let end = r#"{"type":"abort","reason":"stopped"}"#;
        assert!(take(&[(2, format!("2\t{word}\n"))], &mut last, &log));
        // The turn was in progress when asked, and had ended when its journal was read.
        let is_running = true;
        assert!(!(take(&[(3, format!("3\t{end}\n"))], &mut last, &log) && is_running));
        log.leave();
        let mut cursor = log.follow(0);
        let told = log.next(&mut cursor).await.unwrap();
        assert!(told.ends_with(b"data: [DONE]\n\n"), "{told:?}");
        assert!(log.next(&mut cursor).await.is_none());
    }
}
