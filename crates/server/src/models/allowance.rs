//! Daily quota (UTC) of tokens that each user may use of the configured models, which the administrator pays for.
//!
//! The usage is counted in the database, so that the quota holds on every node. An answer in progress is counted when
//! it ends: a user with several chats can exceed the quota by as much as those answers use.

use std::time::Duration;

use domain::model::ModelError;
use domain::{Timestamp, UserId};

use super::ModelId;
use super::own::{PREFIX, is_own};
use crate::app::App;

/// Seconds of a day.
const DAY: i64 = 86_400;

/// The user has used the quota of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Quota in tokens.
    pub tokens: u64,
    /// Time until the quota is renewed.
    pub retry_after: Duration,
}

impl From<Spent> for ModelError {
    fn from(Spent { tokens, retry_after }: Spent) -> Self {
        Self::SpentForToday { tokens, retry_after }
    }
}

/// Returns the start of a day in UTC.
pub fn day_of(now: Timestamp) -> Timestamp {
    Timestamp(now.as_seconds().div_euclid(DAY) * DAY * 1_000_000)
}

/// Returns a user's usage since the [start of the day](day_of) and their quota, in tokens, or `None` if there is no
/// quota.
pub async fn used(app: &App, user: UserId) -> Result<Option<(u64, u64)>, store::Error> {
    let Some(limit) = app.config.tokens_per_day else { return Ok(None) };
    Ok(Some((app.store.tokens_since(user, day_of(app.clock.now()), PREFIX).await?, limit.get())))
}

/// Checks that a user may call a model now. Their own providers are not limited.
///
/// # Errors
///
/// [`Spent`] if the quota is used up.
pub async fn check(app: &App, user: UserId, model: &ModelId) -> Result<(), Spent> {
    if is_own(&model.provider) {
        return Ok(());
    }
    match used(app, user).await {
        Ok(Some((used, tokens))) if used >= tokens => {
            let now = app.clock.now();
            let left = day_of(now).plus_seconds(DAY).as_seconds() - now.as_seconds();
            Err(Spent { tokens, retry_after: Duration::from_secs(u64::try_from(left).unwrap_or(1)) })
        }
        Ok(_) => Ok(()),
        Err(error) => {
            // Allowed: no turn can begin without the database anyway, and one in progress must not fail because of a
            // counter.
            tracing::error!(%error, "what a person has used today could not be read");
            Ok(())
        }
    }
}
