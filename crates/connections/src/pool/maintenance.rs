//! Maintenance of the pool: closes idle connections, and for users with open clients retries failed ones and probes quiet
//! ones.

use std::sync::Arc;
use std::time::Duration;

use domain::Timestamp;
use tokio::time::{MissedTickBehavior, interval};

use super::ConnectionPool;
use super::entry::{ConfigKey, ConnectionEntry};
use crate::connection_dto::ConnectionStatus;

/// Time without use after which a connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_mins(15);
/// Time without messages after which an open connection is probed, in milliseconds.
const PROBE_AFTER_MS: u64 = 30_000;
/// Interval of maintenance. A tick compares a few numbers per connection.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

impl ConnectionPool {
    /// Starts maintenance, which runs until shutdown.
    pub fn spawn_maintenance(&self) {
        let pool = self.clone();
        self.tasks.spawn("maintain connections", async move {
            let mut ticks = interval(TICK_INTERVAL);
            // After a suspension of the machine one tick is enough.
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = pool.tasks.shutdown_token().cancelled() => return,
                    _ = ticks.tick() => pool.tick(),
                }
            }
        });
    }

    fn tick(&self) {
        let now = self.clock.now();
        // Copied, so that the lock of the map is not held during the checks.
        let entries: Vec<Arc<ConnectionEntry>> = self.entries().values().cloned().collect();
        for entry in entries {
            let pool = self.clone();
            if is_idle(&entry, now) {
                self.tasks.spawn("close idle connection", async move { pool.close_idle(&entry).await });
            } else if self.events.has_subscribers(entry.owner) {
                // Only for users with an open client, because nobody else would see the new status.
                if is_retry_due(&entry, now) {
                    self.tasks.spawn("retry connection", async move { pool.retry(entry).await });
                } else if entry.should_probe(now, PROBE_AFTER_MS) {
                    self.tasks.spawn("probe connection", async move { pool.probe(&entry).await });
                }
            }
        }
    }

    async fn close_idle(&self, entry: &ConnectionEntry) {
        let connection = entry.update(|state| {
            if state.status == Some(ConnectionStatus::Connected) {
                state.status = Some(ConnectionStatus::Idle);
            }
            state.connection.take()
        });
        let Some(connection) = connection else { return };
        self.publish_current(entry).await;
        connection.close().await;
    }

    /// Checks whether a server still responds. A server that never sends anything by itself would otherwise count as
    /// connected until its next use.
    async fn probe(&self, entry: &ConnectionEntry) {
        let Some(connection) = entry.state().connection else { return };
        let Err(error) = connection.probe().await else { return };
        // It may have been closed or replaced during the probe, and then its failure says nothing about the current
        // one.
        let is_current = entry.state().connection.is_some_and(|open| open.is_same(&connection));
        if is_current {
            entry.record_disconnected(&error.to_string(), self.clock.now());
            self.publish_current(entry).await;
        }
    }

    /// Connects again after a failure, if the connection still exists unchanged.
    async fn retry(&self, entry: Arc<ConnectionEntry>) {
        match self.storage.connections().get(entry.owner, entry.server).await {
            // Not shown as connecting: a server that stays unreachable would flicker in the user's list with each
            // retry.
            Ok(Some(server)) if ConfigKey::new(&server) == entry.config_key => {
                drop(self.connect(&server, entry, false).await);
            }
            Ok(_) => {}
            Err(error) => tracing::error!(%error, "could not read a connection to retry it"),
        }
    }
}

/// Returns whether an open connection was not used for [`IDLE_TIMEOUT`].
fn is_idle(entry: &ConnectionEntry, now: Timestamp) -> bool {
    let is_unused =
        entry.idle_since().is_some_and(|since| u128::from(now.millis_since(since)) > IDLE_TIMEOUT.as_millis());
    is_unused && entry.state().connection.is_some()
}

/// Returns whether a failed server is to be tried again and no attempt is in progress.
fn is_retry_due(entry: &ConnectionEntry, now: Timestamp) -> bool {
    let state = entry.state();
    state.status == Some(ConnectionStatus::Error)
        && state.connection.is_none()
        && !state.backoff.is_active(now)
        && entry.connect_lock.try_lock().is_ok()
}
