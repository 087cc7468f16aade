//! Tests of writes: their effect, and that a rejected write changes nothing.

use postgrest::RestTable;
use postgrest::ast::{OnConflict, RowQuery, WriteBody, WriteOptions};
use serde_json::{Value, json};

use crate::fixture::{NOW, all, body, by, code, eq, fixtures, writer};

fn parsed(rows: &[String]) -> Vec<Value> {
    rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect()
}

fn merge(names: &[&str]) -> OnConflict {
    OnConflict::Merge(names.iter().map(|&name| name.to_owned()).collect())
}

#[tokio::test]
async fn defaults_stand_in_for_what_is_not_mentioned() {
    for fixture in fixtures().await {
        let me = fixture.person().await;
        let written = fixture.insert(me, RestTable::Sessions, json!({}), OnConflict::Fail).await.unwrap();
        let row = &parsed(&written.rows)[0];
        assert_eq!((row["title"].as_str(), row["user_id"].as_str()), (Some("New Chat"), Some(&*me.to_string())));
        assert_eq!(row["created_at"], "2026-11-21T10:00:00+00:00");
        assert_eq!(row["id"], written.ids[0].to_string());

        let server = json!({ "name": "a", "url": "wss://a/b" });
        let row = parsed(&fixture.insert(me, RestTable::McpServers, server, OnConflict::Fail).await.unwrap().rows);
        assert_eq!((&row[0]["tools"], &row[0]["status"]), (&json!([]), &json!("connected")));
        assert!(row[0].get("headers").is_none());
        fixture.close().await;
    }
}

#[tokio::test]
async fn keys_missing_from_a_row_are_null_or_the_default() {
    for fixture in fixtures().await {
        let me = fixture.person().await;
        let rows = json!([{ "title": "a" }, { "created_at": "2020-01-01" }]);
        let named = |missing_is_default| WriteBody {
            columns: Some(vec!["title".into(), "created_at".into()]),
            missing_is_default,
            ..body(rows.clone())
        };
        let insert = async |body: WriteBody| {
            postgrest::insert_rows(&fixture.storage, writer(me), RestTable::Sessions, &body, &OnConflict::Fail, &all())
                .await
        };
        assert_eq!(code(insert(named(false)).await), "23502");
        let rows = parsed(&insert(named(true)).await.unwrap().rows);
        assert_eq!(
            (&rows[0]["created_at"], &rows[1]["title"]),
            (&json!("2026-11-21T10:00:00+00:00"), &json!("New Chat"))
        );
        assert_eq!(
            code(fixture.insert(me, RestTable::Sessions, json!([{ "title": "a" }, {}]), OnConflict::Fail).await),
            "PGRST102"
        );

        // Keys that are not among the named columns are not written.
        let only = WriteBody {
            columns: Some(vec!["title".into()]),
            ..body(json!([{ "title": "b", "created_at": "1999-01-01" }]))
        };
        assert_eq!(parsed(&insert(only).await.unwrap().rows)[0]["created_at"], "2026-11-21T10:00:00+00:00");
        fixture.close().await;
    }
}

