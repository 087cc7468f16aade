//! Tests of queries and the rows they return.

use serde_json::{Value, json};
use store::rest::Table;
use store::rest::ast::{Comparison, Filter, Is, Item, Query, Select, Test};

use crate::fixture::{NOW, by, code, eq, houses, select, test};

const TITLES: [&str; 9] = ["apple", "Apple", "banana", "Ärger", "ärger", "100%", "a_b*[c]?", "line\nbreak", "Straße"];

fn compare(column: &str, comparison: Comparison, literal: &str) -> Filter {
    test(column, Test::Compare(comparison, literal.into()))
}

fn like(pattern: &str) -> Filter {
    test("title", Test::Like(pattern.into()))
}

fn ilike(pattern: &str) -> Filter {
    test("title", Test::ILike(pattern.into()))
}

fn not(filter: Filter) -> Filter {
    Filter::Not(Box::new(filter))
}

#[tokio::test]
async fn filters_choose_the_rows_postgresql_would() {
    let within = |literals: &[&str]| test("title", Test::In(literals.iter().map(|&l| l.to_owned()).collect()));
    let cases: Vec<(Filter, &[&str])> = vec![
        (eq("title", "apple"), &["apple"]),
        (compare("title", Comparison::NotEqual, "apple"), &TITLES[1..]),
        (compare("title", Comparison::Greater, "banana"), &["Ärger", "ärger", "line\nbreak"]),
        (compare("title", Comparison::LessOrEqual, "Apple"), &["Apple", "100%"]),
        (compare("title", Comparison::Distinct, "apple"), &TITLES[1..]),
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
        (test("title", Test::Is(Is::Null)), &[]),
        (test("title", Test::Is(Is::NotNull)), &TITLES),
        (Filter::All(vec![]), &TITLES),
        (Filter::Any(vec![]), &[]),
        (Filter::Any(vec![eq("title", "apple"), eq("title", "banana")]), &["apple", "banana"]),
        (Filter::All(vec![like("%a%"), not(like("a%"))]), &["banana", "line\nbreak", "Straße"]),
        (eq("created_at", "2026-11-21T12:00:00+02:00"), &TITLES),
        (compare("created_at", Comparison::Less, "2026-11-21 10:00"), &[]),
    ];
    for house in houses().await {
        let me = house.person().await;
        let rows: Vec<Value> = TITLES.iter().map(|title| json!({ "title": title })).collect();
        house.put(me, Table::Sessions, json!(rows)).await;
        for (filter, want) in &cases {
            let query =
                Query { select: select(&["title"]), filters: vec![filter.clone()], count: true, ..Query::default() };
            let page = house.read(me, Table::Sessions, &query).await.unwrap();
            let want: Vec<String> = want.iter().map(|title| json!({ "title": title }).to_string()).collect();
            assert_eq!((page.total, &page.rows), (Some(want.len() as u64), &want), "{} {filter:?}", house.store.kind());
        }
        house.close().await;
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_question_is_said_by_its_code() {
    let id = domain::ids::fresh();
    let cases = [
        (Table::Sessions, eq("nothing", 1), "42703"),
        (Table::Sessions, eq("headers", 1), "42703"),
        (Table::McpServers, eq("headers", 1), "42703"),
        (Table::McpServers, test("headers", Test::Is(Is::NotNull)), "42703"),
        (Table::Sessions, eq("id", "7"), "22P02"),
        (Table::Sessions, eq("id", format!("urn:uuid:{id}")), "22P02"),
        (Table::Sessions, test("id", Test::In(vec![id.to_string(), "x".into()])), "22P02"),
        (Table::Sessions, eq("created_at", "yesterday"), "22007"),
        (Table::Sessions, eq("title", "a\0"), "22021"),
        (Table::Sessions, like("a\0"), "22021"),
        (Table::Sessions, like("a\\"), "22025"),
        (Table::Sessions, test("id", Test::Like("a%".into())), "42883"),
        (Table::McpServers, eq("tools", "[]"), "42883"),
        (Table::McpServers, test("tools", Test::In(vec![])), "42883"),
        (Table::Sessions, test("title", Test::Is(Is::Boolean("TRUE"))), "42804"),
    ];
    for house in houses().await {
        let me = house.person().await;
        for (table, filter, want) in &cases {
            let query = Query { filters: vec![filter.clone()], ..Query::default() };
            assert_eq!(code(house.read(me, *table, &query).await), *want, "{filter:?}");
            assert_eq!(code(house.store.rest_read(None, *table, &query).await), *want, "nobody, {filter:?}");
        }
        for name in ["headers", "nothing"] {
            let query = Query { select: select(&[name]), ..Query::default() };
            assert_eq!(code(house.read(me, Table::McpServers, &query).await), "42703");
            let query = Query { order: vec![by(name, false, None)], ..Query::default() };
            assert_eq!(code(house.read(me, Table::McpServers, &query).await), "42703");
        }
        let query = Query { order: vec![by("tools", false, None)], ..Query::default() };
        assert_eq!(code(house.read(me, Table::McpServers, &query).await), "42883");
        house.close().await;
    }
}

#[tokio::test]
async fn rows_are_written_as_postgrest_writes_them() {
    for house in houses().await {
        let me = house.person().await;
        let ids = house
            .put(
                me,
                Table::McpServers,
                json!({
                    "name": "a \"b\"", "url": "http://a", "created_at": "2026-11-21 10:00:00.120+00",
                    "headers": {"Authorization": "Bearer x"},
                }),
            )
            .await;
        let page = house.read(me, Table::McpServers, &Query::default()).await.unwrap();
        let want = format!(
            r#"{{"id":"{}","user_id":"{me}","name":"a \"b\"","url":"http://a","tools":[],"status":"connected","created_at":"2026-11-21T10:00:00.12+00:00","updated_at":"2026-11-21T10:00:00+00:00"}}"#,
            ids[0],
        );
        assert_eq!((page.rows, page.total), (vec![want], None));

        let items = vec![
            Item::Column { name: "name".into(), alias: Some("label".into()) },
            Item::Column { name: "tools".into(), alias: None },
            Item::Column { name: "tools".into(), alias: None },
        ];
        let query = Query { select: Select { items }, ..Query::default() };
        let page = house.read(me, Table::McpServers, &query).await.unwrap();
        assert_eq!(page.rows, [r#"{"label":"a \"b\"","tools":[],"tools":[]}"#]);
        house.close().await;
    }
}

#[tokio::test]
async fn nulls_sort_as_if_they_were_larger_and_texts_by_their_bytes() {
    for house in houses().await {
        let me = house.person().await;
        let chat = house.put(me, Table::Sessions, json!({})).await[0];
        let rows: Vec<Value> = ["b", "B", "ä", "b"]
            .iter()
            .map(|text| json!({ "session_id": chat, "role": "user", "content": text }))
            .collect();
        house.put(me, Table::Messages, json!(rows)).await;
        let answer = store::chats::NewTurn {
            owner: me,
            chat: chat.into(),
            run: domain::RunId::fresh(),
            user_message: domain::MessageId::fresh(),
            answer: domain::MessageId::fresh(),
            content: Some("q".into()),
            place: store::branches::Place::End,
            queued: None,
            parts: Vec::new(),
            model: "m".into(),
            tools: serde_json::json!([]),
            now: crate::fixture::NOW,
        };
        house.store.insert_turn(&answer, "t").await.unwrap();
        house
            .store
            .finish_turn(me, answer.chat, answer.run, &finished(answer.answer), None, crate::fixture::NOW)
            .await
            .unwrap();
        let order = |column: &str, descending, nulls_first| {
            let order = vec![by(column, descending, nulls_first)];
            Query { select: select(&["content", "model"]), order, ..Query::default() }
        };
        let contents = async |query: Query| {
            let rows = house.read(me, Table::Messages, &query).await.unwrap().rows;
            let rows = rows.iter().map(|row| serde_json::from_str::<Value>(row).unwrap());
            rows.map(|row| row["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(contents(order("content", false, None)).await, "B answer b b q ä");
        assert_eq!(contents(order("content", true, None)).await, "ä q b b answer B");
        assert_eq!(contents(order("model", false, None)).await, "answer b B ä b q");
        assert_eq!(contents(order("model", true, None)).await, "b B ä b q answer");
        assert_eq!(contents(order("model", false, Some(true))).await, "b B ä b q answer");
        assert_eq!(contents(order("model", true, Some(false))).await, "answer b B ä b q");

        let page = Query { limit: Some(2), offset: 1, count: true, ..order("content", false, None) };
        assert_eq!(house.read(me, Table::Messages, &page).await.unwrap().total, Some(6));
        assert_eq!(contents(page).await, "answer b");
        assert_eq!(contents(Query { offset: 9, ..Query::default() }).await, "");
        assert_eq!(contents(Query { limit: Some(0), ..Query::default() }).await, "");
        house.close().await;
    }
}

fn finished(id: domain::MessageId) -> store::chats::Answer {
    store::chats::Answer {
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
    for house in houses().await {
        let me = house.person().await;
        let rows: Vec<Value> = (0..1_000).map(|n| json!({ "title": n.to_string() })).collect();
        house.put(me, Table::Sessions, json!(rows)).await;
        house.put(me, Table::Sessions, json!({ "title": "one more" })).await;
        let query = Query { limit: Some(5_000), count: true, ..Query::default() };
        let page = house.read(me, Table::Sessions, &query).await.unwrap();
        assert_eq!((page.rows.len(), page.total), (1_000, Some(1_001)));
        let mine = [eq("user_id", me)];
        let delete = house.store.rest_delete(me, NOW, Table::Sessions, &mine, &crate::fixture::all()).await;
        assert_eq!(code(delete), "54000");
        let quiet = store::rest::ast::Outcome::default();
        assert_eq!(house.store.rest_delete(me, NOW, Table::Sessions, &mine, &quiet).await.unwrap().ids.len(), 1_001);
        house.close().await;
    }
}
