//! `/admin/api/registration-tokens`: tokens with which users sign up where sign-up is by invitation.

use std::num::NonZeroU32;
use std::sync::Arc;

use accounts::AccountService;
use accounts::registration_tokens::{
    DEFAULT_LIFETIME_SECONDS, IssuedRegistrationTokenDto, RegistrationTokenDto, RegistrationTokenError,
    RegistrationTokenParams, registration_link, revoke,
};
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use domain::{Clock, RegistrationTokenId};
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named};
use platform::AuditLog;
use platform::config::HostName;
use serde::{Deserialize, Serialize};
use storage::Storage;

use crate::state::SiteUrl;

/// All registration tokens, newest first.
#[derive(Debug, Serialize)]
pub struct RegistrationTokens {
    tokens: Vec<RegistrationTokenDto>,
}

/// Lists the registration tokens (`GET /registration-tokens`).
pub async fn list_tokens(
    State(storage): State<Storage>,
    State(clock): State<Arc<dyn Clock>>,
) -> Result<Json<RegistrationTokens>, ApiError> {
    let now = clock.now();
    let tokens = storage.registration_tokens().list().await?;
    let tokens = tokens.into_iter().map(|token| RegistrationTokenDto::new(token, now)).collect();
    Ok(Json(RegistrationTokens { tokens }))
}

/// A token to create.
#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RegistrationTokenBody {
    max_uses: NonZeroU32,
    lifetime_seconds: u32,
    /// Empty for any address.
    domain: String,
    note: String,
}

impl Default for RegistrationTokenBody {
    fn default() -> Self {
        let (domain, note) = (String::new(), String::new());
        Self { max_uses: NonZeroU32::MIN, lifetime_seconds: DEFAULT_LIFETIME_SECONDS, domain, note }
    }
}

/// Creates a registration token (`POST /registration-tokens`).
pub async fn create_token(
    State(storage): State<Storage>,
    State(accounts): State<AccountService>,
    State(clock): State<Arc<dyn Clock>>,
    State(audit): State<AuditLog>,
    State(SiteUrl(site_url)): State<SiteUrl>,
    JsonBody(body): JsonBody<RegistrationTokenBody>,
) -> Result<Json<IssuedRegistrationTokenDto>, ApiError> {
    let invalid = |message| ApiError::Unprocessable { code: "invalid_registration_token", message };
    let domain = Some(body.domain.trim()).filter(|domain| !domain.is_empty()).map(str::parse::<HostName>).transpose();
    let now = clock.now();
    let params = RegistrationTokenParams {
        max_uses: body.max_uses,
        expires_at: now.plus_seconds(i64::from(body.lifetime_seconds)),
        domain: domain.map_err(|_| invalid(format!("{} is not a domain such as example.com", body.domain)))?,
        note: body.note,
    };
    let issued = params.create(&storage, accounts.sign_ups(), now, &audit).await.map_err(|error| match error {
        RegistrationTokenError::Invalid(message) => invalid(message),
        RegistrationTokenError::Internal(error) => error.into(),
    })?;
    let link = registration_link(&site_url, &issued.token).map_err(anyhow::Error::from)?;
    Ok(Json(IssuedRegistrationTokenDto::new(issued, link, now)))
}

/// Makes a registration token invalid (`DELETE /registration-tokens/{id}`).
pub async fn revoke_token(
    State(storage): State<Storage>,
    State(clock): State<Arc<dyn Clock>>,
    State(audit): State<AuditLog>,
    Named(id): Named,
) -> Result<NoContent, ApiError> {
    match id.parse::<RegistrationTokenId>() {
        Ok(id) if revoke(&storage, id, clock.now(), &audit).await? => Ok(NoContent),
        _ => Err(ApiError::NotFound("registration token")),
    }
}
