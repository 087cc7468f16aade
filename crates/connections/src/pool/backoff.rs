//! Backoff of a server that failed: when the next attempt to connect is due.

use std::time::Duration;

use domain::Timestamp;

/// Backoff after the first failure, so that an unreachable server does not delay every turn.
const FIRST_BACKOFF: Duration = Duration::from_secs(5);
/// Maximum backoff.
const MAX_BACKOFF: Duration = Duration::from_mins(10);
/// Number of consecutive failures from which on the backoff is shown to users.
const REPEATED_FAILURES: u32 = 3;
/// Time after which a connection counts as stable, so that earlier failures no longer count.
const STABLE_AFTER: Duration = Duration::from_mins(1);

/// Consecutive failures of a server and the time of the next attempt.
#[derive(Debug, Clone, Copy, Default)]
pub struct Backoff {
    /// Number of consecutive failures.
    pub failures: u32,
    /// Time until which no attempt is made.
    pub next_attempt: Option<Timestamp>,
    connected_at: Option<Timestamp>,
}

impl Backoff {
    /// Records a failed attempt. `jitter`, uniformly distributed, spreads the attempts of many connections.
    pub fn record_failure(&mut self, now: Timestamp, jitter: u8) {
        self.failures = self.failures.saturating_add(1);
        self.connected_at = None;
        self.next_attempt = Some(backoff_end(self.failures, now, jitter));
    }

    /// Records a successful attempt.
    pub fn record_connected(&mut self, now: Timestamp) {
        self.connected_at = Some(now);
        self.next_attempt = None;
    }

    /// Records that the connection was lost. A stable one may be reopened at once; one that is lost repeatedly backs off.
    pub fn record_disconnected(&mut self, now: Timestamp, jitter: u8) {
        let age_ms = self.connected_at.take().map_or(0, |since| now.millis_since(since));
        if u128::from(age_ms) >= STABLE_AFTER.as_millis() {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        // One failure less than for a failed attempt: a first loss may be a restart of the server that is over at once.
        self.next_attempt = (self.failures > 1).then(|| backoff_end(self.failures - 1, now, jitter));
    }

    /// Returns whether no attempt may be made now.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.next_attempt.is_some_and(|next| now < next)
    }

    /// Permits an attempt at once, unless the server failed repeatedly.
    pub fn clear(&mut self) {
        if self.failures < REPEATED_FAILURES {
            self.next_attempt = None;
        }
    }

    /// Describes the backoff for users. Returns `None` if it is not active or the failures are few.
    pub fn describe(&self, now: Timestamp) -> Option<String> {
        let next = self.next_attempt.filter(|next| now < *next && self.failures >= REPEATED_FAILURES)?;
        let seconds = next.millis_since(now).div_ceil(1000);
        Some(format!("it failed {} times in a row and is tried again in {seconds} s", self.failures))
    }
}

/// Returns the end of the backoff after a number of failures. It doubles with each, and half of it is random.
fn backoff_end(failures: u32, now: Timestamp, jitter: u8) -> Timestamp {
    // From the 33rd failure on, the shift would overflow. The maximum applies long before.
    let doubled = FIRST_BACKOFF.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    let longest = doubled.min(MAX_BACKOFF);
    // Half of it is fixed, so that no jitter makes the pause short; the other half spreads the users of one failed
    // server.
    let backoff = longest / 2 + longest / 2 * u32::from(jitter) / u32::from(u8::MAX);
    Timestamp(now.0.saturating_add(i64::try_from(backoff.as_micros()).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_000_000_000);

    fn backoff_seconds(failures: u32, jitter: u8) -> f64 {
        let mut backoff = Backoff::default();
        (0..failures).for_each(|_| backoff.record_failure(START, jitter));
        backoff.next_attempt.map_or(0.0, |next| next.millis_since(START) as f64 / 1000.0)
    }

    #[test]
    fn doubles_up_to_ten_minutes_with_half_random() {
        for (failures, least, most) in
            [(1, 2.5, 5.0), (2, 5.0, 10.0), (5, 40.0, 80.0), (8, 300.0, 600.0), (99, 300.0, 600.0)]
        {
            let range = (backoff_seconds(failures, 0), backoff_seconds(failures, u8::MAX));
            assert_eq!(range, (least, most), "{failures}");
        }
    }

    #[test]
    fn describes_repeated_failures_only() {
        let mut backoff = Backoff::default();
        backoff.record_failure(START, 255);
        backoff.record_failure(START, 255);
        assert_eq!((backoff.is_active(START), backoff.describe(START)), (true, None));
        let mut cleared = backoff;
        cleared.clear();
        assert!(!cleared.is_active(START), "a manual call does not wait");
        backoff.record_failure(START, 255);
        backoff.clear();
        let text = backoff.describe(START);
        assert_eq!(text.as_deref(), Some("it failed 3 times in a row and is tried again in 20 s"));
        assert!(!backoff.is_active(START.plus_seconds(20)));
    }

    #[test]
    fn backs_off_after_repeated_disconnects_only() {
        let mut backoff = Backoff::default();
        backoff.record_connected(START);
        backoff.record_disconnected(START.plus_seconds(1), 0);
        assert!(!backoff.is_active(START.plus_seconds(1)));
        backoff.record_connected(START.plus_seconds(2));
        backoff.record_disconnected(START.plus_seconds(3), 0);
        assert!(backoff.is_active(START.plus_seconds(3)));
        backoff.record_connected(START.plus_seconds(9));
        backoff.record_disconnected(START.plus_seconds(99), 0);
        assert_eq!((backoff.failures, backoff.is_active(START.plus_seconds(99))), (1, false));
    }
}
