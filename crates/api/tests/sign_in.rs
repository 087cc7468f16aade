//! Signing in to a third-party MCP server and its authorization server.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod account;
mod callbacks;
mod client;
mod paused;
#[path = "../../mcp/tests/support/peer.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod peer;
mod round_trip;
mod token_renewal;

use std::sync::Arc;
use std::time::Duration;

use peer::Peer;
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::{Database, MockClock, Person, TestApp};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/peers/oauth.mjs");
/// Lifetime of the peer's tokens, in seconds.
const TOKEN_LIFETIME: i64 = 600;
/// Maximum time to wait for anything.
const BOUND: Duration = Duration::from_secs(30);

/// A user with a connection to a server that requires a sign-in.
struct Fixture {
    peer: Peer,
    app: TestApp,
    clock: Arc<MockClock>,
    person: Person,
    connection: String,
}

impl Fixture {
    async fn new(database: Database) -> Self {
        Self::with(database, &[]).await
    }

    async fn with(database: Database, settings: &[(&str, &str)]) -> Self {
        let peer = Peer::start(PROGRAM, &[], &[&[("PORT", "{port}")], settings].concat());
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let person = app.person().await;
        let connection = connect(&person, &peer).await;
        Self { peer, app, clock, person, connection }
    }

    /// Starts the scenario with a model.
    async fn with_model(database: Database, base_url: &str) -> Self {
        let peer = Peer::start(PROGRAM, &[], &[("PORT", "{port}")]);
        let clock = MockClock::new();
        let builder = TestApp::builder().database(database).clock(&clock).set("OPENAI_BASE_URL", base_url);
        let app = builder.start().await;
        let person = app.person().await;
        let connection = connect(&person, &peer).await;
        Self { peer, app, clock, person, connection }
    }

    /// Restarts the server with the same users and MCP servers.
    async fn again(self, base_url: &str) -> Self {
        let Self { peer, app, clock, mut person, connection } = self;
        let (folder, database) = app.stop().await;
        let builder = TestApp::builder().on_data_of(&folder, &database).clock(&clock);
        let app = builder.set("OPENAI_BASE_URL", base_url).start().await;
        person.move_to(&app);
        Self { peer, app, clock, person, connection }
    }

    async fn signed_in(database: Database) -> Self {
        let fixture = Self::new(database).await;
        assert_eq!(fixture.sign_in().await, "connected");
        fixture
    }

    /// Signs in with consent, and returns the outcome in the final redirect.
    async fn sign_in(&self) -> String {
        let begun = Begun::by(&self.person, &self.connection).await;
        begun.decide(self, "yes").await.come_back(self, Some(&begun.cookie)).await
    }

    /// Changes the peer's behaviour, such as to revoke tokens.
    async fn control(&self, changes: Value) {
        let url = format!("http://127.0.0.1:{}/control", self.peer.port);
        let answer = self.app.http.post(url).json(&changes).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    }

    /// Returns what the peer has recorded.
    async fn seen(&self, what: &str) -> Value {
        let url = format!("http://127.0.0.1:{}/control", self.peer.port);
        self.app.http.get(url).send().await.unwrap().json::<Value>().await.unwrap()[what].clone()
    }

    async fn call(&self, tool: &str) -> (StatusCode, Value) {
        call(&self.person, tool).await
    }

    async fn read(&self) -> String {
        let (status, answer) = self.call("read_notes").await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Returns the connection as soon as it has this status.
    async fn until(&self, status: &str) -> Value {
        until(&self.person, &self.connection, status).await
    }

    fn path(&self) -> String {
        format!("/api/connections/{}/sign-in", self.connection)
    }
}

async fn connect(person: &Person, peer: &Peer) -> String {
    let url = format!("http://127.0.0.1:{}/mcp", peer.port);
    let row = person.connect("notes", &url, json!([])).await;
    row["id"].as_str().unwrap().to_owned()
}

async fn call(person: &Person, tool: &str) -> (StatusCode, Value) {
    person.post("/api/tools/run", &json!({ "serverName": "notes", "name": tool, "arguments": {} })).await
}

async fn until(person: &Person, connection: &str, status: &str) -> Value {
    let looked = async {
        loop {
            let all = person.get("/api/connections").await;
            let found = all["connections"].as_array().unwrap().iter().find(|found| found["id"] == connection);
            if let Some(found) = found.filter(|found| found["status"] == status) {
                return found.clone();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(BOUND, looked).await.unwrap()
}

/// A sign-in in progress.
struct Begun {
    url: String,
    cookie: String,
}

impl Begun {
    async fn by(person: &Person, connection: &str) -> Self {
        Self::in_browser(person, connection, None).await
    }

    async fn in_browser(person: &Person, connection: &str, cookie: Option<&str>) -> Self {
        let mut request = person.request(Method::POST, &format!("/api/connections/{connection}/sign-in"));
        if let Some(cookie) = cookie {
            request = request.header(COOKIE, cookie);
        }
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = answer.json::<Value>().await.unwrap();
        assert_eq!(status, StatusCode::OK, "{body}");
        let set = headers[SET_COOKIE].to_str().unwrap();
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Lax") && set.contains("Max-Age=600"), "{set}");
        Self { url: body["url"].as_str().unwrap().to_owned(), cookie: set.split(';').next().unwrap().to_owned() }
    }

    /// Reads the consent page and follows one of its links.
    async fn decide(&self, fixture: &Fixture, allow: &str) -> Answer {
        let page = fixture.app.http.get(&self.url).send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK);
        let page = page.text().await.unwrap();
        assert!(page.contains("AI Chat MCP wants to use Notes"), "{page}");
        let link = page.split('"').find(|link| link.ends_with(&format!("allow={allow}"))).unwrap();
        let decided = browser().get(format!("http://127.0.0.1:{}{link}", fixture.peer.port)).send().await.unwrap();
        let back = url::Url::parse(decided.headers()[LOCATION].to_str().unwrap()).unwrap();
        Answer(format!("{}?{}", back.path(), back.query().unwrap()))
    }
}

/// Path and query of the authorization server's redirect.
#[derive(Debug, Clone)]
struct Answer(String);

impl Answer {
    /// Calls the callback and returns the outcome in its redirect.
    async fn come_back(&self, fixture: &Fixture, cookie: Option<&str>) -> String {
        let mut request = browser().get(format!("{}{}", fixture.app.url, self.0));
        if let Some(cookie) = cookie {
            request = request.header(COOKIE, format!("other=1; {cookie}"));
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        let location = answer.headers()[LOCATION].to_str().unwrap();
        location.strip_prefix("/?tab=servers&sign-in=").unwrap().to_owned()
    }
}

/// A client that returns redirects instead of following them.
#[expect(clippy::disallowed_methods, reason = "tests talk to loopback only")]
fn browser() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}
