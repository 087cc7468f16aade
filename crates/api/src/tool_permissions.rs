//! `/api/tools/permissions` and `/api/tools/audit`: the user's tool permissions and the log of tool calls.

use axum::Json;
use axum::extract::State;
use connections::ConnectionService;
use connections::permissions::ToolPermission;
use domain::ServerId;
use domain::permission::Permission;
use serde::Deserialize;
use serde_json::{Value, json};
use storage::Storage;
use uuid::Uuid;

use super::error::ApiError;
use super::extract::{JsonBody, Query, SignedIn};

/// Default number of calls on a page of the log.
const DEFAULT_PAGE_CALLS: i64 = 50;
/// Maximum number of calls on a page of the log.
const LONGEST_PAGE: i64 = 200;

/// Lists the permission of each known tool.
pub async fn list_permissions(
    State(connections): State<ConnectionService>,
    caller: SignedIn,
) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({ "permissions": connections.list_permissions(caller.user).await? })))
}

/// Request body of [`set_permission`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionUpdate {
    connection_id: ServerId,
    tool: String,
    permission: Permission,
}

/// Sets the caller's permission for one tool.
pub async fn set_permission(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    JsonBody(body): JsonBody<PermissionUpdate>,
) -> Result<Json<ToolPermission>, ApiError> {
    let server = storage.connections().get(caller.user, body.connection_id).await?;
    let server = server.ok_or(ApiError::NotFound("connection"))?;
    let made = connections.set_permission(caller.user, &server, &body.tool, body.permission).await?;
    made.map(Json).ok_or_else(|| ApiError::Unprocessable {
        code: "unknown_tool",
        message: format!("{} has no such tool", server.name),
    })
}

/// Query parameters of [`list_audit`].
#[derive(Debug, Deserialize)]
pub struct AuditQuery {
    before: Option<String>,
    limit: Option<i64>,
}

/// Returns a page of the caller's tool calls, newest first.
pub async fn list_audit(
    State(storage): State<Storage>,
    caller: SignedIn,
    Query(page): Query<AuditQuery>,
) -> Result<Json<Value>, ApiError> {
    let before = page.before.filter(|before| !before.is_empty()).map(|before| before.parse::<Uuid>());
    let before = before.transpose().map_err(|_| ApiError::BadRequest("before is not the id of a call".into()))?;
    let limit = page.limit.unwrap_or(DEFAULT_PAGE_CALLS).clamp(1, LONGEST_PAGE);
    // One more than a page, to know whether there is a next one.
    let mut entries = storage.permissions().list_audit(caller.user, before, limit + 1).await?;
    let more = entries.len() as i64 > limit;
    if more {
        entries.pop();
    }
    let next = if more { entries.last().map(|entry| entry.id) } else { None };
    let calls: Vec<Value> = entries
        .iter()
        .map(|entry| {
            json!({
                "id": entry.id,
                "at": entry.created_at,
                "serverName": entry.server_name,
                "tool": entry.tool,
                "allowedBy": entry.allowed_by,
                "outcome": entry.outcome,
            })
        })
        .collect();
    Ok(Json(json!({ "calls": calls, "next": next })))
}
