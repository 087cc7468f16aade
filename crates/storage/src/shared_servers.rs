//! MCP servers that the operator offers to users (`shared_servers`), and users' connections to them.

use domain::{ServerId, SharedServerId, Timestamp, UserId};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::db_macros::{read, transaction};
use crate::named_values::query_named;
use crate::{Error, SharedServerRepository, servers, users};

/// A server that the operator offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedServer {
    /// Its id.
    pub id: SharedServerId,
    /// Name; unique.
    pub name: String,
    /// What the server is for; may be empty.
    pub description: String,
    /// URL, with `***` for the values of its query, see [`domain::server_url`].
    pub url: String,
    /// Query of the URL, encrypted; `None` if it has no values.
    pub url_query: Option<Vec<u8>>,
    /// HTTP headers to send, encrypted.
    pub headers: Option<Vec<u8>>,
    /// Domains of the proven email addresses of users to whom it is offered, in lower case.
    pub domains: Vec<String>,
    /// Groups at the identity provider that are offered it, too. Without domains and groups, it is offered to every user.
    pub groups: Vec<String>,
}

/// A shared server as a user sees it.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct OfferedServer {
    id: Uuid,
    /// Name.
    pub name: String,
    /// What the server is for; may be empty.
    pub description: String,
    /// URL, with `***` for the values of its query.
    pub url: String,
    connection: Option<Uuid>,
}

impl OfferedServer {
    /// Its id.
    pub fn id(&self) -> SharedServerId {
        SharedServerId(self.id)
    }

    /// The user's connection to it.
    pub fn connection(&self) -> Option<ServerId> {
        self.connection.map(ServerId)
    }
}

#[derive(sqlx::FromRow)]
struct SharedServerRow {
    id: Uuid,
    name: String,
    description: String,
    url: String,
    url_query: Option<Vec<u8>>,
    headers: Option<Vec<u8>>,
}

/// Condition on a row `s` of `shared_servers`: it is offered to the user `$1`. Domains are those of proven addresses, see
/// [`User::proven_domain`](users::User::proven_domain).
macro_rules! offered {
    () => {
        "((NOT EXISTS (SELECT 1 FROM shared_server_domains d WHERE d.shared_server_id = s.id)
            AND NOT EXISTS (SELECT 1 FROM shared_server_groups g WHERE g.shared_server_id = s.id))
          OR EXISTS (SELECT 1 FROM shared_server_groups g
            JOIN identity_groups m ON m.name = g.name
            JOIN identities i ON i.id = m.identity_id AND i.user_id = $1
            WHERE g.shared_server_id = s.id)
          OR EXISTS (SELECT 1 FROM shared_server_domains d
            JOIN users u ON u.id = $1 AND u.email = u.proven_email
              AND substr(u.email, length(u.email) - length(d.domain)) = '@' || d.domain
            WHERE d.shared_server_id = s.id))"
    };
}
pub(crate) use offered;

const LIST: &str = "SELECT id, name, description, url, url_query, headers FROM shared_servers ORDER BY name";

const DOMAINS: &str = "SELECT shared_server_id, domain FROM shared_server_domains ORDER BY domain";

/// Keeps the id of a server that is offered already, and with it the connections of users.
const PUT: &str = "INSERT INTO shared_servers
      (id, name, description, url, url_query, headers, created_at, updated_at)
    VALUES (:id, :name, :description, :url, :url_query, :headers, :now, :now)
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description, url = excluded.url,
      url_query = excluded.url_query, headers = excluded.headers, updated_at = excluded.updated_at";

const GROUPS: &str = "SELECT shared_server_id, name FROM shared_server_groups ORDER BY name";

const DELETE_DOMAINS: &str = "DELETE FROM shared_server_domains WHERE shared_server_id = $1";

const INSERT_DOMAIN: &str = "INSERT INTO shared_server_domains (shared_server_id, domain) VALUES ($1, $2)";

const DELETE_GROUPS: &str = "DELETE FROM shared_server_groups WHERE shared_server_id = $1";

const INSERT_GROUP: &str = "INSERT INTO shared_server_groups (shared_server_id, name) VALUES ($1, $2)";

/// Clients of the data API read the URL from the connection.
const SET_URL_OF_CONNECTIONS: &str = "UPDATE mcp_servers SET url = $2, updated_at = $3
    WHERE shared_server_id = $1 AND url <> $2";

const CONNECTED_USERS: &str = "SELECT m.user_id FROM mcp_servers m JOIN shared_servers s ON s.id = m.shared_server_id
    WHERE s.name = $1";

const DELETE: &str = "DELETE FROM shared_servers WHERE name = $1";

const LIST_OFFERED: &str = concat!(
    "SELECT s.id, s.name, s.description, s.url, m.id AS connection
    FROM shared_servers s LEFT JOIN mcp_servers m ON m.shared_server_id = s.id AND m.user_id = $1
    WHERE ",
    offered!(),
    " ORDER BY s.name"
);

const FIND_CONNECTION: &str = "SELECT id FROM mcp_servers WHERE user_id = $1 AND shared_server_id = $2";

const CONNECT: &str = concat!(
    "INSERT INTO mcp_servers (id, user_id, name, url, tools, status, created_at, updated_at, shared_server_id)
    SELECT $3, $1, $4, s.url, '[]', 'connected', $5, $5, s.id FROM shared_servers s
    WHERE s.id = $2 AND ",
    offered!()
);

