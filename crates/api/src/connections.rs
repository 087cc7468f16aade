//! `/api/connections`: the user's MCP connections and their live status.

use axum::Json;
use axum::extract::State;
use connections::{ConnectionDetails, ConnectionDto, ConnectionService, ConnectionUpdate, UpdateError};
use domain::ServerId;
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named};
use schemars::JsonSchema;
use serde::Serialize;
use storage::Storage;
use storage::servers::Server;

use crate::signed_in::SignedIn;

/// The user's connections.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionList {
    connections: Vec<ConnectionDto>,
}

/// Lists the user's connections. Those that were never connected are connected in the background, and `/api/events`
/// reports the result.
pub async fn list_connections(
    State(connections): State<ConnectionService>,
    caller: SignedIn,
) -> Result<Json<ConnectionList>, ApiError> {
    connections.connect_all(caller.user).await?;
    let connections = connections.list_connections(caller.user).await?;
    Ok(Json(ConnectionList { connections }))
}

/// Returns one connection with its server's instructions and the names of its headers.
pub async fn get_connection(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<Json<ConnectionDetails>, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    Ok(Json(connections.get_details(caller.user, &server).await?))
}

/// Changes a connection's name, headers or enabled tools.
pub async fn update_connection(
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
    JsonBody(update): JsonBody<ConnectionUpdate>,
) -> Result<Json<ConnectionDto>, ApiError> {
    let id: ServerId = id.parse().map_err(|_| not_found())?;
    let changed = connections.update_connection(caller.user, id, &update).await;
    changed.map(Json).map_err(|error| update_error(error, "connection"))
}

/// Converts an error; `missing` is what was not found.
pub(super) fn update_error(error: UpdateError, missing: &'static str) -> ApiError {
    match error {
        UpdateError::NotFound => ApiError::NotFound(missing),
        UpdateError::NameTaken(_) => ApiError::Conflict { code: "name_taken", message: error.to_string() },
        UpdateError::TooMany(_) => ApiError::Conflict { code: "too_many_connections", message: error.to_string() },
        UpdateError::Invalid(message) => ApiError::BadRequest(message),
        UpdateError::Internal(error) => error.into(),
    }
}

/// Reconnects to the server and waits for the result.
pub async fn reconnect(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<Json<ConnectionDto>, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    Ok(Json(connections.reconnect(caller.user, &server).await))
}

/// Lists the server's tools again and waits for the result.
pub async fn relist_tools(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<Json<ConnectionDto>, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    Ok(Json(connections.relist_tools(caller.user, &server).await))
}

/// Returns the caller's connection of this id, as a stored [`Server`].
///
/// # Errors
///
/// 404 if the id is invalid or the connection belongs to another user.
pub(super) async fn find_own_server(storage: &Storage, caller: &SignedIn, id: &str) -> Result<Server, ApiError> {
    let id: ServerId = id.parse().map_err(|_| not_found())?;
    storage.connections().get(caller.user, id).await?.ok_or_else(not_found)
}

fn not_found() -> ApiError {
    ApiError::NotFound("connection")
}
