//! Tests of writes that name rows, chats and ids of other users: they have no effect, reveal nothing, and give the same
//! result on both databases.

use domain::UserId;
use postgrest::ast::{ColumnCondition, ComparisonOperator, OnConflict, RowFilter, RowQuery, SelectList, WriteOptions};
use postgrest::{PostgrestError, RestTable, WriteContext};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, NOW, all, body, eq, fixtures, test, writer};

/// Text that only the other user ever wrote.
const SECRET: &str = "hush";

/// The same two users in every database, each with a chat, two messages and two connections.
struct Street {
    fixtures: Vec<Fixture>,
    me: UserId,
    other: UserId,
    mine: Vec<Uuid>,
    theirs: Vec<Uuid>,
}

impl Street {
    async fn build() -> Self {
        let (me, other) = (UserId::fresh(), UserId::fresh());
        let fresh = || (0..5).map(|_| domain::ids::fresh()).collect::<Vec<_>>();
        let street = Self { fixtures: fixtures().await, me, other, mine: fresh(), theirs: fresh() };
        for fixture in &street.fixtures {
            for (owner, ids, word) in [(me, &street.mine, "mine"), (other, &street.theirs, SECRET)] {
                fixture.settle(owner).await;
                fixture.put(owner, RestTable::Sessions, json!({ "id": ids[0], "title": word })).await;
                let message = |id: Uuid| json!({ "id": id, "session_id": ids[0], "role": "user", "content": word });
                fixture.put(owner, RestTable::Messages, json!([message(ids[1]), message(ids[2])])).await;
                let server = |id: Uuid, n: usize| json!({ "id": id, "name": format!("{word}{n}"), "url": "http://a" });
                fixture.put(owner, RestTable::McpServers, json!([server(ids[3], 3), server(ids[4], 4)])).await;
            }
        }
        street
    }

    /// Returns ids that a request may name: the caller's own, the other user's, and unknown ones.
    fn names(&self) -> Vec<String> {
        let people = [self.me.0, self.other.0];
        let unknown = [Uuid::from_u128(7), Uuid::nil()];
        let ids = self.mine.iter().chain(&self.theirs).chain(&people).chain(&unknown);
        ids.map(Uuid::to_string).chain(["x".to_owned()]).collect()
    }
}

/// A write with one of the three verbs.
#[derive(Debug, Clone)]
enum Attempt {
    Insert(RestTable, Value, OnConflict),
    Update(RestTable, Value, Vec<RowFilter>),
    Delete(RestTable, Vec<RowFilter>),
}

/// Generates a row with some of its columns, each with a value that may belong to another user.
fn row(table: RestTable, names: Vec<String>) -> impl Strategy<Value = Value> {
    let id = prop::sample::select(names.clone());
    let of = prop_oneof![2 => prop::sample::select(names), 1 => Just(String::new())];
    let word = prop::sample::select(vec!["mine3", "mine4", "hush3", "hush4", "new", ""]);
    (id, of, word, any::<[bool; 3]>()).prop_map(move |(id, of, word, given)| {
        let mut row = match table {
            RestTable::Sessions => json!({ "title": word }),
            RestTable::Messages => json!({ "role": "user", "content": word }),
            RestTable::McpServers => json!({ "name": word, "url": "http://b" }),
        };
        // Without an id, each database would generate a different one.
        row["id"] = json!(id);
        if given[0] {
            let column = if table == RestTable::Messages { "session_id" } else { "user_id" };
            row[column] = if of.is_empty() { Value::Null } else { json!(of) };
        }
        row
    })
}

fn filters(names: Vec<String>) -> impl Strategy<Value = Vec<RowFilter>> {
    let id = prop::sample::select(names.clone()).prop_map(|id| eq("id", id));
    let not = prop::sample::select(names.clone()).prop_map(|id| {
        RowFilter::Not(Box::new(test("id", ColumnCondition::Compare(ComparisonOperator::Distinct, id))))
    });
    let among =
        prop::collection::vec(prop::sample::select(names), 0..4).prop_map(|ids| test("id", ColumnCondition::In(ids)));
    let late = Just(test("created_at", ColumnCondition::Compare(ComparisonOperator::Greater, "2000-01-01".into())));
    prop::collection::vec(prop_oneof![id, not, among, late], 1..3)
}

