//! New databases of both kinds, for tests that prepare one without the migrations and checks of `Storage::open`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, SqliteConnection};
use tempfile::TempDir;

/// All rows of a database by their table, each with the values of its columns. They are in a fixed order.
pub type TableRows = BTreeMap<String, Vec<Map<String, Value>>>;

/// Tables of SQLite whose content is that of the schema. Those of the full-text index cannot be read.
const SQLITE_TABLES: &str = "SELECT name FROM sqlite_master WHERE type = 'table'
    AND name NOT LIKE 'search_words%' AND name NOT LIKE 'sqlite%' AND name <> '_sqlx_migrations'";

const POSTGRES_TABLES: &str = "SELECT tablename::text FROM pg_tables
    WHERE schemaname = 'public' AND tablename <> '_sqlx_migrations'";

/// A new and empty database. That of SQLite is deleted when it is dropped.
pub enum TestDatabase {
    /// A file in a folder of its own.
    Sqlite(TempDir),
    /// A database of the server that `TEST_POSTGRES_URL` names.
    Postgres {
        /// URL of the server, with a database that is not used.
        server: String,
        /// Name of the database.
        name: String,
    },
}

impl TestDatabase {
    /// Creates a folder for a database of SQLite.
    pub fn sqlite() -> Self {
        Self::Sqlite(TempDir::new().unwrap())
    }

    /// Creates a database of PostgreSQL, if there is a server for tests.
    pub async fn postgres() -> Option<Self> {
        let server = std::env::var_os("TEST_POSTGRES_URL")?.into_string().unwrap();
        let name = format!("storage_{}", domain::ids::fresh().simple());
        execute_on_postgres(&server, &format!("CREATE DATABASE {name}")).await;
        Some(Self::Postgres { server, name })
    }

    /// Returns the URL for `Storage::open`.
    pub fn url(&self) -> String {
        match self {
            Self::Sqlite(folder) => format!("sqlite://{}", folder.path().join("chat.db").display()),
            Self::Postgres { server, name } => format!("{}/{name}", server.rsplit_once('/').unwrap().0),
        }
    }

    /// Applies the migrations up to a version.
    pub async fn migrate_to(&self, version: i64) {
        match self {
            Self::Sqlite(folder) => {
                let mut connection = connect_to_sqlite(folder).await;
                sqlx::migrate!("migrations/sqlite").run_to(version, &mut connection).await.unwrap();
                connection.close().await.unwrap();
            }
            Self::Postgres { .. } => {
                let mut connection = PgConnection::connect(&self.url()).await.unwrap();
                sqlx::migrate!("migrations/postgres").run_to(version, &mut connection).await.unwrap();
                connection.close().await.unwrap();
            }
        }
    }

    /// Executes statements that return no rows.
    pub async fn execute(&self, sql: &str) {
        match self {
            Self::Sqlite(folder) => {
                let mut connection = connect_to_sqlite(folder).await;
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
                connection.close().await.unwrap();
            }
            Self::Postgres { .. } => execute_on_postgres(&self.url(), sql).await,
        }
    }

    /// Reads all rows of all tables.
    pub async fn read_tables(&self) -> TableRows {
        let mut tables = match self {
            Self::Sqlite(folder) => read_sqlite_tables(folder).await,
            Self::Postgres { .. } => read_postgres_tables(&self.url()).await,
        };
        for rows in tables.values_mut() {
            sort_rows(rows);
        }
        tables
    }

    /// Deletes the database.
    pub async fn delete(self) {
        if let Self::Postgres { server, name } = self {
            execute_on_postgres(&server, &format!("DROP DATABASE {name}")).await;
        }
    }
}

/// Sorts rows by their values, because tables have no order.
pub fn sort_rows(rows: &mut [Map<String, Value>]) {
    rows.sort_by_cached_key(|row| row.values().map(Value::to_string).collect::<Vec<_>>());
}

async fn connect_to_sqlite(folder: &TempDir) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(folder.path().join("chat.db")).create_if_missing(true);
    options.foreign_keys(true).connect().await.unwrap()
}

async fn execute_on_postgres(url: &str, sql: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn read_sqlite_tables(folder: &TempDir) -> TableRows {
    let mut connection = connect_to_sqlite(folder).await;
    let names: Vec<String> = sqlx::query_scalar(SQLITE_TABLES).fetch_all(&mut connection).await.unwrap();
    let mut tables = TableRows::new();
    for name in names {
        let columns = format!("SELECT name FROM pragma_table_info('{name}')");
        let columns: Vec<String> = sqlx::query_scalar(AssertSqlSafe(columns)).fetch_all(&mut connection).await.unwrap();
        // `quote` shows bytes as hexadecimal digits; JSON has none.
        let column = |column: &String| format!("'{column}', nullif(quote(\"{column}\"), 'NULL')");
        let columns: Vec<String> = columns.iter().map(column).collect();
        let rows = format!("SELECT json_object({}) FROM \"{name}\"", columns.join(", "));
        let rows = sqlx::query_scalar(AssertSqlSafe(rows)).fetch_all(&mut connection).await.unwrap();
        tables.insert(name, parse_rows(rows));
    }
    connection.close().await.unwrap();
    tables
}

async fn read_postgres_tables(url: &str) -> TableRows {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let names: Vec<String> = sqlx::query_scalar(POSTGRES_TABLES).fetch_all(&mut connection).await.unwrap();
    let mut tables = TableRows::new();
    for name in names {
        let rows = format!("SELECT row_to_json(r)::text FROM \"{name}\" r");
        let rows = sqlx::query_scalar(AssertSqlSafe(rows)).fetch_all(&mut connection).await.unwrap();
        tables.insert(name, parse_rows(rows));
    }
    connection.close().await.unwrap();
    tables
}

fn parse_rows(rows: Vec<String>) -> Vec<Map<String, Value>> {
    rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect()
}
