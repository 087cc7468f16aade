//! Rate and concurrency limits of the OpenAI-compatible API.
//!
//! All nodes count the requests of a key together, in the database. Each node also counts in memory what it sees itself, so
//! that a flood of requests is no flood of writes. The concurrent answers of a user are counted on each node.

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
use storage::Storage;
use storage::rate_limits::RateQuota;
use uuid::Uuid;

/// Requests per minute and API key.
const REQUESTS_PER_MINUTE: NonZeroU32 = NonZeroU32::MIN.saturating_add(59);
/// The same limit, as the database counts it.
const SHARED_QUOTA: RateQuota = RateQuota { interval_seconds: 1, burst: 60 };
/// Maximum number of concurrent answers per user.
const MAX_ANSWERS_PER_USER: usize = 8;
/// Number of requests after which the state of idle keys is removed.
const REQUESTS_PER_SWEEP: u32 = 1024;

type LocalLimiter = RateLimiter<Uuid, DashMapStateStore<Uuid>, MonotonicClock, NoOpMiddleware<Nanos>>;

/// Limits of the API.
#[derive(Debug)]
pub struct RequestLimits {
    rate: Option<RateCounter>,
    answers: ConcurrencyLimiter,
}

/// Reason for which a request is rejected.
#[derive(Debug, thiserror::Error)]
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
    /// The database failed, so that the request cannot be counted.
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

impl RequestLimits {
    /// Creates the limits. Without `has_rate_limit`, only concurrency is limited.
    pub fn new(has_rate_limit: bool, storage: &Storage, clock: &Arc<dyn Clock>) -> Self {
        // Only the share of a user is limited: an answer waits for a model, and costs this process little.
        let answers = ConcurrencyLimiter::new(Limit { per_user: MAX_ANSWERS_PER_USER, total: usize::MAX });
        Self { rate: has_rate_limit.then(|| RateCounter::new(storage, clock)), answers }
    }

    /// Counts a request of `user` with the key `key`, and returns a permit for its answer.
    ///
    /// # Errors
    ///
    /// See [`RequestLimitError`].
    pub async fn begin(&self, key: Uuid, user: UserId) -> Result<Permit, RequestLimitError> {
        if let Some(rate) = &self.rate {
            rate.count(key).await?;
        }
        self.answers.acquire(user).map_err(|_| RequestLimitError::TooManyAnswers)
    }
}

/// Counter of the requests of each key.
#[derive(Debug)]
struct RateCounter {
    storage: Storage,
    clock: Arc<dyn Clock>,
    local: LocalLimiter,
    local_clock: MonotonicClock,
    requests: AtomicU32,
}

impl RateCounter {
    fn new(storage: &Storage, clock: &Arc<dyn Clock>) -> Self {
        let local_clock = MonotonicClock::new(clock);
        Self {
            storage: storage.clone(),
            clock: Arc::clone(clock),
            local: RateLimiter::dashmap_with_clock(Quota::per_minute(REQUESTS_PER_MINUTE), local_clock.clone()),
            local_clock,
            requests: AtomicU32::new(0),
        }
    }

    /// Counts a request, or rejects it.
    async fn count(&self, key: Uuid) -> Result<(), RequestLimitError> {
        if self.requests.fetch_add(1, Ordering::Relaxed) % REQUESTS_PER_SWEEP == REQUESTS_PER_SWEEP - 1 {
            // Otherwise the limiter would keep the state of every key it has ever seen.
            self.local.retain_recent();
        }
        self.local.check_key(&key).map_err(|exceeded| {
            let wait = exceeded.wait_time_from(self.local_clock.now());
            RequestLimitError::RateExceeded { retry_after: wait.as_secs() + 1 }
        })?;
        let now = self.clock.now();
        // The id of a key is unique among all keys of the table, which are hashes else.
        match self.storage.rate_limits().count(key.as_bytes(), SHARED_QUOTA, now).await? {
            None => Ok(()),
            Some(at) => Err(RequestLimitError::RateExceeded { retry_after: at.millis_since(now) / 1000 + 1 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::SystemClock;

    #[tokio::test]
    async fn limits_requests_per_key_over_all_nodes_and_answers_per_user() {
        let folder = tempfile::TempDir::new().unwrap();
        let storage = Storage::open(&format!("sqlite://{}", folder.path().join("test.db").display())).await.unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let nodes = [(); 2].map(|()| RequestLimits::new(true, &storage, &clock));
        let (key, user) = (domain::ids::fresh(), UserId::fresh());
        let mut accepted = 0;
        for request in 0..100 {
            match nodes[request % 2].begin(key, user).await {
                Ok(_) => accepted += 1,
                Err(RequestLimitError::RateExceeded { retry_after }) => assert!((1..=2).contains(&retry_after)),
                Err(error) => panic!("{error}"),
            }
        }
        // One more is allowed each second that the requests take.
        assert!((60..=70).contains(&accepted), "{accepted}");
        nodes[0].begin(domain::ids::fresh(), user).await.unwrap();

        let limits = RequestLimits::new(false, &storage, &clock);
        let mut permits = Vec::new();
        for _ in 0..MAX_ANSWERS_PER_USER {
            permits.push(limits.begin(key, user).await.unwrap());
        }
        assert!(matches!(limits.begin(key, user).await, Err(RequestLimitError::TooManyAnswers)));
        limits.begin(key, UserId::fresh()).await.unwrap();
        drop(permits);
        limits.begin(key, user).await.unwrap();
    }
}
