//! Detection of revoked API keys while answers are in progress, on whichever node they were revoked. One query per
//! second and user serves all of the user's answers.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{ApiKeyId, UserId};
use platform::BackgroundTasks;
use storage::Storage;
use tokio::sync::watch;

/// Time between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The keys that users have, as last read from the database.
type KnownKeys = Option<HashSet<ApiKeyId>>;

/// Checks of users' API keys, shared by all clones.
#[derive(Debug, Clone)]
pub struct KeyRevocationWatch {
    storage: Storage,
    tasks: BackgroundTasks,
    /// Checks in progress, by user.
    checks: Arc<Mutex<HashMap<UserId, watch::Sender<KnownKeys>>>>,
}

impl KeyRevocationWatch {
    /// Creates a watch without any check.
    pub fn new(storage: Storage, tasks: BackgroundTasks) -> Self {
        Self { storage, tasks, checks: Arc::default() }
    }

    /// Waits until an API key of a user is revoked; all answers of a user share one check.
    pub async fn revoked(&self, user: UserId, key: ApiKeyId) {
        let mut keys = self.subscribe(user);
        while keys.changed().await.is_ok() {
            let has_key = keys.borrow_and_update().as_ref().is_none_or(|keys| keys.contains(&key));
            // A key that was created during the query is missing in its result, so the absence is confirmed.
            if !has_key && self.read_keys(user).await.is_some_and(|keys| !keys.contains(&key)) {
                return;
            }
        }
        // The process shuts down, which ends the answer by itself.
        std::future::pending::<()>().await;
    }

    /// Subscribes to the check of a user, and starts it if needed.
    fn subscribe(&self, user: UserId) -> watch::Receiver<KnownKeys> {
        let mut checks = self.checks();
        if let Some(check) = checks.get(&user) {
            return check.subscribe();
        }
        let (sender, receiver) = watch::channel(None);
        checks.insert(user, sender);
        let this = self.clone();
        self.tasks.spawn("api key check", async move {
            let shutdown = this.tasks.shutdown_token().clone();
            if shutdown.run_until_cancelled(this.check(user)).await.is_none() {
                // Drops the sender, which wakes the subscribers.
                this.checks().remove(&user);
            }
        });
        receiver
    }

    /// Reads a user's keys once a second while there are subscribers.
    async fn check(&self, user: UserId) {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            if !self.has_subscribers(user) {
                return;
            }
            if let Some(keys) = self.read_keys(user).await
                && let Some(check) = self.checks().get(&user)
            {
                check.send_replace(Some(keys));
            }
        }
    }

    /// Returns whether a subscriber is left, and removes the check otherwise. Both happen under one lock, so no
    /// subscriber can join a check that is about to stop.
    fn has_subscribers(&self, user: UserId) -> bool {
        let mut checks = self.checks();
        let has_subscribers = checks.get(&user).is_some_and(|check| check.receiver_count() > 0);
        if !has_subscribers {
            checks.remove(&user);
        }
        has_subscribers
    }

    /// Returns the keys of a user, or `None` if the database is unreachable. The keys stay valid then, because they
    /// were valid when the answers began.
    async fn read_keys(&self, user: UserId) -> Option<HashSet<ApiKeyId>> {
        let keys = self.storage.api_keys().list(user).await.ok()?;
        Some(keys.into_iter().map(|key| key.id).collect())
    }

    fn checks(&self) -> MutexGuard<'_, HashMap<UserId, watch::Sender<KnownKeys>>> {
        self.checks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
