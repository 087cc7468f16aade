//! Clock for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use domain::{Clock, Timestamp};

const MICROSECONDS_PER_SECOND: i64 = 1_000_000;
/// 2026-11-21, in microseconds since 1970.
const START: i64 = 1_795_255_200_000_000;

/// A clock that only advances by [`ManualClock::advance_seconds`].
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Creates a clock.
    pub fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(START)))
    }

    /// Moves the clock forward, or backward by a negative number.
    pub fn advance_seconds(&self, seconds: i64) {
        self.0.fetch_add(seconds * MICROSECONDS_PER_SECOND, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}
