//! `/api/shared-servers`: MCP servers that the operator offers to users.

use axum::Json;
use axum::extract::State;
use connections::shared_servers::SharedServerDto;
use connections::{ConnectionDto, ConnectionService, UpdateError};
use domain::SharedServerId;
use http_server::error::ApiError;
use http_server::extract::Named;
use schemars::JsonSchema;
use serde::Serialize;

use crate::signed_in::SignedIn;

/// The shared servers that are offered to the user.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SharedServerList {
    servers: Vec<SharedServerDto>,
}

/// Lists the shared servers that are offered to the caller, by name.
pub async fn list_shared_servers(
    State(connections): State<ConnectionService>,
    caller: SignedIn,
) -> Result<Json<SharedServerList>, ApiError> {
    Ok(Json(SharedServerList { servers: connections.list_shared_servers(caller.user).await? }))
}

/// Connects the caller to a shared server.
pub async fn connect_shared_server(
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<Json<ConnectionDto>, ApiError> {
    let not_found = || ApiError::NotFound("shared server");
    let id: SharedServerId = id.parse().map_err(|_| not_found())?;
    let connected = connections.connect_shared_server(caller.user, id).await;
    connected.map(Json).map_err(|error| match error {
        UpdateError::NotFound => not_found(),
        UpdateError::NameTaken(_) => ApiError::Conflict { code: "name_taken", message: error.to_string() },
        UpdateError::Invalid(message) => ApiError::BadRequest(message),
        UpdateError::Internal(error) => error.into(),
    })
}
