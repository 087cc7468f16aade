//! Replacement of a whole database by a copy that [`copy_database`](crate::backup::copy_database) made.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::backup::{CopyError, check_sqlite, connect_postgres, connect_sqlite, current_schema};
use crate::open::{APPLICATION_NAME, DatabaseUrl, lock_beside};
use crate::{OpenError, Storage, migrate, postgres_programs};

/// PostgreSQL's schema to which the replaced objects are moved until the new ones are accepted.
const REPLACED_SCHEMA: &str = "ai_chat_mcp_before_restore";
/// PostgreSQL's schema to which the new objects are moved before they are dropped.
const REJECTED_SCHEMA: &str = "ai_chat_mcp_rejected_restore";

/// Counts the connections of servers to the database; their name is `$1`.
pub(crate) const COUNT_SERVERS: &str = "SELECT COUNT(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()";

const SCHEMA_EXISTS: &str = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)";

/// A database that is being replaced. What was there is intact until [`commit`](Self::commit), and
/// [`roll_back`](Self::roll_back) returns to it.
#[derive(Debug)]
pub struct DatabaseReplacement(Kind);

#[derive(Debug)]
enum Kind {
    /// The copy is beside the database until it takes its place.
    Sqlite {
        path: PathBuf,
        copy: PathBuf,
        /// Keeps servers out.
        lock: File,
    },
    /// The copy has taken the place of the objects, which wait in [`REPLACED_SCHEMA`].
    Postgres { options: Box<PgConnectOptions>, schema: String },
}

/// Returns whether something has created the database at `url`.
///
/// # Errors
///
/// [`CopyError`] if it cannot be opened.
pub async fn database_exists(url: &str) -> Result<bool, CopyError> {
    match DatabaseUrl::parse(url)? {
        DatabaseUrl::Sqlite(path) => Ok(path.exists()),
        DatabaseUrl::Postgres(options) => {
            let mut connection = connect_postgres(&options).await?;
            let newest = migrate::newest_applied(&mut connection).await?;
            connection.close().await?;
            Ok(newest.is_some())
        }
    }
}

/// Checks that no server uses the database at `url`.
///
/// # Errors
///
/// [`CopyError::InUse`] if one does.
pub async fn check_unused(url: &str) -> Result<(), CopyError> {
    match DatabaseUrl::parse(url)? {
        DatabaseUrl::Sqlite(path) => lock(&path).map(drop),
        DatabaseUrl::Postgres(options) => {
            let mut connection = connect_postgres(&options).await?;
            refuse_servers(&mut connection).await?;
            Ok(connection.close().await?)
        }
    }
}

impl DatabaseReplacement {
    /// Begins to replace the database at `url` by the copy in the file `copy`, and keeps servers out of a SQLite file
    /// until the end. `schema_name` is that of the copy.
    ///
    /// # Errors
    ///
    /// [`CopyError`]. The database is as before.
    pub async fn begin(url: &str, copy: &Path, schema_name: Option<&str>) -> Result<Self, CopyError> {
        match DatabaseUrl::parse(url)? {
            DatabaseUrl::Sqlite(path) => {
                let lock = lock(&path)?;
                let mut connection = connect_sqlite(copy).await?;
                check_sqlite(&mut connection).await?;
                connection.close().await?;
                Ok(Self(Kind::Sqlite { path, copy: copy.to_owned(), lock }))
            }
            DatabaseUrl::Postgres(options) => {
                postgres_programs::check_archive(copy).await?;
                let schema = set_aside(&options, schema_name).await?;
                let replacement = Self(Kind::Postgres { options: options.clone(), schema: schema.clone() });
                match postgres_programs::restore(&options, &schema, copy).await {
                    Ok(()) => Ok(replacement),
                    Err(error) => {
                        replacement.roll_back().await?;
                        Err(error.into())
                    }
                }
            }
        }
    }

