//! How often one address may call. Counted in this process alone.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::error::AuthError;

/// Calls that may come at once, of every kind.
const BURST: u32 = 30;
/// After so many calls the addresses that have been quiet are forgotten.
const SWEEP_EVERY: u32 = 1024;

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Making accounts: 30 in 5 minutes.
    SignUp,
    /// Asking for tokens, with a password or a refresh token: 150 in 5 minutes.
    Token,
    /// Changing an account: 30 in 5 minutes.
    UpdateUser,
}

/// The limits of one process.
#[derive(Debug)]
pub struct Limits(Option<Counters>);

#[derive(Debug)]
struct Counters {
    sign_up: DefaultKeyedRateLimiter<IpAddr>,
    token: DefaultKeyedRateLimiter<IpAddr>,
    update_user: DefaultKeyedRateLimiter<IpAddr>,
    calls: AtomicU32,
}

impl Limits {
    /// In force, or not at all.
    pub fn new(on: bool) -> Self {
        let keyed = |in_five_minutes| RateLimiter::keyed(quota(in_five_minutes));
        Self(on.then(|| Counters {
            sign_up: keyed(30),
            token: keyed(150),
            update_user: keyed(30),
            calls: AtomicU32::new(0),
        }))
    }

    /// Counts a call, or refuses it.
    pub fn check(&self, limit: Limit, address: IpAddr) -> Result<(), AuthError> {
        let Some(counters) = &self.0 else { return Ok(()) };
        if counters.calls.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            counters.sign_up.retain_recent();
            counters.token.retain_recent();
            counters.update_user.retain_recent();
        }
        let counter = match limit {
            Limit::SignUp => &counters.sign_up,
            Limit::Token => &counters.token,
            Limit::UpdateUser => &counters.update_user,
        };
        counter.check_key(&one_subscriber(address)).map_err(|refused| {
            let wait = refused.wait_time_from(DefaultClock::default().now());
            AuthError::TooMany { retry_after: wait.as_secs() + 1 }
        })
    }
}

const fn quota(in_five_minutes: u32) -> Quota {
    const fn non_zero(n: u32) -> NonZeroU32 {
        NonZeroU32::MIN.saturating_add(n.saturating_sub(1))
    }
    Quota::per_hour(non_zero(in_five_minutes * 12)).allow_burst(non_zero(BURST))
}

/// What one subscriber has: an IPv4 address, or the 64 bits of an IPv6 address that a provider gives out (RFC 6177).
fn one_subscriber(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let network = v6.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spend(limits: &Limits, address: &str) -> usize {
        let address = address.parse().unwrap();
        (0..2 * BURST).filter(|_| limits.check(Limit::SignUp, address).is_ok()).count()
    }

    #[test]
    fn thirty_calls_pass_and_others_are_not_touched() {
        let limits = Limits::new(true);
        assert_eq!(spend(&limits, "192.0.2.1"), 30);
        assert_eq!(spend(&limits, "::ffff:192.0.2.1"), 0, "the same address in another spelling");
        assert_eq!(spend(&limits, "192.0.2.2"), 30);
        assert_eq!(spend(&limits, "2001:db8::1"), 30);
        assert_eq!(spend(&limits, "2001:db8::ffff"), 0, "the same subscriber");
        assert!(limits.check(Limit::Token, "192.0.2.1".parse().unwrap()).is_ok());
        let refused = limits.check(Limit::SignUp, "192.0.2.1".parse().unwrap()).unwrap_err();
        assert!(matches!(refused, AuthError::TooMany { retry_after: 1..=11 }), "{refused:?}");
    }

    #[test]
    fn limits_can_be_off() {
        assert_eq!(spend(&Limits::new(false), "192.0.2.1"), 60);
    }
}
