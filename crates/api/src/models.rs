//! `/api/models`: the available models, the user's favourites, and the model of a chat.

use std::sync::Arc;

use agent::models::{MAX_MODEL_NAME_CHARS, ModelId, ModelService, ModelView, is_name};
use axum::Json;
use axum::extract::State;
use domain::Clock;
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named};
use platform::{UserEvent, UserEventBus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::Storage;

use crate::chat_lookup::ChatLookup;
use crate::signed_in::SignedIn;

/// Maximum number of favourites per user.
const MAX_FAVOURITES: i64 = 200;

/// The available models.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelList {
    /// The default model, as `provider/name`; null if there is none.
    default: Option<String>,
    /// Date of the model catalogue.
    #[schemars(extend("format" = "date"))]
    facts_of: String,
    /// The user's favourites, as `provider/name`.
    favourites: Vec<String>,
    /// The model that transcribes what the caller dictates, as `provider/name`; null if there is none.
    transcription: Option<String>,
    models: Vec<ModelView>,
}

/// The user's favourites.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Favourites {
    /// Models, as `provider/name`.
    favourites: Vec<String>,
}

/// Lists the models available to the caller, the default model, and the caller's favourites.
pub async fn list_models(
    State(models): State<Arc<ModelService>>,
    State(storage): State<Storage>,
    caller: SignedIn,
) -> Result<Json<ModelList>, ApiError> {
    let (default, available) = models.list(caller.user).await?;
    let favourites = storage.models().list_favourites(caller.user).await?;
    let facts_of = models.catalogue.known().date.clone();
    // After the list, which has asked the providers at once and cached their models.
    let transcription = models.transcription_model(caller.user).await.map(|model| model.to_string());
    Ok(Json(ModelList { default, facts_of, favourites, transcription, models: available }))
}

/// Whether a model is one of the user's favourites.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FavouriteUpdate {
    /// Model, as `provider/name`.
    #[schemars(length(max = MAX_MODEL_NAME_CHARS))]
    model: String,
    favourite: bool,
}

/// Adds or removes a favourite (`PUT /api/models/favourites`).
pub async fn set_favourite(
    State(models): State<Arc<ModelService>>,
    State(storage): State<Storage>,
    State(clock): State<Arc<dyn Clock>>,
    caller: SignedIn,
    JsonBody(FavouriteUpdate { model, favourite }): JsonBody<FavouriteUpdate>,
) -> Result<Json<Favourites>, ApiError> {
    // Only existing models can be added, but a model that its provider dropped can still be removed.
    if favourite {
        let model = find_known_model(&models, &caller, &model).await?.to_string();
        storage.models().add_favourite(caller.user, &model, MAX_FAVOURITES, clock.now()).await?;
    } else {
        // PostgreSQL rejects NUL in texts, and a name with it was never stored.
        storage.models().remove_favourite(caller.user, &domain::text::without_nul(model)).await?;
    }
    Ok(Json(Favourites { favourites: storage.models().list_favourites(caller.user).await? }))
}

/// The model of a chat.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChatModel {
    /// Model, as `provider/name`; null for the default model.
    #[schemars(length(max = MAX_MODEL_NAME_CHARS))]
    model: Option<String>,
}

/// Returns the model of a chat (`GET /api/sessions/{id}/model`).
pub async fn get_chat_model(
    State(chats): State<ChatLookup>,
    caller: SignedIn,
    Named(chat): Named,
) -> Result<Json<ChatModel>, ApiError> {
    let (chat, home) = chats.find(caller.user, &chat).await?;
    Ok(Json(ChatModel { model: home.models().get_of_chat(caller.user, chat).await? }))
}

/// Sets the model of a chat (`PUT /api/sessions/{id}/model`). A running turn continues with the model it began with.
pub async fn set_chat_model(
    State(chats): State<ChatLookup>,
    State(models): State<Arc<ModelService>>,
    State(events): State<UserEventBus>,
    caller: SignedIn,
    Named(chat): Named,
    JsonBody(body): JsonBody<ChatModel>,
) -> Result<Json<ChatModel>, ApiError> {
    let (chat, home) = chats.find(caller.user, &chat).await?;
    let model = match body.model {
        Some(model) => Some(find_known_model(&models, &caller, &model).await?.to_string()),
        None => None,
    };
    home.models().set_of_chat(caller.user, chat, model.as_deref()).await?;
    events.publish(caller.user, &UserEvent::of_chat(chat));
    Ok(Json(ChatModel { model }))
}

/// Returns the [`ModelId`] if its provider is available to the caller. Whether the provider has the model is only
/// known when it is called.
///
/// # Errors
///
/// [`ApiError::Unprocessable`] with the code `unknown_model`.
pub(super) async fn find_known_model(
    models: &ModelService,
    caller: &SignedIn,
    name: &str,
) -> Result<ModelId, ApiError> {
    let model = if is_name(name) { models.find(caller.user, name).await? } else { None };
    model.ok_or_else(|| ApiError::Unprocessable {
        code: "unknown_model",
        message: "no such model; GET /api/models lists the models".to_owned(),
    })
}
