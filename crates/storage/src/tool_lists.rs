//! Cached tool lists of the MCP servers, as of their last successful listing (`tool_lists`).

use domain::{ServerId, Timestamp, UserId};
use serde_json::Value;
use uuid::Uuid;

use crate::db_macros::{read, write};
use crate::named_values::query_named;
use crate::{ConnectionRepository, Error, JsonText};

const SET_TOOL_LIST: &str = "INSERT INTO tool_lists (server_id, user_id, url, tools, server_info, listed_at)
    SELECT id, user_id, :url, :tools, :server_info, :listed_at FROM mcp_servers WHERE id = :server AND user_id = :owner
    ON CONFLICT (server_id) DO UPDATE SET url = excluded.url, tools = excluded.tools, server_info = excluded.server_info,
      listed_at = excluded.listed_at";

const LIST_TOOL_LISTS: &str = "SELECT server_id, url, tools, server_info, listed_at FROM tool_lists WHERE user_id = $1";

const GET_TOOL_LIST: &str = "SELECT server_id, url, tools, server_info, listed_at FROM tool_lists
    WHERE server_id = $1 AND user_id = $2";

/// The last listing of an MCP server.
#[derive(Debug, Clone)]
pub struct CachedToolList {
    /// Connection.
    pub server: ServerId,
    /// URL of the server at that time, masked. A listing of another URL is outdated.
    pub url: String,
    /// Tool definitions, a JSON list.
    pub tools: Value,
    /// Information of the server about itself.
    pub server_info: Option<Value>,
    /// Time of the listing.
    pub listed_at: Timestamp,
}

#[derive(sqlx::FromRow)]
pub(crate) struct ToolListRow {
    server_id: Uuid,
    url: String,
    tools: JsonText<Value>,
    server_info: Option<JsonText<Value>>,
    listed_at: i64,
}

impl From<ToolListRow> for CachedToolList {
    fn from(row: ToolListRow) -> Self {
        Self {
            server: ServerId(row.server_id),
            url: row.url,
            tools: row.tools.0,
            server_info: row.server_info.map(|info| info.0),
            listed_at: Timestamp(row.listed_at),
        }
    }
}

impl ConnectionRepository<'_> {
    /// Stores a listing in place of the previous one. Has no effect if the connection no longer exists.
    pub async fn set_tool_list(self, owner: UserId, listing: &CachedToolList) -> Result<(), Error> {
        let server_info = listing.server_info.as_ref().map(Value::to_string);
        write!(self.storage, |c| query_named!(
            SET_TOOL_LIST,
            server = listing.server.0,
            owner = owner.0,
            url = &listing.url,
            tools = listing.tools.to_string(),
            server_info = server_info,
            listed_at = listing.listed_at.0
        )
        .execute(c)
        .await
        .map(|_| ()))?;
        Ok(())
    }

    /// Returns the last listings of all connections of a user, in no particular order.
    pub async fn list_tool_lists(self, owner: UserId) -> Result<Vec<CachedToolList>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, ToolListRow>(LIST_TOOL_LISTS)
            .bind(owner.0)
            .fetch_all(c)
            .await)?;
        Ok(rows.into_iter().map(CachedToolList::from).collect())
    }

    /// Returns the last [`CachedToolList`] of a connection.
    pub async fn get_tool_list(self, owner: UserId, server: ServerId) -> Result<Option<CachedToolList>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, ToolListRow>(GET_TOOL_LIST)
            .bind(server.0)
            .bind(owner.0)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(CachedToolList::from))
    }
}
