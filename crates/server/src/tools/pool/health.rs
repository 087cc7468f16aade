//! When a server that failed is tried again.

use std::time::Duration;

use domain::Timestamp;

/// A server that failed is left alone for about this long, so that a dead one does not cost every turn its patience.
const FIRST_REST: Duration = Duration::from_secs(5);
/// However often it failed, it is tried again after this time.
const LONGEST_REST: Duration = Duration::from_mins(10);
/// From so many failures in a row on, people are told that it is left alone.
const REPEATED: u32 = 3;
/// A connection that held for this long was a good one: what failed before it counts no more.
const PROVEN: Duration = Duration::from_mins(1);

/// How a server has done lately.
#[derive(Debug, Clone, Copy, Default)]
pub struct Health {
    /// Failures in a row.
    pub failures: u32,
    /// Until when it is left alone.
    pub next_try: Option<Timestamp>,
    connected_at: Option<Timestamp>,
}

impl Health {
    /// An attempt failed. `random` (all values alike likely) spreads the attempts of many.
    pub fn failed(&mut self, now: Timestamp, random: u8) {
        self.failures = self.failures.saturating_add(1);
        self.connected_at = None;
        self.next_try = Some(rest(self.failures, now, random));
    }

    /// There is a connection.
    pub fn connected(&mut self, now: Timestamp) {
        self.connected_at = Some(now);
        self.next_try = None;
    }

    /// The connection was lost. A good one is opened again at once; one that breaks again and again is left alone.
    pub fn lost(&mut self, now: Timestamp, random: u8) {
        let held = self.connected_at.take().map_or(0, |since| now.millis_since(since));
        if u128::from(held) >= PROVEN.as_millis() {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        self.next_try = (self.failures > 1).then(|| rest(self.failures - 1, now, random));
    }

    /// Whether it is left alone for the moment.
    pub fn is_resting(&self, now: Timestamp) -> bool {
        self.next_try.is_some_and(|next| now < next)
    }

    /// Lets it be tried at once, unless its failures are repeated.
    pub fn rouse(&mut self) {
        if self.failures < REPEATED {
            self.next_try = None;
        }
    }

    /// What to say when it is left alone: nothing for a single failure.
    pub fn in_words(&self, now: Timestamp) -> Option<String> {
        let next = self.next_try.filter(|next| now < *next && self.failures >= REPEATED)?;
        let seconds = next.millis_since(now).div_ceil(1000);
        Some(format!("it failed {} times in a row and is tried again in {seconds} s", self.failures))
    }
}

/// The end of the rest after so many failures: twice as long each time, half of it random.
fn rest(failures: u32, now: Timestamp, random: u8) -> Timestamp {
    let doubled = FIRST_REST.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    let whole = doubled.min(LONGEST_REST);
    let rest = whole / 2 + whole / 2 * u32::from(random) / u32::from(u8::MAX);
    Timestamp(now.0.saturating_add(i64::try_from(rest.as_micros()).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_000_000_000);

    fn seconds_of_rest(failures: u32, random: u8) -> f64 {
        let mut health = Health::default();
        (0..failures).for_each(|_| health.failed(START, random));
        health.next_try.map_or(0.0, |next| next.millis_since(START) as f64 / 1000.0)
    }

    #[test]
    fn the_rest_doubles_up_to_ten_minutes_and_half_of_it_is_random() {
        for (failures, least, most) in
            [(1, 2.5, 5.0), (2, 5.0, 10.0), (5, 40.0, 80.0), (8, 300.0, 600.0), (99, 300.0, 600.0)]
        {
            assert_eq!((seconds_of_rest(failures, 0), seconds_of_rest(failures, u8::MAX)), (least, most), "{failures}");
        }
    }

    #[test]
    fn repeated_failures_are_told() {
        let mut health = Health::default();
        health.failed(START, 255);
        health.failed(START, 255);
        assert_eq!((health.is_resting(START), health.in_words(START)), (true, None));
        let mut roused = health;
        roused.rouse();
        assert!(!roused.is_resting(START), "whoever asks by hand does not wait");
        health.failed(START, 255);
        health.rouse();
        let said = health.in_words(START);
        assert_eq!(said.as_deref(), Some("it failed 3 times in a row and is tried again in 20 s"));
        assert!(!health.is_resting(START.plus_seconds(20)));
    }

    #[test]
    fn one_loss_is_made_up_for_at_once_and_losses_in_a_row_are_not() {
        let mut health = Health::default();
        health.connected(START);
        health.lost(START.plus_seconds(1), 0);
        assert!(!health.is_resting(START.plus_seconds(1)));
        health.connected(START.plus_seconds(2));
        health.lost(START.plus_seconds(3), 0);
        assert!(health.is_resting(START.plus_seconds(3)));
        health.connected(START.plus_seconds(9));
        health.lost(START.plus_seconds(99), 0);
        assert_eq!((health.failures, health.is_resting(START.plus_seconds(99))), (1, false));
    }
}
