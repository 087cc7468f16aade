//! Rows that this version cannot read, on both databases.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;

use storage::inspect::inspect;
use storage::unreadable::{TextFormats, UnreadableRows};
use uuid::Uuid;

use crate::databases::TestDatabase;
use crate::migrations::insert_fixtures;

/// Columns that hold the name of a kind, or a text of another format than JSON, by their table.
const OTHER_COLUMNS: [(&str, &str); 12] = [
    ("auth_codes", "challenge_method"),
    ("interactions", "kind"),
    ("interactions", "response"),
    ("model_providers", "kind"),
    ("object_storage", "location"),
    ("one_time_tokens", "challenge_method"),
    ("one_time_tokens", "kind"),
    ("tool_audit", "allowed_by"),
    ("tool_audit", "outcome"),
    ("tool_permissions", "permission"),
    ("tool_tasks", "allowed_by"),
    ("turn_journal", "payload"),
];

/// Formats without damage, which begins with an exclamation mark.
const FORMATS: TextFormats =
    TextFormats { is_journal_entry: |text| !text.starts_with('!'), is_provider_kind: |text| !text.starts_with('!') };

/// Returns the columns that hold JSON according to the comments in the migrations, by their table.
fn json_columns() -> Vec<(String, String)> {
    let mut columns = Vec::new();
    for file in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite")).unwrap() {
        let migration = fs::read_to_string(file.unwrap().path()).unwrap();
        let mut table = "";
        for line in migration.lines() {
            let line = line.trim();
            let addition = line.strip_prefix("ALTER TABLE ").and_then(|line| line.split_once(" ADD COLUMN "));
            let column = match (addition, line.strip_prefix("CREATE TABLE ")) {
                (Some((altered, column)), _) => {
                    table = altered;
                    column
                }
                (None, Some(created)) => {
                    table = created.trim_end_matches(" (");
                    continue;
                }
                (None, None) => line,
            };
            let mut words = column.split_whitespace();
            let (name, kind) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            if kind.trim_end_matches(',') == "TEXT" && column.contains("-- JSON") {
                columns.push((table.to_owned(), name.to_owned()));
            }
        }
    }
    assert!(columns.len() >= 18, "{columns:?}");
    columns
}

async fn list_unreadable(database: &TestDatabase) -> Vec<UnreadableRows> {
    let inspection = inspect(&database.url()).await.unwrap();
    let list = inspection.storage.list_unreadable_rows(FORMATS).await.unwrap();
    inspection.storage.close().await;
    list
}

async fn check(database: &TestDatabase) {
    insert_fixtures(database).await;
    storage::Storage::open(&database.url()).await.unwrap().close().await;
    assert_eq!(list_unreadable(database).await, []);

    let others = OTHER_COLUMNS.map(|(table, column)| (table.to_owned(), column.to_owned()));
    for (table, column) in json_columns().into_iter().chain(others) {
        database.execute(&format!("UPDATE {table} SET {column} = '!' || {column}")).await;
        let list = list_unreadable(database).await;
        let [rows] = list.as_slice() else { panic!("{table}.{column}: {list:?}") };
        assert!(rows.table == table && rows.count > 0, "{table}.{column}: {rows:?}");
        database.execute(&format!("UPDATE {table} SET {column} = substr({column}, 2)")).await;
    }
    for table in ["passkeys", "factor_credentials"] {
        database.execute(&format!("UPDATE {table} SET sign_count = -1 - sign_count")).await;
        assert_eq!(list_unreadable(database).await.first().unwrap().table, table);
        database.execute(&format!("UPDATE {table} SET sign_count = -1 - sign_count")).await;
    }
    assert_eq!(list_unreadable(database).await, []);

    // Several tables, in some rows.
    database.execute("UPDATE users SET app_metadata = '[]'").await;
    database.execute("UPDATE turns SET tools = '' WHERE status = 'running'").await;
    let list = list_unreadable(database).await;
    let [users, turns] = list.as_slice() else { panic!("{list:?}") };
    assert_eq!((users.table, users.key, users.first), ("users", "id", Some(Uuid::from_u128(0x1))));
    assert!(users.count > 1, "{users:?}");
    assert_eq!((turns.table, turns.key, turns.first), ("turns", "id", Some(Uuid::from_u128(0xf))));
    assert_eq!(turns.count, 2);
}

#[tokio::test]
async fn lists_unreadable_rows_of_sqlite() {
    Box::pin(check(&TestDatabase::sqlite())).await;
}

#[tokio::test]
async fn lists_unreadable_rows_of_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    Box::pin(check(&database)).await;
    database.delete().await;
}