#[tokio::test]
async fn values_that_break_a_rule_are_refused() {
    let long = "x".repeat(201);
    for fixture in fixtures().await {
        let me = fixture.person().await;
        let chat = fixture.put(me, RestTable::Sessions, json!({})).await[0];
        let server = |key: &str, value: Value| {
            let mut row = json!({ "name": "n", "url": "http://a" });
            row[key] = value;
            (RestTable::McpServers, row)
        };
        let message = |key: &str, value: Value| {
            let mut row = json!({ "session_id": chat, "role": "user", "content": "c" });
            row[key] = value;
            (RestTable::Messages, row)
        };
        let session = |key: &str, value: Value| (RestTable::Sessions, json!({ key: value }));
        let cases = [
            (server("name", json!("")), "23514"),
            (server("name", json!("  ")), "23514"),
            (server("name", json!(long)), "23514"),
            (server("name", json!(null)), "23502"),
            (server("url", json!("ftp://a")), "23514"),
            (server("url", json!("http://me:secret@a")), "23514"),
            (server("tools", json!({})), "23514"),
            (server("tools", json!("[]")), "23514"),
            (server("tools", json!(null)), "23502"),
            (server("headers", json!({ "a b": "c" })), "23514"),
            (server("headers", json!({ "a": "b\r\nc: d" })), "23514"),
            (server("nothing", json!(1)), "PGRST204"),
            (server("id", json!("7")), "22P02"),
            (message("role", json!("system")), "23514"),
            (message("content", json!(null)), "23502"),
            (message("content", json!("a\0b")), "22P05"),
            (message("tool_calls", json!(5)), "23514"),
            (message("session_id", json!(null)), "42501"),
            (message("session_id", json!(domain::ids::fresh())), "42501"),
            (message("parts", json!([])), "42501"),
            (message("created_at", json!("soon")), "22007"),
            (session("user_id", json!(null)), "42501"),
            (session("user_id", json!(domain::ids::fresh())), "42501"),
            (session("title", json!(null)), "23502"),
        ];
        let before = fixture.everything(me).await;
        for ((table, row), want) in cases {
            assert_eq!(code(fixture.insert(me, table, row.clone(), OnConflict::Fail).await), want, "{row}");
        }
        // A single invalid row also rejects the valid ones.
        let rows = json!([{ "name": "good", "url": "http://a" }, { "name": "bad", "url": "a" }]);
        assert_eq!(code(fixture.insert(me, RestTable::McpServers, rows, OnConflict::Fail).await), "23514");
        let rows = json!([{ "name": "twin", "url": "http://a" }, { "name": "twin", "url": "http://a" }]);
        assert_eq!(code(fixture.insert(me, RestTable::McpServers, rows, OnConflict::Fail).await), "23505");
        assert_eq!(fixture.everything(me).await, before);
        fixture.close().await;
    }
}

