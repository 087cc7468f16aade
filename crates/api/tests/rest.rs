//! The rest API over HTTP, on all databases.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, its helpers too")]

mod ownership;
mod table;
mod url_queries;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use testkit::{MockClock, Person, TestApp, databases};

/// A response: status, relevant headers and body.
#[derive(Debug, PartialEq)]
struct Answer {
    status: u16,
    range: Option<String>,
    applied: Option<String>,
    body: Value,
}

async fn answer(request: RequestBuilder) -> Answer {
    let response: Response = request.send().await.unwrap();
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (range, applied) = (header("content-range"), header("preference-applied"));
    let status = response.status().as_u16();
    let body = response.text().await.unwrap();
    let body = if body.is_empty() { Value::Null } else { serde_json::from_str(&body).unwrap() };
    Answer { status, range, applied, body }
}

async fn get(person: &Person, path: &str) -> Answer {
    answer(person.request(Method::GET, &format!("/rest/v1/{path}"))).await
}

/// Returns status and code of an error, and checks that it has the four fields of the protocol.
fn refusal(answer: &Answer) -> (u16, &str) {
    let keys: Vec<&str> = answer.body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["code", "details", "hint", "message"], "{answer:?}");
    (answer.status, answer.body["code"].as_str().unwrap())
}

fn id(row: &Value) -> &str {
    row["id"].as_str().unwrap()
}

async fn chats(person: &Person, titles: &[&str]) -> Vec<Value> {
    let mut rows = Vec::new();
    for title in titles {
        rows.push(person.insert("ai_chat_sessions", &json!({ "title": title })).await);
    }
    rows
}

#[tokio::test]
async fn pages_say_which_part_of_how_many_they_are() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let me = app.person().await;
        chats(&me, &["a", "b", "c"]).await;
        let counted = async |method: Method, path: &str| {
            let path = format!("/rest/v1/ai_chat_sessions?{path}");
            answer(me.request(method, &path).header("prefer", "count=exact")).await
        };
        let titles = json!([{ "title": "b" }]);
        let page = get(&me, "ai_chat_sessions?select=title&order=title&offset=1&limit=1").await;
        assert_eq!((page.status, page.range.as_deref(), &page.body), (200, Some("1-1/*"), &titles));
        let page = counted(Method::GET, "select=title&order=title&offset=1&limit=1").await;
        assert_eq!((page.status, page.range.as_deref(), &page.body), (206, Some("1-1/3"), &titles));
        assert_eq!(page.applied.as_deref(), Some("count=exact"));
        let page = counted(Method::GET, "").await;
        assert_eq!((page.status, page.range.as_deref()), (200, Some("0-2/3")));
        let page = counted(Method::HEAD, "select=title&limit=1").await;
        assert_eq!((page.status, page.range.as_deref(), page.body), (206, Some("0-0/3"), Value::Null));
        assert_eq!(refusal(&counted(Method::GET, "offset=4").await), (416, "PGRST103"));
        let page = get(&me, "ai_chat_sessions?title=eq.d").await;
        assert_eq!((page.status, page.range.as_deref(), page.body), (200, Some("*/*"), json!([])));
        app.stop().await;
    }
}

#[tokio::test]
async fn one_row_as_an_object_or_a_refusal() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let me = app.person().await;
        let rows = chats(&me, &["a", "b"]).await;
        let object = |method: Method, path: &str| {
            me.request(method, &format!("/rest/v1/{path}"))
                .header("accept", "application/vnd.pgrst.object+json")
                .header("prefer", "return=representation")
        };
        let one = object(Method::GET, "ai_chat_sessions?select=title&title=eq.a").send().await.unwrap();
        assert_eq!(one.headers()["content-type"], "application/vnd.pgrst.object+json; charset=utf-8");
        assert_eq!(one.json::<Value>().await.unwrap(), json!({ "title": "a" }));

        let many = answer(object(Method::GET, "ai_chat_sessions")).await;
        assert_eq!(refusal(&many), (406, "PGRST116"));
        assert_eq!(many.body["details"], "The result contains 2 rows");
        let undone = answer(object(Method::DELETE, "ai_chat_sessions?title=in.(a,b)")).await;
        assert_eq!(refusal(&undone), (406, "PGRST116"));
        assert_eq!(get(&me, "ai_chat_sessions").await.body.as_array().unwrap().len(), 2);

        let path = format!("ai_chat_sessions?id=eq.{}&select=title", id(&rows[0]));
        let updated = answer(object(Method::PATCH, &path).json(&json!({ "title": "A" }))).await;
        assert_eq!((updated.status, updated.range.as_deref()), (200, Some("0-0/*")));
        assert_eq!(updated.body, json!({ "title": "A" }));
        app.stop().await;
    }
}

