//! Schema migrations: forward only, each in its own transaction.
//!
//! A migration is numbered `SSNN`. Those of one series `SS` belong to one minor version of the program and only add to the
//! schema, so that every program of that version works with a database at any migration of the series.

use std::path::Path;
use std::sync::LazyLock;

use sqlx::migrate::{Migrate, Migrator};
use sqlx::{AssertSqlSafe, PgPool, SqlitePool};

use crate::OpenError;
use crate::backup::DatabaseKind;

/// Version of the initial migration. Databases at an earlier one come from before the first release and cannot be
/// migrated.
const INITIAL_VERSION: i64 = 100;

/// Number of versions in a series of migrations.
const SERIES: i64 = 100;

static SQLITE: LazyLock<Migrator> = LazyLock::new(|| accepting_newer(sqlx::migrate!("migrations/sqlite")));
static POSTGRES: LazyLock<Migrator> = LazyLock::new(|| accepting_newer(sqlx::migrate!("migrations/postgres")));

/// Returns a migrator that does not reject migrations that it does not know. [`check_version`] decides about them.
fn accepting_newer(mut migrator: Migrator) -> Migrator {
    migrator.set_ignore_missing(true);
    migrator
}

pub(crate) async fn postgres(pool: &PgPool) -> Result<(), OpenError> {
    let mut connection = pool.acquire().await.map_err(|error| OpenError::Unreachable(error.to_string()))?;
    let applied = applied(&mut *connection).await?;
    check_version(&POSTGRES, &applied)?;
    // Nodes that start together wait for each other: the migrator takes an advisory lock.
    POSTGRES.run(pool).await.map_err(|error| OpenError::Migration(error.to_string()))
}

pub(crate) async fn sqlite(pool: &SqlitePool, path: &Path) -> Result<(), OpenError> {
    let mut connection =
        pool.acquire().await.map_err(|error| OpenError::File { path: path.to_owned(), reason: error.to_string() })?;
    let applied = applied(&mut *connection).await?;
    // The pool has a single connection, which the migrator needs next.
    drop(connection);
    check_version(&SQLITE, &applied)?;
    let newest = applied.iter().max().copied();
    if let Some(newest) = newest.filter(|newest| *newest < known(&SQLITE)) {
        snapshot(pool, path, newest).await?;
    }
    SQLITE.run(pool).await.map_err(|error| OpenError::Migration(error.to_string()))
}

/// Returns the newest applied migration, `None` for a new database. Changes nothing.
pub(crate) async fn newest_applied<C: Migrate>(connection: &mut C) -> Result<Option<i64>, OpenError> {
    Ok(applied(connection).await?.into_iter().max())
}

/// Returns the newest migration of this program.
pub(crate) fn known_version(kind: DatabaseKind) -> i64 {
    match kind {
        DatabaseKind::Sqlite => known(&SQLITE),
        DatabaseKind::Postgres => known(&POSTGRES),
    }
}

/// Returns whether this program can use a schema at this version, after migrating it if it is older.
pub(crate) fn can_use(kind: DatabaseKind, version: i64) -> bool {
    version >= INITIAL_VERSION && version / SERIES <= known_version(kind) / SERIES
}

/// Returns the versions of the applied migrations, none for a new database. Changes nothing.
async fn applied<C: Migrate>(connection: &mut C) -> Result<Vec<i64>, OpenError> {
    match connection.list_applied_migrations("_sqlx_migrations").await {
        Ok(applied) => Ok(applied.iter().map(|migration| migration.version).collect()),
        // sqlx creates the table with the first migration, so that a new database has none.
        Err(error) if error.to_string().contains("_sqlx_migrations") => Ok(Vec::new()),
        Err(error) => Err(OpenError::Migration(error.to_string())),
    }
}

fn known(migrator: &Migrator) -> i64 {
    migrator.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// Rejects a database whose schema this program cannot use: of a newer series, or from before the first release. Changes
/// nothing.
fn check_version(migrator: &Migrator, applied: &[i64]) -> Result<(), OpenError> {
    let known = known(migrator);
    match applied.iter().max() {
        Some(&found) if found / SERIES > known / SERIES => Err(OpenError::Newer { found, known }),
        Some(&found) if found < INITIAL_VERSION => Err(OpenError::Earlier { found }),
        _ => Ok(()),
    }
}

/// Copies the database to `<database>.before-<next version>`, once per version. `VACUUM INTO` writes a consistent copy
/// while the database is open.
async fn snapshot(pool: &SqlitePool, path: &Path, newest: i64) -> Result<(), OpenError> {
    let copy = format!("{}.before-{:04}", path.display(), newest + 1);
    if Path::new(&copy).exists() {
        return Ok(());
    }
    // The path comes from the operator. Quotes in it are doubled, so that it stays one literal.
    let statement = format!("VACUUM INTO '{}'", copy.replace('\'', "''"));
    sqlx::query(AssertSqlSafe(statement))
        .execute(pool)
        .await
        .map_err(|error| OpenError::Migration(format!("no snapshot could be written to {copy}: {error}")))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::SqliteConnectOptions;

    use super::*;

    #[tokio::test]
    async fn copies_database_before_migration() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("it's chat.db");
        let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(&path).create_if_missing(true))
            .await
            .unwrap();
        sqlx::query("CREATE TABLE precious (word TEXT)").execute(&pool).await.unwrap();
        sqlx::query("INSERT INTO precious VALUES ('kept')").execute(&pool).await.unwrap();
        snapshot(&pool, &path, 100).await.unwrap();
        let copy = format!("{}.before-0101", path.display());
        let copy = SqlitePool::connect_with(SqliteConnectOptions::new().filename(copy)).await.unwrap();
        let (word,): (String,) = sqlx::query_as("SELECT word FROM precious").fetch_one(&copy).await.unwrap();
        assert_eq!(word, "kept");
    }
}
