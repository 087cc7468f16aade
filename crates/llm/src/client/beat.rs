//! When an answer that is being written is looked at again.
//!
//! A model writes a word every few milliseconds. To read, keep and send each by itself costs more than the word: most of it
//! is waking up. So answers are looked at in beats that all of them share, and what has come since the last one is taken
//! together. See `docs/adr/0027-answers-in-beats.md`.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Between two beats: 25 a second, so that words still come as if they were being written.
const BEAT: Duration = Duration::from_millis(40);

/// How long an answer is handed on word by word. The beginning is what people wait for, and short answers, such as those
/// that only call a tool, cost nobody a beat.
const AT_ONCE: Duration = Duration::from_millis(500);

/// When beats began. That all answers share them saves as much again: who wakes up finds work for many.
static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Whether an answer that began then has come to be looked at in beats.
pub(super) fn hold(begun: Instant) -> bool {
    begun.elapsed() >= AT_ONCE
}

/// Waits for the next beat.
pub(super) async fn next() {
    sleep(until_next(FIRST.elapsed())).await;
}

/// How long the next beat is away, so long after the first.
fn until_next(since: Duration) -> Duration {
    let (since, beat) = (since.as_nanos(), BEAT.as_nanos());
    Duration::from_nanos(u64::try_from(beat - since % beat).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whenever they begin to wait, all wake up at the same moments, and none waits for longer than a beat.
        #[test]
        fn beats_are_the_same_for_all(since in 0_u64..u64::MAX / 2) {
            let since = Duration::from_nanos(since);
            let rest = until_next(since);
            prop_assert!(rest > Duration::ZERO && rest <= BEAT);
            prop_assert_eq!((since + rest).as_nanos() % BEAT.as_nanos(), 0);
        }
    }
}
