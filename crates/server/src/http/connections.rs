//! A person's connections and how they are doing.

use axum::Json;
use axum::extract::State;
use domain::ServerId;
use serde_json::{Value, json};

use super::error::ApiError;
use super::extract::{Named, SignedIn};
use crate::app::App;
use crate::tools::ConnectionView;

/// All of them. Those that nobody has asked yet are asked in the background; `/api/events` tells what comes of it.
pub async fn list(State(app): State<App>, caller: SignedIn) -> Result<Json<Value>, ApiError> {
    app.tools.wake(&app, caller.user).await?;
    let connections = app.tools.list(&app, caller.user).await?;
    Ok(Json(json!({ "connections": connections })))
}

/// Asks one server again and waits for what comes of it.
pub async fn refresh(
    State(app): State<App>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<Json<ConnectionView>, ApiError> {
    let not_found = || ApiError::NotFound("connection");
    let id: ServerId = id.parse().map_err(|_| not_found())?;
    let server = app.store.get_server(caller.user, id).await?.ok_or_else(not_found)?;
    Ok(Json(app.tools.refresh(&app, caller.user, &server).await))
}
