//! Usage and costs of model calls (`model_usage`).

use domain::model::{NANODOLLARS_PER_DOLLAR, Usage};
use domain::{ChatId, MessageId, Timestamp, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::db_macros::{read, write};
use crate::{Error, UsageRepository};

/// The assistant message that model calls contributed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfAnswer {
    /// Chat.
    pub chat: ChatId,
    /// Assistant message.
    pub message: MessageId,
}

/// The cost of one model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// Id of the call. Recording it again has no effect.
    pub call: Uuid,
    /// Chat it was made for; `None` for calls through the OpenAI-compatible API.
    pub chat: Option<ChatId>,
    /// Assistant message it contributed to; `None` if there is none, as for the title of a chat.
    pub message: Option<MessageId>,
    /// Model, as `provider/name`.
    pub model: String,
    /// Token usage.
    pub usage: Usage,
    /// Whether the usage is estimated, because the provider did not report all of it.
    pub is_estimate: bool,
    /// Cost in billionths of a US dollar; `None` if the price is unknown.
    pub nanos: Option<u64>,
}

/// The total [`Cost`] of several model calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Usage")]
pub struct Total {
    /// Token usage.
    #[serde(flatten)]
    pub usage: Usage,
    /// Number of calls.
    pub calls: u64,
    /// Number of calls with estimated usage.
    pub estimated_calls: u64,
    /// Cost in US dollars of the calls with a known price.
    pub cost_usd: f64,
    /// Number of calls with an unknown price.
    pub unpriced_calls: u64,
}

/// The [`Total`] of the calls of one model on one day.
#[derive(Debug, Clone, PartialEq)]
pub struct DayTotal {
    /// Day, in days since 1970 (UTC).
    pub day: i64,
    /// Model, as `provider/name`.
    pub model: String,
    /// Total.
    pub total: Total,
}

/// The [`Total`] of the calls of one user.
#[derive(Debug, Clone, PartialEq)]
pub struct UserTotal {
    /// User.
    pub user: UserId,
    /// Email address, if the user has one.
    pub email: Option<String>,
    /// Total.
    pub total: Total,
}

/// The [`Total`] of the calls of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTotal {
    /// Model, as `provider/name`.
    pub model: String,
    /// Number of users who called it.
    pub users: u64,
    /// Total.
    pub total: Total,
}

#[derive(sqlx::FromRow)]
struct UserTotalRow {
    user_id: Uuid,
    email: Option<String>,
    #[sqlx(flatten)]
    total: TotalRow,
}

#[derive(sqlx::FromRow)]
struct ModelTotalRow {
    model: String,
    users: i64,
    #[sqlx(flatten)]
    total: TotalRow,
}

#[derive(sqlx::FromRow)]
struct TotalRow {
    input_tokens: i64,
    output_tokens: i64,
    cached_input_tokens: i64,
    calls: i64,
    estimated_calls: i64,
    nanos: i64,
    unpriced_calls: i64,
}

#[derive(sqlx::FromRow)]
struct DayRow {
    day: i64,
    model: String,
    #[sqlx(flatten)]
    total: TotalRow,
}

impl From<TotalRow> for Total {
    fn from(row: TotalRow) -> Self {
        let count = |value: i64| u64::try_from(value).unwrap_or_default();
        let usage = Usage {
            input_tokens: count(row.input_tokens),
            output_tokens: count(row.output_tokens),
            cached_input_tokens: count(row.cached_input_tokens),
        };
        Self {
            usage,
            calls: count(row.calls),
            estimated_calls: count(row.estimated_calls),
            cost_usd: row.nanos as f64 / NANODOLLARS_PER_DOLLAR as f64,
            unpriced_calls: count(row.unpriced_calls),
        }
    }
}

pub(crate) const INSERT: &str =
    // A retry has the same call id and no effect, so that nothing is counted twice.
    "INSERT INTO model_usage (id, user_id, session_id, message_id, model, input_tokens, output_tokens,
      cached_input_tokens, is_estimate, created_at, cost_nanos)
    VALUES (:call, :owner, :chat, :message, :model, :input_tokens, :output_tokens, :cached_input_tokens, :is_estimate,
      :now, :cost_nanos)
    ON CONFLICT (id) DO NOTHING";

/// Records the cost of a model call, on a connection or in a transaction.
macro_rules! insert_cost {
    ($connection:expr, $owner:expr, $cost:expr, $now:expr) => {{
        let cost: &$crate::usage::Cost = $cost;
        let tokens = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        $crate::named_values::query_named!(
            $crate::usage::INSERT,
            call = cost.call,
            owner = $owner.0,
            chat = cost.chat.map(|chat| chat.0),
            message = cost.message.map(|message| message.0),
            model = &cost.model,
            input_tokens = tokens(cost.usage.input_tokens),
            output_tokens = tokens(cost.usage.output_tokens),
            cached_input_tokens = tokens(cost.usage.cached_input_tokens),
            is_estimate = i64::from(cost.is_estimate),
            now = $now.0,
            cost_nanos = cost.nanos.map(tokens)
        )
        .execute($connection)
        .await
        .map(|_| ())
    }};
}

pub(crate) use insert_cost;

