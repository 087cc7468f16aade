//! Model settings of a chat, and the defaults of a user.

use std::sync::Arc;

use agent::models::settings::check;
use agent::models::{MAX_MODEL_NAME_CHARS, ModelService};
use axum::Json;
use axum::extract::State;
use domain::model::ModelSettings;
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named};
use platform::{UserEvent, UserEventBus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::model_settings::ModelDefaults;

use super::models::find_known_model;
use crate::chat_lookup::ChatLookup;
use crate::signed_in::SignedIn;

/// The settings of a chat, and the defaults that apply where they are not set.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChatSettings {
    defaults: ModelSettings,
    settings: ModelSettings,
}

/// The settings of a chat, as they were stored.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoredSettings {
    settings: ModelSettings,
}

/// Returns a chat's settings, and the defaults for those that are not set (`GET /api/sessions/{id}/settings`).
pub async fn get_chat_settings(
    State(chats): State<ChatLookup>,
    State(storage): State<Storage>,
    caller: SignedIn,
    Named(chat): Named,
) -> Result<Json<ChatSettings>, ApiError> {
    let (chat, home) = chats.find(caller.user, &chat).await?;
    let settings = home.models().get_chat_settings(caller.user, chat).await?;
    // Defaults are the user's, so they are in the database even for a temporary chat.
    let defaults = storage.models().get_defaults(caller.user).await?.settings;
    Ok(Json(ChatSettings { defaults, settings }))
}

/// Stores a chat's settings, which apply from the next turn on (`PUT /api/sessions/{id}/settings`). For settings that
/// are left out, the user's defaults apply.
pub async fn set_chat_settings(
    State(chats): State<ChatLookup>,
    State(events): State<UserEventBus>,
    caller: SignedIn,
    Named(chat): Named,
    JsonBody(settings): JsonBody<ModelSettings>,
) -> Result<Json<StoredSettings>, ApiError> {
    let (chat, home) = chats.find(caller.user, &chat).await?;
    check(&settings).map_err(|error| ApiError::BadRequest(error.to_string()))?;
    home.models().set_chat_settings(caller.user, chat, &settings).await?;
    events.publish(caller.user, &UserEvent::of_chat(chat));
    Ok(Json(StoredSettings { settings }))
}

/// A user's defaults, for chats that do not override them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelDefaults")]
pub struct ModelDefaultsDto {
    /// Model, as `provider/name`; null for the server's default.
    #[schemars(length(max = MAX_MODEL_NAME_CHARS))]
    model: Option<String>,
    #[serde(default)]
    settings: ModelSettings,
    /// Whether the model of a chat proposes its title after the first answer.
    #[serde(default)]
    propose_titles: bool,
}

/// Returns the user's defaults (`GET /api/model-defaults`).
pub async fn get_defaults(
    State(storage): State<Storage>,
    caller: SignedIn,
) -> Result<Json<ModelDefaultsDto>, ApiError> {
    let ModelDefaults { model, settings } = storage.models().get_defaults(caller.user).await?;
    let propose_titles = storage.models().proposes_titles(caller.user).await?;
    Ok(Json(ModelDefaultsDto { model, settings, propose_titles }))
}

/// Stores the user's defaults (`PUT /api/model-defaults`).
pub async fn set_defaults(
    State(models): State<Arc<ModelService>>,
    State(storage): State<Storage>,
    caller: SignedIn,
    JsonBody(ModelDefaultsDto { model, settings, propose_titles }): JsonBody<ModelDefaultsDto>,
) -> Result<Json<ModelDefaultsDto>, ApiError> {
    check(&settings).map_err(|error| ApiError::BadRequest(error.to_string()))?;
    let model = match model {
        Some(model) => Some(find_known_model(&models, &caller, &model).await?.to_string()),
        None => None,
    };
    let set = ModelDefaults { model: model.clone(), settings: settings.clone() };
    storage.models().set_defaults(caller.user, &set, propose_titles).await?;
    Ok(Json(ModelDefaultsDto { model, settings, propose_titles }))
}
