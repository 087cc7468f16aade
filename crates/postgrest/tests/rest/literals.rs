//! Tests of literals, patterns and orders. If PostgreSQL is available, its own results are compared.

use std::cell::RefCell;

use domain::Timestamp;
use postgrest::RestTable;
use postgrest::ast::{ColumnCondition, RowQuery};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::fixture::{Fixture, by, fixtures, select, test};

/// Opens a connection to PostgreSQL, if it is available.
async fn oracle() -> Option<PgConnection> {
    let server = std::env::var_os("TEST_POSTGRES_URL")?;
    let mut connection = PgConnection::connect(server.to_str().unwrap()).await.unwrap();
    sqlx::query("SET TIME ZONE 'UTC'").execute(&mut connection).await.unwrap();
    Some(connection)
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Generates a date with a time of day and an offset, most of which exist.
fn moment() -> impl Strategy<Value = String> {
    let year = prop::sample::select(vec!["0000", "0001", "1969", "1970", "2024", "2026", "9998"]);
    let date = (year, 0..14u8, 0..33u8, 0..4u8).prop_map(|(year, month, day, form)| match form {
        0 => format!("{year}{month:02}{day:02}"),
        1 => format!("{year}-{month}-{day}"),
        _ => format!("{year}-{month:02}-{day:02}"),
    });
    let time = (0..26u8, 0..62u8, 0..63u8, "[0-9]{0,9}", 0..8u8).prop_map(|(h, m, s, fraction, form)| match form {
        0 => String::new(),
        1 => format!("T{h:02}:{m:02}"),
        2 => format!(" {h}:{m}:{s}"),
        // Without separators PostgreSQL checks no bounds: 25 hours are a day and an hour.
        3 => format!("T{:02}{:02}{:02}", h % 24, m % 60, s % 60),
        4 => format!("  {h:02}:{m:02}:{s:02}"),
        _ => format!("t{h:02}:{m:02}:{s:02}.{fraction}"),
    });
    let offset = (prop::sample::select(vec!["+", "-", " +"]), 0..17u8, 0..62u8, 0..8u8);
    let offset = offset.prop_map(|(sign, h, m, form)| match form {
        0 => "Z".to_owned(),
        1 => " utc".to_owned(),
        2 => format!("{sign}{h:02}"),
        3 => format!("{sign}{h:02}{m:02}"),
        4 => format!("{sign}{h}:{m:02}"),
        5 => format!("{sign}{h:02}:{m:02}:{m:02}"),
        _ => String::new(),
    });
    (date, time, offset).prop_map(|(date, time, offset)| format!("{date}{time}{offset}"))
}

#[test]
fn points_in_time_are_those_of_postgresql() {
    let runtime = runtime();
    let Some(oracle) = runtime.block_on(oracle()).map(RefCell::new) else { return };
    let tested = runner(3_000).run(&moment(), |text| {
        let sql = "SELECT (extract(epoch FROM $1::text::timestamptz) * 1000000)::bigint";
        let answer =
            runtime.block_on(sqlx::query_scalar::<_, i64>(sql).bind(&text).fetch_one(&mut *oracle.borrow_mut()));
        // A literal with several errors may be rejected for any of them.
        let want = answer.ok();
        let got = text.parse::<Timestamp>().ok().map(|time| time.0);
        // Times before year 1 exist only in PostgreSQL.
        let too_early = want.is_some_and(|micros| micros < -62_135_596_800_000_000);
        prop_assert!(got == want || (too_early && got.is_none()), "{text}: {got:?}, not {want:?}");
        Ok(())
    });
    tested.unwrap();
}

/// Texts of the characters that matter in patterns.
const TEXTS: [&str; 16] =
    ["", "a", "A", "ab", "aB", "a_b", "a%b", "a\\b", "a*b", "[ab]", "a?b", "a.b", "^ab$", "b\na", "(a|b)", "aab{2}"];

async fn matching(
    fixture: &Fixture,
    owner: domain::UserId,
    filter: ColumnCondition,
) -> Result<Vec<String>, &'static str> {
    let query = RowQuery {
        select: select(&["title"]),
        filters: vec![test("title", filter)],
        order: vec![by("title", false, None)],
        ..RowQuery::default()
    };
    match fixture.read(owner, RestTable::Sessions, &query).await {
        Ok(page) => Ok(page.rows.iter().map(|row| title(row)).collect()),
        Err(postgrest::PostgrestError::Rejected(error)) => Err(error.code),
        Err(other) => panic!("{other}"),
    }
}

fn title(row: &str) -> String {
    serde_json::from_str::<Value>(row).unwrap()["title"].as_str().unwrap().to_owned()
}

#[test]
fn patterns_match_what_they_match_in_postgresql() {
    let runtime = runtime();
    let Some(oracle) = runtime.block_on(oracle()).map(RefCell::new) else { return };
    let fixtures = runtime.block_on(fixtures());
    let owner = domain::UserId::fresh();
    for fixture in &fixtures {
        runtime.block_on(fixture.settle(owner));
        let rows: Vec<Value> = TEXTS.iter().map(|text| json!({ "title": text })).collect();
        runtime.block_on(fixture.put(owner, RestTable::Sessions, json!(rows)));
    }
    let pattern = "[aAbB%_\\\\*\\[\\]?.^$\n(|){2}]{0,7}";
    let tested = runner(400).run(&(pattern, any::<bool>()), |(pattern, ignore_case)| {
        let operator = if ignore_case { "ILIKE" } else { "LIKE" };
        let sql = format!("SELECT t FROM unnest($1::text[]) AS t WHERE t {operator} $2 ORDER BY t COLLATE \"C\"");
        let query = sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(sql)).bind(TEXTS.map(str::to_owned).to_vec());
        let want = runtime.block_on(query.bind(&pattern).fetch_all(&mut *oracle.borrow_mut()));
        // PostgreSQL reports a trailing escape only when a text reaches it; here it is rejected at once.
        let lonely = pattern.len() - pattern.trim_end_matches('\\').len();
        let want = if lonely % 2 == 1 { Err("22025") } else { Ok(want.unwrap()) };
        for fixture in &fixtures {
            let filter = if ignore_case {
                ColumnCondition::ILike(pattern.clone())
            } else {
                ColumnCondition::Like(pattern.clone())
            };
            let got = runtime.block_on(matching(fixture, owner, filter));
            prop_assert_eq!(&got, &want, "{} {} {:?}", fixture.storage.kind(), operator, &pattern);
        }
        Ok(())
    });
    for fixture in fixtures {
        runtime.block_on(fixture.close());
    }
    tested.unwrap();
}