fn attempt(names: Vec<String>) -> impl Strategy<Value = Attempt> {
    let key = prop::sample::select(vec![vec![], vec!["id"], vec!["user_id", "name"], vec!["name"]]);
    let key = key.prop_map(|key| key.into_iter().map(str::to_owned).collect::<Vec<String>>());
    let conflict = (key, 0..3u8).prop_map(|(key, kind)| match kind {
        0 => OnConflict::Fail,
        1 => OnConflict::Ignore(key),
        _ => OnConflict::Merge(key),
    });
    prop::sample::select(RestTable::ALL.to_vec()).prop_flat_map(move |table| {
        let rows = || prop::collection::vec(row(table, names.clone()), 1..3);
        prop_oneof![
            3 => (rows(), conflict.clone()).prop_map(move |(rows, conflict)| {
                let given = |row: &Value| row.as_object().unwrap().len();
                let rows = if rows.iter().all(|row| given(row) == given(&rows[0])) { rows } else { vec![rows[0].clone()] };
                Attempt::Insert(table, json!(rows), conflict)
            }),
            2 => (row(table, names.clone()), filters(names.clone()))
                .prop_map(move |(row, filters)| Attempt::Update(table, row, filters)),
            1 => filters(names.clone()).prop_map(move |filters| Attempt::Delete(table, filters)),
        ]
    })
}

/// Carries out an attempt and returns its result as text: the rows, or the complete error.
async fn carry_out(fixture: &Fixture, by: UserId, attempt: &Attempt) -> Result<String, TestCaseError> {
    let storage = &fixture.storage;
    let by_me: WriteContext<'_> = writer(by);
    let answer = match attempt {
        Attempt::Insert(table, rows, conflict) => {
            postgrest::insert_rows(storage, by_me, *table, &body(rows.clone()), conflict, &all()).await
        }
        Attempt::Update(table, values, filters) => {
            postgrest::update_rows(storage, by_me, *table, &body(values.clone()), filters, &all()).await
        }
        // The attempt is rolled back, so that there is always something to reach.
        Attempt::Delete(table, filters) => {
            let undone =
                WriteOptions { select: Some(SelectList::default()), max_affected: Some(0), ..WriteOptions::default() };
            postgrest::delete_rows(storage, by, NOW, *table, filters, &undone, &[]).await
        }
    };
    match answer {
        Ok(written) => Ok(format!("{} {}", written.rows.join("\n"), written.inserted)),
        Err(PostgrestError::Rejected(error)) => Ok(format!("{error:?}")),
        Err(other) => Err(TestCaseError::fail(format!("not a refusal: {other}"))),
    }
}

impl Street {
    async fn endure(&self, attempt: &Attempt) -> Result<(), TestCaseError> {
        let mut ends = Vec::new();
        for fixture in &self.fixtures {
            let before = fixture.everything(self.other).await;
            let answer = carry_out(fixture, self.me, attempt).await?;
            prop_assert_eq!(fixture.everything(self.other).await, before, "{}", &answer);
            let whose = format!("\"user_id\":\"{}\"", self.other);
            let told = answer.contains(&whose) || answer.contains(&format!("\"{SECRET}\""));
            prop_assert!(!told, "{answer}");
            let everything = fixture.everything(self.me).await;
            for (table, rows) in [(RestTable::Sessions, 1), (RestTable::Messages, 2), (RestTable::McpServers, 2)] {
                let count = RowQuery { count: true, limit: Some(0), ..RowQuery::default() };
                let theirs = fixture.read(self.other, table, &count).await.unwrap().total;
                prop_assert_eq!(theirs, Some(rows));
                let nobody = postgrest::read_rows(&fixture.storage, None, table, &count).await.unwrap();
                prop_assert_eq!((nobody.rows.len(), nobody.total), (0, Some(0)));
            }
            ends.push((answer, everything));
        }
        prop_assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "the databases differ: {ends:#?}");
        Ok(())
    }
}

#[test]
fn no_write_reaches_or_tells_of_a_row_of_somebody_else() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let street = runtime.block_on(Street::build());
    // An attempt changes the state for the next one, so that a shrunk sequence would not show the same.
    let config = Config { cases: 256, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let tested =
        TestRunner::new(config).run(&attempt(street.names()), |attempt| runtime.block_on(street.endure(&attempt)));
    for fixture in street.fixtures {
        runtime.block_on(fixture.close());
    }
    tested.unwrap();
}