impl SharedServerRepository<'_> {
    /// Returns all [`SharedServer`]s by name, for the operator.
    pub async fn list(self) -> Result<Vec<SharedServer>, Error> {
        let (rows, domains, groups) = read!(self.storage, |c| async {
            let rows = sqlx::query_as::<_, SharedServerRow>(LIST).fetch_all(&mut *c).await?;
            let domains = sqlx::query_as::<_, (Uuid, String)>(DOMAINS).fetch_all(&mut *c).await?;
            let groups = sqlx::query_as::<_, (Uuid, String)>(GROUPS).fetch_all(&mut *c).await?;
            Ok::<_, sqlx::Error>((rows, domains, groups))
        }
        .await)?;
        let of = |id: Uuid, all: &[(Uuid, String)]| {
            all.iter().filter(|(server, _)| *server == id).map(|(_, name)| name.clone()).collect::<Vec<_>>()
        };
        let servers = rows.into_iter().map(|row| SharedServer {
            domains: of(row.id, &domains),
            groups: of(row.id, &groups),
            id: SharedServerId(row.id),
            name: row.name,
            description: row.description,
            url: row.url,
            url_query: row.url_query,
            headers: row.headers,
        });
        Ok(servers.collect())
    }

    /// Stores a server, or replaces the one with its id, and audit events. Connections of users follow.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if another server has the name.
    pub async fn put(self, server: &SharedServer, now: Timestamp, events: &[NewAuditEvent]) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            query_named!(
                PUT,
                id = server.id.0,
                name = &server.name,
                description = &server.description,
                url = &server.url,
                url_query = server.url_query.as_deref(),
                headers = server.headers.as_deref(),
                now = now.0
            )
            .execute(&mut *tx)
            .await?;
            sqlx::query(DELETE_DOMAINS).bind(server.id.0).execute(&mut *tx).await?;
            for domain in &server.domains {
                sqlx::query(INSERT_DOMAIN).bind(server.id.0).bind(domain).execute(&mut *tx).await?;
            }
            sqlx::query(DELETE_GROUPS).bind(server.id.0).execute(&mut *tx).await?;
            for group in &server.groups {
                sqlx::query(INSERT_GROUP).bind(server.id.0).bind(group).execute(&mut *tx).await?;
            }
            let update = sqlx::query(SET_URL_OF_CONNECTIONS).bind(server.id.0).bind(&server.url).bind(now.0);
            update.execute(&mut *tx).await?;
            insert_events!(tx, events);
            Ok(())
        })
    }

    /// Deletes a server by its name, with all connections of users to it, and stores audit events: `events` once, and
    /// `connection_events` for each of these users. Returns whether the server existed; otherwise nothing is stored.
    pub async fn delete(
        self,
        name: &str,
        events: &[NewAuditEvent],
        connection_events: &[NewAuditEvent],
    ) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            let users = sqlx::query_scalar::<_, Uuid>(CONNECTED_USERS).bind(name).fetch_all(&mut *tx).await?;
            if sqlx::query(DELETE).bind(name).execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(false);
            }
            insert_events!(tx, events);
            for user in users {
                let of_user = |event: &NewAuditEvent| NewAuditEvent { user: Some(UserId(user)), ..event.clone() };
                insert_events!(tx, connection_events.iter().map(of_user));
            }
            Ok(true)
        })
    }

    /// Returns the servers that are offered to a user, by name.
    pub async fn list_offered(self, user: UserId) -> Result<Vec<OfferedServer>, Error> {
        Ok(read!(self.storage, |c| sqlx::query_as(LIST_OFFERED).bind(user.0).fetch_all(c).await)?)
    }

    /// Creates a user's connection to a server under a name, stores audit events, and returns its id. If the user is
    /// connected to the server, stores nothing and returns the present connection. Returns `None` if the user already has
    /// `max_connections`, however many requests try at the same time.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the server is not offered to the user, [`Error::Conflict`] if another connection of the user
    /// has the name.
    pub async fn connect(
        self,
        user: UserId,
        server: SharedServerId,
        name: &str,
        now: Timestamp,
        max_connections: Option<u64>,
        events: &[NewAuditEvent],
    ) -> Result<Option<ServerId>, Error> {
        let fresh = ServerId::fresh();
        transaction!(self.storage, |tx| {
            let present = sqlx::query_scalar::<_, Uuid>(FIND_CONNECTION).bind(user.0).bind(server.0);
            if let Some(id) = present.fetch_optional(&mut *tx).await? {
                return Ok(Some(ServerId(id)));
            }
            if let Some(most) = max_connections {
                sqlx::query(users::LOCK).bind(user.0).execute(&mut *tx).await?;
                let count = sqlx::query_scalar::<_, i64>(servers::COUNT).bind(user.0).fetch_one(&mut *tx).await?;
                if u64::try_from(count).unwrap_or_default() >= most {
                    return Ok(None);
                }
            }
            let insert = sqlx::query(CONNECT).bind(user.0).bind(server.0).bind(fresh.0).bind(name).bind(now.0);
            if insert.execute(&mut *tx).await?.rows_affected() == 0 {
                return Err(Error::NotFound);
            }
            insert_events!(tx, events);
            Ok(Some(fresh))
        })
    }
}
