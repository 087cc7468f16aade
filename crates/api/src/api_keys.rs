//! `/api/keys`: API keys, with which a user's programs call the OpenAI-compatible API.

use std::sync::Arc;

use accounts::api_keys::MAX_KEYS;
use accounts::{AccountService, AuthError};
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use domain::api_key::Scope;
use domain::clock::SECONDS_PER_DAY;
use domain::{ApiKeyId, Clock, Timestamp};
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named};
use http_server::response::{Created, DeletedCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::api_keys::ApiKey;

use super::account::require_recent_proof;
use crate::signed_in::SignedIn;

/// Maximum length of a key's name, in characters.
const MAX_NAME_CHARS: usize = 100;
/// Maximum lifetime of a key that expires, in days.
const MAX_LIFETIME_DAYS: u32 = 3650;

/// A key as its user sees it: everything but the secret.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ApiKey")]
struct ApiKeyDto {
    id: ApiKeyId,
    name: String,
    /// The secret's last characters, by which a user recognises the key.
    hint: String,
    scopes: Vec<Scope>,
    created_at: Timestamp,
    /// When the key expires; null for never.
    expires_at: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
}

impl From<ApiKey> for ApiKeyDto {
    fn from(ApiKey { id, name, hint, scopes, created_at, expires_at, last_used_at }: ApiKey) -> Self {
        Self { id, name, hint, scopes, created_at, expires_at, last_used_at }
    }
}

/// The user's keys, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApiKeyList {
    keys: Vec<ApiKeyDto>,
}

/// A key to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewApiKey {
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = r"\S"))]
    name: String,
    /// What the key may do. `chat` is required.
    #[schemars(extend("contains" = { "const": Scope::Chat.as_str() }))]
    scopes: Vec<Scope>,
    /// Days until the key expires; null for never.
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_LIFETIME_DAYS))]
    expires_in_days: Option<u32>,
}

/// A new key with its secret, which no other response contains.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedApiKey {
    key: ApiKeyDto,
    secret: String,
}

/// Lists the user's keys (`GET /api/keys`).
pub async fn list_keys(State(storage): State<Storage>, caller: SignedIn) -> Result<Json<ApiKeyList>, ApiError> {
    let keys = storage.api_keys().list(caller.user).await?;
    Ok(Json(ApiKeyList { keys: keys.into_iter().map(ApiKeyDto::from).collect() }))
}

/// Creates a key (`POST /api/keys`). Only this response contains the secret; the database stores its hash.
pub async fn create_key(
    State(accounts): State<AccountService>,
    State(clock): State<Arc<dyn Clock>>,
    caller: SignedIn,
    JsonBody(body): JsonBody<NewApiKey>,
) -> Result<Created<CreatedApiKey>, ApiError> {
    let name = body.name.trim().to_owned();
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
        return Err(ApiError::BadRequest(format!("name must have 1 to {MAX_NAME_CHARS} characters")));
    }
    let mut scopes = body.scopes;
    scopes.dedup();
    // Without this scope a key could do nothing.
    if !scopes.contains(&Scope::Chat) {
        return Err(ApiError::BadRequest("scopes must contain chat; tools is optional".into()));
    }
    let days = body.expires_in_days;
    if days.is_some_and(|days| !(1..=MAX_LIFETIME_DAYS).contains(&days)) {
        return Err(ApiError::BadRequest(format!("expiresInDays must be 1 to {MAX_LIFETIME_DAYS}, or null for never")));
    }
    // A stolen session must not be able to create a credential that outlives it.
    require_recent_proof(&accounts, &caller).await?;
    let expires_at = days.map(|days| clock.now().plus_seconds(i64::from(days) * SECONDS_PER_DAY));
    let made = accounts.create_api_key(caller.user, name, scopes, expires_at).await.map_err(|error| match error {
        AuthError::Internal(error) => error.into(),
        other => ApiError::Internal(anyhow::anyhow!("{other}")),
    })?;
    let Some((key, secret)) = made else {
        let message = format!("you have {MAX_KEYS} keys; end one of them first");
        return Err(ApiError::Conflict { code: "too_many_keys", message });
    };
    Ok(Created(CreatedApiKey { key: key.into(), secret }))
}

/// Deletes all keys of the user (`DELETE /api/keys`), for the case that the account was compromised.
pub async fn delete_all_keys(
    State(accounts): State<AccountService>,
    caller: SignedIn,
) -> Result<Json<DeletedCount>, ApiError> {
    Ok(Json(DeletedCount { ended: accounts.delete_all_api_keys(caller.user).await? }))
}

/// Deletes one key (`DELETE /api/keys/{id}`).
pub async fn delete_key(
    State(accounts): State<AccountService>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<NoContent, ApiError> {
    let id: ApiKeyId = id.parse().map_err(|_| ApiError::NotFound("key"))?;
    if !accounts.delete_api_key(caller.user, id).await? {
        return Err(ApiError::NotFound("key"));
    }
    Ok(NoContent)
}
