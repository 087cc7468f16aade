use domain::{ChatId, UserId};

use super::*;
use crate::test_clock::ManualClock;

fn limits() -> (LocalLimits, Arc<ManualClock>) {
    let clock = ManualClock::new();
    let limits = LocalLimits::new(&(Arc::clone(&clock) as Arc<dyn Clock>));
    (limits, clock)
}

/// Sends requests until one is rejected. Returns the number of accepted ones and the seconds to wait.
fn spend(limits: &LocalLimits, limit: RateLimit, address: &str) -> (usize, u64) {
    let address = subscriber_network(address.parse().unwrap());
    for passed in 0..1000 {
        if let Err(refused) = limits.check(limit, address) {
            let AuthError::RateLimited { retry_after } = refused else { panic!("{refused}") };
            return (passed, retry_after);
        }
    }
    panic!("there is no limit");
}

#[test]
fn every_kind_has_the_limit_of_gotrue() {
    // Kind, seconds until the next request, and size of a burst.
    let table = [
        (RateLimit::SignUp, 10, 30),
        (RateLimit::Anonymous, 120, 30),
        (RateLimit::Token, 2, 30),
        (RateLimit::Otp, 10, 30),
        (RateLimit::Recover, 10, 30),
        (RateLimit::Resend, 10, 30),
        (RateLimit::Verify, 10, 30),
        (RateLimit::UpdateUser, 10, 30),
        (RateLimit::FactorChallenge, 4, 30),
        (RateLimit::FactorVerify, 4, 30),
    ];
    let (limits, clock) = limits();
    let address = "192.0.2.1";
    for (limit, seconds, burst) in table {
        let (passed, wait) = spend(&limits, limit, address);
        assert_eq!(passed, burst, "{limit:?} counts for itself");
        assert!((seconds..=seconds + 1).contains(&i64::try_from(wait).unwrap()), "{limit:?} {wait}");
        clock.advance_seconds(seconds);
        assert_eq!(spend(&limits, limit, address).0, 1, "{limit:?}: one more is earned");
        clock.advance_seconds(seconds - 1);
        assert_eq!(spend(&limits, limit, address).0, 0, "{limit:?}: not yet");
        clock.advance_seconds(3600);
        assert_eq!(spend(&limits, limit, address).0, burst, "{limit:?}");
    }
}

#[test]
fn counts_ipv6_clients_by_64_bit_network() {
    let (limits, _clock) = limits();
    let passed = |address| spend(&limits, RateLimit::SignUp, address).0;
    assert_eq!(passed("192.0.2.1"), 30);
    assert_eq!(passed("::ffff:192.0.2.1"), 0, "the same address in another spelling");
    assert_eq!(passed("192.0.2.2"), 30);
    assert_eq!(passed("2001:db8::1"), 30);
    assert_eq!(passed("2001:db8::ffff"), 0, "the same subscriber");
    assert_eq!(passed("2001:db8:0:1::1"), 30, "the next one");
}

#[test]
fn removes_idle_addresses() {
    let (limits, clock) = limits();
    for number in 0..2000_u32 {
        limits.check(RateLimit::Token, IpAddr::from(number.to_be_bytes())).unwrap();
        clock.advance_seconds(1);
    }
    assert!(limits.limiters[RateLimit::Token as usize].len() <= SWEEP_INTERVAL_CALLS as usize);
}

#[test]
fn setting_the_clock_back_does_not_extend_the_wait() {
    let (limits, clock) = limits();
    assert_eq!(spend(&limits, RateLimit::SignUp, "192.0.2.1").0, 30);
    clock.advance_seconds(-7200);
    assert_eq!(spend(&limits, RateLimit::SignUp, "192.0.2.1").0, 0);
    clock.advance_seconds(10);
    assert_eq!(spend(&limits, RateLimit::SignUp, "192.0.2.1").0, 1);
}

/// Sends requests to two nodes in turn until one is rejected. Returns the number of accepted ones and the seconds to wait.
async fn spend_on_both(nodes: &[RateLimits; 2], limit: RateLimit) -> (usize, u64) {
    let address = "192.0.2.1".parse().unwrap();
    for passed in 0..1000 {
        if let Err(refused) = nodes[passed % 2].check(limit, address).await {
            let AuthError::RateLimited { retry_after } = refused else { panic!("{refused}") };
            return (passed, retry_after);
        }
    }
    panic!("there is no limit");
}

#[tokio::test]
async fn nodes_on_one_database_count_together() {
    let clock = ManualClock::new();
    let shared: Arc<dyn Clock> = clock.clone();
    let storage = Storage::in_memory(UserId::fresh(), ChatId::fresh(), clock.now()).await.unwrap();
    let nodes = [(); 2].map(|()| RateLimits::new(true, &storage, &shared));
    for (limit, seconds) in [(RateLimit::SignUp, 10), (RateLimit::Anonymous, 120), (RateLimit::FactorVerify, 4)] {
        assert_eq!(spend_on_both(&nodes, limit).await.0, 30, "{limit:?} counts for itself");
        clock.advance_seconds(seconds - 1);
        assert_eq!(spend_on_both(&nodes, limit).await, (0, 2), "{limit:?}: not yet");
        clock.advance_seconds(1);
        assert_eq!(spend_on_both(&nodes, limit).await.0, 1, "{limit:?}: one more is earned");
        clock.advance_seconds(seconds * 30);
        assert_eq!(spend_on_both(&nodes, limit).await.0, 30, "{limit:?}: and no more than a burst");
    }
    clock.advance_seconds(-7200);
    let restarted = RateLimits::new(true, &storage, &shared);
    restarted.check(RateLimit::Anonymous, "192.0.2.1".parse().unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_request_that_cannot_be_counted_is_not_allowed() {
    let clock: Arc<dyn Clock> = ManualClock::new();
    let storage = Storage::in_memory(UserId::fresh(), ChatId::fresh(), clock.now()).await.unwrap();
    let limits = RateLimits::new(true, &storage, &clock);
    storage.close().await;
    let address = "192.0.2.1".parse().unwrap();
    assert!(matches!(limits.check(RateLimit::SignUp, address).await, Err(AuthError::Internal(_))));
    let attempt = limits.begin_attempt(CredentialKind::Password, "a@b.c", address).await;
    assert!(matches!(attempt, Err(AuthError::Internal(_))));
}

#[tokio::test]
async fn limits_can_be_disabled() {
    let clock: Arc<dyn Clock> = ManualClock::new();
    let storage = Storage::in_memory(UserId::fresh(), ChatId::fresh(), clock.now()).await.unwrap();
    let limits = RateLimits::new(false, &storage, &clock);
    let address = "192.0.2.1".parse().unwrap();
    for _ in 0..1000 {
        limits.check(RateLimit::SignUp, address).await.unwrap();
        drop(limits.begin_attempt(CredentialKind::Password, "a@b.c", address).await.unwrap());
    }
}
