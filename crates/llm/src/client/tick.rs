//! Shared read ticks for streaming responses.
//!
//! A model writes a token every few milliseconds. Reading, storing and sending each one separately costs more than
//! the token itself, most of it for waking up. So responses are read at ticks that many of them share, and everything
//! received since the last tick is processed together. See `docs/adr/0022-shared-read-ticks.md`.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Interval between ticks with few open responses: 25 per second, so that text still appears to be typed.
const TICK_INTERVAL: Duration = Duration::from_millis(40);

/// Numbers of open responses at which the interval grows to two and to three ticks. A longer interval would be visible.
const SLOWDOWN_THRESHOLDS: [usize; 2] = [64, 600];

/// Minimum number of responses that share a tick: the fewer there are, the more each wake-up costs.
const MIN_GROUP_SIZE: usize = 32;

/// Maximum number of groups that the responses of one interval are spread over. If all were read at the same moment,
/// new requests would wait for many milliseconds.
const MAX_GROUPS: usize = 4;

/// Time after the start of a response in which it is read without ticks. Users wait for the beginning, and short
/// responses, such as those that only call a tool, are not delayed.
const IMMEDIATE_PERIOD: Duration = Duration::from_millis(250);

/// Number of responses that are open now.
static OPEN_RESPONSES: AtomicUsize = AtomicUsize::new(0);

/// Number of responses started so far. It assigns groups: the number of open ones stays the same where one starts as
/// another ends.
static STARTED_RESPONSES: AtomicUsize = AtomicUsize::new(0);

/// Origin of all ticks, so that responses of the same group wake up at the same moment.
static FIRST_TICK: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Ticks of one response, for as long as it is open.
#[derive(Debug)]
pub(super) struct ReadTicker {
    started_at: Instant,
    sequence: usize,
}

impl ReadTicker {
    /// Registers a response that starts now.
    pub(super) fn start() -> Self {
        // Relaxed: the counters only choose the time of a read and guard no other data.
        OPEN_RESPONSES.fetch_add(1, Ordering::Relaxed);
        Self { started_at: Instant::now(), sequence: STARTED_RESPONSES.fetch_add(1, Ordering::Relaxed) }
    }

    /// Returns whether the response is old enough to be read at ticks.
    pub(super) fn is_active(&self) -> bool {
        self.started_at.elapsed() >= IMMEDIATE_PERIOD
    }

    /// Waits for the next tick of this response.
    pub(super) async fn wait_for_tick(&self) {
        let open = OPEN_RESPONSES.load(Ordering::Relaxed);
        sleep(time_to_next_tick(FIRST_TICK.elapsed(), tick_interval(open), self.sequence, group_count(open))).await;
    }
}

impl Drop for ReadTicker {
    fn drop(&mut self) {
        OPEN_RESPONSES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the interval between two reads of a response, for a number of open responses; see [`SLOWDOWN_THRESHOLDS`].
fn tick_interval(open: usize) -> Duration {
    SLOWDOWN_THRESHOLDS
        .into_iter()
        .filter(|&threshold| open >= threshold)
        .fold(TICK_INTERVAL, |interval, _| interval + TICK_INTERVAL)
}

/// Returns the number of groups that the open responses are spread over; see [`MAX_GROUPS`].
fn group_count(open: usize) -> usize {
    (open / MIN_GROUP_SIZE).clamp(1, MAX_GROUPS)
}

/// Returns the time until the next tick of a response, where `elapsed` is the time since [`FIRST_TICK`].
fn time_to_next_tick(elapsed: Duration, interval: Duration, sequence: usize, groups: usize) -> Duration {
    let interval = interval.as_nanos();
    // Each group has its own offset into the interval.
    let offset = interval * (sequence % groups) as u128 / groups as u128;
    // The interval is added so that the difference cannot be negative.
    let since_tick = (elapsed.as_nanos() + interval - offset) % interval;
    Duration::from_nanos(u64::try_from(interval - since_tick).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Responses of one group wake up at the same moments, whenever they begin to wait, and none waits for longer
        /// than the interval.
        #[test]
        fn ticks_are_shared_by_a_group(
            elapsed in 0_u64..u64::MAX / 2,
            open in 0_usize..10_000,
            sequence in 0_usize..10_000,
        ) {
            let (elapsed, interval, groups) = (Duration::from_nanos(elapsed), tick_interval(open), group_count(open));
            prop_assert!(interval >= TICK_INTERVAL && interval <= TICK_INTERVAL * 3);
            prop_assert!((1..=MAX_GROUPS).contains(&groups) && (groups == 1 || open >= groups * MIN_GROUP_SIZE));
            let wait = time_to_next_tick(elapsed, interval, sequence, groups);
            prop_assert!(wait > Duration::ZERO && wait <= interval);
            let offset = (elapsed + wait).as_nanos() % interval.as_nanos();
            prop_assert_eq!(offset, interval.as_nanos() * (sequence % groups) as u128 / groups as u128);
        }
    }

    #[test]
    fn slows_down_with_more_open_responses() {
        let ticks =
            [0, 1, 63, 64, 599, 600, usize::MAX].map(|open| tick_interval(open).as_nanos() / TICK_INTERVAL.as_nanos());
        assert_eq!(ticks, [1, 1, 1, 2, 2, 3, 3]);
    }
}
