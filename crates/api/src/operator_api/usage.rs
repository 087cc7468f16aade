//! `/admin/api/usage`: tokens and costs of all users.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::clock::SECONDS_PER_DAY;
use domain::{Clock, Timestamp, UserId};
use http_server::error::ApiError;
use http_server::extract::Query;
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::usage::{ModelTotal, Total, UserTotal};

use crate::usage::format_date;

/// Maximum number of users, and of models, in a response.
const MAX_ROWS: i64 = 200;

/// Length of the period.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Period {
    Day,
    #[default]
    Month,
}

/// The period whose usage is wanted.
#[derive(Debug, Deserialize)]
pub struct UsagePeriodQuery {
    #[serde(default)]
    period: Period,
    /// A day of the period, such as `2026-11-21` (UTC). Today without it.
    date: Option<String>,
}

/// Usage of a period, the most expensive first.
#[derive(Debug, Serialize)]
pub struct UsageOfAll {
    /// First day.
    from: String,
    /// Last day.
    to: String,
    users: Vec<UserUsage>,
    models: Vec<ModelUsage>,
}

/// Usage of a user.
#[derive(Debug, Serialize)]
struct UserUsage {
    id: UserId,
    email: Option<String>,
    #[serde(flatten)]
    total: Total,
}

impl From<UserTotal> for UserUsage {
    fn from(UserTotal { user, email, total }: UserTotal) -> Self {
        Self { id: user, email, total }
    }
}

/// Usage of a model.
#[derive(Debug, Serialize)]
struct ModelUsage {
    /// Model, as `provider/name`.
    model: String,
    /// Number of users who called it.
    users: u64,
    #[serde(flatten)]
    total: Total,
}

impl From<ModelTotal> for ModelUsage {
    fn from(ModelTotal { model, users, total }: ModelTotal) -> Self {
        Self { model, users, total }
    }
}

/// Returns the usage of all users in a day or a month, by user and by model (`GET /usage?period=month&date=…`).
pub async fn get_usage(
    State(storage): State<Storage>,
    State(clock): State<Arc<dyn Clock>>,
    Query(UsagePeriodQuery { period, date }): Query<UsagePeriodQuery>,
) -> Result<Json<UsageOfAll>, ApiError> {
    let date = match date {
        Some(date) => parse_date(&date).ok_or_else(|| ApiError::BadRequest("date must be like 2026-11-21".into()))?,
        None => clock.now(),
    };
    let (from, end) = match period {
        Period::Day => (date.start_of_day(), date.start_of_day().plus_seconds(SECONDS_PER_DAY)),
        Period::Month => (date.start_of_month(), date.start_of_next_month()),
    };
    let users = storage.usage().totals_by_user(from, end, MAX_ROWS).await?;
    let models = storage.usage().totals_by_model(from, end, MAX_ROWS).await?;
    Ok(Json(UsageOfAll {
        from: format_date(from),
        to: format_date(end.plus_seconds(-1)),
        users: users.into_iter().map(UserUsage::from).collect(),
        models: models.into_iter().map(ModelUsage::from).collect(),
    }))
}

/// Parses a date in UTC.
fn parse_date(date: &str) -> Option<Timestamp> {
    // Only the form of `format_date`: the parser of times accepts others.
    (date.len() == "2026-11-21".len()).then(|| format!("{date}T00:00:00Z").parse().ok()).flatten()
}
