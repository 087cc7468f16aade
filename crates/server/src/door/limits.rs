//! Rate and concurrency limits of the OpenAI-compatible API, counted per process.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use domain::{Clock, UserId};
use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use uuid::Uuid;

use platform::MonotonicClock;

/// Requests per minute and API key.
const A_MINUTE: NonZeroU32 = NonZeroU32::MIN.saturating_add(59);
/// Maximum number of concurrent answers per user.
const AT_A_TIME: usize = 8;
/// Number of requests after which the state of idle keys is removed.
const SWEEP_EVERY: u32 = 1024;

type Limiter = RateLimiter<Uuid, DashMapStateStore<Uuid>, MonotonicClock, NoOpMiddleware<Nanos>>;
type Counts = Arc<Mutex<HashMap<UserId, usize>>>;

/// Limits of the API in one process.
#[derive(Debug)]
pub struct Limits {
    rate: Option<(Limiter, MonotonicClock)>,
    calls: AtomicU32,
    active: Counts,
}

/// Reason for which a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The rate limit of the key is exceeded.
    #[error("this key may ask {A_MINUTE} times a minute; try again in {retry_after} s")]
    TooOften {
        /// Seconds until the next attempt can succeed.
        retry_after: u64,
    },
    /// The user's limit of concurrent answers is reached.
    #[error("{AT_A_TIME} answers are being written at once; wait until one has ended")]
    TooMany,
}

/// Permit of one answer, which counts until it is dropped.
#[derive(Debug)]
pub struct Turn {
    active: Counts,
    user: UserId,
}

impl Limits {
    /// Creates the limits. Without `on`, only concurrency is limited.
    pub fn new(on: bool, clock: &Arc<dyn Clock>) -> Self {
        let rate = on.then(|| {
            let clock = MonotonicClock::new(clock);
            (RateLimiter::dashmap_with_clock(Quota::per_minute(A_MINUTE), clock.clone()), clock)
        });
        Self { rate, calls: AtomicU32::new(0), active: Counts::default() }
    }

    /// Counts a request of `user` with the key `key`, and returns a permit for its answer.
    ///
    /// # Errors
    ///
    /// See [`Refused`].
    pub fn begin(&self, key: Uuid, user: UserId) -> Result<Turn, Refused> {
        if let Some((limiter, clock)) = &self.rate {
            if self.calls.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
                // Otherwise the limiter would keep the state of every key it has ever seen.
                limiter.retain_recent();
            }
            limiter.check_key(&key).map_err(|refused| {
                let wait = refused.wait_time_from(clock.now());
                Refused::TooOften { retry_after: wait.as_secs() + 1 }
            })?;
        }
        let mut active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        let own = active.entry(user).or_default();
        if *own >= AT_A_TIME {
            return Err(Refused::TooMany);
        }
        *own += 1;
        Ok(Turn { active: Arc::clone(&self.active), user })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = active.get_mut(&self.user) {
            *own -= 1;
            if *own == 0 {
                active.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::SystemClock;

    #[test]
    fn a_key_may_ask_so_often_and_a_person_so_much_at_a_time() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let limits = Limits::new(true, &clock);
        let (key, user) = (domain::ids::fresh(), UserId::fresh());
        for _ in 0..A_MINUTE.get() {
            limits.begin(key, user).unwrap();
        }
        assert!(matches!(limits.begin(key, user), Err(Refused::TooOften { retry_after: 1..=2 })));
        limits.begin(domain::ids::fresh(), user).unwrap();

        let limits = Limits::new(false, &clock);
        let turns: Vec<Turn> = (0..AT_A_TIME).map(|_| limits.begin(key, user).unwrap()).collect();
        assert_eq!(limits.begin(key, user).unwrap_err(), Refused::TooMany);
        limits.begin(key, UserId::fresh()).unwrap();
        drop(turns);
        limits.begin(key, user).unwrap();
        assert_eq!(limits.active.lock().unwrap().len(), 0);
    }
}