#[tokio::test]
async fn writes_answer_as_they_are_asked_to() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let me = app.person().await;
        let write = async |method: Method, path: &str, prefer: &str, body: Value| {
            let request = me.request(method, &format!("/rest/v1/{path}")).header("prefer", prefer);
            answer(if body.is_null() { request } else { request.json(&body) }).await
        };
        let bare = write(Method::POST, "ai_chat_sessions", "", json!({ "title": "a" })).await;
        let want = Answer { status: 201, range: Some("*/*".into()), applied: None, body: Value::Null };
        assert_eq!(bare, want);

        let path = "ai_chat_sessions?columns=\"title\"&select=title";
        let rows = json!([{ "title": "b", "id": "ignored" }, { "title": "c" }]);
        let many = write(Method::POST, path, "return=representation,count=exact", rows).await;
        assert_eq!((many.status, many.range.as_deref()), (201, Some("*/2")));
        assert_eq!(many.applied.as_deref(), Some("return=representation, count=exact"));
        assert_eq!(many.body, json!([{ "title": "b" }, { "title": "c" }]));

        let fresh = domain::ids::fresh();
        let row = json!({ "id": fresh, "title": "d" });
        let request = me.request(Method::POST, "/rest/v1/ai_chat_sessions").header("prefer", "return=headers-only");
        let response = request.json(&row).send().await.unwrap();
        let location = response.headers()["location"].to_str().unwrap().to_owned();
        assert_eq!(location, format!("/rest/v1/ai_chat_sessions?id=eq.{fresh}"));
        assert_eq!(response.text().await.unwrap(), "");

        let upsert = "resolution=merge-duplicates,return=representation";
        let path = "ai_chat_sessions?on_conflict=id&select=title";
        let merged = write(Method::POST, path, upsert, json!({ "id": fresh, "title": "e" })).await;
        assert_eq!((merged.status, &merged.body), (200, &json!([{ "title": "e" }])));
        let inserted = write(Method::POST, path, upsert, json!({ "title": "f" })).await;
        assert_eq!(inserted.status, 201);
        let ignore = "resolution=ignore-duplicates,return=representation";
        let ignored = write(Method::POST, path, ignore, json!({ "id": fresh, "title": "g" })).await;
        assert_eq!((ignored.status, ignored.body), (201, json!([])));

        let path = "ai_chat_sessions?title=in.(a,b)";
        let updated = write(Method::PATCH, path, "count=exact", json!({ "created_at": "2020-01-01" })).await;
        assert_eq!((updated.status, updated.range.as_deref(), updated.body), (204, Some("0-1/2"), Value::Null));
        let path = "ai_chat_sessions?created_at=lt.2021-01-01&select=title&order=title.desc";
        let deleted = write(Method::DELETE, path, "return=representation,count=exact", Value::Null).await;
        assert_eq!((deleted.status, deleted.range.as_deref()), (200, Some("*/2")));
        assert_eq!(deleted.body, json!([{ "title": "b" }, { "title": "a" }]));
        app.stop().await;
    }
}

