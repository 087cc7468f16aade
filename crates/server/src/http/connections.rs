//! A person's connections and how they are doing.

use axum::Json;
use axum::extract::State;
use domain::ServerId;
use serde_json::{Value, json};
use store::servers::Server;

use super::error::ApiError;
use super::extract::{JsonBody, Named, SignedIn};
use crate::app::App;
use crate::tools::{ConnectionDetails, ConnectionView, Edit, EditError};

/// All of them. Those that nobody has asked yet are asked in the background; `/api/events` tells what comes of it.
pub async fn list(State(app): State<App>, caller: SignedIn) -> Result<Json<Value>, ApiError> {
    app.tools.wake(&app, caller.user).await?;
    let connections = app.tools.list(&app, caller.user).await?;
    Ok(Json(json!({ "connections": connections })))
}

/// One of them, with everything that is known of it.
pub async fn show(
    State(app): State<App>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<Json<ConnectionDetails>, ApiError> {
    let server = own_server(&app, &caller, &id).await?;
    Ok(Json(app.tools.details(&app, caller.user, &server).await?))
}

/// Changes its name, its headers, or which of its tools are switched on.
pub async fn change(
    State(app): State<App>,
    caller: SignedIn,
    Named(id): Named,
    JsonBody(edit): JsonBody<Edit>,
) -> Result<Json<ConnectionView>, ApiError> {
    let id: ServerId = id.parse().map_err(|_| not_found())?;
    let changed = app.tools.edit(&app, caller.user, id, &edit).await;
    changed.map(Json).map_err(|error| match error {
        EditError::NotFound => not_found(),
        EditError::NameTaken(_) => ApiError::Conflict { code: "name_taken", message: error.to_string() },
        EditError::Bad(message) => ApiError::BadRequest(message),
        EditError::Internal(error) => error.into(),
    })
}

/// Connects to one server anew and waits for what comes of it.
pub async fn refresh(
    State(app): State<App>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<Json<ConnectionView>, ApiError> {
    let server = own_server(&app, &caller, &id).await?;
    Ok(Json(app.tools.refresh(&app, caller.user, &server).await))
}

/// Lists the tools of one server again and waits for what comes of it.
pub async fn list_again(
    State(app): State<App>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<Json<ConnectionView>, ApiError> {
    let server = own_server(&app, &caller, &id).await?;
    Ok(Json(app.tools.list_again(&app, caller.user, &server).await))
}

/// The connection of that id, if it is the caller's.
pub(super) async fn own_server(app: &App, caller: &SignedIn, id: &str) -> Result<Server, ApiError> {
    let id: ServerId = id.parse().map_err(|_| not_found())?;
    app.store.get_server(caller.user, id).await?.ok_or_else(not_found)
}

fn not_found() -> ApiError {
    ApiError::NotFound("connection")
}
