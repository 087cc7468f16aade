//! Followers of turns that run on other nodes: copies of their logs, read from the journal, for subscribers on this
//! node.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use domain::{ChatId, TurnId, UserId};
use tokio::sync::Notify;

use super::event::TurnEvent;
use super::journal_codec::lines;
use super::{EventLog, TurnService};

/// Interval at which the journal is read when no message on the cluster bus has arrived.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Copy of the [event log](EventLog) of a turn on another node. It is updated while a subscriber holds it.
#[derive(Debug, Default)]
pub struct RemoteLog {
    log: EventLog,
}

impl AsRef<EventLog> for RemoteLog {
    fn as_ref(&self) -> &EventLog {
        &self.log
    }
}

/// Copies by turn, each with the notification that wakes its reader.
type LogsByTurn = HashMap<TurnId, (Weak<RemoteLog>, Arc<Notify>)>;

/// [Copies](RemoteLog) of remote logs that have subscribers on this node.
#[derive(Debug, Default)]
pub struct RemoteLogs(Mutex<LogsByTurn>);

impl RemoteLogs {
    fn all(&self) -> MutexGuard<'_, LogsByTurn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a copy that is not updated any more, unless a newer copy of the same turn has replaced it.
    fn forget(&self, turn_id: TurnId, changed: &Arc<Notify>) {
        let mut remote_logs = self.all();
        if remote_logs.get(&turn_id).is_some_and(|(_, own)| Arc::ptr_eq(own, changed)) {
            remote_logs.remove(&turn_id);
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
    pub async fn follow_remote(
        &self,
        (owner, chat): (UserId, ChatId),
        wanted: Option<TurnId>,
    ) -> Result<Option<Arc<RemoteLog>>, storage::Error> {
        if !self.storage.is_shared() {
            return Ok(None);
        }
        let found = self.storage.turns().find_running(owner, chat).await?;
        let Some(turn_id) = found.filter(|turn_id| wanted.is_none_or(|wanted| wanted == *turn_id)) else {
            return Ok(None);
        };
        if let Some(copy) = self.remote_logs.all().get(&turn_id).and_then(|(copy, _)| copy.upgrade()) {
            return Ok(Some(copy));
        }
        let (copy, changed) = (Arc::new(RemoteLog::default()), Arc::new(Notify::new()));
        // Weak: a copy is dropped with its last subscriber. Two requests at once may both create one; the later
        // replaces the earlier, whose subscribers keep it.
        self.remote_logs.all().insert(turn_id, (Arc::downgrade(&copy), Arc::clone(&changed)));
        // Read once before it is returned: a subscriber that reconnects must find the events it has seen.
        let mut last = 0;
        match read(self, owner, turn_id, &mut last, &copy.log).await {
            Ok(true) => {
                self.tasks.spawn(
                    "remote log",
                    follow_journal(self.clone(), owner, turn_id, (Arc::downgrade(&copy), changed), last),
                );
            }
            read => {
                self.remote_logs.forget(turn_id, &changed);
                copy.log.disconnect();
                read?;
            }
        }
        Ok(Some(copy))
    }

    /// Wakes the reader of a turn that has new events on another node.
    pub fn wake(&self, turn_id: TurnId) {
        if let Some((_, changed)) = self.remote_logs.all().get(&turn_id) {
            changed.notify_one();
        }
    }

    /// Wakes the readers of all turns, after messages on the cluster bus may have been missed.
    pub fn wake_all(&self) {
        for (_, changed) in self.remote_logs.all().values() {
            changed.notify_one();
        }
    }
}

/// Reads the journal into a copy until the turn ends, the last subscriber leaves, or the process stops.
async fn follow_journal(
    turns: TurnService,
    owner: UserId,
    turn_id: TurnId,
    (copy, changed): (Weak<RemoteLog>, Arc<Notify>),
    mut last: u64,
) {
    loop {
        tokio::select! {
            () = changed.notified() => {}
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = turns.tasks.shutdown_token().cancelled() => break,
        }
        let Some(copy) = copy.upgrade() else { break };
        match read(&turns, owner, turn_id, &mut last, &copy.log).await {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => tracing::warn!(%error, %turn_id, "the log of a turn on another node could not be read"),
        }
    }
    turns.remote_logs.forget(turn_id, &changed);
    if let Some(copy) = copy.upgrade() {
        // If the log was not closed with its end: subscribers reconnect, or load the stored answer.
        copy.log.disconnect();
    }
}

/// Reads new events. Returns `false` if none will follow.
async fn read(
    turns: &TurnService,
    owner: UserId,
    turn_id: TurnId,
    last: &mut u64,
    log: &EventLog,
) -> Result<bool, storage::Error> {
    // In this order: if the turn is not in progress when asked, all of its events are in the journal when they are
    // read.
    let is_running = turns.storage.turns().is_running(owner, turn_id).await?;
    let chunks = turns.storage.turns().list_chunks_after(owner, turn_id, *last).await?;
    Ok(take(&chunks, last, log) && is_running)
}

/// Appends new events. Returns `false` after the last event of the turn. That is stored together with the answer, so
/// it may be read in the same round in which the turn was still in progress.
fn take(chunks: &[(u64, String)], last: &mut u64, log: &EventLog) -> bool {
    let mut has_ended = false;
    for (seq, chunk) in chunks {
        for (number, json) in lines(chunk) {
            log.append_at(number, json);
            has_ended = matches!(
                serde_json::from_str(json),
                Ok(TurnEvent::Finish { .. } | TurnEvent::Error { .. } | TurnEvent::Abort { .. })
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
        let (log, mut last) = (EventLog::default(), 0);
        let word = r#"{"type":"text-delta","id":"0-0","delta":"word"}"#;
        let end = r#"{"type":"abort","reason":"stopped"}"#;
        assert!(take(&[(2, format!("2\t{word}\n"))], &mut last, &log));
        // The turn was in progress when asked, and had ended when its journal was read.
        let is_running = true;
        assert!(!(take(&[(3, format!("3\t{end}\n"))], &mut last, &log) && is_running));
        log.disconnect();
        let mut cursor = log.follow(0);
        let told = log.next(&mut cursor).await.unwrap();
        assert!(told.ends_with(b"data: [DONE]\n\n"), "{told:?}");
        assert!(log.next(&mut cursor).await.is_none());
    }
}
