//! A look at a database as it is: without migrations, and although a server uses it.

use std::path::Path;
use std::sync::Arc;

use domain::{NodeId, Timestamp};
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqlitePool};

use crate::availability::Availability;
use crate::backup::{APPLICATION_NAME, CopyError, check_sqlite, connect_postgres, connect_sqlite};
use crate::group_commit::SqliteWriter;
use crate::idle_pool::IdlePool;
use crate::notify_batch::NotifyBatch;
use crate::open::{DatabaseUrl, LISTENER_CONNECTIONS, lazy_listener, parse_listen_url};
use crate::restore::{check_unused, lock};
use crate::{Db, OpenError, Storage, migrate};

const SERVER_TIME: &str = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint";

/// A database as it is.
#[derive(Debug)]
pub struct DatabaseInspection {
    /// Access. Its functions fail if the schema is not that of this program.
    pub storage: Storage,
    /// Newest applied migration; `None` for an empty database.
    pub schema_version: Option<i64>,
    /// Time of PostgreSQL's clock.
    pub server_time: Option<Timestamp>,
}

/// First schema with files in object storage.
const FIRST_VERSION_WITH_OBJECTS: i64 = 130;

impl DatabaseInspection {
    /// Returns whether the schema has a place for files in object storage.
    pub fn can_have_objects(&self) -> bool {
        self.schema_version.is_some_and(|version| version >= FIRST_VERSION_WITH_OBJECTS)
    }
}

impl Storage {
    /// Listens to the other nodes at another address of the database, see [`Storage::open_with`].
    ///
    /// # Errors
    ///
    /// [`OpenError::BadListenUrl`] or [`OpenError::UselessListenUrl`].
    pub fn with_listener(self, listen_url: Option<&str>) -> Result<Self, OpenError> {
        let Some(listen_url) = listen_url else { return Ok(self) };
        let options = parse_listen_url(listen_url)?;
        if matches!(self.db, Db::Sqlite { .. }) {
            return Err(OpenError::UselessListenUrl);
        }
        Ok(Self { listener: Some(lazy_listener(options)), ..self })
    }
}

/// Opens the database at `url` as it is, if no server uses it. No server can start on a SQLite file until the storage is
/// closed and dropped.
///
/// # Errors
///
/// [`CopyError::InUse`] if a server uses it, otherwise those of [`inspect`].
pub async fn open_unused(url: &str) -> Result<DatabaseInspection, CopyError> {
    let lock = match DatabaseUrl::parse(url)? {
        DatabaseUrl::Sqlite(path) => {
            // Before the lock, whose file is created beside that of the database.
            check_exists(&path)?;
            Some(Arc::new(lock(&path)?))
        }
        DatabaseUrl::Postgres(_) => {
            check_unused(url).await?;
            None
        }
    };
    let inspection = inspect(url).await?;
    Ok(DatabaseInspection { storage: Storage { _lock: lock, ..inspection.storage }, ..inspection })
}

/// Checks the structure of a SQLite file. PostgreSQL checks its own.
///
/// # Errors
///
/// [`CopyError::Damaged`] with the first fault.
pub async fn check_structure(url: &str) -> Result<(), CopyError> {
    let DatabaseUrl::Sqlite(path) = DatabaseUrl::parse(url)? else { return Ok(()) };
    let mut connection = connect_sqlite(&path).await?;
    check_sqlite(&mut connection).await?;
    Ok(connection.close().await?)
}

/// Opens the database at `url` without changing it.
///
/// # Errors
///
/// [`CopyError::Missing`] if a SQLite file does not exist, otherwise the reason why the database cannot be opened.
pub async fn inspect(url: &str) -> Result<DatabaseInspection, CopyError> {
    let (db, schema_version, server_time) = match DatabaseUrl::parse(url)? {
        DatabaseUrl::Sqlite(path) => {
            check_exists(&path)?;
            let mut connection = connect_sqlite(&path).await?;
            let schema_version = migrate::newest_applied(&mut connection).await?;
            connection.close().await?;
            // Not read-only, because SQLite would leave its log and the index of it beside the file.
            let options = SqliteConnectOptions::new().filename(&path).create_if_missing(false);
            let pool = IdlePool::new(SqlitePool::connect_with(options).await?, 0);
            let db = Db::Sqlite { read: pool.clone(), write: SqliteWriter::new(pool), checkpoints: None };
            (db, schema_version, None)
        }
        DatabaseUrl::Postgres(options) => {
            let mut connection = connect_postgres(&options).await?;
            let schema_version = migrate::newest_applied(&mut connection).await?;
            let micros: i64 = sqlx::query_scalar(SERVER_TIME).fetch_one(&mut connection).await?;
            connection.close().await?;
            let pool = PgPoolOptions::new()
                .max_connections(1 + LISTENER_CONNECTIONS)
                .connect_lazy_with(options.application_name(APPLICATION_NAME));
            (Db::Postgres(IdlePool::new(pool, LISTENER_CONNECTIONS)), schema_version, Some(Timestamp(micros)))
        }
    };
    let storage = Storage {
        db,
        node: NodeId::fresh(),
        is_lasting: true,
        availability: Arc::new(Availability::new()),
        notify_batch: NotifyBatch::default(),
        listener: None,
        objects: None,
        _lock: None,
    };
    Ok(DatabaseInspection { storage, schema_version, server_time })
}

fn check_exists(path: &Path) -> Result<(), CopyError> {
    if path.is_file() { Ok(()) } else { Err(CopyError::Missing(path.display().to_string())) }
}
