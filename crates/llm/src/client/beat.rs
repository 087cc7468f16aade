//! When an answer that is being written is looked at again.
//!
//! A model writes a word every few milliseconds. To read, keep and send each by itself costs more than the word: most of it
//! is waking up. So answers are looked at in beats that many of them share, and what has come since the last one is taken
//! together. See `docs/adr/0027-answers-in-beats.md`.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Between two beats: 25 a second, so that words still come as if they were being written.
const BEAT: Duration = Duration::from_millis(40);

/// Answers at a time from which on each is looked at in every second beat, and from which on in every third. A longer pause can be seen.
const CROWDS: [usize; 2] = [64, 600];

/// Answers that share a moment at least, where there are so many: the fewer there are, the more each wake-up costs.
const GROUP: usize = 32;

/// Moments of one pause at most. All of a crowd at one moment would hold up for many milliseconds who asks meanwhile.
const GROUPS: usize = 4;

/// How long an answer is handed on word by word. The beginning is what people wait for, and short answers, such as those
/// that only call a tool, cost nobody a beat.
const AT_ONCE: Duration = Duration::from_millis(250);

/// Answers that are being written.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Answers that have begun, to spread them over the groups: how many are open stays the same where one begins as another ends.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// When beats began. That many answers share them saves as much again: who wakes up finds work for many.
static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The beats of one answer, for as long as it is being written.
#[derive(Debug)]
pub(super) struct Beats {
    begun: Instant,
    place: usize,
}

impl Beats {
    /// Of an answer that begins now.
    pub(super) fn begin() -> Self {
        OPEN.fetch_add(1, Ordering::Relaxed);
        Self { begun: Instant::now(), place: BEGUN.fetch_add(1, Ordering::Relaxed) }
    }

    /// Whether the answer has come to be looked at in beats.
    pub(super) fn hold(&self) -> bool {
        self.begun.elapsed() >= AT_ONCE
    }

    /// Waits for the next one that is one to look at.
    pub(super) async fn next(&self) {
        let open = OPEN.load(Ordering::Relaxed);
        sleep(until_next(FIRST.elapsed(), pause(open), self.place, groups(open))).await;
    }
}

impl Drop for Beats {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The time between two looks at an answer, with so many at a time.
fn pause(open: usize) -> Duration {
    CROWDS.into_iter().filter(|&crowd| open >= crowd).fold(BEAT, |pause, _| pause + BEAT)
}

/// The moments of a pause over which so many answers are spread.
fn groups(open: usize) -> usize {
    (open / GROUP).clamp(1, GROUPS)
}

/// How long the next look at the answer of this place is away, so long after the first.
fn until_next(since: Duration, pause: Duration, place: usize, groups: usize) -> Duration {
    let pause = pause.as_nanos();
    let moment = pause * (place % groups) as u128 / groups as u128;
    let since = (since.as_nanos() + pause - moment) % pause;
    Duration::from_nanos(u64::try_from(pause - since).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whenever they begin to wait, all of a group wake up at the same moments, and none waits for longer than it should.
        #[test]
        fn beats_are_the_same_for_a_group(
            since in 0_u64..u64::MAX / 2,
            open in 0_usize..10_000,
            place in 0_usize..10_000,
        ) {
            let (since, pause, groups) = (Duration::from_nanos(since), pause(open), groups(open));
            prop_assert!(pause >= BEAT && pause <= BEAT * 3);
            prop_assert!((1..=GROUPS).contains(&groups) && (groups == 1 || open >= groups * GROUP));
            let rest = until_next(since, pause, place, groups);
            prop_assert!(rest > Duration::ZERO && rest <= pause);
            let moment = (since + rest).as_nanos() % pause.as_nanos();
            prop_assert_eq!(moment, pause.as_nanos() * (place % groups) as u128 / groups as u128);
        }
    }

    #[test]
    fn few_answers_are_looked_at_in_every_beat() {
        let beats = [0, 1, 63, 64, 599, 600, usize::MAX].map(|open| pause(open).as_nanos() / BEAT.as_nanos());
        assert_eq!(beats, [1, 1, 1, 2, 2, 3, 3]);
    }
}
