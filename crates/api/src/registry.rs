//! `/api/registry`: browsing of the MCP registry.

use axum::Json;
use axum::extract::State;
use connections::registry::{RegistryListing, ServerRegistry};
use http_server::error::ApiError;
use http_server::extract::Query;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::signed_in::SignedIn;

/// Maximum length of a search text or a cursor, in bytes.
const MAX_QUERY_BYTES: usize = 1_024;

/// Part of the list that is wanted.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RegistryQuery {
    /// Text that the names contain. All servers without it.
    #[serde(default)]
    search: String,
    /// Position that the previous part named.
    cursor: Option<String>,
}

/// Lists MCP servers of the registry that can be reached over HTTP.
pub async fn list_servers(
    State(registry): State<Option<ServerRegistry>>,
    _caller: SignedIn,
    Query(RegistryQuery { search, cursor }): Query<RegistryQuery>,
) -> Result<Json<RegistryListing>, ApiError> {
    let registry = registry.ok_or(ApiError::NotFound("MCP registry"))?;
    if search.len() > MAX_QUERY_BYTES || cursor.as_ref().is_some_and(|cursor| cursor.len() > MAX_QUERY_BYTES) {
        return Err(ApiError::BadRequest(format!("search and cursor have at most {MAX_QUERY_BYTES} bytes")));
    }
    let listing = registry.list(&search, cursor.as_deref()).await;
    listing.map(Json).map_err(|error| ApiError::Upstream {
        code: "registry_unavailable",
        message: format!("the MCP registry {error}"),
    })
}
