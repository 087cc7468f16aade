//! `/factors/recovery-codes`: codes that replace the code of an authenticator, on the routes of GoTrue's clients.

use accounts::AccountService;
use accounts::mfa::MAX_NAME_CHARS;
use accounts::rate_limits::RateLimit;
use accounts::recovery_codes::IssuedRecoveryCodes;
use axum::Json;
use axum::extract::State;
use domain::FactorId;
use http_server::extract::Address;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dto::SessionBody;
use super::error::AuthApiError;
use super::extract::{OptionalAuthJsonBody, UnreadAuthJsonBody};
use super::mfa::{NamedCaller, UnenrolledBody};

/// Type of factor that GoTrue's clients know recovery codes as.
const RECOVERY_CODE_FACTOR: &str = "recovery_code";

/// Number of a user's recovery codes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RecoveryCodeStatus")]
pub struct RecoveryCodesStatusBody {
    id: FactorId,
    #[schemars(extend("const" = RECOVERY_CODE_FACTOR))]
    r#type: &'static str,
    /// Number of codes in the set.
    total: i64,
    /// Number of codes that were not used yet.
    remaining: i64,
}

/// A name for the codes.
#[derive(Deserialize, JsonSchema)]
pub struct GenerateRecoveryCodesBody {
    #[schemars(length(max = MAX_NAME_CHARS))]
    friendly_name: Option<String>,
}

/// New recovery codes, which no other response contains.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RecoveryCodes")]
pub struct RecoveryCodesBody {
    id: FactorId,
    #[schemars(extend("const" = RECOVERY_CODE_FACTOR))]
    r#type: &'static str,
    friendly_name: String,
    total: usize,
    /// Codes in lower case without separators.
    codes: Vec<String>,
}

impl From<IssuedRecoveryCodes> for RecoveryCodesBody {
    fn from(issued: IssuedRecoveryCodes) -> Self {
        let IssuedRecoveryCodes { id, friendly_name, codes } = issued;
        Self { id, r#type: RECOVERY_CODE_FACTOR, friendly_name, total: codes.len(), codes }
    }
}

/// A recovery code, typed in any case and with or without separators.
#[derive(Deserialize, JsonSchema)]
pub struct RecoveryCodeBody {
    #[schemars(required)]
    code: Option<String>,
}

/// Counts the caller's codes (`GET /factors/recovery-codes`).
pub async fn get_status(
    State(accounts): State<AccountService>,
    caller: NamedCaller,
) -> Result<Json<RecoveryCodesStatusBody>, AuthApiError> {
    let set = accounts.recovery_code_set(caller.user.id).await?;
    Ok(Json(RecoveryCodesStatusBody {
        id: set.id,
        r#type: RECOVERY_CODE_FACTOR,
        total: set.total,
        remaining: set.remaining,
    }))
}

/// Issues the first codes (`POST /factors/recovery-codes`).
pub async fn generate(
    State(accounts): State<AccountService>,
    caller: NamedCaller,
    OptionalAuthJsonBody(body): OptionalAuthJsonBody<GenerateRecoveryCodesBody>,
) -> Result<Json<RecoveryCodesBody>, AuthApiError> {
    let name = body.and_then(|body| body.friendly_name);
    Ok(Json(accounts.generate_recovery_codes(caller.claims, &caller.user, name).await?.into()))
}

/// Replaces the codes (`POST /factors/recovery-codes/regenerate`).
pub async fn renew(
    State(accounts): State<AccountService>,
    caller: NamedCaller,
) -> Result<Json<RecoveryCodesBody>, AuthApiError> {
    Ok(Json(accounts.renew_recovery_codes(caller.claims, &caller.user).await?.into()))
}

/// Uses up a code and raises the session to the second factor (`POST /factors/recovery-codes/verify`).
pub async fn verify(
    State(accounts): State<AccountService>,
    caller: NamedCaller,
    Address(address): Address,
    body: UnreadAuthJsonBody<RecoveryCodeBody>,
) -> Result<Json<SessionBody>, AuthApiError> {
    accounts.rate_limits().check(RateLimit::FactorVerify, address).await?;
    let code = body.read().await?.code.unwrap_or_default();
    Ok(Json(accounts.verify_recovery_code(caller.claims, &caller.user, &code, address).await?.into()))
}

/// Deletes the codes (`DELETE /factors/recovery-codes`).
pub async fn remove(
    State(accounts): State<AccountService>,
    caller: NamedCaller,
) -> Result<Json<UnenrolledBody>, AuthApiError> {
    let id = accounts.remove_recovery_codes(caller.claims, &caller.user).await?;
    Ok(Json(UnenrolledBody { id }))
}
