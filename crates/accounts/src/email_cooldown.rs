//! Minimum time between two emails of the same kind to the same address. It protects mailboxes from being flooded. It
//! applies whether or not the address has an account, so that it does not disclose which accounts exist. Each process
//! counts for itself.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use domain::{Clock, Timestamp};

use super::error::AuthError;

/// Minimum time between two emails to an address, in seconds. The value is GoTrue's default.
const COOLDOWN_SECONDS: i64 = 60;
const MICROSECONDS_PER_SECOND: i64 = 1_000_000;
/// Number of entries above which expired ones are removed.
const SWEEP_THRESHOLD: usize = 1024;

/// Kind of an email. Each kind has its own cooldown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EmailPurpose {
    /// Confirmation of a sign-up.
    Confirmation,
    /// Password recovery and sign-in by email.
    Recovery,
    /// Change of the email address.
    EmailChange,
    /// Code for reauthentication.
    Reauthentication,
}

/// Kind of the email and hash of the address, so that no address is kept in memory.
type SentEmailKey = (EmailPurpose, u64);

/// Times of the emails of the last minute.
#[derive(Debug)]
pub struct EmailCooldown {
    clock: Arc<dyn Clock>,
    hasher: RandomState,
    sent: Option<Mutex<HashMap<SentEmailKey, Timestamp>>>,
}

impl EmailCooldown {
    /// Creates an empty register. If it is not enabled, no email has to wait.
    pub fn new(is_enabled: bool, clock: &Arc<dyn Clock>) -> Self {
        Self { clock: Arc::clone(clock), hasher: RandomState::new(), sent: is_enabled.then(Mutex::default) }
    }

    /// Starts the cooldown for an email that is about to be sent, or rejects the email while a cooldown is running.
    pub fn start(&self, purpose: EmailPurpose, address: &str) -> Result<(), AuthError> {
        let Some(sent) = &self.sent else { return Ok(()) };
        let now = self.clock.now();
        let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
        // Swept on insertion instead of by a timer: without new emails the map does not grow.
        if sent.len() >= SWEEP_THRESHOLD {
            sent.retain(|_, at| seconds_left(*at, now) > 0);
        }
        let key = self.key(purpose, address);
        match sent.get(&key).map_or(0, |at| seconds_left(*at, now)) {
            // Recorded before the email is sent, so that concurrent requests cannot all pass. If sending fails,
            // `cancel` removes the entry.
            ..=0 => {
                sent.insert(key, now);
                Ok(())
            }
            left => Err(AuthError::EmailRateLimited { retry_after: left.unsigned_abs() }),
        }
    }

    /// Cancels the cooldown of an email that could not be sent.
    pub fn cancel(&self, purpose: EmailPurpose, address: &str) {
        if let Some(sent) = &self.sent {
            sent.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key(purpose, address));
        }
    }

    fn key(&self, purpose: EmailPurpose, address: &str) -> SentEmailKey {
        (purpose, self.hasher.hash_one(address))
    }
}

/// Returns the whole seconds until the next email, rounded up. They never exceed [`COOLDOWN_SECONDS`], even if the
/// clock was set back.
fn seconds_left(sent: Timestamp, now: Timestamp) -> i64 {
    let left = sent.plus_seconds(COOLDOWN_SECONDS).0 - now.0;
    ((left + MICROSECONDS_PER_SECOND - 1) / MICROSECONDS_PER_SECOND).min(COOLDOWN_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_clock::ManualClock;

    fn wait(email_cooldown: &EmailCooldown, purpose: EmailPurpose, address: &str) -> u64 {
        match email_cooldown.start(purpose, address) {
            Ok(()) => 0,
            Err(error) => error.retry_after().unwrap(),
        }
    }

    #[test]
    fn limits_emails_of_one_kind_to_one_a_minute() {
        let clock = ManualClock::new();
        let shared: Arc<dyn Clock> = clock.clone();
        let email_cooldown = EmailCooldown::new(true, &shared);
        assert_eq!(wait(&email_cooldown, EmailPurpose::Recovery, "a@b.c"), 0);
        assert_eq!(wait(&email_cooldown, EmailPurpose::Recovery, "a@b.c"), 60);
        assert_eq!(wait(&email_cooldown, EmailPurpose::Confirmation, "a@b.c"), 0, "another kind");
        assert_eq!(wait(&email_cooldown, EmailPurpose::Recovery, "b@b.c"), 0, "another address");
        clock.advance_seconds(59);
        assert_eq!(wait(&email_cooldown, EmailPurpose::Recovery, "a@b.c"), 1);
        clock.advance_seconds(1);
        assert_eq!(wait(&email_cooldown, EmailPurpose::Recovery, "a@b.c"), 0);
        email_cooldown.cancel(EmailPurpose::Recovery, "a@b.c");
        assert_eq!(wait(&email_cooldown, EmailPurpose::Recovery, "a@b.c"), 0, "it was not sent");
    }

    #[test]
    fn removes_expired_entries_and_can_be_disabled() {
        let clock = ManualClock::new();
        let shared: Arc<dyn Clock> = clock.clone();
        let email_cooldown = EmailCooldown::new(true, &shared);
        for number in 0..SWEEP_THRESHOLD {
            assert_eq!(wait(&email_cooldown, EmailPurpose::Recovery, &number.to_string()), 0);
        }
        clock.advance_seconds(COOLDOWN_SECONDS);
        assert_eq!(wait(&email_cooldown, EmailPurpose::Recovery, "a@b.c"), 0);
        assert_eq!(email_cooldown.sent.as_ref().unwrap().lock().unwrap().len(), 1);
        let off = EmailCooldown::new(false, &shared);
        assert_eq!((wait(&off, EmailPurpose::Recovery, "a"), wait(&off, EmailPurpose::Recovery, "a")), (0, 0));
    }
}
