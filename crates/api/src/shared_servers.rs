//! `/api/shared-servers`: MCP servers that the operator offers to users.

use std::sync::Arc;

use agent::models::ModelService;
use axum::Json;
use axum::extract::State;
use connections::shared_servers::SharedServerDto;
use connections::{ConnectionDto, ConnectionService};
use domain::SharedServerId;
use http_server::error::ApiError;
use http_server::extract::Named;
use schemars::JsonSchema;
use serde::Serialize;

use crate::connections::update_error;
use crate::signed_in::SignedIn;

/// Name of a shared server in errors.
const SHARED_SERVER: &str = "shared server";

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
    State(models): State<Arc<ModelService>>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<Json<ConnectionDto>, ApiError> {
    let id: SharedServerId = id.parse().map_err(|_| ApiError::NotFound(SHARED_SERVER))?;
    let max_connections = models.quotas.get_max_connections(caller.user).await?;
    let connected = connections.connect_shared_server(caller.user, id, max_connections).await;
    connected.map(Json).map_err(|error| update_error(error, SHARED_SERVER))
}
