//! Several nodes on one PostgreSQL database: clients need not know which node runs a turn.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod order;
mod pages;
mod pooler;
mod steering;
mod viewers;

use std::sync::Arc;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use storage::Storage;
use tempfile::TempDir;
use testkit::{Database, Person, ScriptedModel, Step, TestApp};

/// The master key that the nodes share: any 32 bytes.
const MASTER_KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

/// Two nodes, and a user who is signed in at both.
struct Fixture {
    model: ScriptedModel,
    here: TestApp,
    there: TestApp,
    /// The user at the node that starts the turns.
    person: Person,
    /// The same user at the other node.
    elsewhere: Person,
    chat: String,
}

impl Fixture {
    /// Starts the nodes; `None` without PostgreSQL.
    async fn new(steps: impl IntoIterator<Item = Step>) -> Option<Self> {
        if !testkit::databases().contains(&Database::Postgres) {
            return None;
        }
        let url = Database::Postgres.create(&TempDir::new().unwrap());
        Some(Self::on(steps, &url).await)
    }

    /// Starts the nodes on the database at a URL.
    async fn on(steps: impl IntoIterator<Item = Step>, url: &str) -> Self {
        let model = ScriptedModel::start(steps).await;
        let node = || {
            let builder = TestApp::builder().database(Database::Postgres);
            builder.set("OPENAI_BASE_URL", &model.base_url).set("CHAT_MASTER_KEY", MASTER_KEY)
        };
        let here = node().on_data_of(&Arc::new(TempDir::new().unwrap()), url).start().await;
        let there = node().on_data_of(&Arc::new(TempDir::new().unwrap()), url).start().await;
        let person = here.person().await;
        let mut elsewhere = person.clone();
        elsewhere.move_to(&there);
        let chat = person.new_chat().await;
        Self { model, here, there, person, elsewhere, chat }
    }

    fn stream(&self) -> String {
        format!("/api/sessions/{}/stream", self.chat)
    }

    /// Returns a subscriber at the other node that has read up to this text.
    async fn viewer(&self, until: &str) -> (reqwest::Response, String) {
        loop {
            let mut answer = self.elsewhere.request(Method::GET, &self.stream()).send().await.unwrap();
            let mut seen = String::new();
            while let Some(piece) = answer.chunk().await.unwrap() {
                seen.push_str(&String::from_utf8_lossy(&piece));
                if seen.contains(until) {
                    return (answer, seen);
                }
            }
        }
    }

    async fn last_answer(&self) -> Value {
        self.elsewhere.messages(&self.chat).await.pop().unwrap()
    }

    async fn stop(self) {
        // In boxes: the futures of both together would be too large to move about.
        Box::pin(self.here.stop()).await;
        Box::pin(self.there.stop()).await;
    }
}

/// Model of turns that are created in the database only.
const MODEL: &str = "openai/scripted";

fn no_tools() -> Value {
    json!([])
}

#[tokio::test]
async fn nodes_that_start_together_migrate_a_new_database_once() {
    let folder = TempDir::new().unwrap();
    for database in testkit::databases().into_iter().filter(|database| *database == Database::Postgres) {
        let url = database.create(&folder);
        for storage in join_all((0..4).map(|_| Storage::open(&url))).await {
            storage.unwrap().ping().await.unwrap();
        }
    }
}
