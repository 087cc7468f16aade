//! What can go wrong with the database.

/// Why a store function gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such row, or it belongs to somebody else: the two are not told apart.
    #[error("not found")]
    NotFound,
    /// A rule of the schema was broken; holds the rule's name where the database tells it.
    #[error("conflicts with {0}")]
    Conflict(String),
    /// The database failed.
    #[error("the database failed: {0}")]
    Database(#[source] sqlx::Error),
    /// A stored value is not what the house wrote.
    #[error("a stored value could not be read: {0}")]
    Corrupt(String),
}

impl Error {
    /// Whether the database cannot be reached or is too busy: what was asked is worth another try.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Database(sqlx::Error::Database(refused)) => refused.code().is_some_and(|code| {
                // PostgreSQL: connection failures, too many connections, shutting down. SQLite: busy, locked, disk full.
                ["08", "53", "57P"].iter().any(|class| code.starts_with(class) && code.len() == 5)
                    || matches!(code.as_ref(), "5" | "6" | "13")
            }),
            Self::Database(error) => matches!(
                error,
                sqlx::Error::Io(_)
                    | sqlx::Error::Tls(_)
                    | sqlx::Error::PoolTimedOut
                    | sqlx::Error::PoolClosed
                    | sqlx::Error::WorkerCrashed
            ),
            _ => false,
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::RowNotFound => Self::NotFound,
            sqlx::Error::Database(database) if database.is_unique_violation() => {
                Self::Conflict(database.constraint().unwrap_or_else(|| database.message()).to_owned())
            }
            _ => Self::Database(error),
        }
    }
}
