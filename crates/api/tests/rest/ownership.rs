//! Random requests of a user and of anonymous callers, over HTTP: none reads, counts or changes a row of another
//! user, none causes an internal error, and all databases respond alike.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::json;
use testkit::{MockClock, TestApp, databases};

use super::table::{Case, Group};

/// Text that only the other user has; requests search for its beginning.
const SECRET: &str = "hush-7c1f";

const TABLES: [(&str, &[&str]); 3] = [
    ("ai_chat_sessions", &["id", "user_id", "title", "created_at", "updated_at", "nothing"]),
    ("ai_chat_messages", &["id", "session_id", "role", "content", "tool_calls", "error", "created_at"]),
    ("mcp_servers", &["id", "user_id", "name", "url", "tools", "status", "headers"]),
];

/// Inserts rows of both users; `$1` to `$4` belong to the caller, `$5` to `$8` to the other user.
async fn furnish(app: &TestApp, group: &Group) {
    for (who, ids, word) in [("", ["$1", "$2", "$3", "$4"], "mine"), ("@other ", ["$5", "$6", "$7", "$8"], SECRET)] {
        let message = |id: &str| json!({ "id": id, "session_id": ids[0], "role": "user", "content": word });
        let rows = [
            ("ai_chat_sessions", json!({ "id": ids[0], "title": word })),
            ("ai_chat_messages", json!([message(ids[1]), message(ids[2])])),
            ("mcp_servers", json!({ "id": ids[3], "name": word, "url": "http://a", "headers": { "K": word } })),
        ];
        for (table, row) in rows {
            let answer = ask(app, group, &format!("{who}POST {table} {row}"), &[]).await;
            assert_eq!(answer[0], "201 */*");
        }
    }
}

async fn ask(app: &TestApp, group: &Group, request: &str, headers: &[(&str, &str)]) -> Vec<String> {
    group.answer(app, &Case::new(request, headers)).await
}

/// Returns all rows of the other user, as that user reads them.
async fn theirs(app: &TestApp, group: &Group) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for (table, _) in TABLES {
        all.push(ask(app, group, &format!("@other GET {table}"), &[("prefer", "count=exact")]).await);
    }
    all
}

fn pick(words: &[&'static str]) -> impl Strategy<Value = &'static str> + Clone + use<> {
    prop::sample::select(words.to_vec())
}

/// Returns literals of URLs.
fn literal() -> impl Strategy<Value = &'static str> + Clone {
    pick(&[
        "$1",
        "$2",
        "$4",
        "$5",
        "$6",
        "$8",
        "$9",
        "$me",
        "$other",
        "mine",
        "hush",
        "hush*",
        "*",
        "%25",
        "_*",
        "a\\",
        "",
        "2026-11-21",
        "2026-11-21T10:00:00Z",
        "user",
        "null",
        "%00",
        "%22",
        "a,b",
        "(",
        ")",
        "x)y",
        "'--",
        "\"q\"",
    ])
}

/// Returns `operator.literal`, mostly with supported operators.
fn comparison() -> impl Strategy<Value = String> + Clone {
    let operator = pick(&["eq", "neq", "gt", "gte", "lt", "lte", "like", "ilike", "isdistinct", "match", "fts", "cs"]);
    let is = pick(&["null", "not_null", "true", "unknown"]);
    let one = (operator, literal()).prop_map(|(operator, literal)| format!("{operator}.{literal}"));
    let among = prop::collection::vec(literal(), 0..4).prop_map(|list| format!("in.({})", list.join(",")));
    let not = pick(&["", "not."]);
    (not, prop_oneof![5 => one, 2 => among, 1 => is.prop_map(|word| format!("is.{word}"))])
        .prop_map(|(not, rest)| format!("{not}{rest}"))
}

/// Returns query parameters for a table.
fn query(columns: &'static [&'static str]) -> impl Strategy<Value = String> {
    let column = pick(columns);
    let test = (column.clone(), comparison());
    let filter = test.clone().prop_map(|(column, test)| format!("{column}={test}"));
    let within = test.prop_map(|(column, test)| format!("{column}.{test}")).prop_recursive(3, 8, 3, |inner| {
        (pick(&["and", "or", "not.and", "not.or"]), prop::collection::vec(inner, 1..3))
            .prop_map(|(word, parts)| format!("{word}({})", parts.join(",")))
    });
    let tree = (pick(&["and", "or", "not.and", "not.or"]), prop::collection::vec(within, 1..3))
        .prop_map(|(word, parts)| format!("{word}=({})", parts.join(",")));
    let select = pick(&["*", "id", "*,label:id", "created_at,id", "headers", "users(*)", "count()", "id::text"]);
    let order = (column, pick(&["", ".desc", ".nullsfirst", ".desc.nullslast"]));
    let other = prop_oneof![
        select.prop_map(|list| format!("select={list}")),
        order.prop_map(|(column, way)| format!("order={column}{way},id")),
        (0..4u8).prop_map(|limit| format!("limit={limit}")),
        (0..4u8).prop_map(|offset| format!("offset={offset}")),
        Just("on_conflict=id".to_owned()),
        Just("on_conflict=user_id,name".to_owned()),
    ];
    let parameter = prop_oneof![4 => filter, 2 => tree, 2 => other];
    prop::collection::vec(parameter, 0..4).prop_map(|parameters| parameters.join("&"))
}

