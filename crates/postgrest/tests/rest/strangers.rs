//! Tests that rows of other users do not exist for any request.

use std::collections::HashSet;

use domain::UserId;
use postgrest::ast::{ColumnCondition, ComparisonOperator, IsOperand, OnConflict, RowFilter, RowQuery, WriteOptions};
use postgrest::{ColumnType, RestTable};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, NOW, all, by, code, eq, fixtures, test};

/// Creates a chat with two messages, and a connection, for a user.
async fn furnish(fixture: &Fixture, owner: UserId, words: &[String]) -> Vec<Uuid> {
    let mut ids = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let chat = fixture.put(owner, RestTable::Sessions, json!({ "title": word })).await[0];
        let row = |role: &str| json!({ "session_id": chat, "role": role, "content": word });
        ids.push(chat);
        ids.extend(fixture.put(owner, RestTable::Messages, json!([row("user"), row("assistant")])).await);
        let server = json!({ "name": format!("{word}{index}"), "url": "http://a", "status": word });
        ids.extend(fixture.put(owner, RestTable::McpServers, server).await);
    }
    ids
}

#[tokio::test]
async fn a_row_of_somebody_else_is_absent_for_every_verb() {
    for fixture in fixtures().await {
        let (me, other) = (fixture.person().await, fixture.person().await);
        let theirs = furnish(&fixture, other, &["their".into()]).await;
        let (chat, message, server) = (theirs[0], theirs[1], theirs[3]);
        let mine = furnish(&fixture, me, &["mine".into()]).await;
        let before = fixture.everything(other).await;

        let known = [
            (RestTable::Sessions, chat, json!({ "title": "x" })),
            (RestTable::Messages, message, json!({ "content": "x" })),
            (RestTable::McpServers, server, json!({ "status": "x" })),
        ];
        for (table, id, values) in &known {
            let query = RowQuery { filters: vec![eq("id", id)], count: true, ..RowQuery::default() };
            let page = fixture.read(me, *table, &query).await.unwrap();
            assert_eq!((page.rows.len(), page.total), (0, Some(0)));
            assert!(fixture.update(me, *table, values.clone(), &[eq("id", id)]).await.unwrap().ids.is_empty());
            let deleted =
                postgrest::delete_rows(&fixture.storage, me, NOW, *table, &[eq("id", id)], &all(), &[]).await.unwrap();
            assert!(deleted.ids.is_empty() && deleted.rows.is_empty());
        }

        let rows = [
            (RestTable::Sessions, json!({ "id": chat, "title": "x" })),
            (RestTable::Messages, json!({ "id": message, "session_id": mine[0], "role": "user", "content": "x" })),
            (RestTable::McpServers, json!({ "id": server, "name": "x", "url": "http://x" })),
        ];
        for (table, row) in &rows {
            let key = vec!["id".to_owned()];
            let merged = fixture.insert(me, *table, row.clone(), OnConflict::Merge(key.clone())).await;
            assert_eq!(code(merged), "42501");
            let ignored = fixture.insert(me, *table, row.clone(), OnConflict::Ignore(key)).await.unwrap();
            assert!(ignored.ids.is_empty() && ignored.rows.is_empty());
            assert_eq!(code(fixture.insert(me, *table, row.clone(), OnConflict::Fail).await), "23505");
        }

        // A row cannot be given to another user, and a message cannot be put into another user's chat.
        for conflict in [OnConflict::Fail, OnConflict::Merge(vec![]), OnConflict::Ignore(vec![])] {
            for (table, row) in [
                (RestTable::Sessions, json!({ "user_id": other })),
                (RestTable::McpServers, json!({ "user_id": other, "name": "n", "url": "http://a" })),
                (RestTable::Messages, json!({ "session_id": chat, "role": "user", "content": "x" })),
                (RestTable::Messages, json!({ "id": mine[1], "session_id": chat, "role": "user", "content": "x" })),
            ] {
                assert_eq!(code(fixture.insert(me, table, row, conflict.clone()).await), "42501");
            }
        }
        assert_eq!(code(fixture.update(me, RestTable::Sessions, json!({ "user_id": other }), &[]).await), "42501");
        assert_eq!(code(fixture.update(me, RestTable::Messages, json!({ "session_id": chat }), &[]).await), "42501");
        assert_eq!(fixture.everything(other).await, before);
        fixture.close().await;
    }
}

