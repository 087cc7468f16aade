//! Connections to MCP servers (`mcp_servers`), as the server reads and changes them. Clients also change them through
//! the data API.

use domain::{ServerId, SharedServerId, Timestamp, UserId};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::db_macros::{read, transaction, write};
use crate::shared_servers::offered;
use crate::{ConnectionRepository, Error, JsonText};

/// Columns of a connection of the user `$1`. Those of a connection to a shared server say where it leads, whatever the
/// connection itself says, so that the operator's headers are sent to no other URL.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT m.id, m.name, m.disabled_tools, m.created_at, s.id AS shared_id, ",
            offered!(),
            " AS is_offered,
              CASE WHEN s.id IS NULL THEN m.url ELSE s.url END AS url,
              CASE WHEN s.id IS NULL THEN m.url_query ELSE s.url_query END AS url_query,
              CASE WHEN s.id IS NULL THEN m.headers ELSE s.headers END AS headers
            FROM mcp_servers m LEFT JOIN shared_servers s ON s.id = m.shared_server_id
            WHERE m.user_id = $1 ",
            $rest
        )
    };
}

const LIST: &str = select!("ORDER BY m.created_at, m.id");

const GET: &str = select!("AND m.id = $2");

pub(crate) const COUNT: &str = "SELECT COUNT(*) FROM mcp_servers WHERE user_id = $1";

const GET_FOUND: &str = "SELECT tools FROM mcp_servers WHERE id = $1 AND user_id = $2";

const SET_TOOLS: &str = "UPDATE mcp_servers SET tools = $3, updated_at = $4 WHERE id = $1 AND user_id = $2";

const RENAME: &str = "UPDATE mcp_servers SET name = $3, updated_at = $4 WHERE id = $1 AND user_id = $2";

const SET_HEADERS: &str = "UPDATE mcp_servers SET headers = $3, updated_at = $4 WHERE id = $1 AND user_id = $2";

/// Changes the list only if it is unchanged since it was read.
const SET_DISABLED: &str = "UPDATE mcp_servers SET disabled_tools = $3, updated_at = $4
    WHERE id = $1 AND user_id = $2 AND disabled_tools = $5";

/// A user's connection to an MCP server.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its id.
    pub id: ServerId,
    /// Name; unique per user.
    pub name: String,
    /// URL, with `***` for the values of its query, see [`domain::server_url`].
    pub url: String,
    /// Query of the URL, encrypted; `None` if it has no values.
    pub url_query: Option<Vec<u8>>,
    /// HTTP headers to send, encrypted.
    pub headers: Option<Vec<u8>>,
    /// Names of the tools that the user disabled.
    pub disabled_tools: Vec<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// The shared server that it leads to: URL, query and headers are those of the operator.
    pub shared: Option<SharedLink>,
}

/// The link of a connection to a shared server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedLink {
    /// The shared server.
    pub id: SharedServerId,
    /// Whether it is still offered to the user.
    pub is_offered: bool,
}

impl Server {
    /// Returns whether both connections lead to the same server with the same secrets.
    pub fn has_same_target(&self, other: &Self) -> bool {
        self.url == other.url
            && self.url_query == other.url_query
            && self.headers == other.headers
            && self.shared == other.shared
    }
}

/// Changes of a connection. `None` leaves a field unchanged.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// New name.
    pub name: Option<String>,
    /// New encrypted headers; `Some(None)` removes them.
    pub headers: Option<Option<Vec<u8>>>,
    /// Disabled tools before and after the change.
    pub disabled_tools: Option<(Vec<String>, Vec<String>)>,
}

#[derive(sqlx::FromRow)]
struct ServerRow {
    id: Uuid,
    name: String,
    url: String,
    url_query: Option<Vec<u8>>,
    headers: Option<Vec<u8>>,
    disabled_tools: JsonText<Vec<String>>,
    created_at: i64,
    shared_id: Option<Uuid>,
    is_offered: bool,
}

