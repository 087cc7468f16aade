//! When each sign-in was last used, written down now and then, and never while a call waits.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use domain::AuthSessionId;
use storage::auth_sessions::Standing;

use super::{AccountService, Claims};

/// How old what is written down may become, in milliseconds: five minutes are exact enough for people.
const EXACT_TO: u64 = 5 * 60 * 1000;

/// The sign-ins whose use is being written down.
#[derive(Debug, Clone, Default)]
pub struct Presence(Arc<Mutex<HashSet<AuthSessionId>>>);

impl AccountService {
    /// Notes that a sign-in is used now.
    pub(super) fn record_use(&self, claims: Claims, standing: Standing) {
        let now = self.clock.now();
        // The set keeps the requests that arrive while a write is in progress from each starting another one.
        if now.millis_since(standing.used_at) < EXACT_TO || !self.presence.writing().insert(claims.session) {
            return;
        }
        let service = self.clone();
        self.tasks.spawn("note use", async move {
            if let Err(error) = service.storage.auth_sessions().touch(claims.user, claims.session, now).await {
                tracing::warn!(%error, "the last use of a session could not be recorded");
            }
            // Removed after a failure as well; the next request tries again.
            service.presence.writing().remove(&claims.session);
        });
    }
}

impl Presence {
    fn writing(&self) -> std::sync::MutexGuard<'_, HashSet<AuthSessionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