#[tokio::test]
async fn nobody_reads_nothing() {
    for fixture in fixtures().await {
        let owner = fixture.person().await;
        furnish(&fixture, owner, &["w".into()]).await;
        for table in RestTable::ALL {
            let query = RowQuery { count: true, ..RowQuery::default() };
            let page = postgrest::read_rows(&fixture.storage, None, table, &query).await.unwrap();
            assert_eq!((page.rows.len(), page.total), (0, Some(0)));
        }
        fixture.close().await;
    }
}

/// Generates a column and literals for it: mostly of its type and with values that occur, some of neither.
fn column(
    table: RestTable,
    words: &[String],
    ids: &[String],
) -> impl Strategy<Value = (&'static str, Vec<String>)> + use<> {
    let times = ["2026-11-21T10:00:00Z", "2026-11-21 10:00", "1999-12-31"].map(str::to_owned).to_vec();
    let (words, ids) = (words.to_vec(), ids.to_vec());
    let readable: Vec<_> = table.columns().iter().filter(|column| column.readable()).collect();
    prop::sample::select(readable).prop_flat_map(move |column| {
        let right = match column.column_type {
            ColumnType::Uuid => ids.clone(),
            ColumnType::Time => times.clone(),
            _ => words.clone(),
        };
        let literal = prop_oneof![40 => prop::sample::select(right), 1 => prop::sample::select(words.clone())];
        (Just(column.name), prop::collection::vec(literal, 1..4))
    })
}

fn comparison(table: RestTable, words: &[String], ids: &[String]) -> impl Strategy<Value = RowFilter> + use<> {
    use ComparisonOperator::{Distinct, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let kind = prop::sample::select(vec![Equal, NotEqual, Greater, GreaterOrEqual, Less, LessOrEqual, Distinct]);
    (column(table, words, ids), kind, 0..12).prop_map(|((column, literals), kind, shape)| {
        let first = literals[0].clone();
        let is_text = ["title", "content", "name", "url", "status", "role", "error", "model"].contains(&column);
        let kind = match shape {
            0..2 if is_text => ColumnCondition::Like(format!("%{first}")),
            2..4 if is_text => ColumnCondition::ILike(format!("{first}%")),
            0..6 if ["tools", "tool_calls", "parts"].contains(&column) => ColumnCondition::Is(IsOperand::NotNull),
            6 => ColumnCondition::Is(IsOperand::Null),
            7 => ColumnCondition::Is(IsOperand::NotNull),
            8 => ColumnCondition::In(literals),
            _ => ColumnCondition::Compare(kind, first),
        };
        test(column, kind)
    })
}

fn filter(table: RestTable, words: &[String], ids: &[String]) -> impl Strategy<Value = RowFilter> + use<> {
    comparison(table, words, ids).prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(RowFilter::All),
            prop::collection::vec(inner.clone(), 0..3).prop_map(RowFilter::Any),
            inner.prop_map(|inner| RowFilter::Not(Box::new(inner))),
        ]
    })
}

/// Generates a query and its table.
fn question(words: Vec<String>, ids: Vec<String>) -> impl Strategy<Value = (RestTable, RowQuery)> {
    prop::sample::select(RestTable::ALL.to_vec()).prop_flat_map(move |table| {
        let filters = prop::collection::vec(filter(table, &words, &ids), 1..3);
        let columns: Vec<_> = table.columns().iter().filter(|column| column.readable()).collect();
        let nulls = prop::option::of(any::<bool>());
        let order = prop::collection::vec((prop::sample::select(columns), any::<bool>(), nulls), 0..3);
        (Just(table), filters, order, 0u64..4, 0u64..30).prop_map(|(table, filters, order, offset, limit)| {
            let order = order.into_iter().filter(|(column, ..)| column.column_type != ColumnType::JsonList);
            let order = order.map(|(column, descending, nulls)| by(column.name, descending, nulls)).collect();
            (table, RowQuery { filters, order, offset, limit: Some(limit), count: true, ..RowQuery::default() })
        })
    })
}

fn ids(rows: &[String]) -> HashSet<Uuid> {
    let id = |row: &String| serde_json::from_str::<Value>(row).unwrap()["id"].as_str().unwrap().parse().unwrap();
    rows.iter().map(id).collect()
}

