use std::sync::Arc;

use domain::{ChatId, Clock, UserId};

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
    async fn new() -> Self {
        let clock = ManualClock::new();
        let storage = Storage::in_memory(UserId::fresh(), ChatId::fresh(), clock.now()).await.unwrap();
        let shared: Arc<dyn Clock> = clock.clone();
        Self { throttle: LoginThrottle::new(&storage, &shared), clock }
    }

    async fn begin(&self, proof: CredentialKind, account: &str, address: &str) -> Result<LoginAttempt<'_>, u64> {
        let address = address.parse().unwrap();
        let begun = self.throttle.begin(proof, account, address).await;
        begun.map(|counted| LoginAttempt::new(proof, address, Some(counted))).map_err(|refused| match refused {
            AuthError::RateLimited { retry_after } => retry_after,
            other => panic!("{other}"),
        })
    }

    /// Makes an attempt that fails. Returns the seconds to wait if it is rejected.
    async fn fail(&self, proof: CredentialKind, account: &str, address: &str) -> Result<(), u64> {
        self.begin(proof, account, address).await.map(drop)
    }

    async fn succeed(&self, account: &str, address: &str) {
        self.begin(CredentialKind::Password, account, address).await.unwrap().succeeded().await.unwrap();
    }

    /// Makes failing attempts at one account, each from another address.
    async fn fail_from_many_addresses(&self, account: &str, failures: u32) {
        for number in 0..failures {
            let address = IpAddr::from((0x0a00_0000 + number).to_be_bytes()).to_string();
            self.fail(CredentialKind::Password, account, &address).await.unwrap();
        }
    }
}

#[tokio::test]
async fn wait_of_an_address_doubles_after_each_failure() {
    let fixture = ThrottleFixture::new().await;
    for _ in 0..10 {
        fixture.fail(CredentialKind::Password, ANN, HOME).await.unwrap();
    }
    for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        assert_eq!(fixture.fail(CredentialKind::Password, ANN, HOME).await, Err(wait));
        fixture.clock.advance_seconds(i64::try_from(wait).unwrap() - 1);
        assert_eq!(
            fixture.fail(CredentialKind::Password, ANN, HOME).await,
            Err(1),
            "a rejected attempt does not extend the wait"
        );
        fixture.clock.advance_seconds(1);
        fixture.fail(CredentialKind::Password, ANN, HOME).await.unwrap();
    }
    fixture.fail(CredentialKind::Password, ANN, OFFICE).await.unwrap();
    fixture.fail(CredentialKind::Password, "bob@example.com", HOME).await.unwrap();
}

#[tokio::test]
async fn success_resets_the_failures_of_an_address() {
    let fixture = ThrottleFixture::new().await;
    for _ in 0..10 {
        fixture.fail(CredentialKind::Password, ANN, HOME).await.unwrap();
    }
    assert_eq!(fixture.fail(CredentialKind::Password, ANN, HOME).await, Err(1));
    fixture.clock.advance_seconds(1);
    fixture.succeed(ANN, HOME).await;
    for _ in 0..10 {
        fixture.fail(CredentialKind::Password, ANN, HOME).await.unwrap();
    }
}

#[tokio::test]
async fn distributed_attack_delays_only_unfamiliar_addresses() {
    let fixture = ThrottleFixture::new().await;
    fixture.succeed(ANN, HOME).await;
    fixture.fail_from_many_addresses(ANN, 100).await;
    assert_eq!(fixture.fail(CredentialKind::Password, ANN, "198.51.100.1").await, Err(1));
    for _ in 0..20 {
        fixture.clock.advance_seconds(60);
        fixture.fail(CredentialKind::Password, ANN, "198.51.100.1").await.unwrap_or_default();
        fixture.fail(CredentialKind::Password, ANN, "198.51.100.2").await.unwrap_or_default();
    }
    let wait = fixture.fail(CredentialKind::Password, ANN, "198.51.100.3").await.unwrap_err();
    assert!(wait <= 60, "{wait}");
    fixture.succeed(ANN, HOME).await;
}

