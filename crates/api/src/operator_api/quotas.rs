//! `/admin/api/users/{id}/quotas`: a user's exceptions from the quotas of the settings.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use agent::models::ModelService;
use axum::Json;
use axum::extract::State;
use domain::UserId;
use domain::model::{BYTES_PER_MEBIBYTE, NANODOLLARS_PER_DOLLAR, QuotaKind, QuotaUnit};
use http_server::error::ApiError;
use http_server::extract::JsonBody;
use platform::AuditLog;
use platform::config::Nanodollars;
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::quotas::QuotaException;

use super::NamedUser;

/// A quota of a user. Amounts are in the unit that the operator reads: tokens, turns, US dollars, MiB or connections.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct UserQuota {
    kind: QuotaKind,
    /// The limit of the settings; null for none.
    setting: Option<f64>,
    /// What applies to the user: the setting, an exception without a limit, or with one.
    exception: Option<ExceptionDto>,
    /// What is used of a limit; null if it is not counted, because there is no limit.
    used: Option<f64>,
}

/// A user's exception from a setting.
#[derive(Debug, Serialize)]
struct ExceptionDto {
    /// The limit; null for none.
    limit: Option<f64>,
}

/// The quotas of a user.
#[derive(Debug, Serialize)]
pub struct UserQuotas {
    quotas: Vec<UserQuota>,
}

/// Returns an amount in the unit that the operator reads.
fn amount(kind: QuotaKind, amount: u64) -> f64 {
    let unit = match kind.unit() {
        QuotaUnit::Nanodollars => NANODOLLARS_PER_DOLLAR,
        QuotaUnit::Bytes => BYTES_PER_MEBIBYTE,
        _ => 1,
    };
    amount as f64 / unit as f64
}

/// Returns the quotas of a user (`GET /users/{id}/quotas`).
pub async fn list_quotas(
    State(storage): State<Storage>,
    State(models): State<Arc<ModelService>>,
    NamedUser(user): NamedUser,
) -> Result<Json<UserQuotas>, ApiError> {
    read_quotas(&storage, &models, user.id).await.map(Json)
}

async fn read_quotas(storage: &Storage, models: &ModelService, user: UserId) -> Result<UserQuotas, ApiError> {
    let settings = models.quotas.settings();
    let exceptions = storage.quotas().get_exceptions(user).await?;
    let states = models.quotas.list(user).await?;
    let mut quotas = Vec::with_capacity(QuotaKind::COUNT);
    for (kind, exception) in QuotaKind::ALL.into_iter().zip(exceptions.0) {
        let used = match states.iter().find(|state| state.kind == kind) {
            Some(state) => Some(state.used),
            // The operator sees these without a limit, too.
            None if kind == QuotaKind::StoredBytes => Some(storage.files().count_bytes(user).await?),
            None if kind == QuotaKind::Connections => Some(storage.connections().count(user).await?),
            None => None,
        };
        quotas.push(UserQuota {
            kind,
            setting: settings.get(kind).map(|limit| amount(kind, limit)),
            exception: exception.map(|exception| ExceptionDto {
                limit: match exception {
                    QuotaException::Unlimited => None,
                    QuotaException::Limit(limit) => Some(amount(kind, limit)),
                },
            }),
            used: used.map(|used| amount(kind, used)),
        });
    }
    Ok(UserQuotas { quotas })
}

/// Changes of a user's quotas.
#[derive(Debug, Deserialize)]
pub struct QuotaChanges {
    /// By kind: a limit such as `20000` or `2.50`, `none` for no limit, or `default` for the setting. Quotas that are left
    /// out stay.
    changes: BTreeMap<String, String>,
}

/// Changes quotas of a user, and returns them (`PUT /users/{id}/quotas`).
pub async fn set_quotas(
    State(storage): State<Storage>,
    State(models): State<Arc<ModelService>>,
    State(audit): State<AuditLog>,
    NamedUser(user): NamedUser,
    JsonBody(QuotaChanges { changes }): JsonBody<QuotaChanges>,
) -> Result<Json<UserQuotas>, ApiError> {
    let is_change = !changes.is_empty();
    let mut exceptions = storage.quotas().get_exceptions(user.id).await?;
    for (name, text) in changes {
        let kind: QuotaKind = serde_json::from_value(name.clone().into())
            .map_err(|_| ApiError::BadRequest(format!("{name} is not the name of a quota")))?;
        let exception = parse_exception(kind, &text);
        exceptions.0[kind as usize] = exception.map_err(|InvalidLimit| ApiError::Unprocessable {
            code: "invalid_limit",
            message: format!("{name} must be a positive number, none or default"),
        })?;
    }
    storage.quotas().set_exceptions(user.id, exceptions).await?;
    if is_change {
        let events = audit.event(Some(user.id), AuditActor::Admin, AuditEventKind::QuotaChanged);
        storage.audit_events().insert(&events).await?;
    }
    read_quotas(&storage, &models, user.id).await.map(Json)
}

/// A text that is no limit.
#[derive(Debug, PartialEq, Eq)]
struct InvalidLimit;

/// Parses a limit as the command `admin quota` does. `None` stands for the setting.
fn parse_exception(kind: QuotaKind, text: &str) -> Result<Option<QuotaException>, InvalidLimit> {
    let limit = match text.trim() {
        "default" => return Ok(None),
        "none" => return Ok(Some(QuotaException::Unlimited)),
        text if kind.unit() == QuotaUnit::Nanodollars => text.parse::<Nanodollars>().map_err(|_| InvalidLimit)?.0,
        text => {
            let number = text.parse::<NonZeroU64>().map_err(|_| InvalidLimit)?.get();
            let unit = if kind.unit() == QuotaUnit::Bytes { BYTES_PER_MEBIBYTE } else { 1 };
            number.saturating_mul(unit)
        }
    };
    Ok(Some(QuotaException::Limit(limit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_limits_in_the_unit_of_their_kind() {
        for (kind, text, limit) in [
            (QuotaKind::TokensPerDay, "20000", 20_000),
            (QuotaKind::CostPerMonth, " 2.50", 2_500_000_000),
            (QuotaKind::StoredBytes, "3", 3 * BYTES_PER_MEBIBYTE),
        ] {
            assert_eq!(parse_exception(kind, text), Ok(Some(QuotaException::Limit(limit))), "{text}");
        }
        assert_eq!(parse_exception(QuotaKind::TurnsPerHour, "none"), Ok(Some(QuotaException::Unlimited)));
        assert_eq!(parse_exception(QuotaKind::TurnsPerHour, "default"), Ok(None));
        for text in ["", "0", "-1", "1.5", "many"] {
            assert_eq!(parse_exception(QuotaKind::TokensPerDay, text), Err(InvalidLimit), "{text}");
        }
        assert_eq!(parse_exception(QuotaKind::CostPerDay, "0"), Err(InvalidLimit));
    }
}