#[tokio::test]
async fn numbers_for_texts_and_the_order_of_keys_are_kept() {
    for fixture in fixtures().await {
        let me = fixture.person().await;
        let written =
            fixture.insert(me, RestTable::Sessions, json!({ "title": 1.50 }), OnConflict::Fail).await.unwrap();
        assert_eq!(parsed(&written.rows)[0]["title"], "1.5");
        let tools = r#"[{"name":"z","annotations":{"b":1,"a":2}}]"#;
        let row = format!(r#"{{"name":"n","url":"http://a","tools":{tools}}}"#);
        let body = WriteBody { records: vec![serde_json::from_str(&row).unwrap()], ..WriteBody::default() };
        let written = postgrest::insert_rows(
            &fixture.storage,
            writer(me),
            RestTable::McpServers,
            &body,
            &OnConflict::Fail,
            &all(),
        )
        .await
        .unwrap();
        assert!(written.rows[0].contains(tools), "{}", written.rows[0]);
        fixture.close().await;
    }
}

#[tokio::test]
async fn upserts_merge_or_ignore_by_the_keys_the_table_has() {
    for fixture in fixtures().await {
        let me = fixture.person().await;
        let first = json!({ "name": "a", "url": "http://1" });
        let id = fixture.put(me, RestTable::McpServers, first.clone()).await[0];
        assert_eq!(code(fixture.insert(me, RestTable::McpServers, first, OnConflict::Fail).await), "23505");

        let again = json!([{ "name": "a", "url": "http://2" }, { "name": "b", "url": "http://3" }]);
        let key = ["user_id", "name"];
        let written = fixture.insert(me, RestTable::McpServers, again.clone(), merge(&key)).await.unwrap();
        assert_eq!((written.ids[0], written.ids.len(), written.inserted), (id, 2, 1));
        assert_eq!(parsed(&written.rows)[0]["url"], "http://2");
        let written =
            fixture.insert(me, RestTable::McpServers, again.clone(), merge(&["name", "user_id"])).await.unwrap();
        assert_eq!((written.ids.len(), written.inserted), (2, 0));

        let ignore = OnConflict::Ignore(key.map(str::to_owned).to_vec());
        let more = json!([{ "name": "a", "url": "http://4" }, { "name": "c", "url": "http://5" }]);
        let written = fixture.insert(me, RestTable::McpServers, more, ignore).await.unwrap();
        assert_eq!(parsed(&written.rows).iter().map(|row| &row["name"]).collect::<Vec<_>>(), ["c"]);

        let written = fixture
            .insert(me, RestTable::McpServers, json!({ "id": id, "name": "d", "url": "http://6" }), merge(&[]))
            .await;
        assert_eq!((written.as_ref().unwrap().ids[0], written.unwrap().inserted), (id, 0));

        let clash = json!({ "id": id, "name": "b", "url": "http://6" });
        assert_eq!(code(fixture.insert(me, RestTable::McpServers, clash, merge(&[])).await), "23505");
        let twins = json!([{ "name": "t", "url": "http://1" }, { "name": "t", "url": "http://2" }]);
        assert_eq!(code(fixture.insert(me, RestTable::McpServers, twins, merge(&key)).await), "21000");
        assert_eq!(code(fixture.insert(me, RestTable::McpServers, again.clone(), merge(&["name"])).await), "42P10");
        assert_eq!(code(fixture.insert(me, RestTable::McpServers, again, merge(&["headers"])).await), "42703");
        fixture.close().await;
    }
}

#[tokio::test]
async fn updates_and_deletes_reach_what_passes_the_filter() {
    for fixture in fixtures().await {
        let me = fixture.person().await;
        let ids =
            fixture.put(me, RestTable::Sessions, json!([{ "title": "b" }, { "title": "a" }, { "title": "c" }])).await;
        let written = fixture
            .update(
                me,
                RestTable::Sessions,
                json!({ "title": "d", "updated_at": "2026-12-01T00:00:00Z" }),
                &[eq("id", ids[0])],
            )
            .await
            .unwrap();
        assert_eq!(parsed(&written.rows)[0]["updated_at"], "2026-12-01T00:00:00+00:00");
        assert_eq!(written.ids, [ids[0]]);

        // Setting the owner and the id to their current values changes nothing; other values are rejected.
        let same = json!({ "id": ids[0], "user_id": me, "title": "d" });
        assert_eq!(fixture.update(me, RestTable::Sessions, same, &[eq("id", ids[0])]).await.unwrap().ids, [ids[0]]);
        let taken = json!({ "id": ids[1] });
        assert_eq!(code(fixture.update(me, RestTable::Sessions, taken, &[eq("id", ids[0])]).await), "23505");
        assert_eq!(code(fixture.update(me, RestTable::Sessions, json!({ "user_id": ids[0] }), &[]).await), "42501");
        assert!(fixture.update(me, RestTable::Sessions, json!({}), &[]).await.unwrap().ids.is_empty());
        assert_eq!(code(fixture.update(me, RestTable::Sessions, json!({}), &[eq("nothing", 1)]).await), "42703");

        // Rows are returned in the requested order.
        let outcome = WriteOptions { order: vec![by("title", true, None)], ..all() };
        let mine = [eq("user_id", me)];
        let touch = body(json!({ "created_at": "2020-01-01" }));
        let touched =
            postgrest::update_rows(&fixture.storage, writer(me), RestTable::Sessions, &touch, &mine, &outcome);
        let titles = parsed(&touched.await.unwrap().rows);
        assert_eq!(titles.iter().map(|row| &row["title"]).collect::<Vec<_>>(), ["d", "c", "a"]);

        // A write that must affect one row, or a maximum number, is rolled back otherwise.
        let single = WriteOptions { single: true, ..all() };
        assert_eq!(
            code(postgrest::delete_rows(&fixture.storage, me, NOW, RestTable::Sessions, &mine, &single, &[]).await),
            "PGRST116"
        );
        let few = WriteOptions { max_affected: Some(2), ..WriteOptions::default() };
        assert_eq!(
            code(postgrest::delete_rows(&fixture.storage, me, NOW, RestTable::Sessions, &mine, &few, &[]).await),
            "PGRST124"
        );

        fixture.put(me, RestTable::Messages, json!({ "session_id": ids[0], "role": "user", "content": "c" })).await;
        let moved = json!({ "id": domain::ids::fresh() });
        assert_eq!(code(fixture.update(me, RestTable::Sessions, moved, &[eq("id", ids[0])]).await), "23503");
        let written =
            postgrest::delete_rows(&fixture.storage, me, NOW, RestTable::Sessions, &[eq("id", ids[0])], &all(), &[])
                .await
                .unwrap();
        assert_eq!(parsed(&written.rows)[0]["title"], "d");
        let messages = fixture.read(me, RestTable::Messages, &RowQuery::default()).await.unwrap();
        assert!(messages.rows.is_empty(), "a chat takes its messages with it");
        fixture.close().await;
    }
}