/// Builds a statement that selects totals; `$rest` continues its condition. The casts are for PostgreSQL, whose sums
/// are of type `numeric`.
macro_rules! sums {
    ($before:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $before,
            "CAST(COALESCE(SUM(input_tokens), 0) AS BIGINT) AS input_tokens,
              CAST(COALESCE(SUM(output_tokens), 0) AS BIGINT) AS output_tokens,
              CAST(COALESCE(SUM(cached_input_tokens), 0) AS BIGINT) AS cached_input_tokens,
              COUNT(*) AS calls, CAST(COALESCE(SUM(is_estimate), 0) AS BIGINT) AS estimated_calls,
              CAST(COALESCE(SUM(cost_nanos), 0) AS BIGINT) AS nanos, COUNT(*) - COUNT(cost_nanos) AS unpriced_calls
            FROM model_usage WHERE ",
            $rest
        )
    };
}

const OF_CHAT: &str = sums!("", "user_id = $1 AND session_id = $2");

const OF_ANSWER: &str = sums!("", "user_id = $1 AND session_id = $2 AND message_id = $3");

// Ids of calls are made in their order. Costs that are recorded together have the same time.
const LAST_OF_ANSWER: &str = "SELECT input_tokens, output_tokens, cached_input_tokens FROM model_usage
    WHERE user_id = $1 AND session_id = $2 AND message_id = $3 ORDER BY id DESC LIMIT 1";

// 86,400,000,000 microseconds are a day.
const BY_DAY: &str = sums!(
    "created_at / 86400000000 AS day, model, ",
    "user_id = $1 AND created_at >= $2 AND created_at < $3 GROUP BY 1, model ORDER BY 1, model"
);

// Groups of the same cost, as those without a known price, follow by their tokens.
const BY_USER: &str = sums!(
    "user_id, (SELECT email FROM users u WHERE u.id = user_id) AS email, ",
    "created_at >= $1 AND created_at < $2 GROUP BY user_id
    ORDER BY nanos DESC, input_tokens DESC, user_id LIMIT $3"
);

const BY_MODEL: &str = sums!(
    "model, COUNT(DISTINCT user_id) AS users, ",
    "created_at >= $1 AND created_at < $2 GROUP BY model ORDER BY nanos DESC, input_tokens DESC, model LIMIT $3"
);

// Cached input tokens are part of the input tokens.
impl UsageRepository<'_> {
    /// Records the cost of a model call.
    pub async fn insert(self, owner: UserId, cost: &Cost, now: Timestamp) -> Result<(), Error> {
        write!(self.storage, |c| insert_cost!(c, owner, cost, now))?;
        Ok(())
    }

    /// Returns the [`Total`] cost of a chat.
    pub async fn cost_of_chat(self, owner: UserId, chat: ChatId) -> Result<Total, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, TotalRow>(OF_CHAT)
            .bind(owner.0)
            .bind(chat.0)
            .fetch_one(c)
            .await)?;
        Ok(row.into())
    }

    /// Returns the total cost of one assistant message.
    pub async fn cost_of_message(self, owner: UserId, of: OfAnswer) -> Result<Total, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, TotalRow>(OF_ANSWER)
            .bind(owner.0)
            .bind(of.chat.0)
            .bind(of.message.0)
            .fetch_one(c)
            .await)?;
        Ok(row.into())
    }

    /// Returns the usage of the last model call of one assistant message.
    pub async fn last_call_of_message(self, owner: UserId, of: OfAnswer) -> Result<Option<Usage>, Error> {
        let row: Option<(i64, i64, i64)> = read!(self.storage, |c| sqlx::query_as(LAST_OF_ANSWER)
            .bind(owner.0)
            .bind(of.chat.0)
            .bind(of.message.0)
            .fetch_optional(c)
            .await)?;
        let count = |value: i64| u64::try_from(value).unwrap_or_default();
        Ok(row.map(|(input, output, cached)| Usage {
            input_tokens: count(input),
            output_tokens: count(output),
            cached_input_tokens: count(cached),
        }))
    }

    /// Returns the totals per day and model from `from` (inclusive) to `to` (exclusive), oldest first.
    pub async fn costs_by_day(self, owner: UserId, from: Timestamp, to: Timestamp) -> Result<Vec<DayTotal>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, DayRow>(BY_DAY)
            .bind(owner.0)
            .bind(from.0)
            .bind(to.0)
            .fetch_all(c)
            .await)?;
        Ok(rows.into_iter().map(|row| DayTotal { day: row.day, model: row.model, total: row.total.into() }).collect())
    }

    /// Returns the totals per user from `from` (inclusive) to `to` (exclusive), the most expensive first, at most `limit`.
    /// Not limited to one owner; for administrators only.
    pub async fn totals_by_user(self, from: Timestamp, to: Timestamp, limit: i64) -> Result<Vec<UserTotal>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, UserTotalRow>(BY_USER)
            .bind(from.0)
            .bind(to.0)
            .bind(limit)
            .fetch_all(c)
            .await)?;
        let totals = rows.into_iter();
        let totals =
            totals.map(|row| UserTotal { user: UserId(row.user_id), email: row.email, total: row.total.into() });
        Ok(totals.collect())
    }

    /// Returns the totals per model from `from` (inclusive) to `to` (exclusive), the most expensive first, at most `limit`.
    /// Not limited to one owner; for administrators only.
    pub async fn totals_by_model(self, from: Timestamp, to: Timestamp, limit: i64) -> Result<Vec<ModelTotal>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, ModelTotalRow>(BY_MODEL)
            .bind(from.0)
            .bind(to.0)
            .bind(limit)
            .fetch_all(c)
            .await)?;
        let users = |row: &ModelTotalRow| u64::try_from(row.users).unwrap_or_default();
        let totals = rows.into_iter();
        let totals = totals.map(|row| ModelTotal { users: users(&row), model: row.model, total: row.total.into() });
        Ok(totals.collect())
    }
}
