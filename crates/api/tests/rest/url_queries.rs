//! Secrets in the query of a connection's URL: encrypted, never shown, and sent only to the server they were entered
//! for.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Database, Person, ScriptedMcp, TestApp, databases, run_sql};

use super::{answer, refusal};

const KEY: &str = "s3cret-7";
const QUERY: &str = "api_key=s3cret-7&team=blue";

/// A user whose connection has a secret in its URL.
struct Fixture {
    server: ScriptedMcp,
    app: TestApp,
    person: Person,
    id: String,
    /// The URL as it is shown.
    masked: String,
}

impl Fixture {
    async fn new(database: Database) -> Self {
        let server = ScriptedMcp::start([json!({ "name": "send", "description": "Sends a letter." })]).await;
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let id = person.connect_to("post", &format!("{}?{QUERY}", server.url)).await;
        let masked = format!("{}?api_key=***&team=***", server.url);
        Self { server, app, person, id, masked }
    }

    fn row(&self) -> String {
        format!("/rest/v1/mcp_servers?id=eq.{}", self.id)
    }

    /// Changes the row, and returns status and code of an error.
    async fn patch(&self, change: Value) -> (u16, Option<String>) {
        let answer = answer(self.person.request(Method::PATCH, &self.row()).json(&change)).await;
        (answer.status, answer.body["code"].as_str().map(str::to_owned))
    }

    async fn shown_url(&self) -> String {
        self.person.get(&self.row()).await[0]["url"].as_str().unwrap().to_owned()
    }

    /// Reconnects, and returns the query that the server received.
    async fn query_on_connect(&self) -> Option<String> {
        self.server.take_queries();
        let (_, view) = self.person.post(&format!("/api/connections/{}/refresh", self.id), &json!({})).await;
        assert_eq!(view["status"], "connected", "{view}");
        let queries = self.server.take_queries();
        // The connection before it may still be closing, with the query that it had.
        queries.last().unwrap().clone()
    }

    /// Returns everything that the API shows of the connection.
    async fn told(&self) -> String {
        let mut told = String::new();
        let paths = ["/api/connections", "/api/tools/permissions", "/api/tools/audit", "/api/account/export"];
        for path in paths.map(str::to_owned).into_iter().chain([self.row(), format!("/api/connections/{}", self.id)]) {
            told += &self.person.get(&path).await.to_string();
        }
        told
    }
}

/// Returns whether the database of a stopped server contains the secret anywhere, for SQLite including unused space
/// in its files.
async fn holds_key(folder: &tempfile::TempDir, database_url: &str) -> bool {
    if database_url.starts_with("sqlite://") {
        let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let is_database =
            |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("test.db");
        let mut held = files.filter(is_database).map(|path| fs::read(path).unwrap());
        return held.any(|bytes| bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()));
    }
    let tables = ["mcp_servers", "tool_permissions", "interactions", "tool_tasks", "tool_lists"];
    let selects = tables.map(|table| format!("SELECT row_to_json(t)::text FROM {table} t")).join(" UNION ALL ");
    run_sql(database_url, &selects).await.contains(KEY)
}

#[tokio::test]
async fn url_query_is_sealed_and_never_shown() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        assert_eq!(fixture.shown_url().await, fixture.masked);
        assert_eq!(fixture.query_on_connect().await.as_deref(), Some(QUERY));
        fixture.person.allow(&fixture.id, "send", "always").await;
        let form = json!({ "serverName": "post", "name": "send", "arguments": {} });
        assert_eq!(fixture.person.post("/api/tools/run", &form).await.0, 200);
        assert!(fixture.server.take_queries().iter().all(|query| query.as_deref() == Some(QUERY)));
        let told = fixture.told().await;
        assert!(told.contains("api_key=***") && !told.contains(KEY), "{told}");

        let (folder, database_url) = fixture.app.stop().await;
        assert!(!holds_key(&folder, &database_url).await);
    }
}

