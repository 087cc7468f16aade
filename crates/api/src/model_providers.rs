//! `/api/model-providers`: the user's own model providers. API keys are write-only.

use std::sync::Arc;

use agent::models::user_providers::{ProviderKind, slug_of};
use agent::models::{ModelService, advise};
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use domain::{Clock, ModelProviderId, Timestamp};
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named};
use http_server::response::Created;
use platform::AuditLog;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::audit_events::AuditEventKind;
use storage::model_providers::ModelProvider;
use url::Url;

use crate::signed_in::SignedIn;

/// Maximum number of providers per user.
const MAX_PROVIDERS: i64 = 20;
/// Maximum length of a provider's name, in characters.
const MAX_NAME_CHARS: usize = 100;
/// Maximum length of a base URL and of an API key, in bytes.
const MAX_VALUE_BYTES: usize = 2_000;
/// Length of the hint, the end of a key that is shown, in characters.
const HINT_CHARS: usize = 4;
/// Minimum length of a key that has a hint: the hint of a short key would disclose too much of it.
const MIN_HINTED_CHARS: usize = 12;

/// A provider as its user sees it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelProvider")]
struct ProviderDto {
    id: ModelProviderId,
    /// Prefix of the names of its models.
    prefix: String,
    name: String,
    #[schemars(with = "ProviderKind")]
    kind: String,
    base_url: String,
    has_key: bool,
    /// The last characters of the key.
    hint: Option<String>,
    created_at: Timestamp,
}

impl From<ModelProvider> for ProviderDto {
    fn from(row: ModelProvider) -> Self {
        let ModelProvider { id, slug, name, kind, base_url, secret, hint, created_at, .. } = row;
        Self { id, prefix: slug, name, kind, base_url, has_key: secret.is_some(), hint, created_at }
    }
}

/// The user's providers, oldest first, without their keys.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ModelProviderList")]
pub struct ProviderList {
    providers: Vec<ProviderDto>,
}

/// The provider with its new values.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChangedModelProvider")]
pub struct ChangedProvider {
    provider: ProviderDto,
}

/// A provider to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NewModelProvider")]
pub struct NewProvider {
    kind: ProviderKind,
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = r"\S"))]
    name: String,
    /// The public address of the kind if left out; `compatible` has none.
    #[schemars(length(max = MAX_VALUE_BYTES))]
    base_url: Option<String>,
    #[schemars(length(max = MAX_VALUE_BYTES))]
    key: Option<String>,
}

/// Changes of a provider. Fields that are left out do not change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelProviderUpdate")]
pub struct ProviderUpdate {
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = r"\S"))]
    name: Option<String>,
    /// A new origin requires the key again.
    #[schemars(length(max = MAX_VALUE_BYTES))]
    base_url: Option<String>,
    /// The new API key; an empty string deletes the key.
    #[schemars(length(max = MAX_VALUE_BYTES))]
    key: Option<String>,
}

