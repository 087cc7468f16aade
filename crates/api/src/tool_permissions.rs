//! `/api/tools/permissions` and `/api/tools/audit`: the user's tool permissions and the log of tool calls.

use axum::Json;
use axum::extract::State;
use connections::ConnectionService;
use connections::permissions::{PermissionTarget, ToolPermission};
use domain::permission::{AllowedBy, Permission};
use domain::tool::Outcome;
use domain::{ServerId, Timestamp};
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::permissions::AuditEntry;
use uuid::Uuid;

use super::connections::find_own_server;
use crate::signed_in::SignedIn;

/// Default number of calls on a page of the log.
const DEFAULT_PAGE_CALLS: i64 = 50;
/// Maximum number of calls on a page of the log.
const LONGEST_PAGE: i64 = 200;

/// The permission of each known tool of the user's connections.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ToolPermissions {
    permissions: Vec<ToolPermission>,
}

/// Lists the permission of each known tool.
pub async fn list_permissions(
    State(connections): State<ConnectionService>,
    caller: SignedIn,
) -> Result<Json<ToolPermissions>, ApiError> {
    Ok(Json(ToolPermissions { permissions: connections.list_permissions(caller.user).await? }))
}

/// The permission of one tool.
#[derive(Debug, Deserialize, JsonSchema)]
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
    let tool = PermissionTarget::Named(&body.tool);
    let made = connections.set_permissions(caller.user, &server, tool, body.permission).await?;
    made.into_iter().next().map(Json).ok_or_else(|| unknown_tool(format!("{} has no such tool", server.name)))
}

fn unknown_tool(message: String) -> ApiError {
    ApiError::Unprocessable { code: "unknown_tool", message }
}

/// Tools of a connection that one permission is set for.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ToolGroup {
    /// All tools.
    All,
    /// The tools that the server describes as read-only.
    ReadOnly,
}

/// One permission for several tools of a connection.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GroupPermissionUpdate {
    tools: ToolGroup,
    permission: Permission,
}

/// Sets the caller's permission for a group of tools of a connection. Tools that the server adds later are not in it, and
/// *always* leaves out tools that were denied, or have changed since they were allowed.
pub async fn set_group_permission(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
    JsonBody(body): JsonBody<GroupPermissionUpdate>,
) -> Result<Json<ToolPermissions>, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    let tools = match body.tools {
        ToolGroup::All => PermissionTarget::All,
        ToolGroup::ReadOnly => PermissionTarget::ReadOnly,
    };
    let permissions = connections.set_permissions(caller.user, &server, tools, body.permission).await?;
    if permissions.is_empty() {
        return Err(unknown_tool(format!("{} has no such tools now", server.name)));
    }
    Ok(Json(ToolPermissions { permissions }))
}

/// Query parameters of [`list_audit`].
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AuditQuery {
    /// `next` of the page before.
    #[schemars(with = "Option<Uuid>")]
    before: Option<String>,
    /// Number of calls on the page.
    #[schemars(range(min = 1, max = LONGEST_PAGE), extend("default" = DEFAULT_PAGE_CALLS))]
    limit: Option<i64>,
}

/// A tool call in the log.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LoggedToolCall")]
struct AuditEntryDto {
    allowed_by: AllowedBy,
    /// When the call ended.
    at: Timestamp,
    id: Uuid,
    outcome: Outcome,
    /// Name of the connection at that time.
    server_name: String,
    tool: String,
}

impl From<AuditEntry> for AuditEntryDto {
    fn from(AuditEntry { id, server_name, tool, allowed_by, outcome, created_at }: AuditEntry) -> Self {
        Self { allowed_by, at: created_at, id, outcome, server_name, tool }
    }
}

/// A page of the log of tool calls, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ToolCallLog")]
pub struct AuditPage {
    calls: Vec<AuditEntryDto>,
    /// `before` of the next page; null on the last one.
    next: Option<Uuid>,
}

/// Returns a page of the caller's tool calls, newest first.
pub async fn list_audit(
    State(storage): State<Storage>,
    caller: SignedIn,
    Query(page): Query<AuditQuery>,
) -> Result<Json<AuditPage>, ApiError> {
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
    Ok(Json(AuditPage { calls: entries.into_iter().map(AuditEntryDto::from).collect(), next }))
}
