//! Notices API keys that end while answers are given to them, at whichever node they were ended. One check a second serves all
//! answers of a user.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{ApiKeyId, UserId};
use tokio::sync::watch;

use crate::app::App;

/// Time between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The keys that users have, as last read from the database.
type KnownKeys = Option<HashSet<ApiKeyId>>;

/// The checks that go on, by user.
#[derive(Debug, Default)]
pub struct KeyWatch(Mutex<HashMap<UserId, watch::Sender<KnownKeys>>>);

impl KeyWatch {
    /// Waits until a key of a user has ended.
    pub async fn ended(app: &App, user: UserId, key: ApiKeyId) {
        let mut keys = app.key_watch.follow(app, user);
        while keys.changed().await.is_ok() {
            let has_key = keys.borrow_and_update().as_ref().is_none_or(|keys| keys.contains(&key));
            // A key that was made during the check is not in it, so that its absence is confirmed.
            if !has_key && read_keys(app, user).await.is_some_and(|keys| !keys.contains(&key)) {
                return;
            }
        }
        // The program stops, which ends the answer by itself.
        std::future::pending::<()>().await;
    }

    /// Joins the check of a user, or begins it.
    fn follow(&self, app: &App, user: UserId) -> watch::Receiver<KnownKeys> {
        let mut checks = self.checks();
        if let Some(check) = checks.get(&user) {
            return check.subscribe();
        }
        let (sender, receiver) = watch::channel(None);
        checks.insert(user, sender);
        let inner = app.clone();
        app.tasks.spawn("watch keys", async move {
            let stopping = inner.tasks.shutdown_token().clone();
            if stopping.run_until_cancelled(check(&inner, user)).await.is_none() {
                // Those who wait are let go.
                inner.key_watch.checks().remove(&user);
            }
        });
        receiver
    }

    /// Returns whether somebody still waits for the check of a user, and forgets it otherwise.
    fn is_followed(&self, user: UserId) -> bool {
        let mut checks = self.checks();
        let is_followed = checks.get(&user).is_some_and(|check| check.receiver_count() > 0);
        if !is_followed {
            checks.remove(&user);
        }
        is_followed
    }

    fn publish(&self, user: UserId, keys: HashSet<ApiKeyId>) {
        if let Some(check) = self.checks().get(&user) {
            check.send_replace(Some(keys));
        }
    }

    fn checks(&self) -> MutexGuard<'_, HashMap<UserId, watch::Sender<KnownKeys>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a user's keys once a second, as long as somebody waits for it.
async fn check(app: &App, user: UserId) {
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        if !app.key_watch.is_followed(user) {
            return;
        }
        if let Some(keys) = read_keys(app, user).await {
            app.key_watch.publish(user, keys);
        }
    }
}

/// Returns the keys of a user. While the database is away they hold: the answer was allowed when it began.
async fn read_keys(app: &App, user: UserId) -> Option<HashSet<ApiKeyId>> {
    let keys = app.store.list_api_keys(user).await.ok()?;
    Some(keys.into_iter().map(|key| key.id).collect())
}
