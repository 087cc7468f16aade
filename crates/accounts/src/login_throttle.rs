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
//! Unknown accounts are throttled like existing ones, so that throttling does not disclose which accounts exist. Attempts
//! are counted in the database, so that all nodes count together and a restart forgets none.

use std::net::IpAddr;
use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256};
use domain::{Clock, Timestamp};
use storage::Storage;
use storage::rate_limits::{AttemptKeys, AttemptRecord, AttemptRecords};

use crate::error::AuthError;

/// Time after the last attempt at which failures are forgotten, in seconds.
pub(crate) const FAILURE_LIFETIME_SECONDS: i64 = 24 * 3600;
/// Time after a successful sign-in for which a network address counts as familiar, in seconds.
pub(crate) const FAMILIAR_ADDRESS_SECONDS: i64 = 30 * 24 * 3600;

/// Kind of credential in a login attempt. Each kind is counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    /// Returns the name in keys of the database, which nodes of other versions share.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::EmailedCode => "emailed code",
            Self::SecondFactor => "second factor",
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

    /// Returns the microseconds until the next attempt; 0 or less if it is allowed now.
    fn wait(&self, record: &AttemptRecord, now: Timestamp) -> i64 {
        let failures = present_failures(record, now);
        record.last_attempt.plus_seconds(self.wait_after(failures)).0 - now.0
    }
}

fn present_failures(record: &AttemptRecord, now: Timestamp) -> u32 {
    if record.last_attempt.plus_seconds(FAILURE_LIFETIME_SECONDS) > now { record.failures } else { 0 }
}

fn is_familiar(record: &AttemptRecord, now: Timestamp) -> bool {
    record.last_success.is_some_and(|at| at.plus_seconds(FAMILIAR_ADDRESS_SECONDS) > now)
}

/// Login attempts on all nodes.
#[derive(Debug)]
pub struct LoginThrottle {
    storage: Storage,
    clock: Arc<dyn Clock>,
}

/// An allowed attempt. It is counted as a failure, and logged as one when it is dropped, unless
/// [`LoginAttempt::succeeded`] is called.
#[derive(Debug)]
#[must_use = "an attempt counts as a failure unless its success is reported"]
pub struct LoginAttempt<'a> {
    proof: CredentialKind,
    from: IpAddr,
    is_successful: bool,
    /// Records to reset on success; `None` if throttling is disabled.
    counted: Option<CountedAttempt<'a>>,
}

#[derive(Debug)]
pub(super) struct CountedAttempt<'a> {
    throttle: &'a LoginThrottle,
    keys: AttemptKeys,
}

impl<'a> LoginAttempt<'a> {
    /// Begins an attempt from a network address.
    pub(super) fn new(proof: CredentialKind, from: IpAddr, counted: Option<CountedAttempt<'a>>) -> Self {
        Self { proof, from, is_successful: false, counted }
    }

    /// Reports that the credential was correct.
    ///
    /// # Errors
    ///
    /// The database fails. The attempt stays counted as a failure then.
    pub async fn succeeded(mut self) -> Result<(), AuthError> {
        self.is_successful = true;
        if let Some(CountedAttempt { throttle, keys }) = &self.counted {
            throttle.storage.rate_limits().succeed_attempt(keys, throttle.clock.now()).await?;
        }
        Ok(())
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

/// Returns the key under which something is counted: the hash of its parts.
pub(super) fn counter_key(parts: &[&[u8]]) -> Vec<u8> {
    let mut context = Context::new(&SHA256);
    for part in parts {
        // With its length, so that no two lists of parts have the same key.
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    context.finish().as_ref().to_vec()
}

impl LoginThrottle {
    /// Creates the throttle of an installation.
    pub(super) fn new(storage: &Storage, clock: &Arc<dyn Clock>) -> Self {
        Self { storage: storage.clone(), clock: Arc::clone(clock) }
    }

    /// Counts an attempt as a failure until it succeeds, or rejects it. Since it is counted at the start, concurrent
    /// attempts cannot exceed the limit.
    pub(super) async fn begin(
        &self,
        proof: CredentialKind,
        account: &str,
        address: IpAddr,
    ) -> Result<CountedAttempt<'_>, AuthError> {
        let now = self.clock.now();
        let (proof_key, account) = (proof.key().as_bytes(), account.as_bytes());
        let keys = AttemptKeys {
            at_address: counter_key(&[b"attempt", proof_key, account, address.to_string().as_bytes()]),
            at_account: counter_key(&[b"attempt", proof_key, account]),
        };
        let begun =
            self.storage.rate_limits().begin_attempt(&keys, now, |records| decide(proof, &records, now)).await?;
        begun.map_err(|wait| AuthError::RateLimited { retry_after: wait })?;
        Ok(CountedAttempt { throttle: self, keys })
    }
}

/// Returns the records with one more failure, or the seconds to wait before the next attempt.
fn decide(proof: CredentialKind, records: &AttemptRecords, now: Timestamp) -> Result<AttemptRecords, u64> {
    let AttemptRecords { at_address, at_account } = records;
    let wait = match proof {
        // For a factor the network address is ignored: an attacker may use many addresses, and a code has only six
        // digits.
        CredentialKind::SecondFactor => FACTOR_BACKOFF.wait(at_account, now),
        CredentialKind::Password | CredentialKind::EmailedCode if is_familiar(at_address, now) => {
            ADDRESS_BACKOFF.wait(at_address, now)
        }
        CredentialKind::Password | CredentialKind::EmailedCode => {
            ADDRESS_BACKOFF.wait(at_address, now).max(ACCOUNT_BACKOFF.wait(at_account, now))
        }
    };
    if wait > 0 {
        return Err(u64::try_from(wait).unwrap_or(0).div_ceil(1_000_000));
    }
    let count = |record: &AttemptRecord| AttemptRecord {
        failures: present_failures(record, now).saturating_add(1),
        last_attempt: now,
        ..*record
    };
    Ok(AttemptRecords { at_address: count(at_address), at_account: count(at_account) })
}

#[cfg(test)]
mod tests;