#[tokio::test]
async fn what_is_not_served_is_refused_by_its_code() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let me = app.person().await;
        let mcp = "mcp_servers";
        let chats = "ai_chat_sessions";
        let long = format!("{chats}?title=eq.{}", "x".repeat(8 * 1024));
        let reads = [
            ("things", 404, "PGRST205"),
            ("users", 404, "PGRST205"),
            ("rpc/f", 404, "PGRST202"),
            ("ai_chat_sessions/1", 404, "PGRST125"),
            ("ai_chat_sessions?select=*,ai_chat_messages(*)", 400, "PGRST200"),
            ("ai_chat_sessions?select=count()", 400, "PGRST123"),
            ("ai_chat_sessions?select=id::text", 400, "PGRST127"),
            ("ai_chat_sessions?title=fts.a", 400, "PGRST127"),
            ("ai_chat_sessions?title=equals.a", 400, "PGRST100"),
            ("ai_chat_sessions?ai_chat_messages.order=id", 400, "PGRST108"),
            ("ai_chat_sessions?limit=-1", 416, "PGRST103"),
            ("ai_chat_sessions?columns=title", 400, "PGRST127"),
            ("ai_chat_sessions?select=headers", 400, "42703"),
            ("mcp_servers?select=headers", 400, "42703"),
            ("mcp_servers?headers=not.is.null", 400, "42703"),
            ("mcp_servers?tools=eq.[]", 404, "42883"),
            ("ai_chat_sessions?id=eq.1", 400, "22P02"),
            ("ai_chat_sessions?title=eq.%00", 400, "22021"),
            (long.as_str(), 414, "PGRST100"),
        ];
        for (path, status, code) in reads {
            assert_eq!(refusal(&get(&me, path).await), (status, code), "{path:.80}");
        }
        let root = answer(me.request(Method::GET, "/rest/v1")).await;
        assert_eq!(refusal(&root), (404, "PGRST126"));
        let headers = [
            ("accept-profile", "private", 406, "PGRST106"),
            ("accept", "text/csv", 406, "PGRST107"),
            ("prefer", "handling=strict, magic=on", 400, "PGRST122"),
            ("prefer", "tx=rollback", 400, "PGRST127"),
        ];
        for (name, value, status, code) in headers {
            let request = me.request(Method::GET, "/rest/v1/ai_chat_sessions").header(name, value);
            assert_eq!(refusal(&answer(request).await), (status, code), "{name}: {value}");
        }
        let server = |url: &str| json!({ "name": "n", "url": url });
        let writes = [
            (Method::PATCH, chats.to_owned(), json!({ "title": "a" }), 400, "21000"),
            (Method::DELETE, chats.to_owned(), json!(null), 400, "21000"),
            (Method::PATCH, format!("{chats}?title=eq.a&limit=1"), json!({ "title": "a" }), 400, "PGRST127"),
            (Method::PATCH, format!("{chats}?title=eq.a"), json!([{}, {}]), 400, "PGRST102"),
            (Method::PUT, format!("{chats}?id=eq.1"), json!({}), 405, "PGRST117"),
            (Method::POST, chats.to_owned(), json!("a"), 400, "PGRST102"),
            (Method::POST, chats.to_owned(), json!({ "nothing": 1 }), 400, "PGRST204"),
            (Method::POST, format!("{chats}?on_conflict=id"), json!({}), 400, "PGRST100"),
            (Method::POST, format!("{chats}?title=eq.a"), json!({}), 400, "PGRST127"),
            (Method::POST, chats.to_owned(), json!({ "user_id": domain::ids::fresh() }), 403, "42501"),
            (Method::POST, mcp.to_owned(), server("ftp://a"), 400, "23514"),
            (Method::POST, mcp.to_owned(), json!({ "name": "n" }), 400, "23502"),
        ];
        for (method, path, body, status, code) in writes {
            let request = me.request(method.clone(), &format!("/rest/v1/{path}"));
            let request = if body.is_null() { request } else { request.json(&body) };
            assert_eq!(refusal(&answer(request).await), (status, code), "{method} {path}");
        }
        me.insert(mcp, &server("http://127.0.0.1:9")).await;
        let twice = me.request(Method::POST, "/rest/v1/mcp_servers").json(&server("http://127.0.0.1:9"));
        assert_eq!(refusal(&answer(twice).await), (409, "23505"));
        let text =
            me.request(Method::POST, "/rest/v1/ai_chat_sessions").header("content-type", "text/csv").body("title");
        assert_eq!(refusal(&answer(text).await), (400, "PGRST102"));
        let profile = me.request(Method::POST, "/rest/v1/ai_chat_sessions").header("content-profile", "private");
        assert_eq!(refusal(&answer(profile.json(&json!({}))).await), (406, "PGRST106"));
        app.stop().await;
    }
}

#[tokio::test]
async fn without_a_person_nothing_is_read_and_nothing_written() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let me = app.person().await;
        let chat = chats(&me, &["a"]).await.remove(0);
        let url = |path: &str| format!("{}/rest/v1/{path}", app.url);
        let path = format!("ai_chat_sessions?id=eq.{}", id(&chat));
        for bearer in [None, Some("sb_publishable_0123456789")] {
            let request = |method: Method, path: &str| {
                let request = app.http.request(method, url(path));
                bearer.map_or(request.try_clone().unwrap(), |bearer| request.bearer_auth(bearer))
            };
            let read = answer(request(Method::GET, "ai_chat_sessions").header("prefer", "count=exact")).await;
            assert_eq!((read.status, read.range.as_deref(), read.body), (200, Some("*/0"), json!([])));
            let refused = answer(request(Method::GET, "mcp_servers?select=headers")).await;
            assert_eq!(refusal(&refused), (400, "42703"));
            let posted = answer(request(Method::POST, "ai_chat_sessions").json(&json!({}))).await;
            assert_eq!(refusal(&posted), (401, "42501"));
            let patched = answer(request(Method::PATCH, &path).json(&json!({ "title": "b" }))).await;
            assert_eq!(refusal(&patched), (401, "42501"));
            assert_eq!(refusal(&answer(request(Method::DELETE, &path)).await), (401, "42501"));
        }
        let forged = format!("{}x", me.token);
        let read = answer(app.http.get(url("ai_chat_sessions")).bearer_auth(forged)).await;
        assert_eq!(refusal(&read), (401, "PGRST301"));

        clock.advance_seconds(2 * 3600);
        let late = app.http.get(url("ai_chat_sessions")).bearer_auth(&me.token).send().await.unwrap();
        let challenge = late.headers()["www-authenticate"].to_str().unwrap().to_owned();
        assert_eq!(challenge, "Bearer error=\"invalid_token\", error_description=\"JWT expired\"");
        let late = late.json::<Value>().await.unwrap();
        assert_eq!((late["code"].as_str(), late["message"].as_str()), (Some("PGRST303"), Some("JWT expired")));
        app.stop().await;
    }
}

