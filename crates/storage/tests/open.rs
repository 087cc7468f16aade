//! Tests of opening a database: requirements, error messages, and that a rejected database stays unchanged.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use domain::{Timestamp, UserId};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use storage::users::User;
use storage::{OpenError, Storage};
use tempfile::TempDir;

use crate::databases::TestDatabase;

fn url(path: &Path) -> String {
    format!("sqlite://{}", path.display())
}

async fn plain(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
}

/// Creates a database of this version and closes it.
async fn made(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("chat.db");
    Storage::open(&url(&path)).await.unwrap().close().await;
    path
}

async fn refusal(url: &str) -> OpenError {
    Storage::open(url).await.expect_err("it must be refused")
}

#[tokio::test]
async fn a_missing_file_is_made_with_its_folder_and_opens_again() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("new/folder/chat.db");
    for _ in 0..2 {
        let storage = Storage::open(&url(&path)).await.unwrap();
        storage.ping().await.unwrap();
        storage.close().await;
        drop(storage);
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
    let owner = Storage::open(&url(&path)).await.unwrap();
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
    Storage::open(&url(&path)).await.unwrap();
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

/// What a later program of the same minor version does to a schema.
const ADDITIONS: [&str; 3] = [
    "ALTER TABLE ai_chat_sessions ADD COLUMN of_tomorrow TEXT",
    "CREATE TABLE things_of_tomorrow (id BIGINT PRIMARY KEY)",
    "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
     VALUES (199, 'of tomorrow', TRUE, '', 0)",
];

#[tokio::test]
async fn a_newer_schema_of_the_same_series_is_used_and_kept() {
    let folder = TempDir::new().unwrap();
    let path = made(&folder).await;
    let mut later = plain(&path).await;
    for addition in ADDITIONS {
        sqlx::query(addition).execute(&mut later).await.unwrap();
    }
    later.close().await.unwrap();
    let storage = Storage::open(&url(&path)).await.unwrap();
    let user = User::new(UserId::fresh(), Timestamp(1));
    storage.users().insert(&user).await.unwrap();
    storage.close().await;
    let mut later = plain(&path).await;
    let newest: i64 =
        sqlx::query_scalar("SELECT MAX(version) FROM _sqlx_migrations").fetch_one(&mut later).await.unwrap();
    assert_eq!(newest, 199);
}

#[tokio::test]
async fn rejects_schema_from_before_first_release() {
    let folder = TempDir::new().unwrap();
    let path = made(&folder).await;
    let mut earlier = plain(&path).await;
    sqlx::query("DELETE FROM _sqlx_migrations WHERE version > $1")
        .bind(INITIAL_VERSION)
        .execute(&mut earlier)
        .await
        .unwrap();
    sqlx::query("UPDATE _sqlx_migrations SET version = 38").execute(&mut earlier).await.unwrap();
    earlier.close().await.unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = refusal(&url(&path)).await;
    assert!(matches!(error, OpenError::Earlier { found: 38 }), "{error}");
    let message = error.to_string();
    assert!(message.contains("export") && message.contains("import"), "{message}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// Version of the initial migration.
const INITIAL_VERSION: i64 = 100;

#[tokio::test]
async fn uses_newer_schema_of_same_series_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    Storage::open(&database.url()).await.unwrap().close().await;
    for addition in ADDITIONS {
        database.execute(addition).await;
    }
    let storage = Storage::open(&database.url()).await.unwrap();
    let user = User::new(UserId::fresh(), Timestamp(1));
    storage.users().insert(&user).await.unwrap();
    storage.close().await;
    database.delete().await;
}
