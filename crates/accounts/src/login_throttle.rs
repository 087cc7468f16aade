//! Tries to prove that one is a certain person. After some failures each further try has to wait, twice as long each time.
//!
//! For a password two things are counted. The failures from one address at one account make that address wait, up to five
//! minutes. The failures at one account from everywhere make everybody wait who has not signed in to it from where they
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
const FORGOTTEN_AFTER: i64 = 24 * 3600;
/// How long an address is one of a person's usual places after they signed in from there, in seconds.
const USUAL_FOR: i64 = 30 * 24 * 3600;
/// Maximum number of entries, which take about 8 MiB.
const MAX_ENTRIES: usize = 100_000;

/// What is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Proof {
    /// The password of an account.
    Password,
    /// A code that was mailed. It is counted like a password: a stranger can try one, too.
    MailedCode,
    /// The code of a second factor.
    Factor,
}

impl Proof {
    /// Returns why an attempt failed, for log lines.
    fn failure_reason(self) -> &'static str {
        match self {
            Self::Password => "wrong password",
            Self::MailedCode => "wrong mailed code",
            Self::Factor => "wrong second factor",
        }
    }
}

/// How many failures are free, and the longest wait after that.
struct Patience {
    free: u32,
    longest: i64,
}

const ONE_ADDRESS: Patience = Patience { free: 10, longest: 300 };
/// A hundred failures in a row are what NIST SP 800-63B (section 5.2.2) allows at the most.
const ONE_ACCOUNT: Patience = Patience { free: 100, longest: 60 };
const ONE_FACTOR: Patience = Patience { free: 10, longest: 900 };

impl Patience {
    /// For how long the next try waits after so many failures, in seconds.
    fn wait_after(&self, failures: u32) -> i64 {
        match failures.checked_sub(self.free) {
            None => 0,
            Some(more) => {
                // `checked_shl` fails only from 64 on; a shift by 63 gives a negative number, which the filter catches.
                1_i64.checked_shl(more).filter(|wait| *wait > 0).map_or(self.longest, |w| w.min(self.longest))
            }
        }
    }
}

/// An account by its hash, so that no address is kept, and from where; or from everywhere.
type Key = (u64, Option<IpAddr>);

#[derive(Debug, Clone, Copy, Default)]
struct Record {
    failures: u32,
    /// The last try.
    last: Timestamp,
    /// The last one that succeeded.
    proven: Option<Timestamp>,
}

impl Record {
    fn failures(&self, now: Timestamp) -> u32 {
        if self.last.plus_seconds(FORGOTTEN_AFTER) > now { self.failures } else { 0 }
    }

    fn is_usual(&self, now: Timestamp) -> bool {
        self.proven.is_some_and(|at| at.plus_seconds(USUAL_FOR) > now)
    }

    /// Microseconds until the next try, 0 or less when it may be made.
    fn wait(&self, patience: &Patience, now: Timestamp) -> i64 {
        let failures = self.failures(now);
        self.last.plus_seconds(patience.wait_after(failures)).0 - now.0
    }
}

/// The tries of one process.
#[derive(Debug)]
pub struct Attempts {
    clock: MonotonicClock,
    hasher: RandomState,
    records: Mutex<HashMap<Key, Record>>,
}

/// A try that may be made. One that is dropped without [`Attempt::succeeded`] leaves a line in the log.
#[derive(Debug)]
#[must_use = "a try that succeeded and does not say so counts as a failure"]
pub struct Attempt<'a> {
    proof: Proof,
    from: IpAddr,
    has_succeeded: bool,
    /// `None` where nothing is counted.
    counted: Option<Counted<'a>>,
}

#[derive(Debug)]
pub(super) struct Counted<'a> {
    attempts: &'a Attempts,
    account: u64,
    address: IpAddr,
}

impl<'a> Attempt<'a> {
    /// Begins an attempt from a network address.
    pub(super) fn new(proof: Proof, from: IpAddr, counted: Option<Counted<'a>>) -> Self {
        Self { proof, from, has_succeeded: false, counted }
    }

    /// It was the person.
    pub fn succeeded(mut self) {
        self.has_succeeded = true;
        if let Some(Counted { attempts, account, address }) = &self.counted {
            attempts.succeed(*account, *address);
        }
    }
}

impl Drop for Attempt<'_> {
    /// Logs a failure, for programs such as fail2ban.
    fn drop(&mut self) {
        if !self.has_succeeded {
            log_failure(self.from, self.proof.failure_reason());
        }
    }
}

/// Logs a failed sign-in. The account is not named: a log must not tell who has one.
pub(super) fn log_failure(from: IpAddr, reason: &'static str) {
    tracing::warn!(client_address = %from, reason, "sign-in failed");
}

impl Attempts {
    /// Without any so far.
    pub(super) fn new(clock: MonotonicClock) -> Self {
        Self { clock, hasher: RandomState::new(), records: Mutex::default() }
    }

    /// Counts a try as a failure until it says otherwise: many at the same time do not pass all.
    pub(super) fn begin(&self, proof: Proof, account: &str, address: IpAddr) -> Result<Counted<'_>, AuthError> {
        let now = self.clock.monotonic_now();
        // The hasher has a random key for each process, so that nobody can choose addresses that collide with a
        // victim's.
        let account = self.hasher.hash_one((proof, account));
        let mut records = self.lock();
        let record = |key: Key| records.get(&key).copied().unwrap_or_default();
        let (here, everywhere) = (record((account, Some(address))), record((account, None)));
        let wait = match proof {
            // For a factor the network address is ignored: who has the password may have many addresses, but the code
            // has six digits.
            Proof::Factor => everywhere.wait(&ONE_FACTOR, now),
            Proof::Password | Proof::MailedCode if here.is_usual(now) => here.wait(&ONE_ADDRESS, now),
            Proof::Password | Proof::MailedCode => here.wait(&ONE_ADDRESS, now).max(everywhere.wait(&ONE_ACCOUNT, now)),
        };
        if wait > 0 {
            let seconds = u64::try_from(wait).unwrap_or(0).div_ceil(1_000_000);
            return Err(AuthError::TooMany { retry_after: seconds });
        }
        for (key, seen) in [((account, Some(address)), here), ((account, None), everywhere)] {
            records.insert(key, Record { failures: seen.failures(now).saturating_add(1), last: now, ..seen });
        }
        if records.len() > MAX_ENTRIES {
            forget(&mut records, now);
        }
        Ok(Counted { attempts: self, account, address })
    }

    fn succeed(&self, account: u64, address: IpAddr) {
        let now = self.clock.monotonic_now();
        let mut records = self.lock();
        records.insert((account, Some(address)), Record { failures: 0, last: now, proven: Some(now) });
        // A successful sign-in shows that the account is in use; its owner must not wait for the guesses of others
        // elsewhere.
        records.remove(&(account, None));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops what no longer counts, and if that is not enough the older half of the rest.
fn forget(records: &mut HashMap<Key, Record>, now: Timestamp) {
    records.retain(|_, record| record.failures(now) > 0 || record.is_usual(now));
    if records.len() > MAX_ENTRIES / 2 {
        let mut times: Vec<Timestamp> = records.values().map(|record| record.last).collect();
        // The median instead of a sort: an attacker who fills the table makes this run again and again.
        let (_, median, _) = times.select_nth_unstable(records.len() / 2);
        let median = *median;
        records.retain(|_, record| record.last > median);
    }
}

#[cfg(test)]
mod tests;