fn body(table: &'static str) -> impl Strategy<Value = String> {
    let id = pick(&["$1", "$2", "$4", "$5", "$6", "$8", "$9"]);
    let of = pick(&["$1", "$5", "$9", "$me", "$other", "x"]);
    (id, of, any::<bool>(), pick(&["mine", "new", "hush"])).prop_map(move |(id, of, given, word)| {
        let mut row = match table {
            "ai_chat_sessions" => json!({ "id": id, "title": word }),
            "mcp_servers" => json!({ "id": id, "name": word, "url": "http://b" }),
            _ => json!({ "id": id, "session_id": "$1", "role": "user", "content": word }),
        };
        if given {
            row[if table == "ai_chat_messages" { "session_id" } else { "user_id" }] = json!(of);
        }
        row.to_string()
    })
}

/// Returns requests with their `Prefer` and `Accept`.
fn request() -> impl Strategy<Value = (String, &'static str, &'static str)> {
    let prefer = pick(&[
        "count=exact",
        "count=planned",
        "return=representation",
        "return=representation, count=exact, resolution=merge-duplicates",
        "return=headers-only, resolution=ignore-duplicates",
        "handling=strict, max-affected=1, return=representation",
    ]);
    let accept = pick(&["*/*", "*/*", "*/*", "application/vnd.pgrst.object+json"]);
    let words = prop::sample::select(TABLES.to_vec()).prop_flat_map(|(table, columns)| {
        (Just(table), pick(&["GET", "GET", "HEAD", "POST", "PATCH", "DELETE"]), query(columns), body(table))
    });
    (words, prefer, accept).prop_map(|((table, method, query, body), prefer, accept)| {
        let body = if matches!(method, "POST" | "PATCH") { format!(" {body}") } else { String::new() };
        (format!("{method} {table}?{query}{body}"), prefer, accept)
    })
}

async fn endure(apps: &[(TestApp, Group)], request: &str, headers: &[(&str, &str)]) -> Result<(), TestCaseError> {
    let mut answers = Vec::new();
    for (app, group) in apps {
        let before = theirs(app, group).await;
        let answer = ask(app, group, request, headers).await;
        let told = answer.join("\n");
        prop_assert!(!told.starts_with('5') && !told.contains(SECRET), "{told}");
        let stranger = ask(app, group, &format!("@nobody {request}"), headers).await.join("\n");
        let (status, rest) = stranger.split_at(3);
        let nothing = ["200", "206"].contains(&status) && (rest.starts_with(" */*") || rest.starts_with(" */0"));
        prop_assert!(nothing || status.starts_with('4'), "nobody: {stranger}");
        prop_assert!(!stranger.contains(SECRET), "nobody: {stranger}");
        prop_assert_eq!(theirs(app, group).await, before);
        answers.push((told, stranger));
    }
    prop_assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "the databases differ: {answers:#?}");
    Ok(())
}

#[test]
fn no_request_shows_or_changes_a_row_of_somebody_else() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let apps: Vec<(TestApp, Group)> = runtime.block_on(async {
        let mut apps = Vec::new();
        for database in databases() {
            let app = TestApp::builder().database(database).clock(&MockClock::new()).start().await;
            let group = Group::new(&app, 1).await;
            furnish(&app, &group).await;
            apps.push((app, group));
        }
        apps
    });
    let config = Config { cases: 128, failure_persistence: None, ..Config::default() };
    let tested = TestRunner::new(config).run(&request(), |(request, prefer, accept)| {
        runtime.block_on(endure(&apps, &request, &[("prefer", prefer), ("accept", accept)]))
    });
    runtime.block_on(async {
        for (app, _) in apps {
            app.stop().await;
        }
    });
    tested.unwrap();
}
