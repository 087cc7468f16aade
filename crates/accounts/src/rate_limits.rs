//! Rate limits of requests per network address, and throttling of login attempts.
//!
//! All nodes count together, in the database. Each node also counts in memory what it sees itself, and rejects what exceeds a
//! limit already there, so that a flood of requests does not become a flood of writes.

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
use storage::Storage;
use storage::rate_limits::RateQuota;

use super::error::AuthError;
use super::login_throttle::{CredentialKind, LoginAttempt, LoginThrottle, counter_key, log_failed_sign_in};

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

    /// Returns the name in keys of the database, which nodes of other versions share.
    fn key(self) -> &'static str {
        match self {
            Self::SignUp => "sign-up",
            Self::Anonymous => "anonymous",
            Self::Token => "token",
            Self::Otp => "otp",
            Self::Recover => "recover",
            Self::Resend => "resend",
            Self::Verify => "verify",
            Self::UpdateUser => "update user",
            Self::FactorChallenge => "factor challenge",
            Self::FactorVerify => "factor verify",
            Self::Passkey => "passkey",
        }
    }
}

/// Rate limits of an installation; `None` if they are disabled.
#[derive(Debug)]
pub struct RateLimits(Option<Counters>);

#[derive(Debug)]
struct Counters {
    storage: Storage,
    clock: Arc<dyn Clock>,
    local: LocalLimits,
    throttle: LoginThrottle,
}

impl RateLimits {
    /// Creates the rate limits. If they are not enabled, every request is allowed.
    pub fn new(is_enabled: bool, storage: &Storage, clock: &Arc<dyn Clock>) -> Self {
        Self(is_enabled.then(|| Counters {
            storage: storage.clone(),
            clock: Arc::clone(clock),
            local: LocalLimits::new(clock),
            throttle: LoginThrottle::new(storage, clock),
        }))
    }

    /// Counts a request, or rejects it.
    ///
    /// # Errors
    ///
    /// [`AuthError::RateLimited`] if it is rejected. If it cannot be counted, it is not allowed.
    pub async fn check(&self, limit: RateLimit, address: IpAddr) -> Result<(), AuthError> {
        let Some(Counters { storage, clock, local, .. }) = &self.0 else { return Ok(()) };
        let network = subscriber_network(address);
        local.check(limit, network)?;
        let key = counter_key(&[b"request", limit.key().as_bytes(), network.to_string().as_bytes()]);
        let now = clock.now();
        match storage.rate_limits().count(&key, shared_quota(limit), now).await? {
            None => Ok(()),
            // Rounded up, so that a client that waits this long is not rejected again.
            Some(at) => Err(AuthError::RateLimited { retry_after: at.millis_since(now) / 1000 + 1 }),
        }
    }

    /// Counts an attempt to prove the ownership of `account`, or rejects it; see [`LoginThrottle`]. It stays counted as
    /// a failure unless the caller reports success with [`LoginAttempt::succeeded`].
    pub async fn begin_attempt(
        &self,
        proof: CredentialKind,
        account: &str,
        address: IpAddr,
    ) -> Result<LoginAttempt<'_>, AuthError> {
        let from = address.to_canonical();
        let Some(Counters { throttle, .. }) = &self.0 else { return Ok(LoginAttempt::new(proof, from, None)) };
        let begun = throttle.begin(proof, account, subscriber_network(address)).await;
        if matches!(begun, Err(AuthError::RateLimited { .. })) {
            log_failed_sign_in(from, "too many attempts");
        }
        Ok(LoginAttempt::new(proof, from, Some(begun?)))
    }
}

type AddressRateLimiter = RateLimiter<IpAddr, DashMapStateStore<IpAddr>, MonotonicClock, NoOpMiddleware<Nanos>>;

/// Figures that this process counts itself.
#[derive(Debug)]
struct LocalLimits {
    clock: MonotonicClock,
    limiters: [AddressRateLimiter; RateLimit::ALL.len()],
    calls: AtomicU32,
}

impl LocalLimits {
    fn new(clock: &Arc<dyn Clock>) -> Self {
        let clock = MonotonicClock::new(clock);
        Self {
            limiters: RateLimit::ALL.map(|limit| RateLimiter::dashmap_with_clock(quota(limit), clock.clone())),
            calls: AtomicU32::new(0),
            clock,
        }
    }

    fn check(&self, limit: RateLimit, network: IpAddr) -> Result<(), AuthError> {
        // Relaxed is sufficient: the counter only determines when to sweep.
        if self.calls.fetch_add(1, Ordering::Relaxed) % SWEEP_INTERVAL_CALLS == SWEEP_INTERVAL_CALLS - 1 {
            self.limiters.iter().for_each(AddressRateLimiter::retain_recent);
        }
        self.limiters[limit as usize].check_key(&network).map_err(|refused| {
            let wait = refused.wait_time_from(self.clock.now());
            // Rounded up, as for the shared count.
            AuthError::RateLimited { retry_after: wait.as_secs() + 1 }
        })
    }
}

/// Returns the quota of the shared count.
fn shared_quota(limit: RateLimit) -> RateQuota {
    RateQuota { interval_seconds: i64::from(3600 / limit.per_hour()), burst: i64::from(BURST_CALLS) }
}

fn quota(limit: RateLimit) -> Quota {
    let non_zero = |n: u32| NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN);
    Quota::per_hour(non_zero(limit.per_hour())).allow_burst(non_zero(BURST_CALLS))
}

#[cfg(test)]
mod tests;
