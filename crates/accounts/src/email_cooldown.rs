//! Between two mails about the same thing to the same address a minute passes, whether or not the address has an account:
//! nobody's mailbox is flooded, and the pause tells nothing. Counted in this process alone.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use domain::{Clock, Timestamp};

use super::error::AuthError;

/// Minimum time between two mails to an address, in seconds. The value is GoTrue's default.
const COOLDOWN_SECONDS: i64 = 60;
const MICROSECONDS_PER_SECOND: i64 = 1_000_000;
/// When so many are remembered, those that are over are forgotten.
const SWEEP_AT: usize = 1024;

/// What a mail is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Making an account.
    Confirmation,
    /// Being let in without the password.
    Recovery,
    /// Having another address.
    EmailChange,
    /// Showing that one is still oneself.
    Reauthentication,
}

/// An address by its hash, so that none is kept.
type Key = (Purpose, u64);

/// The mails of the last minute.
#[derive(Debug)]
pub struct Pauses {
    clock: Arc<dyn Clock>,
    hasher: RandomState,
    sent: Option<Mutex<HashMap<Key, Timestamp>>>,
}

impl Pauses {
    /// In force, or not at all.
    pub fn new(on: bool, clock: &Arc<dyn Clock>) -> Self {
        Self { clock: Arc::clone(clock), hasher: RandomState::new(), sent: on.then(Mutex::default) }
    }

    /// Notes a mail that is about to be sent, or refuses it.
    pub fn begin(&self, purpose: Purpose, address: &str) -> Result<(), AuthError> {
        let Some(sent) = &self.sent else { return Ok(()) };
        let now = self.clock.now();
        let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
        // Swept on insertion instead of by a timer: without new emails there is nothing to bound.
        if sent.len() >= SWEEP_AT {
            sent.retain(|_, at| left(*at, now) > 0);
        }
        let key = self.key(purpose, address);
        match sent.get(&key).map_or(0, |at| left(*at, now)) {
            // Recorded before the email is sent, so that concurrent requests cannot all pass. A failed email takes it
            // back.
            ..=0 => {
                sent.insert(key, now);
                Ok(())
            }
            left => Err(AuthError::TooManyMails { retry_after: left.unsigned_abs() }),
        }
    }

    /// Forgets a mail that was not sent after all.
    pub fn forget(&self, purpose: Purpose, address: &str) {
        if let Some(sent) = &self.sent {
            sent.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key(purpose, address));
        }
    }

    fn key(&self, purpose: Purpose, address: &str) -> Key {
        (purpose, self.hasher.hash_one(address))
    }
}

/// Returns the whole seconds until the next email, rounded up. They never exceed [`COOLDOWN_SECONDS`], even if the clock was set
/// back.
fn left(sent: Timestamp, now: Timestamp) -> i64 {
    let left = sent.plus_seconds(COOLDOWN_SECONDS).0 - now.0;
    ((left + MICROSECONDS_PER_SECOND - 1) / MICROSECONDS_PER_SECOND).min(COOLDOWN_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_clock::ManualClock;

    fn wait(pauses: &Pauses, purpose: Purpose, address: &str) -> u64 {
        match pauses.begin(purpose, address) {
            Ok(()) => 0,
            Err(error) => error.retry_after().unwrap(),
        }
    }

    #[test]
    fn a_minute_passes_between_two_mails_about_the_same_thing() {
        let clock = ManualClock::new();
        let shared: Arc<dyn Clock> = clock.clone();
        let pauses = Pauses::new(true, &shared);
        assert_eq!(wait(&pauses, Purpose::Recovery, "a@b.c"), 0);
        assert_eq!(wait(&pauses, Purpose::Recovery, "a@b.c"), 60);
        assert_eq!(wait(&pauses, Purpose::Confirmation, "a@b.c"), 0, "about another thing");
        assert_eq!(wait(&pauses, Purpose::Recovery, "b@b.c"), 0, "to somebody else");
        clock.advance_seconds(59);
        assert_eq!(wait(&pauses, Purpose::Recovery, "a@b.c"), 1);
        clock.advance_seconds(1);
        assert_eq!(wait(&pauses, Purpose::Recovery, "a@b.c"), 0);
        pauses.forget(Purpose::Recovery, "a@b.c");
        assert_eq!(wait(&pauses, Purpose::Recovery, "a@b.c"), 0, "it was not sent");
    }

    #[test]
    fn what_is_over_is_forgotten_and_pauses_can_be_off() {
        let clock = ManualClock::new();
        let shared: Arc<dyn Clock> = clock.clone();
        let pauses = Pauses::new(true, &shared);
        for number in 0..SWEEP_AT {
            assert_eq!(wait(&pauses, Purpose::Recovery, &number.to_string()), 0);
        }
        clock.advance_seconds(COOLDOWN_SECONDS);
        assert_eq!(wait(&pauses, Purpose::Recovery, "a@b.c"), 0);
        assert_eq!(pauses.sent.as_ref().unwrap().lock().unwrap().len(), 1);
        let off = Pauses::new(false, &shared);
        assert_eq!((wait(&off, Purpose::Recovery, "a"), wait(&off, Purpose::Recovery, "a")), (0, 0));
    }
}
