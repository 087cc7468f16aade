//! Detection of revoked API keys while answers are in progress, on whichever node they were revoked. One query per
//! second and user serves all of the user's answers.

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

/// Checks in progress, by user.
#[derive(Debug, Default)]
pub struct KeyWatch(Mutex<HashMap<UserId, watch::Sender<KnownKeys>>>);

impl KeyWatch {
    /// Waits until an API key of a user is revoked; all answers of a user share one check.
    pub async fn ended(app: &App, user: UserId, key: ApiKeyId) {
        let mut keys = app.key_watch.follow(app, user);
        while keys.changed().await.is_ok() {
            let has_key = keys.borrow_and_update().as_ref().is_none_or(|keys| keys.contains(&key));
            // A key that was created during the query is missing in its result, so the absence is confirmed.
            if !has_key && read_keys(app, user).await.is_some_and(|keys| !keys.contains(&key)) {
                return;
            }
        }
        // The process shuts down, which ends the answer by itself.
        std::future::pending::<()>().await;
    }

    /// Subscribes to the check of a user, and starts it if needed.
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
                // Drops the sender, which wakes the subscribers.
                inner.key_watch.checks().remove(&user);
            }
        });
        receiver
    }

    /// Returns whether a subscriber is left, and removes the check otherwise. Both happen under one lock, so no
    /// subscriber can join a check that is about to stop.
    fn is_followed(&self, user: UserId) -> bool {
        let mut checks = self.checks();
        let is_followed = checks.get(&user).is_some_and(|check| check.receiver_count() > 0);
        if !is_followed {
            checks.remove(&user);
        }
        is_followed
    }

    /// Publishes the current keys of a user.
    fn publish(&self, user: UserId, keys: HashSet<ApiKeyId>) {
        if let Some(check) = self.checks().get(&user) {
            check.send_replace(Some(keys));
        }
    }

    fn checks(&self) -> MutexGuard<'_, HashMap<UserId, watch::Sender<KnownKeys>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a user's keys once a second while there are subscribers.
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

/// Returns the keys of a user, or `None` if the database is unreachable. The keys stay valid then, because they were
/// valid when the answers began.
async fn read_keys(app: &App, user: UserId) -> Option<HashSet<ApiKeyId>> {
    let keys = app.store.list_api_keys(user).await.ok()?;
    Some(keys.into_iter().map(|key| key.id).collect())
}
