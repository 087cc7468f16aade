use std::sync::Arc;

use domain::Clock;

use super::*;
use crate::test_clock::ManualClock;

const HOME: &str = "192.0.2.1";
const OFFICE: &str = "192.0.2.2";
const ANN: &str = "ann@example.com";

struct ThrottleFixture {
    throttle: LoginThrottle,
    clock: Arc<ManualClock>,
}

impl ThrottleFixture {
    fn new() -> Self {
        let clock = ManualClock::new();
        let monotonic = MonotonicClock::new(&(Arc::clone(&clock) as Arc<dyn Clock>));
        Self { throttle: LoginThrottle::new(monotonic), clock }
    }

    fn begin(&self, proof: CredentialKind, account: &str, address: &str) -> Result<LoginAttempt<'_>, u64> {
        let address = address.parse().unwrap();
        let begun = self.throttle.begin(proof, account, address);
        begun.map(|counted| LoginAttempt::new(proof, address, Some(counted))).map_err(|refused| match refused {
            AuthError::RateLimited { retry_after } => retry_after,
            other => panic!("{other}"),
        })
    }

    /// Makes an attempt that fails. Returns the seconds to wait if it is rejected.
    fn fail(&self, proof: CredentialKind, account: &str, address: &str) -> Result<(), u64> {
        self.begin(proof, account, address).map(drop)
    }

    fn succeed(&self, account: &str, address: &str) {
        self.begin(CredentialKind::Password, account, address).unwrap().succeeded();
    }

    /// Makes failing attempts at one account, each from another address.
    fn fail_from_many_addresses(&self, account: &str, failures: u32) {
        for number in 0..failures {
            let address = IpAddr::from((0x0a00_0000 + number).to_be_bytes()).to_string();
            self.fail(CredentialKind::Password, account, &address).unwrap();
        }
    }
}

#[test]
fn wait_of_an_address_doubles_after_each_failure() {
    let fixture = ThrottleFixture::new();
    for _ in 0..10 {
        fixture.fail(CredentialKind::Password, ANN, HOME).unwrap();
    }
    for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        assert_eq!(fixture.fail(CredentialKind::Password, ANN, HOME), Err(wait));
        fixture.clock.advance_seconds(i64::try_from(wait).unwrap() - 1);
        assert_eq!(
            fixture.fail(CredentialKind::Password, ANN, HOME),
            Err(1),
            "a rejected attempt does not extend the wait"
        );
        fixture.clock.advance_seconds(1);
        fixture.fail(CredentialKind::Password, ANN, HOME).unwrap();
    }
    fixture.fail(CredentialKind::Password, ANN, OFFICE).unwrap();
    fixture.fail(CredentialKind::Password, "bob@example.com", HOME).unwrap();
}

#[test]
fn success_resets_the_failures_of_an_address() {
    let fixture = ThrottleFixture::new();
    for _ in 0..10 {
        fixture.fail(CredentialKind::Password, ANN, HOME).unwrap();
    }
    assert_eq!(fixture.fail(CredentialKind::Password, ANN, HOME), Err(1));
    fixture.clock.advance_seconds(1);
    fixture.succeed(ANN, HOME);
    for _ in 0..10 {
        fixture.fail(CredentialKind::Password, ANN, HOME).unwrap();
    }
}

#[test]
fn distributed_attack_delays_only_unfamiliar_addresses() {
    let fixture = ThrottleFixture::new();
    fixture.succeed(ANN, HOME);
    fixture.fail_from_many_addresses(ANN, 100);
    assert_eq!(fixture.fail(CredentialKind::Password, ANN, "198.51.100.1"), Err(1));
    for _ in 0..20 {
        fixture.clock.advance_seconds(60);
        fixture.fail(CredentialKind::Password, ANN, "198.51.100.1").unwrap_or_default();
        fixture.fail(CredentialKind::Password, ANN, "198.51.100.2").unwrap_or_default();
    }
    let wait = fixture.fail(CredentialKind::Password, ANN, "198.51.100.3").unwrap_err();
    assert!(wait <= 60, "{wait}");
    fixture.succeed(ANN, HOME);
}

#[test]
fn address_stays_familiar_for_thirty_days() {
    let fixture = ThrottleFixture::new();
    fixture.succeed(ANN, HOME);
    fixture.clock.advance_seconds(FAMILIAR_ADDRESS_SECONDS - 1);
    fixture.fail_from_many_addresses(ANN, 100);
    fixture.fail(CredentialKind::Password, ANN, HOME).unwrap();
    fixture.clock.advance_seconds(1);
    assert!(fixture.fail(CredentialKind::Password, ANN, HOME).is_err());
}

#[test]
fn second_factor_is_counted_per_account() {
    let fixture = ThrottleFixture::new();
    for number in 0..10 {
        fixture.fail(CredentialKind::SecondFactor, ANN, &format!("198.51.100.{number}")).unwrap();
    }
    let mut waits = Vec::new();
    for number in 0..12 {
        let wait = fixture.fail(CredentialKind::SecondFactor, ANN, &format!("203.0.113.{number}")).unwrap_err();
        waits.push(wait);
        fixture.clock.advance_seconds(i64::try_from(wait).unwrap());
        fixture.fail(CredentialKind::SecondFactor, ANN, HOME).unwrap();
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
    fixture.succeed(ANN, HOME);
}

#[test]
fn failures_expire_after_a_day() {
    let fixture = ThrottleFixture::new();
    for _ in 0..10 {
        fixture.fail(CredentialKind::Password, ANN, HOME).unwrap();
    }
    fixture.clock.advance_seconds(FAILURE_LIFETIME_SECONDS);
    for _ in 0..10 {
        fixture.fail(CredentialKind::Password, ANN, HOME).unwrap();
    }
}

#[test]
fn concurrent_attempts_cannot_exceed_the_limit() {
    let fixture = ThrottleFixture::new();
    let open: Vec<_> = (0..50).map(|_| fixture.begin(CredentialKind::Password, ANN, HOME)).collect();
    assert_eq!(open.iter().filter(|attempt| attempt.is_ok()).count(), 10);
}

#[test]
fn number_of_records_is_bounded() {
    let fixture = ThrottleFixture::new();
    for number in 0..MAX_ENTRIES {
        fixture.fail(CredentialKind::Password, &format!("{number}@example.com"), HOME).unwrap();
        fixture.clock.advance_seconds(1);
        assert!(fixture.throttle.lock().len() <= MAX_ENTRIES);
    }
}

#[test]
fn emailed_codes_are_counted_separately() {
    let fixture = ThrottleFixture::new();
    for _ in 0..10 {
        assert!(fixture.fail(CredentialKind::EmailedCode, "a@b.c", "192.0.2.1").is_ok());
    }
    assert_eq!(fixture.fail(CredentialKind::EmailedCode, "a@b.c", "192.0.2.1").err(), Some(1));
    assert!(fixture.fail(CredentialKind::Password, "a@b.c", "192.0.2.1").is_ok());
    assert!(fixture.fail(CredentialKind::EmailedCode, "a@b.c", "192.0.2.2").is_ok());
}
