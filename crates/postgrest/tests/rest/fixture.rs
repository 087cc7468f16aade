//! Databases of both kinds with users, and short functions for requests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use domain::{Timestamp, UserId};
use postgrest::ast::{
    ColumnCondition, ComparisonOperator, OnConflict, OrderTerm, RowFilter, RowQuery, SelectItem, SelectList, WriteBody,
    WriteOptions,
};
use postgrest::{ConnectionSealer, PostgrestError, RestTable, RowPage, WriteContext, WrittenRows};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use storage::Storage;
use storage::users::User;
use uuid::Uuid;

/// 2026-11-21T10:00:00Z.
pub const NOW: Timestamp = Timestamp(1_795_255_200_000_000);

/// A database for one test.
pub struct Fixture {
    pub storage: Storage,
    folder: Option<PathBuf>,
    database: Option<(String, String)>,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            drop(std::fs::remove_dir_all(folder));
        }
    }
}

/// Creates an empty database of each kind.
pub async fn fixtures() -> Vec<Fixture> {
    let folder = std::env::temp_dir().join(format!("store-rest-{}", domain::ids::fresh()));
    let storage = Storage::open(&format!("sqlite://{}/test.db", folder.display())).await.unwrap();
    let mut fixtures = vec![Fixture { storage, folder: Some(folder), database: None }];
    if let Some(server) = std::env::var_os("TEST_POSTGRES_URL") {
        let server = server.into_string().unwrap();
        let name = format!("rest_{}", domain::ids::fresh().simple());
        run(&server, format!("CREATE DATABASE {name}")).await;
        let mut url = url::Url::parse(&server).unwrap();
        url.set_path(&name);
        let storage = Storage::open(url.as_str()).await.unwrap();
        fixtures.push(Fixture { storage, folder: None, database: Some((server, name)) });
    }
    fixtures
}

async fn run(server: &str, sql: String) {
    let mut connection = PgConnection::connect(server).await.unwrap();
    sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
}

impl Fixture {
    pub async fn close(self) {
        self.storage.close().await;
        if let Some((server, name)) = &self.database {
            run(server, format!("DROP DATABASE {name}")).await;
        }
    }

    pub async fn person(&self) -> UserId {
        let id = UserId::fresh();
        self.settle(id).await;
        id
    }

    /// Creates an account with this id.
    pub async fn settle(&self, id: UserId) {
        let user = User { is_anonymous: true, ..User::new(id, NOW) };
        self.storage.users().insert(&user).await.unwrap();
    }

    pub async fn insert(
        &self,
        owner: UserId,
        table: RestTable,
        rows: Value,
        conflict: OnConflict,
    ) -> Result<WrittenRows, PostgrestError> {
        postgrest::insert_rows(&self.storage, writer(owner), table, &body(rows), &conflict, &all()).await
    }

    /// Inserts rows, which must succeed, and returns their ids.
    pub async fn put(&self, owner: UserId, table: RestTable, rows: Value) -> Vec<Uuid> {
        self.insert(owner, table, rows, OnConflict::Fail).await.unwrap().ids
    }

    pub async fn update(
        &self,
        owner: UserId,
        table: RestTable,
        values: Value,
        filters: &[RowFilter],
    ) -> Result<WrittenRows, PostgrestError> {
        postgrest::update_rows(&self.storage, writer(owner), table, &body(values), filters, &all()).await
    }

    pub async fn read(&self, owner: UserId, table: RestTable, query: &RowQuery) -> Result<RowPage, PostgrestError> {
        postgrest::read_rows(&self.storage, Some(owner), table, query).await
    }

    /// Returns all rows of a user.
    pub async fn everything(&self, owner: UserId) -> Vec<String> {
        let mut rows = Vec::new();
        for table in RestTable::ALL {
            rows.extend(self.read(owner, table, &RowQuery::default()).await.unwrap().rows);
        }
        rows
    }
}

pub fn writer<'a>(owner: UserId) -> WriteContext<'a> {
    WriteContext { owner, now: NOW, sealer: &Unsealed, events: &[], change_events: &[], max_rows: None }
}

/// A sealer that leaves secrets readable, so that tests can search for them.
struct Unsealed;

impl ConnectionSealer for Unsealed {
    fn seal_headers(&self, headers: &BTreeMap<String, String>) -> Option<Vec<u8>> {
        serde_json::to_vec(headers).ok()
    }

    fn seal_url_query(&self, masked: &str, query: &str) -> Option<Vec<u8>> {
        Some(format!("{masked} {query}").into_bytes())
    }
}

pub fn body(rows: Value) -> WriteBody {
    let rows = if rows.is_array() { rows } else { json!([rows]) };
    WriteBody { records: serde_json::from_value(rows).unwrap(), columns: None, missing_is_default: false }
}

pub fn all() -> WriteOptions {
    WriteOptions { select: Some(SelectList::default()), ..WriteOptions::default() }
}

pub fn select(names: &[&str]) -> SelectList {
    SelectList {
        items: names.iter().map(|name| SelectItem::Column { name: (*name).to_owned(), alias: None }).collect(),
    }
}

pub fn test(column: &str, test: ColumnCondition) -> RowFilter {
    RowFilter::Column(column.to_owned(), test)
}

pub fn eq(column: &str, literal: impl ToString) -> RowFilter {
    test(column, ColumnCondition::Compare(ComparisonOperator::Equal, literal.to_string()))
}

pub fn by(column: &str, descending: bool, nulls_first: Option<bool>) -> OrderTerm {
    OrderTerm { column: column.to_owned(), descending, nulls_first }
}

/// Returns the code of an error.
pub fn code<T: std::fmt::Debug>(result: Result<T, PostgrestError>) -> &'static str {
    match result {
        Err(PostgrestError::Rejected(error)) => error.code,
        other => panic!("not a refusal: {other:?}"),
    }
}
