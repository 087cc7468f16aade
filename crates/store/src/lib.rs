//! The only SQL of the house, over SQLite and PostgreSQL with one text.
//!
//! Every function that reaches a person's row takes the owner's id, and the SQL names it: no row is reachable without
//! it. Functions are called `get_` (an `Option`), `load_` (or `NotFound`), `list_`, `insert_`, `update_`, `delete_`.

mod checkpoints;
mod connections;
mod dispatch;
mod error;
mod json;
mod migrate;
mod open;
mod presence;

pub mod api_keys;
pub mod approvals;
pub mod attachments;
pub mod auth_codes;
pub mod auth_sessions;
pub mod branches;
pub mod chat_models;
pub mod chats;
pub mod credentials;
pub mod deleted;
pub mod directory;
pub mod elicitations;
pub mod factors;
pub mod files;
pub mod imports;
pub mod listings;
pub mod marks;
pub mod model_providers;
pub mod model_settings;
pub mod news;
pub mod nodes;
pub mod one_time_tokens;
mod outbox;
pub mod permissions;
pub mod queue;
pub mod rest;
pub mod runs;
pub mod search;
pub mod server_sign_ins;
pub mod servers;
pub mod shares;
pub mod signing_keys;
mod temporary;
pub mod tool_tasks;
mod unreadable;
pub mod usage;
pub mod users;
mod writer;

use domain::NodeId;

pub use error::Error;
pub use json::JsonText;
pub use open::OpenError;

const PING: &str = "UPDATE nodes SET beat = beat WHERE id = $1";

/// The database. Cheap to clone; all clones share the same pools.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) db: Db,
    /// This process among those that share the database.
    pub(crate) node: NodeId,
    /// What is written outlives this process.
    is_lasting: bool,
    /// Whether the database is there.
    pub(crate) presence: std::sync::Arc<presence::Presence>,
    /// What the other processes are still to be told.
    pub(crate) outbox: outbox::Outbox,
    /// Held as long as any clone lives: it keeps a second process off the same SQLite file.
    _lock: Option<std::sync::Arc<std::fs::File>>,
}

/// Which database it is.
#[derive(Debug, Clone)]
pub(crate) enum Db {
    /// One writer, several readers, all on one file.
    Sqlite {
        /// Read-only connections.
        read: connections::Connections<sqlx::Sqlite>,
        /// The one writing connection.
        write: writer::Writer,
        /// Moves what was written into the file, where there is a log.
        checkpoints: Option<connections::Connections<sqlx::Sqlite>>,
    },
    /// The same connections for both.
    Postgres(connections::Connections<sqlx::Postgres>),
}

impl Store {
    /// Returns the name of the database for logs: `sqlite` or `postgres`.
    pub fn kind(&self) -> &'static str {
        match self.db {
            Db::Sqlite { .. } => "sqlite",
            Db::Postgres(_) => "postgres",
        }
    }

    /// This process among those that share the database.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Whether other processes can share the database.
    pub fn is_shared(&self) -> bool {
        matches!(self.db, Db::Postgres(_))
    }

    /// Answers when the database can be written, by writing: a full disk lets everything pass but that. For readiness.
    pub async fn ping(&self) -> Result<(), Error> {
        let id = self.node.0;
        dispatch::write!(self, |c| sqlx::query(PING).bind(id).execute(c).await.map(|done| done.rows_affected()))?;
        Ok(())
    }

    /// Waits for work under way and closes every connection.
    pub async fn close(&self) {
        match &self.db {
            Db::Sqlite { read, write, checkpoints } => {
                read.close().await;
                if let Some(checkpoints) = checkpoints {
                    checkpoints.close().await;
                }
                write.close().await;
            }
            Db::Postgres(connections) => connections.close().await,
        }
    }
}