    /// Opens the new data as a server does, with migrations.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if a server could not open it.
    pub async fn open(&self, url: &str) -> Result<Storage, OpenError> {
        match &self.0 {
            Kind::Sqlite { copy, .. } => Storage::open(&format!("sqlite://{}", copy.display())).await,
            Kind::Postgres { .. } => Storage::open(url).await,
        }
    }

    /// Completes the replacement. A replaced SQLite file remains under its name with `suffix`, which is returned.
    /// Replaced objects of PostgreSQL are dropped.
    ///
    /// # Errors
    ///
    /// [`CopyError`]. The database is as before.
    pub async fn commit(self, suffix: &str) -> Result<Option<PathBuf>, CopyError> {
        match self.0 {
            Kind::Sqlite { path, copy, lock } => {
                let replaced = swap_files(&path, &copy, suffix).await?;
                drop(lock);
                Ok(replaced)
            }
            Kind::Postgres { options, schema } => {
                let mut connection = connect_postgres(&options).await?;
                if let Err(error) = drop_schema(&mut connection, REPLACED_SCHEMA).await {
                    put_back(&mut connection, &schema).await?;
                    return Err(error);
                }
                connection.close().await?;
                Ok(None)
            }
        }
    }

    /// Returns to what was there before.
    ///
    /// # Errors
    ///
    /// [`CopyError`]. For PostgreSQL, what was there is in the schema `ai_chat_mcp_before_restore` then, and the next
    /// [`begin`](Self::begin) begins with putting it back.
    pub async fn roll_back(self) -> Result<(), CopyError> {
        match self.0 {
            Kind::Sqlite { .. } => Ok(()),
            Kind::Postgres { options, schema } => {
                let mut connection = connect_postgres(&options).await?;
                put_back(&mut connection, &schema).await?;
                Ok(connection.close().await?)
            }
        }
    }
}

/// Locks a SQLite file, so that no server starts on it.
pub(crate) fn lock(path: &Path) -> Result<File, CopyError> {
    lock_beside(path).map_err(|error| match error {
        OpenError::Locked(_) => CopyError::InUse,
        other => other.into(),
    })
}

