//! Tests of opening a database: requirements, error messages, and that a rejected database stays unchanged.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use store::{OpenError, Store};
use tempfile::TempDir;

fn url(path: &Path) -> String {
    format!("sqlite://{}", path.display())
}

async fn plain(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
}

/// Creates a database of this version and closes it.
async fn made(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("chat.db");
    Store::open(&url(&path)).await.unwrap().close().await;
    path
}

async fn refusal(url: &str) -> OpenError {
    Store::open(url).await.expect_err("it must be refused")
}

#[tokio::test]
async fn a_missing_file_is_made_with_its_folder_and_opens_again() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("new/folder/chat.db");
    for _ in 0..2 {
        let store = Store::open(&url(&path)).await.unwrap();
        store.ping().await.unwrap();
        store.close().await;
        drop(store);
    }
}

#[tokio::test]
async fn a_url_that_cannot_be_read_is_said_without_its_password() {
    assert_eq!(
        refusal("mysql://root@host/db").await.to_string(),
        "DATABASE_URL must begin with sqlite:// or postgres://, not \"mysql\""
    );
    let words = refusal("postgres://user:hunter2@:not-a-port/db").await.to_string();
    assert!(!words.contains("hunter2"), "{words}");
    // No server listens on port 1.
    let words = refusal("postgres://user:hunter2@127.0.0.1:1/db").await.to_string();
    assert!(!words.contains("hunter2") && words.contains("refused"), "{words}");
    assert!(matches!(refusal("sqlite://").await, OpenError::BadUrl(_)));
}

#[tokio::test]
async fn a_file_that_another_process_owns_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("chat.db");
    let owner = Store::open(&url(&path)).await.unwrap();
    assert!(matches!(refusal(&url(&path)).await, OpenError::Locked(_)));
    owner.ping().await.unwrap();
}

#[tokio::test]
async fn a_file_that_another_program_writes_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = made(&folder).await;
    let mut other = plain(&path).await;
    let writing = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
    assert!(matches!(refusal(&url(&path)).await, OpenError::Locked(_)));
    writing.rollback().await.unwrap();
    drop(other);
    Store::open(&url(&path)).await.unwrap();
}

#[tokio::test]
async fn what_is_not_a_database_is_refused_and_kept() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("letter.db");
    let letter = "Dear reader, this is a letter and not a database. ".repeat(40);
    std::fs::write(&path, &letter).unwrap();
    assert!(matches!(refusal(&url(&path)).await, OpenError::File { .. }));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), letter);
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_as_it_is() {
    let folder = TempDir::new().unwrap();
    let path = made(&folder).await;
    let mut later = plain(&path).await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'of tomorrow', 1, x'00', 0)",
    )
    .execute(&mut later)
    .await
    .unwrap();
    later.close().await.unwrap();
    let before = std::fs::read(&path).unwrap();
    let refused = refusal(&url(&path)).await;
    assert!(matches!(refused, OpenError::Newer { found: 9999, known } if known >= 1), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn before_a_migration_the_file_is_copied_aside() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("chat.db");
    // A database of an older version from which there is no migration.
    let mut older = plain(&path).await;
    for statement in [
        "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL,
           installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, checksum BLOB NOT NULL,
           execution_time BIGINT NOT NULL)",
        "INSERT INTO _sqlx_migrations VALUES (0, 'before the first', CURRENT_TIMESTAMP, 1, x'00', 0)",
        "CREATE TABLE precious (word TEXT)",
        "INSERT INTO precious VALUES ('kept')",
    ] {
        sqlx::query(statement).execute(&mut older).await.unwrap();
    }
    older.close().await.unwrap();
    assert!(matches!(refusal(&url(&path)).await, OpenError::Migration(_)));
    let mut copy = plain(&folder.path().join("chat.db.before-0001")).await;
    let word: (String,) = sqlx::query_as("SELECT word FROM precious").fetch_one(&mut copy).await.unwrap();
    assert_eq!(word.0, "kept");
}
