//! How often one address may call, and how often one account may be tried. Counted in this process alone.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use domain::Clock;
use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use platform::MonotonicClock;
use platform::client_address::subscriber_network;

use super::error::AuthError;
use super::login_throttle::{Attempt, Attempts, Proof, log_failure};

/// Number of calls of each kind that may arrive at once.
const BURST_CALLS: u32 = 30;
/// After so many calls the addresses that have been quiet are forgotten. An address is remembered until its calls are
/// earned back, two minutes a call at most, so what is kept is bounded by how many calls can be answered.
const SWEEP_EVERY: u32 = 1024;

/// What is limited. Each kind counts for itself; the numbers are the protocol's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Making accounts: 30 in 5 minutes.
    SignUp,
    /// Signing in without saying who one is: 30 in an hour.
    Anonymous,
    /// Asking for tokens, with a password or a refresh token: 150 in 5 minutes.
    Token,
    /// Asking for a link or a code to sign in with: 30 in 5 minutes.
    Otp,
    /// Asking for a link to a new password: 30 in 5 minutes.
    Recover,
    /// Asking for a mail again: 30 in 5 minutes.
    Resend,
    /// Showing a link or a code: 30 in 5 minutes.
    Verify,
    /// Changing an account: 30 in 5 minutes.
    UpdateUser,
    /// Asking for a challenge to a second factor: 15 in a minute.
    FactorChallenge,
    /// Showing the code of a second factor: 15 in a minute.
    FactorVerify,
}

impl Limit {
    const ALL: [Self; 10] = [
        Self::SignUp,
        Self::Anonymous,
        Self::Token,
        Self::Otp,
        Self::Recover,
        Self::Resend,
        Self::Verify,
        Self::UpdateUser,
        Self::FactorChallenge,
        Self::FactorVerify,
    ];

    fn an_hour(self) -> u32 {
        match self {
            Self::Anonymous => 30,
            Self::Token => 150 * 12,
            Self::FactorChallenge | Self::FactorVerify => 15 * 60,
            Self::SignUp | Self::Otp | Self::Recover | Self::Resend | Self::Verify | Self::UpdateUser => 30 * 12,
        }
    }
}

/// The limits of one process.
#[derive(Debug)]
pub struct Limits(Option<Counters>);

type Limiter = RateLimiter<IpAddr, DashMapStateStore<IpAddr>, MonotonicClock, NoOpMiddleware<Nanos>>;

#[derive(Debug)]
struct Counters {
    clock: MonotonicClock,
    limiters: [Limiter; Limit::ALL.len()],
    attempts: Attempts,
    calls: AtomicU32,
}

impl Limits {
    /// In force, or not at all.
    pub fn new(on: bool, clock: &Arc<dyn Clock>) -> Self {
        let clock = MonotonicClock::new(clock);
        Self(on.then(|| Counters {
            limiters: Limit::ALL.map(|limit| RateLimiter::dashmap_with_clock(quota(limit), clock.clone())),
            attempts: Attempts::new(clock.clone()),
            calls: AtomicU32::new(0),
            clock,
        }))
    }

    /// Counts a call, or refuses it.
    pub fn check(&self, limit: Limit, address: IpAddr) -> Result<(), AuthError> {
        let Some(counters) = &self.0 else { return Ok(()) };
        // Relaxed is sufficient: the counter only spaces the sweeps and orders nothing else.
        if counters.calls.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            counters.limiters.iter().for_each(Limiter::retain_recent);
        }
        counters.limiters[limit as usize].check_key(&subscriber_network(address)).map_err(|refused| {
            let wait = refused.wait_time_from(counters.clock.now());
            // Rounded up: a client that waits the stated time must not be rejected for a fraction of a second.
            AuthError::TooMany { retry_after: wait.as_secs() + 1 }
        })
    }

    /// Counts an attempt to prove the ownership of `account`, or rejects it; see [`Attempts`]. It stays counted as a
    /// failure unless the caller reports success with [`Attempt::succeeded`].
    pub fn attempt(&self, proof: Proof, account: &str, address: IpAddr) -> Result<Attempt<'_>, AuthError> {
        let from = address.to_canonical();
        let counted =
            self.0.as_ref().map(|counters| counters.attempts.begin(proof, account, subscriber_network(address)));
        let counted = counted.transpose().inspect_err(|_| log_failure(from, "too many attempts"))?;
        Ok(Attempt::new(proof, from, counted))
    }
}

fn quota(limit: Limit) -> Quota {
    let non_zero = |n: u32| NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN);
    Quota::per_hour(non_zero(limit.an_hour())).allow_burst(non_zero(BURST_CALLS))
}

#[cfg(test)]
mod tests;
