//! When each sign-in was last used, written down now and then, and never while a call waits.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use domain::AuthSessionId;
use store::auth_sessions::Standing;

use super::Claims;
use crate::app::App;

/// How old what is written down may become, in milliseconds: five minutes are exact enough for people.
const EXACT_TO: u64 = 5 * 60 * 1000;

/// The sign-ins whose use is being written down.
#[derive(Debug, Default)]
pub struct Presence(Mutex<HashSet<AuthSessionId>>);

impl Presence {
    /// Notes that a sign-in is used now.
    pub fn note(&self, app: &App, claims: Claims, standing: Standing) {
        let now = app.clock.now();
        if now.millis_since(standing.used_at) < EXACT_TO || !self.writing().insert(claims.session) {
            return;
        }
        let inner = app.clone();
        app.tasks.spawn("note use", async move {
            if let Err(error) = inner.store.touch_auth_session(claims.user, claims.session, now).await {
                tracing::warn!(%error, "the use of a sign-in could not be noted");
            }
            inner.auth.presence.writing().remove(&claims.session);
        });
    }

    fn writing(&self) -> std::sync::MutexGuard<'_, HashSet<AuthSessionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
