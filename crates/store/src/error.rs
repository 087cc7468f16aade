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
    /// A message was not sent to the other processes.
    #[error("too many messages for the other processes wait to be sent")]
    BacklogFull,
}

impl Error {
    /// Whether the database cannot be reached or written, or is too busy: what was asked is worth another try.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Database(error) if is_outage(error))
    }
}

/// PostgreSQL's classes and codes: connection failures, two transactions in each other's way, no room or places left, a lock
/// that somebody holds, not accepting connections, shutting down, trouble of its system.
const POSTGRES: [&str; 9] = ["08", "40001", "40P01", "53", "55P03", "55000", "57P", "58", "25006"];
/// SQLite's primary codes: busy, locked, read or write failed, disk full, file cannot be opened.
const SQLITE: [u32; 5] = [5, 6, 10, 13, 14];

pub(crate) fn is_outage(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(refused) => refused.code().is_some_and(|code| match code.len() {
            5 => POSTGRES.iter().any(|known| code.starts_with(known)),
            // An extended code has the primary one in its last byte.
            _ => code.parse::<u32>().is_ok_and(|code| SQLITE.contains(&(code & 0xff))),
        }),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        _ => false,
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
