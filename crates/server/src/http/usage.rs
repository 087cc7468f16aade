//! What models cost.

use axum::Json;
use axum::extract::State;
use domain::{MessageId, Timestamp};
use serde::{Deserialize, Serialize};
use store::usage::{DayTotal, OfAnswer, Total};

use super::error::ApiError;
use super::extract::{NamedTwo, Query, SignedIn};
use super::sessions::own_home;
use crate::app::App;
use crate::models::allowance;

/// What an answer cost, and its chat so far.
#[derive(Debug, Serialize)]
pub struct AnswerUsage {
    answer: Total,
    chat: Total,
}

/// `GET /api/sessions/{id}/messages/{message}/usage`. What was asked before costs were written down has none.
pub async fn of_answer(
    State(app): State<App>,
    caller: SignedIn,
    NamedTwo(chat, message): NamedTwo,
) -> Result<Json<AnswerUsage>, ApiError> {
    let (chat, _) = own_home(&app, &caller, &chat).await?;
    let message: MessageId = message.parse().map_err(|_| ApiError::NotFound("message"))?;
    let answer = app.store.cost_of_answer(caller.user, OfAnswer { chat, message }).await?;
    Ok(Json(AnswerUsage { answer, chat: app.store.cost_of_chat(caller.user, chat).await? }))
}

/// The most days that are told at once: a leap year.
const MOST_DAYS: i64 = 366;
/// Days that are told when no number is asked for.
const DAYS: i64 = 30;
/// Seconds of a day.
const DAY: i64 = 86_400;

/// How far back is to be told.
#[derive(Debug, Deserialize)]
pub struct Range {
    days: Option<i64>,
}

/// What a person's calls of models cost.
#[derive(Debug, Serialize)]
pub struct UsageView {
    /// The first day of those that are told, and the last, which is today (UTC).
    from: String,
    to: String,
    /// A row for each model and day on which it was asked, oldest first.
    days: Vec<DayView>,
    /// What may be used in a day, where that is limited.
    limit: Option<LimitView>,
    /// What is kept of files.
    files: FilesView,
}

#[derive(Debug, Serialize)]
struct FilesView {
    /// Bytes of all of the person's files.
    bytes: u64,
    /// How many they may come to.
    most: u64,
}

/// What a model's calls cost on a day.
#[derive(Debug, Serialize)]
pub(super) struct DayView {
    day: String,
    model: String,
    #[serde(flatten)]
    total: Total,
}

impl From<DayTotal> for DayView {
    fn from(DayTotal { day, model, total }: DayTotal) -> Self {
        Self { day: date(Timestamp(0).plus_seconds(day * DAY)), model, total }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LimitView {
    tokens_per_day: u64,
    used: u64,
}

/// `GET /api/usage?days=30`
pub async fn by_day(
    State(app): State<App>,
    caller: SignedIn,
    Query(range): Query<Range>,
) -> Result<Json<UsageView>, ApiError> {
    let days = range.days.unwrap_or(DAYS);
    if !(1..=MOST_DAYS).contains(&days) {
        return Err(ApiError::BadRequest(format!("days must be 1 to {MOST_DAYS}")));
    }
    let today = allowance::day_of(app.clock.now());
    let from = today.plus_seconds(-(days - 1) * DAY);
    let rows = app.store.costs_by_day(caller.user, from, today.plus_seconds(DAY)).await?;
    let limit = allowance::used(&app, caller.user).await?;
    Ok(Json(UsageView {
        from: date(from),
        to: date(today),
        days: rows.into_iter().map(DayView::from).collect(),
        files: FilesView {
            bytes: app.store.count_file_bytes(caller.user).await?,
            most: app.config.limits.files_bytes as u64,
        },
        limit: limit.map(|(used, tokens_per_day)| LimitView { tokens_per_day, used }),
    }))
}

/// Year, month and day.
fn date(time: Timestamp) -> String {
    time.to_rfc3339().chars().take("2026-11-21".len()).collect()
}