#[tokio::test]
async fn a_stranger_finds_and_changes_nothing() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let (me, other) = (app.person().await, app.person().await);
        let chat = chats(&other, &["theirs"]).await.remove(0);
        let message = json!({ "session_id": id(&chat), "role": "user", "content": "c" });
        let message = other.insert("ai_chat_messages", &message).await;
        let by_id = format!("ai_chat_sessions?id=eq.{}", id(&chat));
        assert_eq!(get(&me, &by_id).await.body, json!([]));
        assert_eq!(get(&me, &format!("ai_chat_messages?id=eq.{}", id(&message))).await.body, json!([]));
        let write = async |method: Method, path: &str, prefer: &str, body: Value| {
            let request = me.request(method, &format!("/rest/v1/{path}"));
            answer(request.header("prefer", format!("{prefer}return=representation")).json(&body)).await
        };
        let patched = write(Method::PATCH, &by_id, "", json!({ "title": "mine" })).await;
        assert_eq!((patched.status, patched.body), (200, json!([])));
        let deleted = write(Method::DELETE, &by_id, "", json!(null)).await;
        assert_eq!((deleted.status, deleted.body), (200, json!([])));
        let row = json!({ "id": id(&chat), "title": "mine" });
        let merged = write(Method::POST, "ai_chat_sessions", "resolution=merge-duplicates,", row).await;
        assert_eq!(refusal(&merged), (403, "42501"));
        assert_eq!(merged.body["message"], "new row violates row-level security policy for table \"ai_chat_sessions\"");
        let row = json!({ "session_id": id(&chat), "role": "user", "content": "x" });
        assert_eq!(refusal(&write(Method::POST, "ai_chat_messages", "", row).await), (403, "42501"));
        assert_eq!(get(&other, &by_id).await.body, json!([chat]));
        assert_eq!(other.messages(id(&chat)).await, [message]);
        app.stop().await;
    }
}

#[tokio::test]
async fn headers_of_a_connection_are_sealed_and_never_shown() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let me = app.person().await;
        let row = json!({ "name": "n", "url": "http://127.0.0.1:9", "headers": { "X-Key": "open sesame" } });
        let shown = me.insert("mcp_servers", &row).await;
        assert!(shown.get("headers").is_none());
        let owner = me.id.parse().unwrap();
        let stored = app.state.storage.connections().list(owner).await.unwrap().remove(0);
        assert!(!stored.headers.as_ref().unwrap().windows(6).any(|window| window == b"sesame"));
        let opened = connections::headers::open(&app.state.secrets, owner, &stored).unwrap();
        assert_eq!(opened, [("X-Key".to_owned(), "open sesame".to_owned())]);

        let path = format!("/rest/v1/mcp_servers?id=eq.{}", id(&shown));
        let emptied = me.request(Method::PATCH, &path).json(&json!({ "headers": null }));
        assert_eq!(answer(emptied).await.status, 204);
        assert_eq!(app.state.storage.connections().list(owner).await.unwrap().remove(0).headers, None);
        app.stop().await;
    }
}

#[tokio::test]
async fn a_body_larger_than_anybody_needs_is_refused() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let me = app.person().await;
        let large = json!({ "title": "x".repeat(2 * 1024 * 1024) });
        let refused = answer(me.request(Method::POST, "/rest/v1/ai_chat_sessions").json(&large)).await;
        assert_eq!(refusal(&refused), (413, "PGRST102"));
        // A connection is stored with its server's tools, which can be many.
        let tools: Vec<Value> =
            (0..30_000).map(|n| json!({ "name": format!("tool-{n}"), "description": "x".repeat(100) })).collect();
        let server = json!({ "name": "many", "url": "https://many.example/mcp", "tools": tools });
        let stored = me.request(Method::POST, "/rest/v1/mcp_servers").json(&server).send().await.unwrap();
        assert_eq!(stored.status(), 201);
        let larger = json!({ "name": "x".repeat(16 * 1024 * 1024) });
        let refused = answer(me.request(Method::POST, "/rest/v1/mcp_servers").json(&larger)).await;
        assert_eq!(refusal(&refused), (413, "PGRST102"));
        let many = json!(vec![json!({ "title": "x" }); 1_001]);
        let refused = answer(me.request(Method::POST, "/rest/v1/ai_chat_sessions").json(&many)).await;
        assert_eq!(refusal(&refused), (400, "PGRST102"));
        assert_eq!(get(&me, "ai_chat_sessions").await.body, json!([]));
        app.stop().await;
    }
}
