//! `/api/usage`: tokens, costs and storage of a user.

use std::sync::Arc;

use agent::models::ModelService;
use agent::models::quota::QuotaState;
use axum::Json;
use axum::extract::State;
use domain::clock::SECONDS_PER_DAY;
use domain::model::{NANODOLLARS_PER_DOLLAR, QuotaExceeded, QuotaKind, QuotaUnit, Usage};
use domain::{Clock, MessageId, Timestamp};
use http_server::error::ApiError;
use http_server::extract::{NamedTwo, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::usage::{DayTotal, OfAnswer, Total};

use crate::chat_lookup::ChatLookup;
use crate::signed_in::SignedIn;

/// Usage of one answer, zero for an unknown one, and of its whole chat.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerUsage {
    answer: Total,
    chat: Total,
    /// Usage of the last model call of the answer, null for an unknown one: what the model read and wrote then is the
    /// whole chat.
    last_call: Option<Usage>,
}

/// Returns the usage of an answer (`GET /api/sessions/{id}/messages/{message}/usage`). Messages from before usage was
/// recorded have none.
pub async fn get_answer_usage(
    State(chats): State<ChatLookup>,
    State(storage): State<Storage>,
    caller: SignedIn,
    NamedTwo(chat, message): NamedTwo,
) -> Result<Json<AnswerUsage>, ApiError> {
    let (chat, _) = chats.find(caller.user, &chat).await?;
    let message: MessageId = message.parse().map_err(|_| ApiError::NotFound("message"))?;
    let (usage, of) = (storage.usage(), OfAnswer { chat, message });
    Ok(Json(AnswerUsage {
        answer: usage.cost_of_message(caller.user, of).await?,
        chat: usage.cost_of_chat(caller.user, chat).await?,
        last_call: usage.last_call_of_message(caller.user, of).await?,
    }))
}

/// Maximum number of days in one response: a leap year.
const MOST_DAYS: i64 = 366;
/// Default number of days.
const DEFAULT_DAYS: i64 = 30;

/// Query parameters of [`get_usage_by_day`].
#[derive(Debug, Deserialize, JsonSchema)]
pub struct UsageQuery {
    /// Number of days, until today.
    #[schemars(range(min = 1, max = MOST_DAYS), extend("default" = DEFAULT_DAYS))]
    days: Option<i64>,
}

/// A user's usage by day.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UsageByDay")]
pub struct UsageDto {
    /// First day of the range, in UTC.
    #[schemars(extend("format" = "date"))]
    from: String,
    /// Last day of the range: today, in UTC.
    #[schemars(extend("format" = "date"))]
    to: String,
    /// One row per model and day with calls, oldest first.
    days: Vec<DayUsageDto>,
    /// Quotas of the user.
    quotas: Vec<QuotaDto>,
    /// Storage used by files.
    files: StorageDto,
}

/// Storage used by a user's files, and their quota.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StorageUsage")]
struct StorageDto {
    /// Total size of the user's files, in bytes.
    bytes: u64,
    /// Storage quota, in bytes.
    most: u64,
}

/// Usage of a model on one day.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DayUsage")]
pub(super) struct DayUsageDto {
    #[schemars(extend("format" = "date"))]
    day: String,
    /// Model, as `provider/name`.
    model: String,
    #[serde(flatten)]
    total: Total,
}

impl From<DayTotal> for DayUsageDto {
    fn from(DayTotal { day, model, total }: DayTotal) -> Self {
        Self { day: format_date(Timestamp(0).plus_seconds(day * SECONDS_PER_DAY)), model, total }
    }
}

/// A quota of the user and its use.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Quota")]
pub struct QuotaDto {
    /// What is limited.
    kind: QuotaKind,
    /// The limit: tokens, turns, a cost in US dollars, bytes or connections.
    limit: f64,
    /// What is used, in the same unit.
    used: f64,
    /// Time of the renewal; null if it is never renewed.
    resets_at: Option<Timestamp>,
}

impl From<QuotaState> for QuotaDto {
    fn from(QuotaState { kind, limit, used, resets_at }: QuotaState) -> Self {
        let unit = if kind.unit() == QuotaUnit::Nanodollars { NANODOLLARS_PER_DOLLAR as f64 } else { 1.0 };
        Self { kind, limit: limit as f64 / unit, used: used as f64 / unit, resets_at }
    }
}

/// The quotas of the user.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QuotaList {
    quotas: Vec<QuotaDto>,
}

/// Returns the quotas of the caller with their use (`GET /api/quotas`).
pub async fn list_quotas(
    State(models): State<Arc<ModelService>>,
    caller: SignedIn,
) -> Result<Json<QuotaList>, ApiError> {
    let quotas = models.quotas.list(caller.user).await?;
    Ok(Json(QuotaList { quotas: quotas.into_iter().map(QuotaDto::from).collect() }))
}

/// Returns usage by day and model, storage and quotas (`GET /api/usage?days=30`).
pub async fn get_usage_by_day(
    State(clock): State<Arc<dyn Clock>>,
    State(storage): State<Storage>,
    State(models): State<Arc<ModelService>>,
    caller: SignedIn,
    Query(range): Query<UsageQuery>,
) -> Result<Json<UsageDto>, ApiError> {
    let days = range.days.unwrap_or(DEFAULT_DAYS);
    if !(1..=MOST_DAYS).contains(&days) {
        return Err(ApiError::BadRequest(format!("days must be 1 to {MOST_DAYS}")));
    }
    let today = clock.now().start_of_day();
    // The range includes today, hence one day less.
    let from = today.plus_seconds(-(days - 1) * SECONDS_PER_DAY);
    // The end is exclusive, and today counts.
    let rows = storage.usage().costs_by_day(caller.user, from, today.plus_seconds(SECONDS_PER_DAY)).await?;
    // Counted by its own rules: calls with the user's own keys are not limited.
    let quotas = models.quotas.list(caller.user).await?;
    let files = match quotas.iter().find(|quota| quota.kind == QuotaKind::StoredBytes) {
        Some(quota) => StorageDto { bytes: quota.used, most: quota.limit },
        None => StorageDto { bytes: storage.files().count_bytes(caller.user).await?, most: u64::MAX },
    };
    Ok(Json(UsageDto {
        from: format_date(from),
        to: format_date(today),
        days: rows.into_iter().map(DayUsageDto::from).collect(),
        files,
        quotas: quotas.into_iter().map(QuotaDto::from).collect(),
    }))
}

/// Returns the error that a quota does not permit a request, with its message for the user.
pub(super) fn quota_error(exceeded: &QuotaExceeded, message: String) -> ApiError {
    ApiError::Spent { code: exceeded.code(), message, retry_after: exceeded.retry_after_seconds() }
}

/// Formats a date as `YYYY-MM-DD` in UTC.
pub(super) fn format_date(time: Timestamp) -> String {
    time.to_rfc3339().chars().take("2026-11-21".len()).collect()
}
