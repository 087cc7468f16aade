//! Rate limits of requests per network address, and throttling of login attempts. Each process counts for itself.

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

/// Number of requests of each kind that are allowed in a burst.
const BURST_CALLS: u32 = 30;
/// Number of requests after which idle addresses are removed. An address is idle once its requests have been
/// replenished, which takes at most two minutes per request, so the request rate bounds the memory.
const SWEEP_INTERVAL_CALLS: u32 = 1024;

/// Kind of a limited request. Each kind is counted separately; the values are GoTrue's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimit {
    /// Sign-up: 30 in 5 minutes.
    SignUp,
    /// Anonymous sign-in: 30 per hour.
    Anonymous,
    /// Requesting tokens, with a password, a refresh token or an auth code: 150 in 5 minutes.
    Token,
    /// Requesting a sign-in email: 30 in 5 minutes.
    Otp,
    /// Requesting a recovery email: 30 in 5 minutes.
    Recover,
    /// Requesting an email again: 30 in 5 minutes.
    Resend,
    /// Verifying a link or code: 30 in 5 minutes.
    Verify,
    /// Changing the account: 30 in 5 minutes.
    UpdateUser,
    /// Creating a challenge for a second factor: 15 per minute.
    FactorChallenge,
    /// Verifying a second factor: 15 per minute.
    FactorVerify,
    /// Beginning a sign-in with a passkey: 30 in 5 minutes.
    Passkey,
}

impl RateLimit {
    const ALL: [Self; 11] = [
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
        Self::Passkey,
    ];

    fn per_hour(self) -> u32 {
        match self {
            Self::Anonymous => 30,
            Self::Token => 150 * 12,
            Self::FactorChallenge | Self::FactorVerify => 15 * 60,
            Self::SignUp
            | Self::Otp
            | Self::Recover
            | Self::Resend
            | Self::Verify
            | Self::UpdateUser
            | Self::Passkey => 30 * 12,
        }
    }
}

/// Rate limits of the process; `None` if they are disabled.
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
    /// Creates the rate limits. If they are not enabled, every request is allowed.
    pub fn new(is_enabled: bool, clock: &Arc<dyn Clock>) -> Self {
        let clock = MonotonicClock::new(clock);
        Self(is_enabled.then(|| Counters {
            limiters: RateLimit::ALL.map(|limit| RateLimiter::dashmap_with_clock(quota(limit), clock.clone())),
            throttle: LoginThrottle::new(clock.clone()),
            calls: AtomicU32::new(0),
            clock,
        }))
    }

    /// Counts a request, or rejects it.
    pub fn check(&self, limit: RateLimit, address: IpAddr) -> Result<(), AuthError> {
        let Some(counters) = &self.0 else { return Ok(()) };
        // Relaxed is sufficient: the counter only determines when to sweep.
        if counters.calls.fetch_add(1, Ordering::Relaxed) % SWEEP_INTERVAL_CALLS == SWEEP_INTERVAL_CALLS - 1 {
            counters.limiters.iter().for_each(AddressRateLimiter::retain_recent);
        }
        counters.limiters[limit as usize].check_key(&subscriber_network(address)).map_err(|refused| {
            let wait = refused.wait_time_from(counters.clock.now());
            // Rounded up, so that a client that waits this long is not rejected again.
            AuthError::RateLimited { retry_after: wait.as_secs() + 1 }
        })
    }

    /// Counts an attempt to prove the ownership of `account`, or rejects it; see [`LoginThrottle`]. It stays counted as
    /// a failure unless the caller reports success with [`LoginAttempt::succeeded`].
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
