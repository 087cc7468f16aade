//! A clock for rate limits that never goes back.

use std::sync::{Arc, Mutex, PoisonError};

use domain::{Clock, Timestamp};
use governor::nanos::Nanos;

/// A [`Clock`] made monotonic: after the system clock was set back, no client waits for the difference.
#[derive(Debug, Clone)]
pub struct MonotonicClock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last_reading: Timestamp,
    /// Total of all steps back of the underlying clock, in microseconds.
    offset_micros: i64,
}

impl MonotonicClock {
    /// Creates a clock that reads `clock`.
    pub fn new(clock: &Arc<dyn Clock>) -> Self {
        let state = Mutex::new(State { last_reading: clock.now(), offset_micros: 0 });
        Self(Arc::new(Inner { clock: Arc::clone(clock), state }))
    }

    /// Returns a time that is not before any that was returned earlier.
    pub fn monotonic_now(&self) -> Timestamp {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.0.clock.now();
        // A step back is added once and for ever, so that the time continues from where it was.
        state.offset_micros += (state.last_reading.0 - now.0).max(0);
        state.last_reading = now;
        Timestamp(now.0 + state.offset_micros)
    }
}

impl governor::clock::Clock for MonotonicClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::from(u64::try_from(self.monotonic_now().0).unwrap_or(0).saturating_mul(1000))
    }
}
