//! Daily quota (UTC) of tokens that each user may use of the configured models, which the administrator pays for.
//!
//! The usage is counted in the database, so that the quota holds on every node. A model call is counted when it ends: a
//! user with turns in several chats can exceed the quota by as much as the calls in progress use.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use domain::model::ModelError;
use domain::{Clock, Timestamp, UserId};
use storage::Storage;

use super::ModelId;
use super::user_providers::{USER_PROVIDER_PREFIX, is_user_provider};

/// Seconds of a day.
const DAY_SECONDS: i64 = 86_400;

/// The user has used the quota of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaExceeded {
    /// Quota in tokens.
    pub tokens: u64,
    /// Time until the quota is renewed.
    pub retry_after: Duration,
}

impl From<QuotaExceeded> for ModelError {
    fn from(QuotaExceeded { tokens, retry_after }: QuotaExceeded) -> Self {
        Self::SpentForToday { tokens, retry_after }
    }
}

/// Returns the start of a day in UTC.
pub fn start_of_day(now: Timestamp) -> Timestamp {
    Timestamp(now.as_seconds().div_euclid(DAY_SECONDS) * DAY_SECONDS * 1_000_000)
}

/// The daily token quota and its use, per user.
#[derive(Debug, Clone)]
pub struct TokenQuota {
    storage: Storage,
    clock: Arc<dyn Clock>,
    /// `CHAT_TOKENS_PER_DAY`; `None` for no limit.
    tokens_per_day: Option<NonZeroU64>,
}

impl TokenQuota {
    /// Creates the quota that the configuration states.
    pub fn new(storage: Storage, clock: Arc<dyn Clock>, tokens_per_day: Option<NonZeroU64>) -> Self {
        Self { storage, clock, tokens_per_day }
    }

    /// Returns a user's usage since the [start of the day](start_of_day) and their quota, in tokens, or `None` if
    /// there is no quota.
    ///
    /// # Errors
    ///
    /// Fails if the database fails.
    pub async fn usage_today(&self, user: UserId) -> Result<Option<(u64, u64)>, storage::Error> {
        let Some(limit) = self.tokens_per_day else { return Ok(None) };
        let today = start_of_day(self.clock.now());
        Ok(Some((self.storage.usage().tokens_since(user, today, USER_PROVIDER_PREFIX).await?, limit.get())))
    }

    /// Checks that a user may call a model now. Their own providers are not limited.
    ///
    /// # Errors
    ///
    /// [`QuotaExceeded`] if the quota is used up.
    pub async fn check(&self, user: UserId, model: &ModelId) -> Result<(), QuotaExceeded> {
        if is_user_provider(&model.provider) {
            return Ok(());
        }
        match self.usage_today(user).await {
            Ok(Some((used, tokens))) if used >= tokens => {
                let now = self.clock.now();
                let left = start_of_day(now).plus_seconds(DAY_SECONDS).as_seconds() - now.as_seconds();
                Err(QuotaExceeded { tokens, retry_after: Duration::from_secs(u64::try_from(left).unwrap_or(1)) })
            }
            Ok(_) => Ok(()),
            Err(error) => {
                // Allowed: no turn can begin without the database anyway, and one in progress must not fail because
                // of a counter.
                tracing::error!(user_id = %user, %error, "failed to read today's usage; the quota is not enforced");
                Ok(())
            }
        }
    }
}
