//! Opens a database: applies the settings and migrations, or fails with a message for the operator and without changing
//! anything.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use domain::NodeId;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, PgConnection, PgPool, SqlitePool};

use crate::availability::Availability;
use crate::group_commit::SqliteWriter;
use crate::idle_pool::IdlePool;
use crate::notify_batch::NotifyBatch;
use crate::{Db, Storage, checkpoints, migrate};

/// Maximum time that a statement waits for a lock of another one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The same limit for PostgreSQL.
const LOCK_TIMEOUT: &str = "SET lock_timeout = '5s'";
/// Maximum time to open a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Name by which the connections of a server are known to PostgreSQL.
pub(crate) const APPLICATION_NAME: &str = "ai-chat-mcp";
const SQLITE_READ_CONNECTIONS: u32 = 4;

/// Page cache per connection: 4 MiB, in the form of SQLite's `cache_size`. The operating system caches the rest of the
/// file.
const PAGES_IN_MEMORY: &str = "-4096";
const POSTGRES_CONNECTIONS: u32 = 20;
/// Number of connections that are reserved for listening to notifications.
pub(crate) const LISTENER_CONNECTIONS: u32 = 1;

/// The reason why the server cannot start with this database. The messages are for operators.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// `DATABASE_URL` has neither of the two schemes.
    #[error("DATABASE_URL must begin with sqlite:// or postgres://, not {0:?}")]
    UnknownScheme(String),
    /// `DATABASE_URL` has a known scheme but cannot be parsed.
    #[error("DATABASE_URL cannot be read: {0}")]
    BadUrl(String),
    /// The folder cannot be created, or the file cannot be opened.
    #[error("cannot open the database file {path}: {reason}")]
    File {
        /// Path of the database file.
        path: PathBuf,
        /// Error message of the operating system or of SQLite.
        reason: String,
    },
    /// The file can be read but not written.
    #[error("the database file {0} is read-only; give this user write access to it and its folder")]
    ReadOnly(PathBuf),
    /// Another process has locked the file.
    #[error("the database file {0} is in use by another program; stop it first")]
    Locked(PathBuf),
    /// `DATABASE_LISTEN_URL` cannot be parsed.
    #[error("DATABASE_LISTEN_URL cannot be read: it should look like postgres://user:password@host:5432/database")]
    BadListenUrl,
    /// `DATABASE_LISTEN_URL` is set although the database is a file.
    #[error("DATABASE_LISTEN_URL needs a DATABASE_URL that begins with postgres://")]
    UselessListenUrl,
    /// `DATABASE_URL` leads to a pooler that gives each transaction another connection, without support for prepared
    /// statements.
    #[error(
        "DATABASE_URL leads to a pooler that keeps no connection for its client, and loses its prepared statements; set \
         pool_mode = session"
    )]
    Pooler,
    /// PostgreSQL cannot be reached.
    #[error("cannot connect to PostgreSQL: {0}")]
    Unreachable(String),
    /// The schema was created by a newer minor version.
    #[error(
        "the database was written by a newer version of this program (its schema is at {found}, this one knows {known}); \
         start the newer version, or restore a snapshot made before"
    )]
    Newer {
        /// Newest migration in the database.
        found: i64,
        /// Newest migration of this binary.
        known: i64,
    },
    /// The schema was created before the first release.
    #[error(
        "the database was written by a version from before the first release (its schema is at {found}) and cannot be \
         opened; start that version, export the chats of each user there, and import them into this program with a new \
         database"
    )]
    Earlier {
        /// Newest migration in the database.
        found: i64,
    },
    /// A migration failed and was rolled back.
    #[error("cannot migrate the database: {0}")]
    Migration(String),
}

impl Storage {
    /// Opens `sqlite://path` or `postgres://…` and migrates the schema to the current version. A missing SQLite file is
    /// created. An existing one is copied before a migration changes it.
    ///
    /// # Errors
    ///
    /// [`OpenError`] with the reason. The database is unchanged, except for migrations that succeeded before one that
    /// failed.
    pub async fn open(url: &str) -> Result<Self, OpenError> {
        Self::open_with(url, None).await
    }

    /// Opens a database as [`open`](Self::open) does. `listen_url` is an address of the same PostgreSQL database for what
    /// needs a connection of its own: the migrations and the messages of the other nodes. `url` may then lead through a
    /// pooler.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open), or `listen_url` is invalid.
    pub async fn open_with(url: &str, listen_url: Option<&str>) -> Result<Self, OpenError> {
        let direct = listen_url.map(parse_listen_url).transpose()?;
        match DatabaseUrl::parse(url)? {
            DatabaseUrl::Sqlite(_) if direct.is_some() => Err(OpenError::UselessListenUrl),
            DatabaseUrl::Sqlite(path) => open_sqlite(&path).await,
            DatabaseUrl::Postgres(options) => open_postgres(*options, direct).await,
        }
    }
}

