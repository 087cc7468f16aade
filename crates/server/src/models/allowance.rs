//! What a person may use of the models that the administrator pays for, in tokens a day (UTC).
//!
//! The database counts, so that the limit holds on every node. What is being written is counted when it ends: who asks in
//! several chats at once can go over the limit by as much as those answers cost.

use std::time::Duration;

use domain::model::ModelError;
use domain::{Timestamp, UserId};

use super::ModelId;
use super::own::{PREFIX, is_own};
use crate::app::App;

/// Seconds of a day.
const DAY: i64 = 86_400;

/// A person has used what they may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// What they may use.
    pub tokens: u64,
    /// How long it is until they may again.
    pub retry_after: Duration,
}

impl From<Spent> for ModelError {
    fn from(Spent { tokens, retry_after }: Spent) -> Self {
        Self::SpentForToday { tokens, retry_after }
    }
}

/// The beginning of a day.
pub fn day_of(now: Timestamp) -> Timestamp {
    Timestamp(now.as_seconds().div_euclid(DAY) * DAY * 1_000_000)
}

/// What a person has used today of what they may, in tokens; nothing where there is no limit.
pub async fn used(app: &App, user: UserId) -> Result<Option<(u64, u64)>, store::Error> {
    let Some(limit) = app.config.tokens_per_day else { return Ok(None) };
    Ok(Some((app.store.tokens_since(user, day_of(app.clock.now()), PREFIX).await?, limit.get())))
}

/// Whether a person may ask a model now. Their own providers are theirs to pay.
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
            // A turn cannot begin without the database; one that goes on is not ended for a count.
            tracing::error!(%error, "what a person has used today could not be read");
            Ok(())
        }
    }
}
