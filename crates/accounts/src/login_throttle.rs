//! Throttling of login attempts. After some failures each further attempt has to wait, with exponential backoff.
//!
//! Passwords and emailed codes are throttled in two ways. Failures from one network address at one account delay that
//! address, up to five minutes. All failures at one account delay addresses from which the user has not signed in
//! recently, up to one minute. Thus an attacker with many addresses has one guess per minute, while the user can still
//! sign in from familiar addresses and waits at most a minute elsewhere. Nobody can lock a user out of the account.
//!
//! Codes of second factors are throttled per account alone, up to 15 minutes. An attacker who gets this far knows the
//! password, so a delay of the user is acceptable: the password has to be changed anyway.
//!
//! Unknown accounts are throttled like existing ones, so that throttling does not disclose which accounts exist.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::Timestamp;

use platform::MonotonicClock;

use crate::error::AuthError;

/// Time after the last attempt at which failures are forgotten, in seconds.
const FAILURE_LIFETIME_SECONDS: i64 = 24 * 3600;
/// Time after a successful sign-in for which a network address counts as familiar, in seconds.
const FAMILIAR_ADDRESS_SECONDS: i64 = 30 * 24 * 3600;
/// Maximum number of entries, which take about 8 MiB.
const MAX_ENTRIES: usize = 100_000;

/// Kind of credential in a login attempt. Each kind is counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CredentialKind {
    /// Password of an account.
    Password,
    /// Emailed code. It is throttled like a password, because anyone can try one.
    EmailedCode,
    /// Code of a second factor.
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

/// Policy of exponential backoff: the number of failures without a wait, and the maximum wait.
struct BackoffPolicy {
    free_failures: u32,
    max_wait_seconds: i64,
}

const ADDRESS_BACKOFF: BackoffPolicy = BackoffPolicy { free_failures: 10, max_wait_seconds: 300 };
/// NIST SP 800-63B (section 5.2.2) allows at most 100 consecutive failures.
const ACCOUNT_BACKOFF: BackoffPolicy = BackoffPolicy { free_failures: 100, max_wait_seconds: 60 };
const FACTOR_BACKOFF: BackoffPolicy = BackoffPolicy { free_failures: 10, max_wait_seconds: 900 };

impl BackoffPolicy {
    /// Returns the wait before the next attempt after a number of failures, in seconds.
    fn wait_after(&self, failures: u32) -> i64 {
        match failures.checked_sub(self.free_failures) {
            None => 0,
            Some(more) => {
                // `checked_shl` fails only for shifts of 64 or more; 63 gives a negative number, which the filter drops.
                1_i64
                    .checked_shl(more)
                    .filter(|wait| *wait > 0)
                    .map_or(self.max_wait_seconds, |w| w.min(self.max_wait_seconds))
            }
        }
    }
}

/// Hash of an account, so that no email address is kept in memory, and a network address, or `None` for the total of
/// all addresses.
type ThrottleKey = (u64, Option<IpAddr>);

#[derive(Debug, Clone, Copy, Default)]
struct AttemptRecord {
    failures: u32,
    /// Time of the last attempt.
    last_attempt: Timestamp,
    /// Time of the last successful attempt.
    last_success: Option<Timestamp>,
}

impl AttemptRecord {
    fn failures(&self, now: Timestamp) -> u32 {
        if self.last_attempt.plus_seconds(FAILURE_LIFETIME_SECONDS) > now { self.failures } else { 0 }
    }

    fn is_familiar(&self, now: Timestamp) -> bool {
        self.last_success.is_some_and(|at| at.plus_seconds(FAMILIAR_ADDRESS_SECONDS) > now)
    }

    /// Returns the microseconds until the next attempt; 0 or less if it is allowed now.
    fn wait(&self, policy: &BackoffPolicy, now: Timestamp) -> i64 {
        let failures = self.failures(now);
        self.last_attempt.plus_seconds(policy.wait_after(failures)).0 - now.0
    }
}

/// Login attempts in this process.
#[derive(Debug)]
pub struct LoginThrottle {
    clock: MonotonicClock,
    hasher: RandomState,
    records: Mutex<HashMap<ThrottleKey, AttemptRecord>>,
}

/// An allowed attempt. It is counted as a failure, and logged as one when it is dropped, unless
/// [`LoginAttempt::succeeded`] is called.
#[derive(Debug)]
#[must_use = "an attempt counts as a failure unless its success is reported"]
pub struct LoginAttempt<'a> {
    proof: CredentialKind,
    from: IpAddr,
    is_successful: bool,
    /// Entry to reset on success; `None` if throttling is disabled.
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

    /// Reports that the credential was correct.
    pub fn succeeded(mut self) {
        self.is_successful = true;
        if let Some(CountedAttempt { throttle, account, address }) = &self.counted {
            throttle.succeed(*account, *address);
        }
    }
}

impl Drop for LoginAttempt<'_> {
    /// Logs a failed attempt, for tools such as fail2ban.
    fn drop(&mut self) {
        if !self.is_successful {
            log_failed_sign_in(self.from, self.proof.failure_reason());
        }
    }
}

/// Logs a failed sign-in, without the account: the log must not disclose which accounts exist.
pub(super) fn log_failed_sign_in(from: IpAddr, reason: &'static str) {
    tracing::warn!(client_address = %from, reason, "sign-in failed");
}

impl LoginThrottle {
    /// Creates an empty register.
    pub(super) fn new(clock: MonotonicClock) -> Self {
        Self { clock, hasher: RandomState::new(), records: Mutex::default() }
    }

    /// Counts an attempt as a failure until it succeeds, or rejects it. Since it is counted at the start, concurrent
    /// attempts cannot exceed the limit.
    pub(super) fn begin(
        &self,
        proof: CredentialKind,
        account: &str,
        address: IpAddr,
    ) -> Result<CountedAttempt<'_>, AuthError> {
        let now = self.clock.monotonic_now();
        // The hasher has a random key, so that an attacker cannot choose an account whose hash collides with another's.
        let account = self.hasher.hash_one((proof, account));
        let mut records = self.lock();
        let record = |key: ThrottleKey| records.get(&key).copied().unwrap_or_default();
        let (at_address, at_account) = (record((account, Some(address))), record((account, None)));
        let wait = match proof {
            // For a factor the network address is ignored: an attacker may use many addresses, and a code has only six
            // digits.
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
        // After a successful sign-in the user must not be delayed elsewhere by an attacker's earlier failures.
        records.remove(&(account, None));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ThrottleKey, AttemptRecord>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes expired records, and the older half of the rest if there are still too many.
fn evict_old_records(records: &mut HashMap<ThrottleKey, AttemptRecord>, now: Timestamp) {
    records.retain(|_, record| record.failures(now) > 0 || record.is_familiar(now));
    if records.len() > MAX_ENTRIES / 2 {
        let mut times: Vec<Timestamp> = records.values().map(|record| record.last_attempt).collect();
        // Selecting the median takes linear time: an attacker who fills the map makes this run often.
        let (_, median, _) = times.select_nth_unstable(records.len() / 2);
        let median = *median;
        records.retain(|_, record| record.last_attempt > median);
    }
}

#[cfg(test)]
mod tests;
