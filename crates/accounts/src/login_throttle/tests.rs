use std::sync::Arc;

use domain::Clock;

use super::*;
use crate::test_clock::ManualClock;

const HOME: &str = "192.0.2.1";
const OFFICE: &str = "192.0.2.2";
const ANN: &str = "ann@example.com";

struct Door {
    attempts: Attempts,
    clock: Arc<ManualClock>,
}

impl Door {
    fn new() -> Self {
        let clock = ManualClock::new();
        let steady = MonotonicClock::new(&(Arc::clone(&clock) as Arc<dyn Clock>));
        Self { attempts: Attempts::new(steady), clock }
    }

    fn knock(&self, proof: Proof, account: &str, address: &str) -> Result<Attempt<'_>, u64> {
        let address = address.parse().unwrap();
        let begun = self.attempts.begin(proof, account, address);
        begun.map(|counted| Attempt::new(proof, address, Some(counted))).map_err(|refused| match refused {
            AuthError::TooMany { retry_after } => retry_after,
            other => panic!("{other}"),
        })
    }

    /// A try that fails, or how long it has to wait.
    fn fail(&self, proof: Proof, account: &str, address: &str) -> Result<(), u64> {
        self.knock(proof, account, address).map(drop)
    }

    fn succeed(&self, account: &str, address: &str) {
        self.knock(Proof::Password, account, address).unwrap().succeeded();
    }

    /// Failures at one account from one address after another.
    fn storm(&self, account: &str, failures: u32) {
        for number in 0..failures {
            let address = IpAddr::from((0x0a00_0000 + number).to_be_bytes()).to_string();
            self.fail(Proof::Password, account, &address).unwrap();
        }
    }
}

#[test]
fn an_address_waits_longer_after_each_failure() {
    let door = Door::new();
    for _ in 0..10 {
        door.fail(Proof::Password, ANN, HOME).unwrap();
    }
    for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        assert_eq!(door.fail(Proof::Password, ANN, HOME), Err(wait));
        door.clock.advance_seconds(i64::try_from(wait).unwrap() - 1);
        assert_eq!(door.fail(Proof::Password, ANN, HOME), Err(1), "a refused try makes nobody wait longer");
        door.clock.advance_seconds(1);
        door.fail(Proof::Password, ANN, HOME).unwrap();
    }
    door.fail(Proof::Password, ANN, OFFICE).unwrap();
    door.fail(Proof::Password, "bob@example.com", HOME).unwrap();
}

#[test]
fn the_right_password_after_the_wait_begins_anew() {
    let door = Door::new();
    for _ in 0..10 {
        door.fail(Proof::Password, ANN, HOME).unwrap();
    }
    assert_eq!(door.fail(Proof::Password, ANN, HOME), Err(1));
    door.clock.advance_seconds(1);
    door.succeed(ANN, HOME);
    for _ in 0..10 {
        door.fail(Proof::Password, ANN, HOME).unwrap();
    }
}

#[test]
fn a_storm_from_everywhere_slows_strangers_and_not_the_person() {
    let door = Door::new();
    door.succeed(ANN, HOME);
    door.storm(ANN, 100);
    assert_eq!(door.fail(Proof::Password, ANN, "198.51.100.1"), Err(1));
    for _ in 0..20 {
        door.clock.advance_seconds(60);
        door.fail(Proof::Password, ANN, "198.51.100.1").unwrap_or_default();
        door.fail(Proof::Password, ANN, "198.51.100.2").unwrap_or_default();
    }
    let wait = door.fail(Proof::Password, ANN, "198.51.100.3").unwrap_err();
    assert!(wait <= 60, "{wait}");
    door.succeed(ANN, HOME);
}

#[test]
fn a_usual_place_is_one_for_thirty_days() {
    let door = Door::new();
    door.succeed(ANN, HOME);
    door.clock.advance_seconds(USUAL_FOR - 1);
    door.storm(ANN, 100);
    door.fail(Proof::Password, ANN, HOME).unwrap();
    door.clock.advance_seconds(1);
    assert!(door.fail(Proof::Password, ANN, HOME).is_err());
}

#[test]
fn a_second_factor_is_counted_by_account_alone() {
    let door = Door::new();
    for number in 0..10 {
        door.fail(Proof::Factor, ANN, &format!("198.51.100.{number}")).unwrap();
    }
    let mut waits = Vec::new();
    for number in 0..12 {
        let wait = door.fail(Proof::Factor, ANN, &format!("203.0.113.{number}")).unwrap_err();
        waits.push(wait);
        door.clock.advance_seconds(i64::try_from(wait).unwrap());
        door.fail(Proof::Factor, ANN, HOME).unwrap();
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
    door.succeed(ANN, HOME);
}

#[test]
fn failures_are_forgotten_after_a_quiet_day() {
    let door = Door::new();
    for _ in 0..10 {
        door.fail(Proof::Password, ANN, HOME).unwrap();
    }
    door.clock.advance_seconds(FORGOTTEN_AFTER);
    for _ in 0..10 {
        door.fail(Proof::Password, ANN, HOME).unwrap();
    }
}

#[test]
fn many_at_the_same_time_do_not_pass_all() {
    let door = Door::new();
    let open: Vec<_> = (0..50).map(|_| door.knock(Proof::Password, ANN, HOME)).collect();
    assert_eq!(open.iter().filter(|attempt| attempt.is_ok()).count(), 10);
}

#[test]
fn what_is_remembered_is_bounded() {
    let door = Door::new();
    for number in 0..MAX_ENTRIES {
        door.fail(Proof::Password, &format!("{number}@example.com"), HOME).unwrap();
        door.clock.advance_seconds(1);
        assert!(door.attempts.lock().len() <= MAX_ENTRIES);
    }
}

#[test]
fn mailed_codes_wait_like_passwords_and_apart_from_them() {
    let tries = Door::new();
    for _ in 0..10 {
        assert!(tries.fail(Proof::MailedCode, "a@b.c", "192.0.2.1").is_ok());
    }
    assert_eq!(tries.fail(Proof::MailedCode, "a@b.c", "192.0.2.1").err(), Some(1));
    assert!(tries.fail(Proof::Password, "a@b.c", "192.0.2.1").is_ok());
    assert!(tries.fail(Proof::MailedCode, "a@b.c", "192.0.2.2").is_ok());
}