/// Result of a test of a provider.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ModelProviderTest")]
pub struct ProviderTest {
    /// Number of models that the provider lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<usize>,
    /// Whether the provider can be used.
    ok: bool,
    /// Why the provider cannot be used, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Lists the user's providers (`GET /api/model-providers`).
pub async fn list_providers(State(storage): State<Storage>, caller: SignedIn) -> Result<Json<ProviderList>, ApiError> {
    let providers = storage.model_providers().list(caller.user).await?;
    Ok(Json(ProviderList { providers: providers.into_iter().map(ProviderDto::from).collect() }))
}

/// Adds a provider (`POST /api/model-providers`).
pub async fn create_provider(
    State(models): State<Arc<ModelService>>,
    State(storage): State<Storage>,
    State(clock): State<Arc<dyn Clock>>,
    State(audit): State<AuditLog>,
    caller: SignedIn,
    JsonBody(body): JsonBody<NewProvider>,
) -> Result<Created<ChangedProvider>, ApiError> {
    let (name, key) = (check_name(body.name)?, body.key.map(check_key).transpose()?.flatten());
    let entered = body.base_url.filter(|text| !text.trim().is_empty());
    // The provider's public address, for kinds that have one.
    let entered = entered.or_else(|| body.kind.usual_address().map(str::to_owned));
    let entered = entered.ok_or_else(|| ApiError::BadRequest("baseUrl is required for this kind".into()))?;
    let base_url = parse_base_url(&models, body.kind, &entered, key.is_some())?;
    let taken = storage.model_providers().list(caller.user).await?;
    let taken: Vec<&str> = taken.iter().map(|provider| provider.slug.as_str()).collect();
    let (id, now) = (ModelProviderId::fresh(), clock.now());
    let provider = ModelProvider {
        id,
        slug: slug_of(&name, &taken),
        name,
        kind: body.kind.word().to_owned(),
        base_url: base_url.to_string(),
        hint: key.as_deref().and_then(key_hint),
        secret: seal_key(&models, &caller, id, key.as_deref())?,
        created_at: now,
        changed_at: now,
    };
    // Counted in the statement, so that concurrent requests do not exceed the limit. A conflict is a slug that was
    // taken since the list was read.
    let events = audit.by_user(caller.user, AuditEventKind::ModelProviderAdded);
    let added = storage.model_providers().insert(caller.user, &provider, MAX_PROVIDERS, &events).await;
    if !added.map_err(conflict_error)? {
        let message = format!("you have {MAX_PROVIDERS} providers, the maximum; remove one first");
        return Err(ApiError::Conflict { code: "too_many_providers", message });
    }
    Ok(Created(ChangedProvider { provider: provider.into() }))
}

/// Changes a provider (`PATCH /api/model-providers/{id}`). If the origin of the base URL changes, the key must be
/// entered again, so that it is never sent to a server it was not entered for.
pub async fn update_provider(
    State(storage): State<Storage>,
    State(models): State<Arc<ModelService>>,
    State(clock): State<Arc<dyn Clock>>,
    State(audit): State<AuditLog>,
    caller: SignedIn,
    Named(id): Named,
    JsonBody(body): JsonBody<ProviderUpdate>,
) -> Result<Json<ChangedProvider>, ApiError> {
    let mut provider = find_own(&storage, &caller, &id).await?;
    // Compared when the change is stored, so that a concurrent change is not overwritten.
    let as_of = provider.changed_at;
    if let Some(new) = body.name {
        provider.name = check_name(new)?;
    }
    let entered = body.key.map(check_key).transpose()?;
    let has_key = entered.as_ref().map_or(provider.secret.is_some(), Option::is_some);
    if let Some(new) = body.base_url {
        // A kind of a newer version, after a downgrade.
        let kind = ProviderKind::from_word(&provider.kind).unwrap_or(ProviderKind::Compatible);
        let new = parse_base_url(&models, kind, &new, has_key)?;
        // Only the origin counts, since another path belongs to the same server.
        let moves = provider.base_url.parse::<Url>().map_or(true, |old| old.origin() != new.origin());
        if moves && entered.is_none() && provider.secret.is_some() {
            let message = "the key was entered for another server; enter it again for this one".to_owned();
            return Err(ApiError::Unprocessable { code: "key_needed", message });
        }
        provider.base_url = new.to_string();
    // The address stays, but whether it is permitted depends on whether a key is sent to it.
    } else if let Ok(url) = provider.base_url.parse() {
        check_permitted(&models, &url, has_key)?;
    }
    if let Some(key) = entered {
        provider.hint = key.as_deref().and_then(key_hint);
        provider.secret = seal_key(&models, &caller, provider.id, key.as_deref())?;
    }
    // Strictly increasing, since cached clients compare it to detect changes.
    provider.changed_at = clock.now().max(Timestamp(as_of.0 + 1));
    let events = audit.by_user(caller.user, AuditEventKind::ModelProviderChanged);
    if !storage.model_providers().update(caller.user, &provider, as_of, &events).await? {
        return Err(conflict_error(storage::Error::Conflict(String::new())));
    }
    Ok(Json(ChangedProvider { provider: provider.into() }))
}

/// Deletes a provider (`DELETE /api/model-providers/{id}`).
pub async fn delete_provider(
    State(storage): State<Storage>,
    State(models): State<Arc<ModelService>>,
    State(audit): State<AuditLog>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<NoContent, ApiError> {
    let id = parse_id(&id)?;
    let events = audit.by_user(caller.user, AuditEventKind::ModelProviderRemoved);
    if !storage.model_providers().delete(caller.user, id, &events).await? {
        return Err(ApiError::NotFound("provider"));
    }
    // Drops the cached client, which still has the key.
    models.user_providers.forget(id);
    Ok(NoContent)
}

/// Tests a provider by listing its models (`POST /api/model-providers/{id}/test`). A provider that rejects the
/// request is a result, not an error.
pub async fn test_provider(
    State(storage): State<Storage>,
    State(models): State<Arc<ModelService>>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<Json<ProviderTest>, ApiError> {
    let provider = find_own(&storage, &caller, &id).await?;
    Ok(Json(match models.user_providers.test(caller.user, &provider).await {
        Ok(models) => ProviderTest { models: Some(models), ok: true, reason: None },
        Err(error) => ProviderTest { models: None, ok: false, reason: Some(advise(&error, &provider.slug)) },
    }))
}

/// Returns the caller's [`ModelProvider`] of this id, or 404.
async fn find_own(storage: &Storage, caller: &SignedIn, id: &str) -> Result<ModelProvider, ApiError> {
    let found = storage.model_providers().get(caller.user, parse_id(id)?).await?;
    found.ok_or(ApiError::NotFound("provider"))
}

/// Parses an id; an invalid one is not found.
fn parse_id(id: &str) -> Result<ModelProviderId, ApiError> {
    id.parse().map_err(|_| ApiError::NotFound("provider"))
}

/// Validates a provider's name.
fn check_name(text: String) -> Result<String, ApiError> {
    let name = text.trim().to_owned();
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        return Err(ApiError::BadRequest(format!("name must have 1 to {MAX_NAME_CHARS} characters")));
    }
    Ok(name)
}

/// Validates an API key. Returns `None` for an empty one.
fn check_key(text: String) -> Result<Option<String>, ApiError> {
    let key = text.trim().to_owned();
    // Keys are sent in a header, where other characters are invalid.
    if key.len() > MAX_VALUE_BYTES || !key.chars().all(|letter| letter.is_ascii_graphic()) {
        return Err(ApiError::BadRequest(format!("key must have at most {MAX_VALUE_BYTES} plain characters")));
    }
    Ok((!key.is_empty()).then_some(key))
}

/// Returns the end of a key, for its user to recognise it; `None` for a short key.
fn key_hint(key: &str) -> Option<String> {
    (key.len() >= MIN_HINTED_CHARS).then(|| key[key.len() - HINT_CHARS..].to_owned())
}

/// Parses, normalises and checks a base URL.
fn parse_base_url(models: &ModelService, kind: ProviderKind, text: &str, has_key: bool) -> Result<Url, ApiError> {
    let url = Url::parse(text.trim()).ok().filter(|_| text.len() <= MAX_VALUE_BYTES);
    let url = url.ok_or_else(|| ApiError::BadRequest("baseUrl must be a URL such as https://host/v1".into()))?;
    let url = kind.base_url(url);
    check_permitted(models, &url, has_key)?;
    Ok(url)
}

/// Rejects a URL that the network policy does not allow, or that would receive the key unencrypted.
fn check_permitted(models: &ModelService, url: &Url, has_key: bool) -> Result<(), ApiError> {
    models.user_providers.check(url, has_key).map_err(|error| ApiError::Unprocessable {
        code: "address_not_allowed",
        message: format!("The server {error}."),
    })
}

/// Encrypts a key. User and provider id are bound to the ciphertext.
fn seal_key(
    models: &ModelService,
    caller: &SignedIn,
    id: ModelProviderId,
    key: Option<&str>,
) -> Result<Option<Vec<u8>>, ApiError> {
    let sealed = key.map(|key| models.user_providers.seal(caller.user, id, key)).transpose();
    sealed.map_err(|error| ApiError::Internal(error.into()))
}

/// Maps a conflicting concurrent change to an error.
fn conflict_error(error: storage::Error) -> ApiError {
    match error {
        storage::Error::Conflict(_) => ApiError::Conflict {
            code: "changed_meanwhile",
            message: "your providers were changed elsewhere; check them and try again".to_owned(),
        },
        other => other.into(),
    }
}