/// Checks the form of an address for notifications, and that the database has them, without opening it.
///
/// # Errors
///
/// [`OpenError::BadListenUrl`] or [`OpenError::UselessListenUrl`].
pub fn check_listen_url(url: &str, listen_url: &str) -> Result<(), OpenError> {
    parse_listen_url(listen_url)?;
    // An invalid `DATABASE_URL` is reported as such.
    if matches!(DatabaseUrl::parse(url), Ok(DatabaseUrl::Sqlite(_))) {
        Err(OpenError::UselessListenUrl)
    } else {
        Ok(())
    }
}

pub(crate) fn parse_listen_url(url: &str) -> Result<PgConnectOptions, OpenError> {
    match DatabaseUrl::parse(url) {
        Ok(DatabaseUrl::Postgres(options)) => Ok(*options),
        _ => Err(OpenError::BadListenUrl),
    }
}

/// Returns a pool of the one connection that listens, which is opened when it is used.
pub(crate) fn lazy_listener(options: PgConnectOptions) -> PgPool {
    PgPoolOptions::new()
        .max_connections(LISTENER_CONNECTIONS)
        .acquire_timeout(CONNECT_TIMEOUT)
        .connect_lazy_with(options)
}

/// Checks the form of a database URL, without opening the database.
///
/// # Errors
///
/// [`OpenError::UnknownScheme`] or [`OpenError::BadUrl`].
pub fn check_url(url: &str) -> Result<(), OpenError> {
    DatabaseUrl::parse(url).map(drop)
}

/// A parsed `DATABASE_URL`.
pub(crate) enum DatabaseUrl {
    /// Path of a file.
    Sqlite(PathBuf),
    /// Connection to a server. Boxed, because it is large.
    Postgres(Box<PgConnectOptions>),
}

impl DatabaseUrl {
    pub(crate) fn parse(url: &str) -> Result<Self, OpenError> {
        let scheme = url.split_once("://").map_or(url, |(scheme, _)| scheme);
        match scheme {
            "sqlite" => {
                let path = PathBuf::from(url.trim_start_matches("sqlite://"));
                if path.as_os_str().is_empty() || path.is_dir() {
                    return Err(OpenError::BadUrl("sqlite:// must be followed by the path of a file".to_owned()));
                }
                Ok(Self::Sqlite(path))
            }
            "postgres" | "postgresql" => {
                // sqlx repeats the URL, and with it the password, in some errors. The message must not contain it.
                let bad =
                    |_| OpenError::BadUrl("it should look like postgres://user:password@host:5432/database".to_owned());
                let options = PgConnectOptions::from_str(url).map_err(bad)?;
                // PgBouncer rejects connections with this parameter, whose default has been exact since PostgreSQL 12.
                Ok(Self::Postgres(Box::new(options.application_name(APPLICATION_NAME).extra_float_digits(None))))
            }
            other => Err(OpenError::UnknownScheme(other.to_owned())),
        }
    }
}

async fn open_postgres(options: PgConnectOptions, direct: Option<PgConnectOptions>) -> Result<Storage, OpenError> {
    let starting = connect_two(&options).await?;
    check_prepared_statements(&starting).await?;
    match &direct {
        None => migrate::postgres(&starting).await?,
        Some(direct) => {
            let migrating = connect_two(direct).await?;
            migrate::postgres(&migrating).await?;
            migrating.close().await;
        }
    }
    starting.close().await;
    let availability = Arc::new(Availability::new());
    let known = Arc::clone(&availability);
    let pool = PgPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(CONNECT_TIMEOUT)
        .after_release(move |connection, _| {
            // A connection whose server vanished without closing it would occupy its slot until the operating system
            // gives up. While the database is healthy, the check is skipped, because it costs a round trip.
            let is_doubtful = known.is_down();
            Box::pin(async move {
                Ok(!is_doubtful || matches!(tokio::time::timeout(BUSY_TIMEOUT, connection.ping()).await, Ok(Ok(()))))
            })
        })
        // Migrations use their own pool without a lock timeout, because nodes that start together wait for each other's
        // migrations.
        .after_connect(|connection, _| {
            Box::pin(async move { sqlx::query(LOCK_TIMEOUT).execute(connection).await.map(|_| ()) })
        })
        // Connections open on first use. The migrations have shown that the server is reachable.
        .connect_lazy_with(options);
    Ok(Storage {
        db: Db::Postgres(IdlePool::new(pool, LISTENER_CONNECTIONS)),
        node: NodeId::fresh(),
        is_lasting: true,
        availability,
        notify_batch: NotifyBatch::default(),
        listener: direct.map(lazy_listener),
        objects: None,
        _lock: None,
    })
}

/// Connects for the start. Two connections, because the migrator opens one of its own while the applied versions are read on
/// the first.
async fn connect_two(options: &PgConnectOptions) -> Result<PgPool, OpenError> {
    let pool = PgPoolOptions::new().max_connections(2).acquire_timeout(CONNECT_TIMEOUT);
    match pool.connect_with(options.clone()).await {
        Ok(pool) => Ok(pool),
        Err(error) => Err(OpenError::Unreachable(why_unreachable(error, options).await)),
    }
}

