//! Databases of earlier versions, with data everywhere: migrated, compared, read and written, on both databases.
//!
//! The rows of a fixture belong to the schema of its version. They are added to those of the fixtures before it, so that each
//! file has rows only for what is new.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod added_rows;
mod initial_rows;
mod new_data;

use domain::{ChatId, ServerId, Timestamp, TurnId, UserId};
use storage::Storage;
use uuid::Uuid;

use crate::databases::{TableRows, TestDatabase, sort_rows};

/// Rows for the schema of a version.
struct Fixture {
    version: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! fixture {
    ($version:literal) => {
        Fixture {
            version: $version,
            sqlite: include_str!(concat!("migrations/fixtures/sqlite/", $version, ".sql")),
            postgres: include_str!(concat!("migrations/fixtures/postgres/", $version, ".sql")),
        }
    };
}

/// The fixtures in the order of their versions.
const FIXTURES: [Fixture; 2] = [fixture!("0100"), fixture!("0134")];

/// Checksums of the migrations that never change again, each with a name such as `sqlite/0100_initial.sql`.
const FROZEN_MIGRATIONS: &str = include_str!("../migrations/SHA256SUMS");

/// The user of the fixture 0100.
const ADA: UserId = UserId(Uuid::from_u128(0x1));
/// Her chat.
const CHAT: ChatId = ChatId(Uuid::from_u128(0xa));
/// Her connection.
const SERVER: ServerId = ServerId(Uuid::from_u128(0x8));
/// Her running turn.
const TURN: TurnId = TurnId(Uuid::from_u128(0xf));

/// The user of the fixture 0134.
const GRACE: UserId = UserId(Uuid::from_u128(0x101));

/// Returns a time of the fixtures, each of which has a number of its own.
fn at(number: i64) -> Timestamp {
    Timestamp(1_795_255_200_000_000 + number)
}

impl Fixture {
    fn version(&self) -> i64 {
        self.version.parse().unwrap()
    }

    async fn insert_into(&self, database: &TestDatabase) {
        database.migrate_to(self.version()).await;
        match database {
            TestDatabase::Sqlite(_) => database.execute(self.sqlite).await,
            TestDatabase::Postgres { .. } => database.execute(self.postgres).await,
        }
    }
}

/// Migrates to the newest fixture, and inserts the rows of all.
pub async fn insert_fixtures(database: &TestDatabase) {
    for fixture in &FIXTURES {
        fixture.insert_into(database).await;
    }
}

#[tokio::test]
async fn opens_sqlite_databases_of_earlier_versions() {
    for newest in 0..FIXTURES.len() {
        let database = TestDatabase::sqlite();
        Box::pin(check_upgrade(&database, &FIXTURES[..=newest])).await;
    }
}

#[tokio::test]
async fn opens_postgres_databases_of_earlier_versions() {
    for newest in 0..FIXTURES.len() {
        let Some(database) = TestDatabase::postgres().await else { return };
        Box::pin(check_upgrade(&database, &FIXTURES[..=newest])).await;
        database.delete().await;
    }
}

#[tokio::test]
async fn has_rows_for_all_frozen_migrations() {
    let names = FROZEN_MIGRATIONS.lines().filter_map(|line| line.split_once("sqlite/"));
    let newest: i64 = names.map(|(_, name)| name[..4].parse().unwrap()).max().unwrap();
    let database = TestDatabase::sqlite();
    insert_fixtures(&database).await;
    database.migrate_to(newest).await;
    assert_is_complete(&database.read_tables().await);
}

/// Checks that a database with the rows of these fixtures can be opened, and that nothing is lost.
async fn check_upgrade(database: &TestDatabase, fixtures: &[Fixture]) {
    for fixture in fixtures {
        fixture.insert_into(database).await;
    }
    let before = database.read_tables().await;
    assert_is_complete(&before);
    Storage::open(&database.url()).await.unwrap().close().await;
    assert_is_kept(&before, &database.read_tables().await);

    let storage = Storage::open(&database.url()).await.unwrap();
    initial_rows::check(&storage).await;
    if fixtures.iter().any(|fixture| fixture.version() == added_rows::VERSION) {
        added_rows::check(&storage).await;
    }
    new_data::check(&storage).await;
    storage.close().await;
}

/// Checks that each table has a row, and each column a value.
fn assert_is_complete(tables: &TableRows) {
    for (table, rows) in tables {
        let first = rows.first().unwrap_or_else(|| panic!("{table} has no row"));
        for column in first.keys() {
            assert!(rows.iter().any(|row| !row[column].is_null()), "{table}.{column} has no value");
        }
    }
}

/// Checks that each table has the same rows as before, apart from columns that were added.
fn assert_is_kept(before: &TableRows, after: &TableRows) {
    for (table, rows) in before {
        let mut kept = after[table].clone();
        for row in &mut kept {
            row.retain(|column, _| rows[0].contains_key(column));
        }
        sort_rows(&mut kept);
        assert_eq!(&kept, rows, "{table}");
    }
}

/// Checks sealed values as they are stored, given by their table, location and bytes.
async fn assert_sealed(storage: &Storage, expected: &[(&str, &str, [u8; 2])]) {
    let values = storage.sealed_values().list().await.unwrap();
    for (table, location, sealed) in expected {
        let found = values.iter().find(|value| value.location == *location);
        let found = found.map(|value| (value.table, value.sealed.as_slice()));
        assert_eq!(found, Some((*table, sealed.as_slice())), "{location}");
    }
}