#[tokio::test]
async fn address_stays_familiar_for_thirty_days() {
    let fixture = ThrottleFixture::new().await;
    fixture.succeed(ANN, HOME).await;
    fixture.clock.advance_seconds(FAMILIAR_ADDRESS_SECONDS - 1);
    fixture.fail_from_many_addresses(ANN, 100).await;
    fixture.fail(CredentialKind::Password, ANN, HOME).await.unwrap();
    fixture.clock.advance_seconds(1);
    assert!(fixture.fail(CredentialKind::Password, ANN, HOME).await.is_err());
}

#[tokio::test]
async fn second_factor_is_counted_per_account() {
    let fixture = ThrottleFixture::new().await;
    for number in 0..10 {
        fixture.fail(CredentialKind::SecondFactor, ANN, &format!("198.51.100.{number}")).await.unwrap();
    }
    let mut waits = Vec::new();
    for number in 0..12 {
        let wait = fixture.fail(CredentialKind::SecondFactor, ANN, &format!("203.0.113.{number}")).await.unwrap_err();
        waits.push(wait);
        fixture.clock.advance_seconds(i64::try_from(wait).unwrap());
        fixture.fail(CredentialKind::SecondFactor, ANN, HOME).await.unwrap();
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
    fixture.succeed(ANN, HOME).await;
}

#[tokio::test]
async fn failures_expire_after_a_day() {
    let fixture = ThrottleFixture::new().await;
    for _ in 0..10 {
        fixture.fail(CredentialKind::Password, ANN, HOME).await.unwrap();
    }
    fixture.clock.advance_seconds(FAILURE_LIFETIME_SECONDS);
    for _ in 0..10 {
        fixture.fail(CredentialKind::Password, ANN, HOME).await.unwrap();
    }
}

#[tokio::test]
async fn concurrent_attempts_cannot_exceed_the_limit() {
    let fixture = ThrottleFixture::new().await;
    let attempts = (0..50).map(|_| fixture.begin(CredentialKind::Password, ANN, HOME));
    let open = futures_util::future::join_all(attempts).await;
    assert_eq!(open.iter().filter(|attempt| attempt.is_ok()).count(), 10);
}

#[tokio::test]
async fn records_that_limit_nothing_are_deleted() {
    let fixture = ThrottleFixture::new().await;
    fixture.fail(CredentialKind::Password, ANN, HOME).await.unwrap();
    fixture.succeed("bob@example.com", HOME).await;
    let delete = async || {
        let now = fixture.clock.now();
        let (attempted, succeeded) =
            (now.plus_seconds(-FAILURE_LIFETIME_SECONDS), now.plus_seconds(-FAMILIAR_ADDRESS_SECONDS));
        fixture.throttle.storage.rate_limits().delete_old(now, attempted, succeeded).await.unwrap()
    };
    fixture.clock.advance_seconds(FAILURE_LIFETIME_SECONDS - 1);
    assert_eq!(delete().await, 0);
    fixture.clock.advance_seconds(1);
    assert_eq!(delete().await, 2, "of the failure: at the address and at the account");
    fixture.clock.advance_seconds(FAMILIAR_ADDRESS_SECONDS - FAILURE_LIFETIME_SECONDS);
    assert_eq!(delete().await, 1, "of the familiar address");
}

#[tokio::test]
async fn emailed_codes_are_counted_separately() {
    let fixture = ThrottleFixture::new().await;
    for _ in 0..10 {
        assert!(fixture.fail(CredentialKind::EmailedCode, "a@b.c", "192.0.2.1").await.is_ok());
    }
    assert_eq!(fixture.fail(CredentialKind::EmailedCode, "a@b.c", "192.0.2.1").await.err(), Some(1));
    assert!(fixture.fail(CredentialKind::Password, "a@b.c", "192.0.2.1").await.is_ok());
    assert!(fixture.fail(CredentialKind::EmailedCode, "a@b.c", "192.0.2.2").await.is_ok());
}
