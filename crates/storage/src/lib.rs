//! Storage: all access to the database, with SQL written once for SQLite and PostgreSQL.
//!
//! Every function that reaches a user's row takes the owner's id, and its SQL filters by it: no row is reachable
//! without it. The statements of `postgrest` do the same over [`raw`]. The functions are in one repository for each
//! aggregate, such as [`Storage::chats`], and begin with `get` (returns an `Option`), `load` (or [`Error::NotFound`]),
//! `list`, `insert`, `update` or `delete`.
//!
//! A statement of up to four values binds them in order, to `$1`, `$2` and so on. A longer one names them, with
//! `query_named!` (`named_values.rs`): it does not compile if a placeholder has no value or a value no placeholder.

mod availability;
mod checkpoints;
mod db_macros;
mod db_spans;
mod error;
mod group_commit;
mod idle_pool;
mod json;
mod migrate;
mod named_values;
mod open;
mod postgres_programs;
mod repositories;

pub mod admin_users;
pub mod api_keys;
pub mod attachments;
pub mod audit_events;
pub mod auth_codes;
pub mod auth_sessions;
pub mod backup;
pub mod branches;
pub mod chat_models;
pub mod chat_settings;
pub mod chats;
pub mod credentials;
pub mod factors;
pub mod file_moves;
pub mod file_sweep;
pub mod files;
pub mod identities;
pub mod imports;
pub mod inspect;
pub mod interactions;
pub mod model_providers;
pub mod model_settings;
pub mod nodes;
pub mod notify;
mod notify_batch;
pub mod object_storage;
pub mod one_time_tokens;
pub mod passkeys;
pub mod permissions;
pub mod push;
pub mod queue;
pub mod quotas;
pub mod rate_limits;
pub mod raw;
pub mod recovery_codes;
pub mod registration_tokens;
pub mod restore;
pub mod sealed_values;
pub mod search;
pub mod security_keys;
pub mod server_sign_ins;
pub mod servers;
pub mod shared_servers;
pub mod shares;
pub mod signing_keys;
mod temporary;
pub mod tool_lists;
pub mod tool_tasks;
pub mod trash;
pub mod turns;
pub mod unreadable;
pub mod usage;
pub mod users;

use std::sync::Arc;

use domain::NodeId;

pub use error::Error;
pub use json::JsonText;
pub use open::{OpenError, check_listen_url, check_url};
pub use postgres_programs::ProgramError;
pub use repositories::*;

const PING: &str = "UPDATE nodes SET heartbeat = heartbeat WHERE id = $1";

/// The database. Cloning is cheap: all clones share the same connections.
#[derive(Debug, Clone)]
pub struct Storage {
    pub(crate) db: Db,
    /// This node's id, new for every process.
    pub(crate) node: NodeId,
    /// Whether the data outlives this process.
    is_lasting: bool,
    /// Availability of the database.
    pub(crate) availability: std::sync::Arc<availability::Availability>,
    /// Messages that wait to be sent to the other nodes.
    pub(crate) notify_batch: notify_batch::NotifyBatch,
    /// Connection that listens to the other nodes, where it does not lead through the pooler of `db`. PostgreSQL only.
    pub(crate) listener: Option<sqlx::PgPool>,
    /// Where the content of files is, if not in the database.
    pub(crate) objects: Option<Arc<object_storage::ObjectStorage>>,
    /// Lock that prevents a second process from opening the same SQLite file. It is released with the last clone.
    _lock: Option<std::sync::Arc<std::fs::File>>,
}

/// The connections to the database, by its kind.
#[derive(Debug, Clone)]
pub(crate) enum Db {
    /// One writer and several readers on the same file.
    Sqlite {
        /// Read-only connections.
        read: idle_pool::IdlePool<sqlx::Sqlite>,
        /// The only connection that writes.
        write: group_commit::SqliteWriter,
        /// Connection that moves data from the write-ahead log into the file; `None` for a database in memory.
        checkpoints: Option<idle_pool::IdlePool<sqlx::Sqlite>>,
    },
    /// The same connections for reading and writing.
    Postgres(idle_pool::IdlePool<sqlx::Postgres>),
}

impl Storage {
    /// Returns the name of the database for logs: `sqlite` or `postgres`.
    pub fn kind(&self) -> &'static str {
        match self.db {
            Db::Sqlite { .. } => "sqlite",
            Db::Postgres(_) => "postgres",
        }
    }

    /// Returns the id of this node.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Returns whether other nodes can share the database.
    pub fn is_shared(&self) -> bool {
        matches!(self.db, Db::Postgres(_))
    }

    /// Returns the numbers of connections in use and of idle ones. For SQLite, they are those that read.
    pub fn count_connections(&self) -> (usize, usize) {
        match &self.db {
            Db::Sqlite { read, .. } => read.count(),
            Db::Postgres(connections) => connections.count(),
        }
    }

    /// Checks that the database can be written, for the readiness probe. It writes, because a full disk still allows
    /// reads.
    ///
    /// # Errors
    ///
    /// [`Error::Database`] if the write fails.
    pub async fn ping(&self) -> Result<(), Error> {
        let id = self.node.0;
        // Sets this node's own row to the value that it has.
        db_macros::write!(self, |c| sqlx::query(PING).bind(id).execute(c).await.map(|done| done.rows_affected()))?;
        Ok(())
    }

    /// Waits until running statements have ended and closes all connections.
    pub async fn close(&self) {
        match &self.db {
            Db::Sqlite { read, write, checkpoints } => {
                // The writer is the last one: SQLite writes a final checkpoint when the last connection closes.
                read.close().await;
                if let Some(checkpoints) = checkpoints {
                    checkpoints.close().await;
                }
                write.close().await;
            }
            Db::Postgres(connections) => {
                if let Some(listener) = &self.listener {
                    listener.close().await;
                }
                connections.close().await;
            }
        }
    }
}
