//! How often one address may call, and how often one account may be tried. CountedAttempt in this process alone.

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
use super::login_throttle::{CredentialKind, LoginAttempt, LoginThrottle, log_failed_sign_in};

/// Number of calls of each kind that may arrive at once.
const BURST_CALLS: u32 = 30;
/// After so many calls the addresses that have been quiet are forgotten. An address is remembered until its calls are
/// earned back, two minutes a call at most, so what is kept is bounded by how many calls can be answered.
const SWEEP_INTERVAL_CALLS: u32 = 1024;

/// What is limited. Each kind counts for itself; the numbers are the protocol's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimit {
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

impl RateLimit {
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

    fn per_hour(self) -> u32 {
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
pub struct RateLimits(Option<Counters>);

type AddressRateLimiter = RateLimiter<IpAddr, DashMapStateStore<IpAddr>, MonotonicClock, NoOpMiddleware<Nanos>>;

#[derive(Debug)]
struct Counters {
    clock: MonotonicClock,
    limiters: [AddressRateLimiter; RateLimit::ALL.len()],
    throttle: LoginThrottle,
    calls: AtomicU32,
}

impl RateLimits {
    /// In force, or not at all.
    pub fn new(is_enabled: bool, clock: &Arc<dyn Clock>) -> Self {
        let clock = MonotonicClock::new(clock);
        Self(is_enabled.then(|| Counters {
            limiters: RateLimit::ALL.map(|limit| RateLimiter::dashmap_with_clock(quota(limit), clock.clone())),
            throttle: LoginThrottle::new(clock.clone()),
            calls: AtomicU32::new(0),
            clock,
        }))
    }

    /// Counts a call, or refuses it.
    pub fn check(&self, limit: RateLimit, address: IpAddr) -> Result<(), AuthError> {
        let Some(counters) = &self.0 else { return Ok(()) };
        // Relaxed is sufficient: the counter only spaces the sweeps and orders nothing else.
        if counters.calls.fetch_add(1, Ordering::Relaxed) % SWEEP_INTERVAL_CALLS == SWEEP_INTERVAL_CALLS - 1 {
            counters.limiters.iter().for_each(AddressRateLimiter::retain_recent);
        }
        counters.limiters[limit as usize].check_key(&subscriber_network(address)).map_err(|refused| {
            let wait = refused.wait_time_from(counters.clock.now());
            // Rounded up: a client that waits the stated time must not be rejected for a fraction of a second.
            AuthError::RateLimited { retry_after: wait.as_secs() + 1 }
        })
    }

    /// Counts an attempt to prove the ownership of `account`, or rejects it; see [`LoginThrottle`]. It stays counted as a
    /// failure unless the caller reports success with [`LoginAttempt::succeeded`].
    pub fn begin_attempt(
        &self,
        proof: CredentialKind,
        account: &str,
        address: IpAddr,
    ) -> Result<LoginAttempt<'_>, AuthError> {
        let from = address.to_canonical();
        let counted =
            self.0.as_ref().map(|counters| counters.throttle.begin(proof, account, subscriber_network(address)));
        let counted = counted.transpose().inspect_err(|_| log_failed_sign_in(from, "too many attempts"))?;
        Ok(LoginAttempt::new(proof, from, counted))
    }
}

fn quota(limit: RateLimit) -> Quota {
    let non_zero = |n: u32| NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN);
    Quota::per_hour(non_zero(limit.per_hour())).allow_burst(non_zero(BURST_CALLS))
}

#[cfg(test)]
mod tests;