/// Rejects a pooler that gives the prepared statement of one connection to another. Two connections that prepare the same
/// statement one after the other would use the same connection of such a pooler.
async fn check_prepared_statements(pool: &PgPool) -> Result<(), OpenError> {
    let failed =
        |error: sqlx::Error| match error.as_database_error().and_then(sqlx::error::DatabaseError::code).as_deref() {
            // "Prepared statement already exists", and "does not exist".
            Some("42P05" | "26000") => OpenError::Pooler,
            _ => OpenError::Unreachable(error.to_string()),
        };
    let mut connections = [pool.acquire().await.map_err(failed)?, pool.acquire().await.map_err(failed)?];
    for connection in &mut connections {
        sqlx::query("SELECT 1").execute(&mut **connection).await.map_err(failed)?;
    }
    Ok(())
}

/// Finds out why PostgreSQL cannot be reached. The pool retries until its timeout and then knows no reason, so this
/// connects once more outside of it.
async fn why_unreachable(error: sqlx::Error, options: &PgConnectOptions) -> String {
    let error = match error {
        sqlx::Error::PoolTimedOut => {
            match tokio::time::timeout(CONNECT_TIMEOUT, PgConnection::connect_with(options)).await {
                Ok(Err(reason)) => reason,
                _ => error,
            }
        }
        other => other,
    };
    match error.as_database_error() {
        Some(answer) => answer.message().to_owned(),
        None => error.to_string(),
    }
}

async fn open_sqlite(path: &Path) -> Result<Storage, OpenError> {
    let lock = lock_beside(path)?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // With a write-ahead log, `NORMAL` may lose the last commits in a power failure but never damages the file.
        .synchronous(SqliteSynchronous::Normal)
        // SQLite enforces foreign keys only on request.
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("temp_store", "MEMORY")
        .pragma("cache_size", PAGES_IN_MEMORY)
        // 64 MiB: the log shrinks to this size after a burst of writes.
        .pragma("journal_size_limit", "67108864")
        .pragma("wal_autocheckpoint", checkpoints::LATEST);
    let write = one_connection(options.clone()).await.map_err(|error| refusal(path, &error))?;
    prove_writable(&write, path).await?;
    migrate::sqlite(&write, path).await?;
    let checkpoints = one_connection(options.clone()).await.map_err(|error| refusal(path, &error))?;
    let read = SqlitePoolOptions::new()
        .max_connections(SQLITE_READ_CONNECTIONS)
        .acquire_timeout(CONNECT_TIMEOUT)
        .test_before_acquire(false)
        // A reader cannot take the write lock by mistake.
        .connect_with(options.read_only(true))
        .await
        .map_err(|error| refusal(path, &error))?;
    Ok(Storage {
        db: Db::Sqlite {
            read: IdlePool::new(read, 0),
            write: SqliteWriter::new(IdlePool::new(write, 0)),
            checkpoints: Some(IdlePool::new(checkpoints, 0)),
        },
        node: NodeId::fresh(),
        is_lasting: true,
        availability: Arc::new(Availability::new()),
        notify_batch: NotifyBatch::default(),
        listener: None,
        objects: None,
        _lock: Some(Arc::new(lock)),
    })
}

async fn one_connection(options: SqliteConnectOptions) -> Result<SqlitePool, sqlx::Error> {
    let pool = SqlitePoolOptions::new().max_connections(1).acquire_timeout(CONNECT_TIMEOUT);
    // The check is unnecessary: `IdlePool` tests a connection when it is returned.
    pool.test_before_acquire(false).connect_with(options).await
}

/// Locks the file `<database>.lock`, so that only one process uses the database. The lock is on a separate file, so
/// that SQLite's own locks on the database file are unaffected.
pub(crate) fn lock_beside(path: &Path) -> Result<File, OpenError> {
    let failed = |error: &std::io::Error| match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            OpenError::ReadOnly(path.to_owned())
        }
        _ => OpenError::File { path: path.to_owned(), reason: error.to_string() },
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    }
    if path.exists() {
        // A read-only file is detected here, before the lock file is created next to it.
        OpenOptions::new().read(true).append(true).open(path).map_err(|error| failed(&error))?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let lock =
        OpenOptions::new().create(true).truncate(false).write(true).open(&beside).map_err(|error| failed(&error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked(path.to_owned())),
        Err(TryLockError::Error(error)) => Err(failed(&error)),
    }
}

/// Takes and releases the write lock, to prove that the file is writable and no other program holds it.
async fn prove_writable(pool: &sqlx::SqlitePool, path: &Path) -> Result<(), OpenError> {
    let transaction = pool.begin_with("BEGIN IMMEDIATE").await.map_err(|error| refusal(path, &error))?;
    transaction.rollback().await.map_err(|error| refusal(path, &error))
}

fn refusal(path: &Path, error: &sqlx::Error) -> OpenError {
    let reason = error.to_string();
    let path = path.to_owned();
    if reason.contains("readonly") || reason.contains("read-only") {
        OpenError::ReadOnly(path)
    } else if reason.contains("locked") || reason.contains("busy") {
        OpenError::Locked(path)
    } else {
        OpenError::File { path, reason }
    }
}
