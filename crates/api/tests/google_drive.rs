//! Google Drive from linking to the last call, with a scripted Google.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod scripted;

use std::sync::Arc;

use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Method, StatusCode};
use scripted::{CLIENT_ID, CLIENT_SECRET, LIFETIME, ScriptedGoogle};
use serde_json::{Value, json};
use testkit::{Builder, Database, MockClock, Person, TestApp, databases};

/// A client that returns redirects instead of following them, like a browser under control of the test.
#[expect(clippy::disallowed_methods, reason = "tests talk to loopback only")]
fn browser() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

struct Fixture {
    google: ScriptedGoogle,
    app: TestApp,
    clock: Arc<MockClock>,
    person: Person,
}

fn configured(google: &ScriptedGoogle) -> Builder {
    TestApp::builder()
        .set("GOOGLE_CLIENT_ID", CLIENT_ID)
        .set("GOOGLE_CLIENT_SECRET", CLIENT_SECRET)
        .set("GOOGLE_DRIVE_BASE_URL", &google.url)
        .set("GOOGLE_AUTHORIZE_URL", format!("{}/authorize", google.url))
        .set("GOOGLE_TOKEN_URL", format!("{}/token", google.url))
        .set("GOOGLE_REVOKE_URL", format!("{}/revoke", google.url))
}

impl Fixture {
    async fn new(database: Database) -> Self {
        let google = ScriptedGoogle::start().await;
        let clock = MockClock::new();
        let app = configured(&google).database(database).clock(&clock).start().await;
        let person = app.person().await;
        Self { google, app, clock, person }
    }

    async fn linked(database: Database) -> Self {
        let fixture = Self::new(database).await;
        let flow = Flow::begin(&fixture, &fixture.person).await;
        assert_eq!(flow.come_back(&fixture, Some(&flow.cookie)).await, "/?tab=servers&google-drive=linked");
        fixture
    }

    async fn call(&self, name: &str, arguments: Value) -> Value {
        call(&self.person, name, arguments).await
    }

    /// Returns the person's audit events about the Drive, oldest first.
    async fn audit(&self) -> Vec<String> {
        let listed = self.person.get("/api/account/events").await;
        let events = listed["events"].as_array().unwrap().iter().rev();
        let told =
            events.map(|event| format!("{} by {}", event["kind"].as_str().unwrap(), event["actor"].as_str().unwrap()));
        told.filter(|event| event.starts_with("google_drive")).collect()
    }

    async fn status(&self) -> Value {
        self.person.get("/api/google-drive").await
    }
}

/// An attempt to link.
struct Flow {
    /// Path and query of Google's redirect.
    back: String,
    cookie: String,
}

impl Flow {
    async fn begin(fixture: &Fixture, person: &Person) -> Self {
        let answer = person.request(Method::POST, "/api/google-drive/link").send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        let set = answer.headers()[SET_COOKIE].to_str().unwrap().to_owned();
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Lax") && set.contains("Max-Age=600"), "{set}");
        let url = answer.json::<Value>().await.unwrap()["url"].as_str().unwrap().to_owned();
        assert!(url.starts_with(&fixture.google.url));
        let consented = browser().get(url).send().await.unwrap();
        assert_eq!(consented.status(), StatusCode::FOUND);
        let back = url::Url::parse(consented.headers()[LOCATION].to_str().unwrap()).unwrap();
        Self {
            back: format!("{}?{}", back.path(), back.query().unwrap()),
            cookie: set.split(';').next().unwrap().to_owned(),
        }
    }