/// Puts the copy in the place of the SQLite file in one step, so that a crash leaves either of them whole. Keeps the
/// previous file under its name with `suffix`.
async fn swap_files(path: &Path, copy: &Path, suffix: &str) -> Result<Option<PathBuf>, CopyError> {
    let failed = |error| CopyError::File(path.to_owned(), error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let copied_log = with_suffix(copy, "-wal");
    if copied_log.exists() {
        merge_log(copy).await?;
    }
    // Without its log, which does not move with it, the copy would lack the latest changes.
    if copied_log.exists() {
        return Err(CopyError::Damaged("its write-ahead log cannot be merged".to_owned()));
    }
    File::open(copy).and_then(|file| file.sync_all()).map_err(failed)?;
    if !path.exists() {
        fs::rename(copy, path).and_then(|()| sync_folder(folder)).map_err(failed)?;
        return Ok(None);
    }
    // If the file is damaged, its log is kept beside it.
    let _is_merged = merge_log(path).await.is_ok();
    let replaced = with_suffix(path, suffix);
    let logs = (with_suffix(path, "-wal"), with_suffix(&replaced, "-wal"));
    let swap = || {
        // A second name for the same file costs no space. Not all file systems can do that.
        fs::hard_link(path, &replaced).or_else(|_| fs::copy(path, &replaced).map(|_| ()))?;
        // A log beside the new file would be taken for its own.
        move_if_exists(&logs.0, &logs.1)?;
        remove_if_exists(&with_suffix(path, "-shm"))?;
        fs::rename(copy, path)
    };
    if let Err(error) = swap() {
        move_if_exists(&logs.1, &logs.0).and_then(|()| remove_if_exists(&replaced)).map_err(failed)?;
        return Err(failed(error));
    }
    sync_folder(folder).map_err(failed)?;
    Ok(Some(replaced))
}

/// Moves the write-ahead log of a SQLite file into the file and removes it.
async fn merge_log(path: &Path) -> Result<(), CopyError> {
    let mut connection = connect_sqlite(path).await?;
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
    Ok(connection.close().await?)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn move_if_exists(from: &Path, to: &Path) -> io::Result<()> {
    ignore_missing(fs::rename(from, to))
}

fn remove_if_exists(path: &Path) -> io::Result<()> {
    ignore_missing(fs::remove_file(path))
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Makes renames in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Checks that no server is connected to PostgreSQL.
pub(crate) async fn refuse_servers(connection: &mut PgConnection) -> Result<(), CopyError> {
    let servers: i64 = sqlx::query_scalar(COUNT_SERVERS).bind(APPLICATION_NAME).fetch_one(connection).await?;
    if servers == 0 { Ok(()) } else { Err(CopyError::InUse) }
}

/// Moves the objects of the current schema to [`REPLACED_SCHEMA`], after putting those back that an interrupted call
/// has left there. Returns the name of the current schema.
async fn set_aside(options: &PgConnectOptions, copied: Option<&str>) -> Result<String, CopyError> {
    let mut connection = connect_postgres(options).await?;
    refuse_servers(&mut connection).await?;
    let current = current_schema(&mut connection).await?;
    if let Some(copied) = copied.filter(|copied| *copied != current) {
        return Err(CopyError::OtherSchema { copied: copied.to_owned(), current });
    }
    let is_interrupted: bool =
        sqlx::query_scalar(SCHEMA_EXISTS).bind(REPLACED_SCHEMA).fetch_one(&mut connection).await?;
    if is_interrupted {
        put_back(&mut connection, &current).await?;
    }
    let mut transaction = connection.begin().await?;
    execute(&mut transaction, &format!("CREATE SCHEMA {REPLACED_SCHEMA}")).await?;
    execute(&mut transaction, &move_objects(&current, REPLACED_SCHEMA)).await?;
    transaction.commit().await?;
    connection.close().await?;
    Ok(current)
}

/// Drops the objects of a schema and moves back those in [`REPLACED_SCHEMA`], in one transaction.
async fn put_back(connection: &mut PgConnection, schema: &str) -> Result<(), CopyError> {
    let mut transaction = connection.begin().await?;
    execute(&mut transaction, &format!("CREATE SCHEMA {REJECTED_SCHEMA}")).await?;
    execute(&mut transaction, &move_objects(schema, REJECTED_SCHEMA)).await?;
    execute(&mut transaction, &move_objects(REPLACED_SCHEMA, schema)).await?;
    drop_schema(&mut transaction, REJECTED_SCHEMA).await?;
    drop_schema(&mut transaction, REPLACED_SCHEMA).await?;
    Ok(transaction.commit().await?)
}

async fn drop_schema(connection: &mut PgConnection, schema: &str) -> Result<(), CopyError> {
    execute(connection, &format!("DROP SCHEMA {schema} CASCADE")).await
}

async fn execute(connection: &mut PgConnection, statement: &str) -> Result<(), CopyError> {
    // Constants and names, which are quoted.
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(connection).await?;
    Ok(())
}

/// Returns the statement that moves all tables, views, sequences and functions from one schema to another, with what
/// belongs to them. The schema itself stays, because its owner may be another role; so do objects of extensions.
fn move_objects(from: &str, to: &str) -> String {
    let (from, to) = (from.replace('\'', "''"), to.replace('\'', "''"));
    format!(
        "DO $move$ DECLARE one text; BEGIN
        FOR one IN SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE n.nspname = '{from}' AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
            AND (d.deptype = 'e' OR c.relkind = 'S' AND d.deptype IN ('a', 'i')))
        LOOP EXECUTE format('ALTER TABLE %s SET SCHEMA %I', one, '{to}'); END LOOP;
        FOR one IN SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
          WHERE n.nspname = '{from}' AND NOT EXISTS (SELECT FROM pg_depend d
            WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
        LOOP EXECUTE format('ALTER ROUTINE %s SET SCHEMA %I', one, '{to}'); END LOOP;
        END $move$"
    )
}
