//! Rate and concurrency limits of the OpenAI-compatible API, counted per process.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use domain::{Clock, UserId};
use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use platform::{ConcurrencyLimiter, Limit, MonotonicClock, Permit};
use uuid::Uuid;

/// Requests per minute and API key.
const REQUESTS_PER_MINUTE: NonZeroU32 = NonZeroU32::MIN.saturating_add(59);
/// Maximum number of concurrent answers per user.
const MAX_ANSWERS_PER_USER: usize = 8;
/// Number of requests after which the state of idle keys is removed.
const REQUESTS_PER_SWEEP: u32 = 1024;

type Limiter = RateLimiter<Uuid, DashMapStateStore<Uuid>, MonotonicClock, NoOpMiddleware<Nanos>>;

/// Limits of the API in one process.
#[derive(Debug)]
pub struct RequestLimits {
    rate: Option<(Limiter, MonotonicClock)>,
    requests: AtomicU32,
    answers: ConcurrencyLimiter,
}

/// Reason for which a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestLimitError {
    /// The rate limit of the key is exceeded.
    #[error("This key is limited to {REQUESTS_PER_MINUTE} requests a minute. Try again in {retry_after} s.")]
    RateExceeded {
        /// Seconds until the next attempt can succeed.
        retry_after: u64,
    },
    /// The user's limit of concurrent answers is reached.
    #[error("You already have {MAX_ANSWERS_PER_USER} answers in progress. Wait for one to finish.")]
    TooManyAnswers,
}

impl RequestLimits {
    /// Creates the limits. Without `has_rate_limit`, only concurrency is limited.
    pub fn new(has_rate_limit: bool, clock: &Arc<dyn Clock>) -> Self {
        let rate = has_rate_limit.then(|| {
            let clock = MonotonicClock::new(clock);
            (RateLimiter::dashmap_with_clock(Quota::per_minute(REQUESTS_PER_MINUTE), clock.clone()), clock)
        });
        // Only the share of a user is limited: an answer waits for a model, and costs this process little.
        let answers = ConcurrencyLimiter::new(Limit { per_user: MAX_ANSWERS_PER_USER, total: usize::MAX });
        Self { rate, requests: AtomicU32::new(0), answers }
    }

    /// Counts a request of `user` with the key `key`, and returns a permit for its answer.
    ///
    /// # Errors
    ///
    /// See [`RequestLimitError`].
    pub fn begin(&self, key: Uuid, user: UserId) -> Result<Permit, RequestLimitError> {
        if let Some((limiter, clock)) = &self.rate {
            if self.requests.fetch_add(1, Ordering::Relaxed) % REQUESTS_PER_SWEEP == REQUESTS_PER_SWEEP - 1 {
                // Otherwise the limiter would keep the state of every key it has ever seen.
                limiter.retain_recent();
            }
            limiter.check_key(&key).map_err(|exceeded| {
                let wait = exceeded.wait_time_from(clock.now());
                RequestLimitError::RateExceeded { retry_after: wait.as_secs() + 1 }
            })?;
        }
        self.answers.acquire(user).map_err(|_| RequestLimitError::TooManyAnswers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::SystemClock;

    #[test]
    fn limits_requests_per_key_and_answers_per_user() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let limits = RequestLimits::new(true, &clock);
        let (key, user) = (domain::ids::fresh(), UserId::fresh());
        for _ in 0..REQUESTS_PER_MINUTE.get() {
            limits.begin(key, user).unwrap();
        }
        assert!(matches!(limits.begin(key, user), Err(RequestLimitError::RateExceeded { retry_after: 1..=2 })));
        limits.begin(domain::ids::fresh(), user).unwrap();

        let limits = RequestLimits::new(false, &clock);
        let permits: Vec<Permit> = (0..MAX_ANSWERS_PER_USER).map(|_| limits.begin(key, user).unwrap()).collect();
        assert_eq!(limits.begin(key, user).unwrap_err(), RequestLimitError::TooManyAnswers);
        limits.begin(key, UserId::fresh()).unwrap();
        drop(permits);
        limits.begin(key, user).unwrap();
    }
}
