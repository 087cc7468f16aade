//! Errors of the storage.

/// An error of a storage function.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The row does not exist or belongs to another user. The two cases are deliberately not distinguished.
    #[error("not found")]
    NotFound,
    /// A constraint was violated. Holds the constraint's name where the database reports it.
    #[error("conflicts with {0}")]
    Conflict(String),
    /// A row refers to another one that does not exist.
    #[error("a referenced row does not exist")]
    MissingReference,
    /// A statement would return more than this number of rows, see [`crate::raw`].
    #[error("more than {0} rows would be returned")]
    TooManyRows(usize),
    /// The database failed.
    #[error("the database failed: {0}")]
    Database(#[source] sqlx::Error),
    /// A stored value cannot be interpreted.
    #[error("cannot read a stored value: {0}")]
    Corrupt(String),
    /// The object storage of files cannot be used, or took too long.
    #[error("the file storage failed: {0}")]
    FileStorage(String),
    /// The content of a file is neither in the database nor in the object storage, or it is damaged there.
    #[error("the file's content is missing")]
    MissingContent,
    /// A message to the other nodes was dropped, because too many wait to be sent.
    #[error("the queue of messages to other processes is full")]
    BacklogFull,
}

impl Error {
    /// Returns whether the database is unreachable, cannot be written or is too busy, so that a retry may succeed.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Database(error) if is_outage(error))
    }
}

/// Error classes and codes of PostgreSQL that count as an outage: connection failure (08), serialization failure,
/// deadlock, insufficient resources (53), lock timeout, not accepting connections (55000), shutdown and startup (57P),
/// system error (58), read-only transaction.
const POSTGRES_OUTAGE_CODES: [&str; 9] = ["08", "40001", "40P01", "53", "55P03", "55000", "57P", "58", "25006"];
/// Primary error codes of SQLite that count as an outage: busy, locked, I/O error, disk full, cannot open file.
const SQLITE_OUTAGE_CODES: [u32; 5] = [5, 6, 10, 13, 14];

pub(crate) fn is_outage(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(refused) => refused.code().is_some_and(|code| match code.len() {
            // PostgreSQL's codes have five characters, SQLite's are numbers.
            5 => POSTGRES_OUTAGE_CODES.iter().any(|known| code.starts_with(known)),
            // An extended code of SQLite has the primary code in its lowest byte.
            _ => code.parse::<u32>().is_ok_and(|code| SQLITE_OUTAGE_CODES.contains(&(code & 0xff))),
        }),
        // These include a full pool, for which a retry may succeed as well.
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        // A proxy without a server ends the connection at its first message. The driver takes the end for an answer.
        sqlx::Error::Protocol(message) => message.contains("SSLRequest"),
        _ => false,
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::RowNotFound => Self::NotFound,
            sqlx::Error::Database(database) if database.is_unique_violation() => {
                // SQLite has no name for the constraint. Its message lists the columns.
                Self::Conflict(database.constraint().unwrap_or_else(|| database.message()).to_owned())
            }
            sqlx::Error::Database(database) if database.is_foreign_key_violation() => Self::MissingReference,
            _ => Self::Database(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::PgConnectOptions;
    use sqlx::{Connection, PgConnection};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn connection_that_ends_in_its_handshake_is_an_outage() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let options = PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(port);
        let closing = async { drop(listener.accept().await.unwrap()) };
        let (connected, ()) = tokio::join!(PgConnection::connect_with(&options), closing);
        let error = Error::from(connected.unwrap_err());
        assert!(error.is_outage(), "{error}");
    }
}