impl From<ServerRow> for Server {
    fn from(row: ServerRow) -> Self {
        Self {
            id: ServerId(row.id),
            name: row.name,
            url: row.url,
            url_query: row.url_query,
            headers: row.headers,
            disabled_tools: row.disabled_tools.0,
            created_at: Timestamp(row.created_at),
            shared: row.shared_id.map(|id| SharedLink { id: SharedServerId(id), is_offered: row.is_offered }),
        }
    }
}

impl ConnectionRepository<'_> {
    /// Returns a user's [`Server`] connection by its id.
    pub async fn get(self, owner: UserId, id: ServerId) -> Result<Option<Server>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, ServerRow>(GET)
            .bind(owner.0)
            .bind(id.0)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(Server::from))
    }

    /// Counts a user's connections, open or not.
    pub async fn count(self, owner: UserId) -> Result<u64, Error> {
        let count = read!(self.storage, |c| sqlx::query_scalar::<_, i64>(COUNT).bind(owner.0).fetch_one(c).await)?;
        Ok(count.unsigned_abs())
    }

    /// Returns the [`Server`] connections of a user, oldest first.
    pub async fn list(self, owner: UserId) -> Result<Vec<Server>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, ServerRow>(LIST).bind(owner.0).fetch_all(c).await)?;
        Ok(rows.into_iter().map(Server::from).collect())
    }

    /// Returns the tool definitions that were found when the connection was created, or an empty list if the connection
    /// does not exist. They can be megabytes, so that they are loaded only where no newer listing is known.
    pub async fn get_tools(self, owner: UserId, id: ServerId) -> Result<serde_json::Value, Error> {
        let found = read!(self.storage, |c| sqlx::query_scalar::<_, JsonText<serde_json::Value>>(GET_FOUND)
            .bind(id.0)
            .bind(owner.0)
            .fetch_optional(c)
            .await)?;
        Ok(found.map_or_else(|| serde_json::json!([]), |found| found.0))
    }

    /// Stores the tool definitions of a connection that could be established after all.
    pub async fn set_tools(
        self,
        owner: UserId,
        id: ServerId,
        tools: &serde_json::Value,
        now: Timestamp,
    ) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(SET_TOOLS)
            .bind(id.0)
            .bind(owner.0)
            .bind(tools.to_string())
            .bind(now.0)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }

    /// Updates a connection, and stores audit events with the change; completely or not at all.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the connection does not exist or its disabled tools were changed in the meantime,
    /// [`Error::Conflict`] if another connection of the user has the same name.
    pub async fn update(
        self,
        owner: UserId,
        id: ServerId,
        change: &Change,
        now: Timestamp,
        events: &[NewAuditEvent],
    ) -> Result<(), Error> {
        // The old list is compared as text, which is safe because all lists come from this function or the schema.
        let as_json = |names: &[String]| serde_json::Value::from(names).to_string();
        transaction!(self.storage, |tx| {
            if let Some(name) = &change.name {
                let renamed = sqlx::query(RENAME).bind(id.0).bind(owner.0).bind(name).bind(now.0);
                one(renamed.execute(&mut *tx).await?.rows_affected())?;
            }
            if let Some(headers) = &change.headers {
                let set = sqlx::query(SET_HEADERS).bind(id.0).bind(owner.0).bind(headers.as_deref()).bind(now.0);
                one(set.execute(&mut *tx).await?.rows_affected())?;
            }
            if let Some((before, after)) = &change.disabled_tools {
                let set = sqlx::query(SET_DISABLED).bind(id.0).bind(owner.0);
                let set = set.bind(as_json(after)).bind(now.0).bind(as_json(before));
                one(set.execute(&mut *tx).await?.rows_affected())?;
            }
            insert_events!(tx, events);
            Ok(())
        })
    }
}

// An error rolls back the other changes of the same request.
fn one(rows: u64) -> Result<(), Error> {
    if rows == 1 { Ok(()) } else { Err(Error::NotFound) }
}
