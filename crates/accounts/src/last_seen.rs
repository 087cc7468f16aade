//! Time of the last use of each session. It is written with low precision and in the background, so that requests do
//! not wait for it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use domain::AuthSessionId;
use storage::auth_sessions::Standing;

use super::{AccountService, Claims};

/// Precision of the stored time, in milliseconds. Five minutes are sufficient for a list of devices.
const PRECISION_MS: u64 = 5 * 60 * 1000;

/// Sessions whose last use is being written.
#[derive(Debug, Clone, Default)]
pub struct LastSeenWrites(Arc<Mutex<HashSet<AuthSessionId>>>);

impl AccountService {
    /// Records the use of a session, if the stored time is older than [`PRECISION_MS`].
    pub(super) fn record_use(&self, claims: Claims, standing: Standing) {
        let now = self.clock.now();
        // The set prevents concurrent requests of one session from each starting a write.
        if now.millis_since(standing.used_at) < PRECISION_MS
            || !self.last_seen_writes.in_progress().insert(claims.session)
        {
            return;
        }
        let service = self.clone();
        self.tasks.spawn("record session use", async move {
            if let Err(error) = service.storage.auth_sessions().touch(claims.user, claims.session, now).await {
                tracing::warn!(%error, "the last use of a session could not be recorded");
            }
            // Also removed after a failure, so that the next request tries again.
            service.last_seen_writes.in_progress().remove(&claims.session);
        });
    }
}

impl LastSeenWrites {
    fn in_progress(&self) -> std::sync::MutexGuard<'_, HashSet<AuthSessionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
