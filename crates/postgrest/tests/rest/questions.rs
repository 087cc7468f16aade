//! Tests of queries and the rows they return.

use postgrest::RestTable;
use postgrest::ast::{ColumnCondition, ComparisonOperator, IsOperand, RowFilter, RowQuery, SelectItem, SelectList};
use serde_json::{Value, json};

use crate::fixture::{NOW, by, code, eq, fixtures, select, test};

const TITLES: [&str; 9] = ["apple", "Apple", "banana", "Ärger", "ärger", "100%", "a_b*[c]?", "line\nbreak", "Straße"];

fn compare(column: &str, comparison: ComparisonOperator, literal: &str) -> RowFilter {
    test(column, ColumnCondition::Compare(comparison, literal.into()))
}

fn like(pattern: &str) -> RowFilter {
    test("title", ColumnCondition::Like(pattern.into()))
}

fn ilike(pattern: &str) -> RowFilter {
    test("title", ColumnCondition::ILike(pattern.into()))
}

fn not(filter: RowFilter) -> RowFilter {
    RowFilter::Not(Box::new(filter))
}

#[tokio::test]
async fn filters_choose_the_rows_postgresql_would() {
    let within =
        |literals: &[&str]| test("title", ColumnCondition::In(literals.iter().map(|&l| l.to_owned()).collect()));
    let cases: Vec<(RowFilter, &[&str])> = vec![
        (eq("title", "apple"), &["apple"]),
        (compare("title", ComparisonOperator::NotEqual, "apple"), &TITLES[1..]),
        (compare("title", ComparisonOperator::Greater, "banana"), &["Ärger", "ärger", "line\nbreak"]),
        (compare("title", ComparisonOperator::LessOrEqual, "Apple"), &["Apple", "100%"]),
        (compare("title", ComparisonOperator::Distinct, "apple"), &TITLES[1..]),
        (like("a%"), &["apple", "a_b*[c]?"]),
        (like("A%"), &["Apple"]),
        (like("%"), &TITLES),
        (like("_rger"), &["Ärger", "ärger"]),
        (like("ä%"), &["ärger"]),
        (like("100\\%"), &["100%"]),
        (like("a\\_b*[c]?"), &["a_b*[c]?"]),
        (like("line_break"), &["line\nbreak"]),
        (like("%break"), &["line\nbreak"]),
        (like("app"), &[]),
        (ilike("APPLE"), &["apple", "Apple"]),
        (ilike("äRG%"), &["Ärger", "ärger"]),
        (ilike("%.%"), &[]),
        (ilike("a_B*[C]?"), &["a_b*[c]?"]),
        (ilike("%E_B%"), &["line\nbreak"]),
        (ilike("straSSe"), &[]),
        (ilike("STRAẞE"), &["Straße"]),
        (within(&["apple", "100%", "x"]), &["apple", "100%"]),
        (within(&[]), &[]),
        (not(within(&[])), &TITLES),
        (test("title", ColumnCondition::Is(IsOperand::Null)), &[]),
        (test("title", ColumnCondition::Is(IsOperand::NotNull)), &TITLES),
        (RowFilter::All(vec![]), &TITLES),
        (RowFilter::Any(vec![]), &[]),
        (RowFilter::Any(vec![eq("title", "apple"), eq("title", "banana")]), &["apple", "banana"]),
        (RowFilter::All(vec![like("%a%"), not(like("a%"))]), &["banana", "line\nbreak", "Straße"]),
        (eq("created_at", "2026-11-21T12:00:00+02:00"), &TITLES),
        (compare("created_at", ComparisonOperator::Less, "2026-11-21 10:00"), &[]),
    ];
    for fixture in fixtures().await {
        let me = fixture.person().await;
        let rows: Vec<Value> = TITLES.iter().map(|title| json!({ "title": title })).collect();
        fixture.put(me, RestTable::Sessions, json!(rows)).await;
        for (filter, want) in &cases {
            let query = RowQuery {
                select: select(&["title"]),
                filters: vec![filter.clone()],
                count: true,
                ..RowQuery::default()
            };
            let page = fixture.read(me, RestTable::Sessions, &query).await.unwrap();
            let want: Vec<String> = want.iter().map(|title| json!({ "title": title }).to_string()).collect();
            assert_eq!(
                (page.total, &page.rows),
                (Some(want.len() as u64), &want),
                "{} {filter:?}",
                fixture.storage.kind()
            );
        }
        fixture.close().await;
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_question_is_said_by_its_code() {
    let id = domain::ids::fresh();
    let cases = [
        (RestTable::Sessions, eq("nothing", 1), "42703"),
        (RestTable::Sessions, eq("headers", 1), "42703"),
        (RestTable::McpServers, eq("headers", 1), "42703"),
        (RestTable::McpServers, test("headers", ColumnCondition::Is(IsOperand::NotNull)), "42703"),
        (RestTable::Sessions, eq("id", "7"), "22P02"),
        (RestTable::Sessions, eq("id", format!("urn:uuid:{id}")), "22P02"),
        (RestTable::Sessions, test("id", ColumnCondition::In(vec![id.to_string(), "x".into()])), "22P02"),
        (RestTable::Sessions, eq("created_at", "yesterday"), "22007"),
        (RestTable::Sessions, eq("title", "a\0"), "22021"),
        (RestTable::Sessions, like("a\0"), "22021"),
        (RestTable::Sessions, like("a\\"), "22025"),
        (RestTable::Sessions, test("id", ColumnCondition::Like("a%".into())), "42883"),
        (RestTable::McpServers, eq("tools", "[]"), "42883"),
        (RestTable::McpServers, test("tools", ColumnCondition::In(vec![])), "42883"),
        (RestTable::Sessions, test("title", ColumnCondition::Is(IsOperand::Boolean("TRUE"))), "42804"),
    ];
    for fixture in fixtures().await {
        let me = fixture.person().await;
        for (table, filter, want) in &cases {
            let query = RowQuery { filters: vec![filter.clone()], ..RowQuery::default() };
            assert_eq!(code(fixture.read(me, *table, &query).await), *want, "{filter:?}");
            assert_eq!(
                code(postgrest::read_rows(&fixture.storage, None, *table, &query).await),
                *want,
                "nobody, {filter:?}"
            );
        }
        for name in ["headers", "nothing"] {
            let query = RowQuery { select: select(&[name]), ..RowQuery::default() };
            assert_eq!(code(fixture.read(me, RestTable::McpServers, &query).await), "42703");
            let query = RowQuery { order: vec![by(name, false, None)], ..RowQuery::default() };
            assert_eq!(code(fixture.read(me, RestTable::McpServers, &query).await), "42703");
        }
        let query = RowQuery { order: vec![by("tools", false, None)], ..RowQuery::default() };
        assert_eq!(code(fixture.read(me, RestTable::McpServers, &query).await), "42883");
        fixture.close().await;
    }
}

#[tokio::test]
async fn rows_are_written_as_postgrest_writes_them() {
    for fixture in fixtures().await {
        let me = fixture.person().await;
        let ids = fixture
            .put(
                me,
                RestTable::McpServers,
                json!({
                    "name": "a \"b\"", "url": "http://a", "created_at": "2026-11-21 10:00:00.120+00",
                    "headers": {"Authorization": "Bearer x"},
                }),
            )
            .await;
        let page = fixture.read(me, RestTable::McpServers, &RowQuery::default()).await.unwrap();
        let want = format!(
            r#"{{"id":"{}","user_id":"{me}","name":"a \"b\"","url":"http://a","tools":[],"status":"connected","created_at":"2026-11-21T10:00:00.12+00:00","updated_at":"2026-11-21T10:00:00+00:00"}}"#,
            ids[0],
        );
        assert_eq!((page.rows, page.total), (vec![want], None));

        let items = vec![
            SelectItem::Column { name: "name".into(), alias: Some("label".into()) },
            SelectItem::Column { name: "tools".into(), alias: None },
            SelectItem::Column { name: "tools".into(), alias: None },
        ];
        let query = RowQuery { select: SelectList { items }, ..RowQuery::default() };
        let page = fixture.read(me, RestTable::McpServers, &query).await.unwrap();
        assert_eq!(page.rows, [r#"{"label":"a \"b\"","tools":[],"tools":[]}"#]);
        fixture.close().await;
    }
}

#[tokio::test]
async fn nulls_sort_as_if_they_were_larger_and_texts_by_their_bytes() {
    for fixture in fixtures().await {
        let me = fixture.person().await;
        let chat = fixture.put(me, RestTable::Sessions, json!({})).await[0];
        let rows: Vec<Value> = ["b", "B", "ä", "b"]
            .iter()
            .map(|text| json!({ "session_id": chat, "role": "user", "content": text }))
            .collect();
        fixture.put(me, RestTable::Messages, json!(rows)).await;
        let answer = storage::chats::NewTurn {
            owner: me,
            chat: chat.into(),
            id: domain::TurnId::fresh(),
            user_message: domain::MessageId::fresh(),
            answer: domain::MessageId::fresh(),
            content: Some("q".into()),
            place: storage::branches::TurnPosition::End,
            queued: None,
            parts: Vec::new(),
            model: "m".into(),
            tools: serde_json::json!([]),
            now: crate::fixture::NOW,
        };
        fixture.storage.chats().insert_turn(&answer, "t").await.unwrap();
        fixture
            .storage
            .chats()
            .finish_turn(me, answer.chat, answer.id, &finished(answer.answer), None, crate::fixture::NOW)
            .await
            .unwrap();
        let order = |column: &str, descending, nulls_first| {
            let order = vec![by(column, descending, nulls_first)];
            RowQuery { select: select(&["content", "model"]), order, ..RowQuery::default() }
        };
        let contents = async |query: RowQuery| {
            let rows = fixture.read(me, RestTable::Messages, &query).await.unwrap().rows;
            let rows = rows.iter().map(|row| serde_json::from_str::<Value>(row).unwrap());
            rows.map(|row| row["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(contents(order("content", false, None)).await, "B answer b b q ä");
        assert_eq!(contents(order("content", true, None)).await, "ä q b b answer B");
        assert_eq!(contents(order("model", false, None)).await, "answer b B ä b q");
        assert_eq!(contents(order("model", true, None)).await, "b B ä b q answer");
        assert_eq!(contents(order("model", false, Some(true))).await, "b B ä b q answer");
        assert_eq!(contents(order("model", true, Some(false))).await, "answer b B ä b q");

        let page = RowQuery { limit: Some(2), offset: 1, count: true, ..order("content", false, None) };
        assert_eq!(fixture.read(me, RestTable::Messages, &page).await.unwrap().total, Some(6));
        assert_eq!(contents(page).await, "answer b");
        assert_eq!(contents(RowQuery { offset: 9, ..RowQuery::default() }).await, "");
        assert_eq!(contents(RowQuery { limit: Some(0), ..RowQuery::default() }).await, "");
        fixture.close().await;
    }
}

fn finished(id: domain::MessageId) -> storage::chats::Answer {
    storage::chats::Answer {
        id,
        parts: vec![domain::message::Part::Text { text: "answer".into() }],
        status: domain::message::MessageStatus::Done,
        error: None,
        model: "scripted/m".into(),
        costs: Vec::new(),
    }
}

#[tokio::test]
async fn an_answer_has_at_most_a_thousand_rows() {
    for fixture in fixtures().await {
        let me = fixture.person().await;
        let rows: Vec<Value> = (0..1_000).map(|n| json!({ "title": n.to_string() })).collect();
        fixture.put(me, RestTable::Sessions, json!(rows)).await;
        fixture.put(me, RestTable::Sessions, json!({ "title": "one more" })).await;
        let query = RowQuery { limit: Some(5_000), count: true, ..RowQuery::default() };
        let page = fixture.read(me, RestTable::Sessions, &query).await.unwrap();
        assert_eq!((page.rows.len(), page.total), (1_000, Some(1_001)));
        let mine = [eq("user_id", me)];
        let delete =
            postgrest::delete_rows(&fixture.storage, me, NOW, RestTable::Sessions, &mine, &crate::fixture::all(), &[])
                .await;
        assert_eq!(code(delete), "54000");
        let quiet = postgrest::ast::WriteOptions::default();
        assert_eq!(
            postgrest::delete_rows(&fixture.storage, me, NOW, RestTable::Sessions, &mine, &quiet, &[])
                .await
                .unwrap()
                .ids
                .len(),
            1_001
        );
        fixture.close().await;
    }
}
