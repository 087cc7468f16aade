//! `/api/models`: the available models, the user's favourites, and the model of a chat.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::ApiError;
use super::extract::{JsonBody, Named, SignedIn};
use super::sessions::own_home;
use crate::AppState;
use agent::models::{ModelId, is_name};
use platform::UserEvent;

/// Maximum number of favourites per user.
const FAVOURITES: i64 = 200;

/// Lists the models available to the caller, the default model, and the caller's favourites.
pub async fn list(State(app): State<AppState>, caller: SignedIn) -> Result<Json<Value>, ApiError> {
    let (default, models) = app.models.list(caller.user).await?;
    let favourites = app.store.list_favourite_models(caller.user).await?;
    let known = app.models.catalogue.known();
    let facts_of = &known.date;
    Ok(Json(json!({ "default": default, "models": models, "favourites": favourites, "factsOf": facts_of })))
}

/// Request body of [`mark`].
#[derive(Debug, Deserialize)]
pub struct Favourite {
    model: String,
    favourite: bool,
}

/// Adds or removes a favourite (`PUT /api/models/favourites`).
pub async fn mark(
    State(app): State<AppState>,
    caller: SignedIn,
    JsonBody(Favourite { model, favourite }): JsonBody<Favourite>,
) -> Result<Json<Value>, ApiError> {
    // Only existing models can be added, but a model that its provider dropped can still be removed.
    if favourite {
        let model = known(&app, &caller, &model).await?.to_string();
        app.store.add_favourite_model(caller.user, &model, FAVOURITES, app.clock.now()).await?;
    } else {
        // PostgreSQL rejects NUL in texts, and a name with it was never stored.
        app.store.remove_favourite_model(caller.user, &domain::text::without_nul(model)).await?;
    }
    Ok(Json(json!({ "favourites": app.store.list_favourite_models(caller.user).await? })))
}

/// The model of a chat; `None` for the default model.
#[derive(Debug, Serialize, Deserialize)]
pub struct ChatModel {
    model: Option<String>,
}

/// Returns the model of a chat (`GET /api/sessions/{id}/model`).
pub async fn of_chat(
    State(app): State<AppState>,
    caller: SignedIn,
    Named(chat): Named,
) -> Result<Json<ChatModel>, ApiError> {
    let (chat, home) = own_home(&app, &caller, &chat).await?;
    Ok(Json(ChatModel { model: home.get_chat_model(caller.user, chat).await? }))
}

/// Sets the model of a chat (`PUT /api/sessions/{id}/model`). A running turn continues with the model it began with.
pub async fn choose(
    State(app): State<AppState>,
    caller: SignedIn,
    Named(chat): Named,
    JsonBody(body): JsonBody<ChatModel>,
) -> Result<Json<ChatModel>, ApiError> {
    let (chat, home) = own_home(&app, &caller, &chat).await?;
    let model = match body.model {
        Some(model) => Some(known(&app, &caller, &model).await?.to_string()),
        None => None,
    };
    home.set_chat_model(caller.user, chat, model.as_deref()).await?;
    app.events.publish(caller.user, &UserEvent::of_chat(chat));
    Ok(Json(ChatModel { model }))
}

/// Returns the [`ModelId`] if its provider is available to the caller. Whether the provider has the model is only
/// known when it is called.
///
/// # Errors
///
/// [`ApiError::Unprocessable`] with the code `unknown_model`.
pub(super) async fn known(app: &AppState, caller: &SignedIn, name: &str) -> Result<ModelId, ApiError> {
    let model = if is_name(name) { app.models.find(caller.user, name).await? } else { None };
    model.ok_or_else(|| ApiError::Unprocessable {
        code: "unknown_model",
        message: "there is no such model; GET /api/models lists them".to_owned(),
    })
}
