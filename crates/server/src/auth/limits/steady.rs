//! Time for counting: the house's clock, which never goes back.

use std::sync::{Arc, Mutex, PoisonError};

use domain::{Clock, Timestamp};
use governor::nanos::Nanos;

/// The house's clock, made steady: when somebody sets the machine's clock back, nobody waits the difference out.
#[derive(Debug, Clone)]
pub struct SteadyClock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Arc<dyn Clock>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    last: Timestamp,
    /// By how much the clock was set back in all, in microseconds.
    set_back: i64,
}

impl SteadyClock {
    /// Over the house's clock.
    pub fn new(clock: &Arc<dyn Clock>) -> Self {
        let seen = Mutex::new(Seen { last: clock.now(), set_back: 0 });
        Self(Arc::new(Inner { clock: Arc::clone(clock), seen }))
    }

    /// A moment that is not before any that was told.
    pub fn moment(&self) -> Timestamp {
        let mut seen = self.0.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.0.clock.now();
        seen.set_back += (seen.last.0 - now.0).max(0);
        seen.last = now;
        Timestamp(now.0 + seen.set_back)
    }
}

impl governor::clock::Clock for SteadyClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::from(u64::try_from(self.moment().0).unwrap_or(0).saturating_mul(1000))
    }
}
