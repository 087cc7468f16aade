//! Ends of sessions by their age, and the deletion of those that have ended, of old audit events and of old counts.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::{AuthSessionId, Timestamp, UserId};
use platform::UserEvent;
use platform::config::SessionLifetimes;

use super::AccountService;
use super::gotrue_error::{GoTrueError, SESSION_EXPIRED, SESSION_INACTIVE};
use super::login_throttle::{FAILURE_LIFETIME_SECONDS, FAMILIAR_ADDRESS_SECONDS};

/// Interval between two deletions. Until then, ended sessions are listed as devices and cannot be used.
const CLEANUP_INTERVAL: Duration = Duration::from_mins(10);

/// Times at which a session ends; `None` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionEnd {
    /// End by its age.
    by_age: Option<Timestamp>,
    /// End unless its tokens are renewed before.
    by_inactivity: Option<Timestamp>,
}

impl SessionEnd {
    /// Calculates the ends of a session that began at `created_at` and whose tokens were last renewed at `refreshed_at`.
    pub fn new(lifetimes: SessionLifetimes, created_at: Timestamp, refreshed_at: Timestamp) -> Self {
        let after = |time: Timestamp, lifetime: Duration| time.plus_seconds(whole_seconds(lifetime));
        Self {
            by_age: lifetimes.max.map(|lifetime| after(created_at, lifetime)),
            by_inactivity: lifetimes.idle.map(|lifetime| after(refreshed_at, lifetime)),
        }
    }

    /// Returns the first of the ends.
    pub fn earliest(self) -> Option<Timestamp> {
        self.by_age.into_iter().chain(self.by_inactivity).min()
    }

    /// Rejects a session that has ended.
    ///
    /// # Errors
    ///
    /// GoTrue's error `session_expired`.
    pub fn check(self, now: Timestamp) -> Result<(), GoTrueError> {
        let is_over = |end: Option<Timestamp>| end.is_some_and(|end| end <= now);
        if is_over(self.by_age) {
            return Err(SESSION_EXPIRED);
        }
        if is_over(self.by_inactivity) { Err(SESSION_INACTIVE) } else { Ok(()) }
    }
}

/// Returns the seconds of a lifetime, which is at most a hundred years.
fn whole_seconds(lifetime: Duration) -> i64 {
    i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX)
}

impl AccountService {
    /// Deletes ended sessions and old audit events, at regular intervals until shutdown.
    pub async fn run_cleanup(self) {
        let shutdown = self.tasks.shutdown_token().clone();
        loop {
            match self.delete_ended_sessions().await {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, "ended sessions were deleted"),
                Err(error) => tracing::error!(%error, "ended sessions could not be deleted"),
            }
            if let Err(error) = self.delete_old_audit_events().await {
                tracing::error!(%error, "old audit events could not be deleted");
            }
            if let Err(error) = self.delete_old_counts().await {
                tracing::error!(%error, "old counts of rate limits could not be deleted");
            }
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(CLEANUP_INTERVAL) => {}
            }
        }
    }

    /// Deletes the events of the audit log that are older than its settings say. Returns their number.
    ///
    /// # Errors
    ///
    /// The database fails.
    pub async fn delete_old_audit_events(&self) -> Result<u64, storage::Error> {
        let lifetime = self.settings.audit_lifetime.map_or(0, whole_seconds);
        self.storage.audit_events().delete_old(self.clock.now().plus_seconds(-lifetime)).await
    }

    /// Deletes the counts of rate limits that no longer limit anything. Returns their number.
    ///
    /// # Errors
    ///
    /// The database fails.
    pub async fn delete_old_counts(&self) -> Result<u64, storage::Error> {
        let now = self.clock.now();
        let (attempted, succeeded) =
            (now.plus_seconds(-FAILURE_LIFETIME_SECONDS), now.plus_seconds(-FAMILIAR_ADDRESS_SECONDS));
        self.storage.rate_limits().delete_old(now, attempted, succeeded).await
    }

    /// Deletes the sessions of all users that have ended by their age or by inactivity. Returns their number.
    ///
    /// # Errors
    ///
    /// The database fails.
    pub async fn delete_ended_sessions(&self) -> Result<u64, storage::Error> {
        let SessionLifetimes { idle, max } = self.settings.session_lifetimes;
        if idle.is_none() && max.is_none() {
            return Ok(0);
        }
        let now = self.clock.now();
        let before = |lifetime: Duration| now.plus_seconds(-whole_seconds(lifetime));
        let users = self.storage.auth_sessions().delete_ended(max.map(before), idle.map(before)).await?;
        for user in users.iter().collect::<BTreeSet<_>>() {
            // Event streams of the ended sessions listen to this event and close.
            self.events.publish(*user, &UserEvent::Devices);
        }
        Ok(users.len() as u64)
    }

    /// Returns whether a session may be used now: it exists and has not ended, its user is not locked, and it has passed the
    /// second factor if the user has one.
    ///
    /// # Errors
    ///
    /// The database fails.
    pub async fn is_session_valid(&self, user: UserId, session: AuthSessionId) -> Result<bool, storage::Error> {
        let standing = self.storage.auth_sessions().get_standing(user, session).await?;
        let now = self.clock.now();
        Ok(standing.is_some_and(|standing| {
            let end = SessionEnd::new(self.settings.session_lifetimes, standing.created_at, standing.refreshed_at);
            let is_locked = standing.banned_until.is_some_and(|until| until > now);
            !standing.lacks_factor && !is_locked && end.check(now).is_ok()
        }))
    }
}
