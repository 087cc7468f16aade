//! Tries to prove that one is a certain person. After some failures each further try has to wait, twice as long each time.
//!
//! For a password two things are counted. The failures from one address at one account make that address wait, up to five
//! minutes. The failures at one account from at_account make everybody wait who has not signed in to it from where they
//! are, up to a minute. So whoever guesses from many addresses gets one guess a minute, and the person whose account it is
//! goes on signing in from the usual places, and waits a minute at most anywhere else: a stranger cannot lock them out.
//!
//! Before the code of a second factor is asked for, the password was right. There the account alone is counted and the
//! waits go up to a quarter of an hour: whoever suffers from that has a password to change.
//!
//! An account that does not exist is counted like one that does.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::Timestamp;

use platform::MonotonicClock;

use crate::error::AuthError;

/// Failures are forgotten after a day without another one.
const FAILURE_LIFETIME_SECONDS: i64 = 24 * 3600;
/// How long an address is one of a person's usual places after they signed in from there, in seconds.
const FAMILIAR_ADDRESS_SECONDS: i64 = 30 * 24 * 3600;
/// Maximum number of entries, which take about 8 MiB.
const MAX_ENTRIES: usize = 100_000;

/// What is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CredentialKind {
    /// The password of an account.
    Password,
    /// A code that was mailed. It is counted like a password: a stranger can try one, too.
    EmailedCode,
    /// The code of a second factor.
    SecondFactor,
}

impl CredentialKind {
    /// Returns why an attempt failed, for log lines.
    fn failure_reason(self) -> &'static str {
        match self {
            Self::Password => "wrong password",
            Self::EmailedCode => "wrong mailed code",
            Self::SecondFactor => "wrong second factor",
        }
    }
}

/// How many failures are free, and the longest wait after that.
struct BackoffPolicy {
    free_failures: u32,
    max_wait_seconds: i64,
}

const ADDRESS_BACKOFF: BackoffPolicy = BackoffPolicy { free_failures: 10, max_wait_seconds: 300 };
/// A hundred failures in a row are what NIST SP 800-63B (section 5.2.2) allows at the most.
const ACCOUNT_BACKOFF: BackoffPolicy = BackoffPolicy { free_failures: 100, max_wait_seconds: 60 };
const FACTOR_BACKOFF: BackoffPolicy = BackoffPolicy { free_failures: 10, max_wait_seconds: 900 };

impl BackoffPolicy {
    /// For how long the next try waits after so many failures, in seconds.
    fn wait_after(&self, failures: u32) -> i64 {
        match failures.checked_sub(self.free_failures) {
            None => 0,
            Some(more) => {
                // `checked_shl` fails only from 64 on; a shift by 63 gives a negative number, which the filter catches.
                1_i64
                    .checked_shl(more)
                    .filter(|wait| *wait > 0)
                    .map_or(self.max_wait_seconds, |w| w.min(self.max_wait_seconds))
            }
        }
    }
}

/// An account by its hash, so that no address is kept, and from where; or from at_account.
type ThrottleKey = (u64, Option<IpAddr>);

#[derive(Debug, Clone, Copy, Default)]
struct AttemptRecord {
    failures: u32,
    /// The last try.
    last_attempt: Timestamp,
    /// The last one that succeeded.
    last_success: Option<Timestamp>,
}

impl AttemptRecord {
    fn failures(&self, now: Timestamp) -> u32 {
        if self.last_attempt.plus_seconds(FAILURE_LIFETIME_SECONDS) > now { self.failures } else { 0 }
    }

    fn is_familiar(&self, now: Timestamp) -> bool {
        self.last_success.is_some_and(|at| at.plus_seconds(FAMILIAR_ADDRESS_SECONDS) > now)
    }

    /// Microseconds until the next try, 0 or less when it may be made.
    fn wait(&self, policy: &BackoffPolicy, now: Timestamp) -> i64 {
        let failures = self.failures(now);
        self.last_attempt.plus_seconds(policy.wait_after(failures)).0 - now.0
    }
}

/// The tries of one process.
#[derive(Debug)]
pub struct LoginThrottle {
    clock: MonotonicClock,
    hasher: RandomState,
    records: Mutex<HashMap<ThrottleKey, AttemptRecord>>,
}

/// A try that may be made. One that is dropped without [`LoginAttempt::succeeded`] leaves a line in the log.
#[derive(Debug)]
#[must_use = "a try that succeeded and does not say so counts as a failure"]
pub struct LoginAttempt<'a> {
    proof: CredentialKind,
    from: IpAddr,
    is_successful: bool,
    /// `None` where nothing is counted.
    counted: Option<CountedAttempt<'a>>,
}

