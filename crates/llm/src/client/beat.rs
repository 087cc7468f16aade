//! When an answer that is being written is looked at again.
//!
//! A model writes a word every few milliseconds. To read, keep and send each by itself costs more than the word: most of it
//! is waking up. So answers are looked at in beats that all of them share, and what has come since the last one is taken
//! together. See `docs/adr/0027-answers-in-beats.md`.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Between two beats: 25 a second, so that words still come as if they were being written.
const BEAT: Duration = Duration::from_millis(40);

/// Answers at a time for which every beat is one to look at. For each as many more, one beat more passes between two looks.
const CROWD: usize = 300;

/// Beats from one look to the next at most: a longer pause can be seen.
const MOST: u32 = 3;

/// Answers that are being written.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Counts an answer for as long as it is being written.
#[derive(Debug)]
pub(super) struct Counted;

impl Counted {
    pub(super) fn new() -> Self {
        OPEN.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How long an answer is handed on word by word. The beginning is what people wait for, and short answers, such as those
/// that only call a tool, cost nobody a beat.
const AT_ONCE: Duration = Duration::from_millis(500);

/// When beats began. That all answers share them saves as much again: who wakes up finds work for many.
static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Whether an answer that began then has come to be looked at in beats.
pub(super) fn hold(begun: Instant) -> bool {
    begun.elapsed() >= AT_ONCE
}

/// Waits for the next beat that is one to look at.
pub(super) async fn next() {
    sleep(until_next(FIRST.elapsed(), pause(OPEN.load(Ordering::Relaxed)))).await;
}

/// The time between two looks at an answer, with so many at a time.
fn pause(open: usize) -> Duration {
    BEAT * u32::try_from(open / CROWD + 1).map_or(MOST, |beats| beats.min(MOST))
}

/// How long the next look is away, so long after the first.
fn until_next(since: Duration, pause: Duration) -> Duration {
    let (since, pause) = (since.as_nanos(), pause.as_nanos());
    Duration::from_nanos(u64::try_from(pause - since % pause).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whenever they begin to wait, all wake up at the same moments, and none waits for longer than it should.
        #[test]
        fn beats_are_the_same_for_all(since in 0_u64..u64::MAX / 2, open in 0_usize..10_000) {
            let (since, pause) = (Duration::from_nanos(since), pause(open));
            prop_assert!(pause >= BEAT && pause <= BEAT * MOST);
            let rest = until_next(since, pause);
            prop_assert!(rest > Duration::ZERO && rest <= pause);
            prop_assert_eq!((since + rest).as_nanos() % pause.as_nanos(), 0);
        }
    }

    #[test]
    fn few_answers_are_looked_at_in_every_beat() {
        let beats = [0, 1, 299, 300, 599, 600, usize::MAX].map(|open| pause(open).as_nanos() / BEAT.as_nanos());
        assert_eq!(beats, [1, 1, 1, 2, 2, 3, 3]);
    }
}