/// The same two users with the same rows in every database.
struct Street {
    fixtures: Vec<Fixture>,
    me: UserId,
    other: UserId,
    mine: HashSet<Uuid>,
}

impl Street {
    async fn build(my_words: &[String], their_words: &[String]) -> Self {
        let (me, other) = (UserId::fresh(), UserId::fresh());
        let mut mine = HashSet::new();
        let fixtures = fixtures().await;
        for fixture in &fixtures {
            fixture.settle(me).await;
            fixture.settle(other).await;
        }
        for (owner, words) in [(me, my_words), (other, their_words)] {
            for (index, word) in words.iter().enumerate() {
                let [chat, question, answer, server] = std::array::from_fn(|_| domain::ids::fresh());
                let message =
                    |id: Uuid, role: &str| json!({ "id": id, "session_id": chat, "role": role, "content": word });
                let name = format!("{word}{index}");
                for fixture in &fixtures {
                    fixture.put(owner, RestTable::Sessions, json!({ "id": chat, "title": word })).await;
                    let messages = json!([message(question, "user"), message(answer, "assistant")]);
                    fixture.put(owner, RestTable::Messages, messages).await;
                    let row = json!({ "id": server, "name": name, "url": "http://a", "status": word });
                    fixture.put(owner, RestTable::McpServers, row).await;
                }
                if owner == me {
                    mine.extend([chat, question, answer, server]);
                }
            }
        }
        Self { fixtures, me, other, mine }
    }

    /// Reads, writes, and deletes with a rollback, with the same filters in every database.
    async fn try_all(&self, table: RestTable, query: &RowQuery) -> Result<(), TestCaseError> {
        let mut answers = Vec::new();
        for fixture in &self.fixtures {
            let before = fixture.everything(self.other).await;
            let page = fixture.read(self.me, table, query).await;
            if let Ok(page) = &page {
                prop_assert!(ids(&page.rows).is_subset(&self.mine));
                let whole = RowQuery { filters: query.filters.clone(), ..RowQuery::default() };
                let whole = fixture.read(self.me, table, &whole).await.unwrap();
                prop_assert!(ids(&whole.rows).is_subset(&self.mine));
                prop_assert_eq!(page.total, Some(whole.rows.len() as u64));
            }
            let values = match table {
                RestTable::Sessions => json!({ "updated_at": "2030-01-01" }),
                RestTable::Messages => json!({ "tool_calls": [1] }),
                RestTable::McpServers => json!({ "tools": [1] }),
            };
            let written = fixture.update(self.me, table, values, &query.filters).await;
            if let Ok(written) = &written {
                prop_assert!(written.ids.iter().all(|id| self.mine.contains(id)));
            }
            // This delete is rolled back because it affects too many rows. It must not reach the rows of other users.
            let undone = WriteOptions { max_affected: Some(0), ..all() };
            let deleted =
                postgrest::delete_rows(&fixture.storage, self.me, NOW, table, &query.filters, &undone, &[]).await;
            prop_assert_eq!(fixture.everything(self.other).await, before);
            answers.push(format!("{page:?} {written:?} {deleted:?}"));
        }
        prop_assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "the databases differ: {answers:#?}");
        Ok(())
    }
}

/// Returns some characters that matter, and random texts of such characters.
fn words() -> Vec<String> {
    let fixed = ["a", "B", "ä", "%", "_", "'"].map(str::to_owned);
    let random = prop::collection::vec("[aAbäÄßİ%_*\\[.'\"\n -]{0,5}", 8);
    let random = random.new_tree(&mut TestRunner::default()).unwrap().current();
    fixed.into_iter().chain(random).collect()
}

#[test]
fn no_question_and_no_write_reaches_a_row_of_somebody_else() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let words = words();
    let street = runtime.block_on(Street::build(&words[..8], &words[4..]));
    let mut known: Vec<String> = street.mine.iter().take(6).map(Uuid::to_string).collect();
    known.extend([street.me.to_string(), street.other.to_string()]);
    let theirs = runtime.block_on(street.fixtures[0].everything(street.other));
    known.extend(ids(&theirs).iter().take(12).map(Uuid::to_string));

    let config = Config { cases: 192, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config)
        .run(&question(words, known), |(table, query)| runtime.block_on(street.try_all(table, &query)));
    for fixture in street.fixtures {
        runtime.block_on(fixture.close());
    }
    result.unwrap();
}