#[derive(Debug)]
pub(super) struct CountedAttempt<'a> {
    throttle: &'a LoginThrottle,
    account: u64,
    address: IpAddr,
}

impl<'a> LoginAttempt<'a> {
    /// Begins an attempt from a network address.
    pub(super) fn new(proof: CredentialKind, from: IpAddr, counted: Option<CountedAttempt<'a>>) -> Self {
        Self { proof, from, is_successful: false, counted }
    }

    /// It was the person.
    pub fn succeeded(mut self) {
        self.is_successful = true;
        if let Some(CountedAttempt { throttle, account, address }) = &self.counted {
            throttle.succeed(*account, *address);
        }
    }
}

impl Drop for LoginAttempt<'_> {
    /// Logs a failure, for programs such as fail2ban.
    fn drop(&mut self) {
        if !self.is_successful {
            log_failed_sign_in(self.from, self.proof.failure_reason());
        }
    }
}

/// Logs a failed sign-in. The account is not named: a log must not tell who has one.
pub(super) fn log_failed_sign_in(from: IpAddr, reason: &'static str) {
    tracing::warn!(client_address = %from, reason, "sign-in failed");
}

impl LoginThrottle {
    /// Without any so far.
    pub(super) fn new(clock: MonotonicClock) -> Self {
        Self { clock, hasher: RandomState::new(), records: Mutex::default() }
    }

    /// Counts a try as a failure until it says otherwise: many at the same time do not pass all.
    pub(super) fn begin(
        &self,
        proof: CredentialKind,
        account: &str,
        address: IpAddr,
    ) -> Result<CountedAttempt<'_>, AuthError> {
        let now = self.clock.monotonic_now();
        // The hasher has a random key for each process, so that nobody can choose addresses that collide with a
        // victim's.
        let account = self.hasher.hash_one((proof, account));
        let mut records = self.lock();
        let record = |key: ThrottleKey| records.get(&key).copied().unwrap_or_default();
        let (at_address, at_account) = (record((account, Some(address))), record((account, None)));
        let wait = match proof {
            // For a factor the network address is ignored: who has the password may have many addresses, but the code
            // has six digits.
            CredentialKind::SecondFactor => at_account.wait(&FACTOR_BACKOFF, now),
            CredentialKind::Password | CredentialKind::EmailedCode if at_address.is_familiar(now) => {
                at_address.wait(&ADDRESS_BACKOFF, now)
            }
            CredentialKind::Password | CredentialKind::EmailedCode => {
                at_address.wait(&ADDRESS_BACKOFF, now).max(at_account.wait(&ACCOUNT_BACKOFF, now))
            }
        };
        if wait > 0 {
            let seconds = u64::try_from(wait).unwrap_or(0).div_ceil(1_000_000);
            return Err(AuthError::RateLimited { retry_after: seconds });
        }
        for (key, seen) in [((account, Some(address)), at_address), ((account, None), at_account)] {
            records.insert(
                key,
                AttemptRecord { failures: seen.failures(now).saturating_add(1), last_attempt: now, ..seen },
            );
        }
        if records.len() > MAX_ENTRIES {
            evict_old_records(&mut records, now);
        }
        Ok(CountedAttempt { throttle: self, account, address })
    }

    fn succeed(&self, account: u64, address: IpAddr) {
        let now = self.clock.monotonic_now();
        let mut records = self.lock();
        records.insert(
            (account, Some(address)),
            AttemptRecord { failures: 0, last_attempt: now, last_success: Some(now) },
        );
        // A successful sign-in shows that the account is in use; its owner must not wait for the guesses of others
        // elsewhere.
        records.remove(&(account, None));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ThrottleKey, AttemptRecord>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops what no longer counts, and if that is not enough the older half of the rest.
fn evict_old_records(records: &mut HashMap<ThrottleKey, AttemptRecord>, now: Timestamp) {
    records.retain(|_, record| record.failures(now) > 0 || record.is_familiar(now));
    if records.len() > MAX_ENTRIES / 2 {
        let mut times: Vec<Timestamp> = records.values().map(|record| record.last_attempt).collect();
        // The median instead of a sort: an attacker who fills the table makes this run again and again.
        let (_, median, _) = times.select_nth_unstable(records.len() / 2);
        let median = *median;
        records.retain(|_, record| record.last_attempt > median);
    }
}

#[cfg(test)]
mod tests;
