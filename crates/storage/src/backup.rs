//! Copies of a whole database for backups, made while servers use it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, SqliteConnection};

use crate::open::DatabaseUrl;
use crate::postgres_programs::{self, ProgramError};
use crate::{OpenError, migrate};

/// Maximum time that a copy of a SQLite file waits for a lock. A running server holds none for long.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// Name by which these connections are known to PostgreSQL. It differs from that of a server.
pub(crate) const APPLICATION_NAME: &str = "ai-chat-mcp backup";
/// Schema of PostgreSQL that a database has from the start.
const DEFAULT_SCHEMA: &str = "public";

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    /// A SQLite file.
    Sqlite,
    /// A PostgreSQL database.
    Postgres,
}

impl DatabaseKind {
    /// Returns the kind that a database URL names.
    ///
    /// # Errors
    ///
    /// [`OpenError::UnknownScheme`] or [`OpenError::BadUrl`].
    pub fn of_url(url: &str) -> Result<Self, OpenError> {
        Ok(match DatabaseUrl::parse(url)? {
            DatabaseUrl::Sqlite(_) => Self::Sqlite,
            DatabaseUrl::Postgres(_) => Self::Postgres,
        })
    }

    /// Returns the name in manifests: `sqlite` or `postgres`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    /// Returns the newest schema version that this program knows.
    pub fn known_schema_version(self) -> i64 {
        migrate::known_version(self)
    }

    /// Returns whether this program can use a schema at this version, after migrating it if it is older.
    pub fn can_use_schema(self, version: i64) -> bool {
        migrate::can_use(self, version)
    }
}

impl fmt::Display for DatabaseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        })
    }
}

/// A consistent copy of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseCopy {
    /// Newest migration in the copy.
    pub schema_version: i64,
    /// PostgreSQL's schema that was copied.
    pub schema_name: Option<String>,
}

/// The reason why a database cannot be copied or replaced. The messages are for operators.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The URL is invalid, or the database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Nothing has created the database yet.
    #[error("there is no database at {0} yet; a server creates it at its first start")]
    Missing(String),
    /// A server uses the database.
    #[error("a server is using the database; stop it first")]
    InUse,
    /// A statement failed.
    #[error("the database reports: {0}")]
    Database(String),
    /// The copy is damaged.
    #[error("the copy of the database is damaged: {0}")]
    Damaged(String),
    /// A file cannot be read or written.
    #[error("cannot write {0}: {1}")]
    File(PathBuf, io::Error),
    /// A path has characters that the database cannot handle.
    #[error("the path {0} is not UTF-8")]
    Path(PathBuf),
    /// The copy belongs into another schema than the one in which the server would look for its tables.
    #[error("the copy has the tables of the schema {copied:?}, but the database user's current schema is {current:?}")]
    OtherSchema {
        /// Schema of the copy.
        copied: String,
        /// Current schema of the database user.
        current: String,
    },
    /// A program of PostgreSQL is missing or failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl From<sqlx::Error> for CopyError {
    fn from(error: sqlx::Error) -> Self {
        // The server's message alone: sqlx repeats the URL in some others.
        match error.as_database_error() {
            Some(answer) => Self::Database(answer.message().to_owned()),
            None => Self::Database(error.to_string()),
        }
    }
}

/// Returns the SQLite file that a database URL names.
///
/// # Errors
///
/// [`OpenError::UnknownScheme`] or [`OpenError::BadUrl`].
pub fn database_file(url: &str) -> Result<Option<PathBuf>, OpenError> {
    Ok(match DatabaseUrl::parse(url)? {
        DatabaseUrl::Sqlite(path) => Some(path),
        DatabaseUrl::Postgres(_) => None,
    })
}

/// Returns the folder of the SQLite file that a database URL names.
///
/// # Errors
///
/// [`OpenError::UnknownScheme`] or [`OpenError::BadUrl`].
pub fn database_folder(url: &str) -> Result<Option<PathBuf>, OpenError> {
    let folder = |path: PathBuf| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new(".")).to_owned()
    };
    Ok(database_file(url)?.map(folder))
}

/// Writes a consistent copy of the database at `url` to the new file `target`, while servers may use it: a SQLite file,
/// or an archive of `pg_dump`. The copy has everything that was committed before the call.
///
/// # Errors
///
/// [`CopyError`]. The target may exist incompletely then.
pub async fn copy_database(url: &str, target: &Path) -> Result<DatabaseCopy, CopyError> {
    match DatabaseUrl::parse(url)? {
        DatabaseUrl::Sqlite(path) => copy_sqlite(&path, target).await,
        DatabaseUrl::Postgres(options) => copy_postgres(&options, target).await,
    }
}

async fn copy_sqlite(path: &Path, target: &Path) -> Result<DatabaseCopy, CopyError> {
    if !path.is_file() {
        return Err(CopyError::Missing(path.display().to_string()));
    }
    let target_text = target.to_str().ok_or_else(|| CopyError::Path(target.to_owned()))?;
    let mut connection = connect_sqlite(path).await?;
    // In one read transaction, which does not hold up writers. Quotes in the path are doubled, so that it stays one
    // literal.
    let statement = format!("VACUUM INTO '{}'", target_text.replace('\'', "''"));
    sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await?;
    connection.close().await?;
    let mut copy = connect_sqlite(target).await?;
    check_sqlite(&mut copy).await?;
    let schema_version = migrate::newest_applied(&mut copy).await?.unwrap_or(0);
    copy.close().await?;
    Ok(DatabaseCopy { schema_version, schema_name: None })
}

/// Opens an existing SQLite file without changing its settings.
pub(crate) async fn connect_sqlite(path: &Path) -> Result<SqliteConnection, CopyError> {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(false).busy_timeout(BUSY_TIMEOUT);
    Ok(options.connect().await?)
}

/// Checks the structure of a SQLite file.
pub(crate) async fn check_sqlite(connection: &mut SqliteConnection) -> Result<(), CopyError> {
    let verdict: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(connection).await?;
    if verdict == "ok" { Ok(()) } else { Err(CopyError::Damaged(verdict)) }
}

async fn copy_postgres(options: &PgConnectOptions, target: &Path) -> Result<DatabaseCopy, CopyError> {
    let mut connection = connect_postgres(options).await?;
    let schema_name = current_schema(&mut connection).await?;
    let Some(schema_version) = migrate::newest_applied(&mut connection).await? else {
        return Err(CopyError::Missing(options.get_database().unwrap_or("DATABASE_URL").to_owned()));
    };
    postgres_programs::dump(options, &schema_name, target).await?;
    connection.close().await?;
    Ok(DatabaseCopy { schema_version, schema_name: Some(schema_name) })
}

/// Connects to PostgreSQL under a name of its own.
pub(crate) async fn connect_postgres(options: &PgConnectOptions) -> Result<PgConnection, CopyError> {
    options.clone().application_name(APPLICATION_NAME).connect().await.map_err(|error| match CopyError::from(error) {
        CopyError::Database(reason) => OpenError::Unreachable(reason).into(),
        other => other,
    })
}

/// Returns the schema in which the user's tables are created and found.
pub(crate) async fn current_schema(connection: &mut PgConnection) -> Result<String, CopyError> {
    let schema: Option<String> = sqlx::query_scalar("SELECT current_schema()::text").fetch_one(connection).await?;
    Ok(schema.unwrap_or_else(|| DEFAULT_SCHEMA.to_owned()))
}