    /// Calls the callback and returns its redirect.
    async fn come_back(&self, fixture: &Fixture, cookie: Option<&str>) -> String {
        let mut request = browser().get(format!("{}{}", fixture.app.url, self.back));
        if let Some(cookie) = cookie {
            request = request.header(COOKIE, format!("other=1; {cookie}"));
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        answer.headers()[LOCATION].to_str().unwrap().to_owned()
    }
}

/// Calls a tool of the MCP server.
async fn call(person: &Person, name: &str, arguments: Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
    let (status, answer) = person.post("/mcp/google-drive", &message).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer["result"].clone()
}

fn text(result: &Value) -> String {
    let pieces = result["content"].as_array().unwrap();
    pieces.iter().map(|piece| piece["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn assert_error(result: &Value, said: &str) {
    assert!(result["isError"] == true && text(result).contains(said), "{result}");
}

#[tokio::test]
async fn a_linked_drive_is_listed_read_written_and_unlinked() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        assert_eq!(fixture.status().await, json!({ "configured": true, "linked": false }));
        assert_error(&fixture.call("google_drive_list_files", json!({})).await, "not linked yet");
        let flow = Flow::begin(&fixture, &fixture.person).await;
        assert_eq!(flow.come_back(&fixture, Some(&flow.cookie)).await, "/?tab=servers&google-drive=linked");
        assert_eq!(fixture.status().await, json!({ "configured": true, "linked": true }));

        let found = fixture.call("google_drive_list_files", json!({ "query": "it's \\ mine", "page_size": 2 })).await;
        assert!(text(&found).contains("- Minutes (Google Doc, changed 2026-11-20), id doc-1"), "{found}");
        assert_eq!(found["structuredContent"]["files"][1]["id"], "sheet-1");
        let next = json!({ "page_token": found["structuredContent"]["nextPageToken"], "folder_id": "folder-1" });
        let found = fixture.call("google_drive_list_files", next).await;
        assert_eq!(found["structuredContent"]["files"][0]["id"], "text-1");
        assert_eq!(
            fixture.google.known().searches,
            [
                r"trashed = false and (name contains 'it\'s \\ mine' or fullText contains 'it\'s \\ mine')",
                "trashed = false and 'folder-1' in parents"
            ]
        );

        let content = "Grüße\r\n--boundary--\r\n";
        let new = json!({ "name": "new.md", "content": content, "mime_type": "text/markdown" });
        let made = fixture.call("google_drive_create_file", new).await;
        assert!(text(&made).contains("Created new.md (text/markdown), id new-1."), "{made}");
        let uploaded = fixture.google.known().uploads[0].clone();
        assert_eq!(uploaded, format!("\r\nContent-Type: text/markdown; charset=UTF-8\r\n\r\n{content}\r\n"));

        let unlinked = fixture.person.request(Method::DELETE, "/api/google-drive").send().await.unwrap();
        assert_eq!(unlinked.status(), StatusCode::NO_CONTENT);
        assert_eq!(fixture.google.known().revoked, ["refresh-2"]);
        assert_eq!(fixture.status().await["linked"], false);
        assert_error(&fixture.call("google_drive_list_files", json!({})).await, "\"MCP Servers\" tab");
        let again = fixture.person.request(Method::DELETE, "/api/google-drive").send().await.unwrap();
        assert_eq!(again.status(), StatusCode::NO_CONTENT);
        assert_eq!(fixture.audit().await, ["google_drive_linked by user", "google_drive_unlinked by user"]);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn files_are_read_as_text_where_they_have_any() {
    let fixture = Fixture::linked(Database::of_environment()).await;
    let read = async |id: &str| fixture.call("google_drive_read_file", json!({ "file_id": id })).await;
    assert_eq!(text(&read("doc-1").await), "# Minutes\n");
    assert_eq!(text(&read("sheet-1").await), "a,b\n1,2\n\nThis is the first sheet; others are not included.");
    assert_eq!(text(&read("text-1").await), "Hello Drive");
    assert_eq!(text(&read("short-1").await), "Hello Drive");
    let long = read("long-1").await;
    assert_eq!(long["content"][0]["text"].as_str().unwrap().len(), 1024 * 1024);
    assert_eq!(long["content"][1]["text"], "long.txt is longer than 1 MiB; this is its beginning.");
    let pdf = read("pdf-1").await;
    assert_eq!(text(&pdf), "plan.pdf is not a text (application/pdf, 52100 bytes), so its content is not shown.");
    assert_error(&read("folder-1").await, "folder_id folder-1");
    assert_error(&read("gone").await, "no such file");
    assert_error(&read("../../etc/passwd").await, "is not the id of a file");
    assert_error(&fixture.call("google_drive_read_file", json!({})).await, "missing field `file_id`");
    let named = json!({ "name": "x", "content": "", "mime_type": "text/plain\r\nX-Y: 1" });
    assert_error(&fixture.call("google_drive_create_file", named).await, "is not a type of content");
    fixture.app.stop().await;
}

#[tokio::test]
async fn tokens_are_renewed_once_for_all_who_wait_and_rotated_ones_are_kept() {
    for database in databases() {
        let fixture = Fixture::linked(database).await;
        fixture.google.known().rotates = true;
        for round in 1..=2 {
            // Each refresh invalidates the old refresh token, so only the stored one can make the next.
            fixture.clock.advance_seconds(LIFETIME);
            let calls = (0..8).map(|_| fixture.call("google_drive_list_files", json!({})));
            for result in futures_util::future::join_all(calls).await {
                assert_eq!(result["isError"], false, "{result}");
            }
            assert_eq!(fixture.google.known().renewals, round);
        }
        // Google may revoke a token before it expires.
        fixture.google.known().access.clear();
        assert_eq!(fixture.call("google_drive_list_files", json!({})).await["isError"], false);
        assert_eq!(fixture.google.known().renewals, 3);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_link_that_google_ends_is_forgotten() {
    for database in databases() {
        let fixture = Fixture::linked(database).await;
        fixture.google.known().refresh.clear();
        assert_eq!(fixture.call("google_drive_list_files", json!({})).await["isError"], false, "still good");
        fixture.clock.advance_seconds(LIFETIME);
        assert_error(&fixture.call("google_drive_list_files", json!({})).await, "no longer accepts the link");
        assert_eq!(fixture.status().await["linked"], false);
        assert_error(&fixture.call("google_drive_list_files", json!({})).await, "not linked yet");
        let flow = Flow::begin(&fixture, &fixture.person).await;
        assert!(flow.come_back(&fixture, Some(&flow.cookie)).await.ends_with("=linked"), "and can be made again");
        let expected =
            ["google_drive_linked by user", "google_drive_unlinked by system", "google_drive_linked by user"];
        assert_eq!(fixture.audit().await, expected);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_link_is_ended_once_soon_and_in_the_browser_that_began_it() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let other = fixture.app.person().await;

        // The browser of another user, with or without an attempt of its own.
        let mine = Flow::begin(&fixture, &fixture.person).await;
        let theirs = Flow::begin(&fixture, &other).await;
        assert!(mine.come_back(&fixture, Some(&theirs.cookie)).await.ends_with("=expired"));
        assert!(mine.come_back(&fixture, Some(&mine.cookie)).await.ends_with("=expired"), "the state is used up");
        assert!(theirs.come_back(&fixture, None).await.ends_with("=expired"));

        // A repeated callback.
        let mine = Flow::begin(&fixture, &fixture.person).await;
        assert!(mine.come_back(&fixture, Some(&mine.cookie)).await.ends_with("=linked"));
        assert!(mine.come_back(&fixture, Some(&mine.cookie)).await.ends_with("=expired"));
        assert_eq!(fixture.status().await["linked"], true);
        assert_eq!(other.get("/api/google-drive").await["linked"], false);
        assert_error(&call(&other, "google_drive_list_files", json!({})).await, "not linked yet");

        // A late, an unknown and a missing state.
        let late = Flow::begin(&fixture, &other).await;
        fixture.clock.advance_seconds(601);
        assert!(late.come_back(&fixture, Some(&late.cookie)).await.ends_with("=expired"));
        let unknown = Flow { back: "/api/google-drive/callback?state=x&code=y".into(), cookie: late.cookie };
        assert!(unknown.come_back(&fixture, Some(&unknown.cookie)).await.ends_with("=expired"));
        let denied = Flow { back: "/api/google-drive/callback?error=access_denied&state=x".into(), ..unknown };
        assert!(denied.come_back(&fixture, Some(&denied.cookie)).await.ends_with("=denied"));
        assert_eq!(other.get("/api/google-drive").await["linked"], false);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn what_google_refuses_is_told_in_words() {
    let fixture = Fixture::linked(Database::of_environment()).await;
    let reason = |status: u16, reason: &str, message: &str| {
        (status, json!({ "error": { "code": status, "message": message, "errors": [{ "reason": reason }] } }))
    };
    for (refusal, said) in [
        (reason(403, "insufficientPermissions", ""), "leave all permissions checked"),
        (reason(403, "userRateLimitExceeded", ""), "slow down"),
        (reason(429, "", ""), "slow down"),
        (reason(401, "authError", ""), "no longer accepts the link"),
        (reason(403, "accessNotConfigured", "The API is off."), "(403): The API is off."),
        ((500, json!("oops")), "(500)."),
        ((200, json!("oops")), "sent an unreadable response"),
    ] {
        fixture.google.known().refusal = Some(refusal);
        assert_error(&fixture.call("google_drive_list_files", json!({})).await, said);
    }
    fixture.app.stop().await;
}

#[tokio::test]
async fn without_a_client_nothing_can_be_linked() {
    let app = TestApp::start().await;
    let person = app.person().await;
    assert_eq!(person.get("/api/google-drive").await, json!({ "configured": false, "linked": false }));
    let (status, answer) = person.post("/api/google-drive/link", &json!({})).await;
    assert_eq!((status, &answer["error"]["code"]), (StatusCode::CONFLICT, &json!("google_drive_not_configured")));
    assert_error(&call(&person, "google_drive_list_files", json!({})).await, "GOOGLE_CLIENT_ID");
    for (method, path) in [(Method::GET, ""), (Method::POST, "/link"), (Method::DELETE, "")] {
        let answer = app.http.request(method, format!("{}/api/google-drive{path}", app.url)).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    }
    app.stop().await;
}

#[tokio::test]
async fn tokens_cannot_be_read_in_the_database_and_outlive_a_restart() {
    let fixture = Fixture::linked(Database::Sqlite).await;
    let Fixture { google, app, clock, person } = fixture;
    let tokens: Vec<String> = {
        let known = google.known();
        known.access.iter().chain(&known.refresh).cloned().collect()
    };
    assert_eq!(tokens.len(), 2);
    let (folder, database_url) = app.stop().await;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { continue };
        for token in &tokens {
            assert!(!bytes.windows(token.len()).any(|window| window == token.as_bytes()), "{}", path.display());
        }
    }
    let app = configured(&google).clock(&clock).on_data_of(&folder, &database_url).start().await;
    let path = format!("{}/api/google-drive", app.url);
    let status = app.http.get(path).bearer_auth(&person.token).send().await.unwrap();
    assert_eq!(status.json::<Value>().await.unwrap()["linked"], true);
    app.stop().await;
}

#[tokio::test]
async fn a_connection_to_it_outlives_the_identity_it_was_opened_with() {
    let Fixture { app, clock, mut person, .. } = Fixture::new(Database::of_environment()).await;
    person.connect("Drive", &format!("{}/mcp/google-drive", app.url), json!([])).await;
    let run = json!({ "serverName": "Drive", "name": "google_drive_list_files" });
    for _ in 0..2 {
        let (status, answer) = person.post("/api/tools/run", &run).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        assert_error(&answer["result"], "not linked yet");

        clock.advance_seconds(25 * 3600);
        let renewal = json!({ "refresh_token": person.refresh_token });
        let (status, session) = person.post("/auth/v1/token?grant_type=refresh_token", &renewal).await;
        assert_eq!(status, StatusCode::OK, "{session}");
        person.token = session["access_token"].as_str().unwrap().to_owned();
        person.refresh_token = session["refresh_token"].as_str().unwrap().to_owned();
    }
    app.stop().await;
}
