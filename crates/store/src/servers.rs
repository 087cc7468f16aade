//! Connections to MCP servers (`mcp_servers`), as the program itself reads them. People write them through the data API.

use domain::{ServerId, Timestamp, UserId};
use uuid::Uuid;

use crate::dispatch::{read, write};
use crate::{Error, JsonText, Store};

const LIST: &str =
    "SELECT id, user_id, name, url, tools, headers FROM mcp_servers WHERE user_id = $1 ORDER BY created_at, id";

const GET: &str = "SELECT id, user_id, name, url, tools, headers FROM mcp_servers WHERE id = $1 AND user_id = $2";

const SET_TOOLS: &str = "UPDATE mcp_servers SET tools = $3, updated_at = $4 WHERE id = $1 AND user_id = $2";

/// A person's connection.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its id.
    pub id: ServerId,
    /// What its owner calls it; unique among the owner's.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// What was found when the connection was made. For display only.
    pub tools: serde_json::Value,
    /// Encrypted headers to send to it.
    pub headers: Option<Vec<u8>>,
}

#[derive(sqlx::FromRow)]
struct ServerRow {
    id: Uuid,
    name: String,
    url: String,
    tools: JsonText<serde_json::Value>,
    headers: Option<Vec<u8>>,
}

impl From<ServerRow> for Server {
    fn from(row: ServerRow) -> Self {
        Self { id: ServerId(row.id), name: row.name, url: row.url, tools: row.tools.0, headers: row.headers }
    }
}

impl Store {
    /// A person's connection.
    pub async fn get_server(&self, owner: UserId, id: ServerId) -> Result<Option<Server>, Error> {
        let row =
            read!(self, |c| sqlx::query_as::<_, ServerRow>(GET).bind(id.0).bind(owner.0).fetch_optional(c).await)?;
        Ok(row.map(Server::from))
    }

    /// All connections of a person, oldest first.
    pub async fn list_servers(&self, owner: UserId) -> Result<Vec<Server>, Error> {
        let rows = read!(self, |c| sqlx::query_as::<_, ServerRow>(LIST).bind(owner.0).fetch_all(c).await)?;
        Ok(rows.into_iter().map(Server::from).collect())
    }
    /// Writes down what was found when a connection could be made at last.
    pub async fn set_server_tools(
        &self,
        owner: UserId,
        id: ServerId,
        tools: &serde_json::Value,
        now: Timestamp,
    ) -> Result<(), Error> {
        write!(self, |c| sqlx::query(SET_TOOLS)
            .bind(id.0)
            .bind(owner.0)
            .bind(tools.to_string())
            .bind(now.0)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }
}
