//! Runs that another node drives, as far as they stand in the database, for the viewers of this one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use domain::{ChatId, RunId, UserId};
use tokio::sync::Notify;

use super::chunks::lines;
use super::event::RunEvent;
use super::{RunLog, Runs};
use crate::app::App;

/// How often it is looked for news that nobody told of.
const LOOK: Duration = Duration::from_secs(1);

/// A copy of a run's log. It is fed as long as somebody holds it.
#[derive(Debug, Default)]
pub struct Replica {
    log: RunLog,
}

impl AsRef<RunLog> for Replica {
    fn as_ref(&self) -> &RunLog {
        &self.log
    }
}

/// By run: the copy, and what wakes the one that feeds it.
type ByRun = HashMap<RunId, (Weak<Replica>, Arc<Notify>)>;

/// The copies that are followed here.
#[derive(Debug, Default)]
pub struct Replicas(Mutex<ByRun>);

impl Replicas {
    fn all(&self) -> MutexGuard<'_, ByRun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing feeds this copy any more. Another one of the same run may have taken its place.
    fn forget(&self, run: RunId, news: &Arc<Notify>) {
        let mut replicas = self.all();
        if replicas.get(&run).is_some_and(|(_, own)| Arc::ptr_eq(own, news)) {
            replicas.remove(&run);
        }
    }
}

impl Runs {
    /// The turn that goes on in a chat on another node, if it is the one that is wanted, or any.
    pub async fn replica(
        &self,
        app: &App,
        (owner, chat): (UserId, ChatId),
        wanted: Option<RunId>,
    ) -> Result<Option<Arc<Replica>>, store::Error> {
        if !app.store.is_shared() {
            return Ok(None);
        }
        let found = app.store.find_running(owner, chat).await?;
        let Some(run) = found.filter(|run| wanted.is_none_or(|wanted| wanted == *run)) else { return Ok(None) };
        if let Some(replica) = self.replicas.all().get(&run).and_then(|(replica, _)| replica.upgrade()) {
            return Ok(Some(replica));
        }
        let (replica, news) = (Arc::new(Replica::default()), Arc::new(Notify::new()));
        self.replicas.all().insert(run, (Arc::downgrade(&replica), Arc::clone(&news)));
        // Whoever comes back has to find what they have seen.
        let mut last = 0;
        match read(app, owner, run, &mut last, &replica.log).await {
            Ok(true) => {
                app.tasks.spawn("replica", feed(app.clone(), owner, run, (Arc::downgrade(&replica), news), last));
            }
            read => {
                self.replicas.forget(run, &news);
                replica.log.leave();
                read?;
            }
        }
        Ok(Some(replica))
    }

    /// Says that a run has said something on another node.
    pub fn wake(&self, run: RunId) {
        if let Some((_, news)) = self.replicas.all().get(&run) {
            news.notify_one();
        }
    }

    /// Says that any run may have said something.
    pub fn wake_all(&self) {
        for (_, news) in self.replicas.all().values() {
            news.notify_one();
        }
    }
}

async fn feed(app: App, owner: UserId, run: RunId, (replica, news): (Weak<Replica>, Arc<Notify>), mut last: u64) {
    loop {
        tokio::select! {
            () = news.notified() => {}
            () = tokio::time::sleep(LOOK) => {}
            () = app.tasks.shutdown_token().cancelled() => break,
        }
        let Some(replica) = replica.upgrade() else { break };
        match read(&app, owner, run, &mut last, &replica.log).await {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => tracing::warn!(%error, %run, "the log of a run on another node could not be read"),
        }
    }
    app.runs.replicas.forget(run, &news);
    if let Some(replica) = replica.upgrade() {
        // Unless its end was there, without one: the viewers come back, or load what is stored.
        replica.log.leave();
    }
}

/// Reads what is new; `false` when nothing follows.
async fn read(app: &App, owner: UserId, run: RunId, last: &mut u64, log: &RunLog) -> Result<bool, store::Error> {
    // In this order: when it does not run any more, all of it is there.
    let is_running = app.store.is_running(owner, run).await?;
    let chunks = app.store.list_chunks_after(owner, run, *last).await?;
    Ok(take(&chunks, last, log) && is_running)
}

/// Takes in what is new. `false` after the end, which is written with the answer: it may be read before it was seen that
/// the run does not go on.
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
        // The run went on when it was asked whether it does, and had ended when its pieces were read.
        let is_running = true;
        assert!(!(take(&[(3, format!("3\t{end}\n"))], &mut last, &log) && is_running));
        log.leave();
        let mut cursor = log.follow(0);
        let told = log.next(&mut cursor).await.unwrap();
        assert!(told.ends_with(b"data: [DONE]\n\n"), "{told:?}");
        assert!(log.next(&mut cursor).await.is_none());
    }
}
