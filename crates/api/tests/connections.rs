//! Lifecycle of a connection: connecting, idling, failing, backing off, reconnecting, changing; and the events about
//! it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod states;
mod tool_lists;
mod updates;

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Database, MockClock, PageEvents, Person, StatefulMcp, TestApp};

/// A user with a connection to one server, and a clock under control of the test.
struct Fixture {
    clock: Arc<MockClock>,
    server: StatefulMcp,
    app: TestApp,
    person: Person,
    connection: String,
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": format!("Does {name}.") })
}

impl Fixture {
    async fn new(database: Database) -> Self {
        let clock = MockClock::new();
        let server = StatefulMcp::start([tool("send")]).await;
        server.instruct("Be brief.");
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let person = app.person().await;
        let connection = person.connect_to("post", &server.url).await;
        let fixture = Self { clock, server, app, person, connection };
        fixture.until("status", &json!("connected")).await;
        fixture
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/connections/{}{rest}", self.connection)
    }

    /// Returns the connection.
    async fn now(&self) -> Value {
        self.person.get(&self.path("")).await
    }

    /// Returns the connection as soon as a field has a value.
    async fn until(&self, field: &str, value: &Value) -> Value {
        loop {
            let now = self.now().await;
            if now[field] == *value {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Makes a manual tool call, and returns status and response.
    async fn send(&self) -> (u16, Value) {
        let body = json!({ "serverName": "post", "name": "send", "arguments": {} });
        let (status, answer) = self.person.post("/api/tools/run", &body).await;
        (status.as_u16(), answer)
    }

    async fn refresh(&self) -> Value {
        self.person.post(&self.path("/refresh"), &json!({})).await.1
    }

    async fn change(&self, body: Value) -> (u16, Value) {
        let answer = self.person.request(Method::PATCH, &self.path("")).json(&body).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// Opens the event stream of the user.
    async fn page(&self) -> Page {
        Page(PageEvents::open(&self.person).await)
    }
}

/// An event stream of the user.
struct Page(PageEvents);

impl Page {
    /// Returns the next event about a connection for which `is_it` holds.
    async fn told(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        self.0.find(|event| is_it(&event["connection"])).await.unwrap()["connection"].clone()
    }
}

fn names(connection: &Value) -> Vec<&str> {
    connection["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}