#[tokio::test]
async fn masked_url_keeps_the_query_of_its_row() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        assert_eq!(fixture.patch(json!({ "name": "mail", "url": fixture.masked })).await, (204, None));
        assert_eq!(fixture.query_on_connect().await.as_deref(), Some(QUERY));
        let renamed = fixture.person.request(Method::PATCH, &format!("/api/connections/{}", fixture.id));
        assert_eq!(renamed.json(&json!({ "name": "post" })).send().await.unwrap().status(), 200);
        assert_eq!(fixture.query_on_connect().await.as_deref(), Some(QUERY));

        let upsert = fixture.person.request(Method::POST, "/rest/v1/mcp_servers?on_conflict=user_id,name");
        let upsert = upsert.header("prefer", "resolution=merge-duplicates");
        let merged = answer(upsert.json(&json!({ "name": "post", "url": fixture.masked, "status": "x" }))).await;
        assert_eq!(merged.status, 200, "{merged:?}");
        assert_eq!(fixture.query_on_connect().await.as_deref(), Some(QUERY));
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn masked_url_is_refused_where_it_is_not_stored() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let elsewhere = ScriptedMcp::start([json!({ "name": "send" })]).await;
        let path = fixture.masked.replace("/mcp?", "/other?");
        for url in [
            format!("{}?api_key=***&team=***", elsewhere.url),
            path,
            fixture.masked.replace("team=***", "team=red"),
            fixture.masked.replace("api_key", "key"),
        ] {
            let refused =
                answer(fixture.person.request(Method::PATCH, &fixture.row()).json(&json!({ "url": url }))).await;
            assert_eq!(refusal(&refused), (400, "23514"), "{url}");
            assert!(refused.body["hint"].as_str().unwrap().contains("with all of its values"), "{refused:?}");
            let row = json!({ "name": "post", "url": url });
            let insert = |resolution: &str| {
                let path = format!(
                    "/rest/v1/mcp_servers{}",
                    if resolution.is_empty() { "" } else { "?on_conflict=user_id,name" }
                );
                fixture.person.request(Method::POST, &path).header("prefer", resolution).json(&row)
            };
            assert_eq!(refusal(&answer(insert("resolution=merge-duplicates")).await), (400, "23514"), "{url}");
            let ignored = answer(insert("resolution=ignore-duplicates")).await;
            assert_eq!(ignored.status, 201, "{ignored:?}");
        }
        let fresh = json!({ "name": "fresh", "url": fixture.masked });
        let fresh = fixture.person.request(Method::POST, "/rest/v1/mcp_servers").json(&fresh);
        assert_eq!(refusal(&answer(fresh).await), (400, "23514"));
        fixture.server.take_queries();
        let (_, probed) = fixture.person.post("/functions/v1/mcp-proxy", &json!({ "url": fixture.masked })).await;
        assert_eq!(probed["success"], false);
        assert!(probed["error"].as_str().unwrap().contains("***"), "{probed}");
        assert!(elsewhere.take_queries().is_empty() && fixture.server.take_queries().is_empty());

        assert_eq!(fixture.shown_url().await, fixture.masked);
        assert_eq!(fixture.query_on_connect().await.as_deref(), Some(QUERY));
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn url_with_its_values_replaces_the_query() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let renewed = format!("{}?api_key=n3w&team=blue", fixture.server.url);
        assert_eq!(fixture.patch(json!({ "url": renewed })).await, (204, None));
        assert_eq!(fixture.shown_url().await, fixture.masked);
        assert_eq!(fixture.query_on_connect().await.as_deref(), Some("api_key=n3w&team=blue"));

        assert_eq!(fixture.patch(json!({ "url": fixture.server.url })).await, (204, None));
        assert_eq!(fixture.shown_url().await, fixture.server.url);
        assert_eq!(fixture.query_on_connect().await, None);
        let stored =
            fixture.app.state.storage.connections().list(fixture.person.id.parse().unwrap()).await.unwrap().remove(0);
        assert_eq!(stored.url_query, None);
        assert_eq!(fixture.patch(json!({ "url": fixture.masked })).await, (400, Some("23514".to_owned())));
        fixture.app.stop().await;
    }
}
