//! Runs that another node drives, as far as they stand in the database, for the viewers of this one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use domain::{ChatId, RunId, UserId};
use tokio::sync::Notify;

use super::event::RunEvent;
use super::journal::lines;
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
        if read(app, owner, run, &mut last, &replica.log).await? {
            app.tasks.spawn("replica", feed(app.clone(), owner, run, (Arc::downgrade(&replica), news), last));
        } else {
            replica.log.leave();
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
            () = app.tasks.stopping().cancelled() => break,
        }
        let Some(replica) = replica.upgrade() else { break };
        match read(&app, owner, run, &mut last, &replica.log).await {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => tracing::warn!(%error, %run, "the log of a run on another node could not be read"),
        }
    }
    let mut replicas = app.runs.replicas.all();
    if replicas.get(&run).is_some_and(|(_, own)| Arc::ptr_eq(own, &news)) {
        replicas.remove(&run);
    }
    drop(replicas);
    if let Some(replica) = replica.upgrade() {
        // Without its end: the viewers come back, or load what is stored.
        replica.log.leave();
    }
}

/// Reads what is new; `false` when nothing follows.
async fn read(app: &App, owner: UserId, run: RunId, last: &mut u64, log: &RunLog) -> Result<bool, store::Error> {
    // In this order: when it does not run any more, all of it is there.
    let is_running = app.store.is_running(owner, run).await?;
    let mut ended = false;
    for (seq, chunk) in app.store.list_chunks_after(owner, run, *last).await? {
        for (number, json) in lines(&chunk) {
            log.append_at(number, json);
            ended = matches!(
                serde_json::from_str(json),
                Ok(RunEvent::Finish { .. } | RunEvent::Error { .. } | RunEvent::Abort { .. })
            );
        }
        *last = seq;
    }
    if ended && !is_running {
        log.close();
    }
    Ok(is_running)
}
