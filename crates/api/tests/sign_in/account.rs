//! Deletion of tokens with what they belong to, and where they are readable.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use testkit::{Database, databases};

use super::{BOUND, Fixture};

async fn until_revoked(fixture: &Fixture) {
    let revoked = async {
        while fixture.seen("revoked").await != 1 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(BOUND, revoked).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_is_removed_takes_its_sign_in_along() {
    for database in databases() {
        let fixture = Fixture::signed_in(database).await;
        fixture.until("connected").await;
        let row = format!("/rest/v1/mcp_servers?id=eq.{}", fixture.connection);
        fixture.person.request(Method::DELETE, &row).send().await.unwrap();
        until_revoked(&fixture).await;
        // A new row with the same values has no token.
        let url = format!("http://127.0.0.1:{}/mcp", fixture.peer.port);
        let again = json!({ "id": fixture.connection, "user_id": fixture.person.id, "name": "notes", "url": url });
        fixture.person.insert("mcp_servers", &again).await;
        fixture.until("needs-sign-in").await;
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn an_account_that_is_deleted_takes_its_sign_ins_along() {
    for database in databases() {
        let fixture = Fixture::signed_in(database).await;
        fixture.until("connected").await;
        let (status, answer) =
            fixture.person.post("/api/account/delete", &json!({ "email": fixture.person.email })).await;
        assert_eq!(status, 204, "{answer}");
        until_revoked(&fixture).await;
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_sign_in_outlives_a_restart_and_cannot_be_read_in_the_database() {
    let Fixture { peer, app, clock, person, connection } = Fixture::signed_in(Database::Sqlite).await;
    super::until(&person, &connection, "connected").await;
    let tokens = app.http.get(format!("http://127.0.0.1:{}/control/tokens", peer.port)).send().await.unwrap();
    let tokens: Vec<String> = tokens.json().await.unwrap();
    assert_eq!(tokens.len(), 2);
    let (folder, database_url) = app.stop().await;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { continue };
        for token in &tokens {
            assert!(!bytes.windows(token.len()).any(|window| window == token.as_bytes()), "{}", path.display());
        }
    }
    let app = testkit::TestApp::builder().clock(&clock).on_data_of(&folder, &database_url).start().await;
    let run = json!({ "serverName": "notes", "name": "read_notes", "arguments": {} });
    let called = app.http.post(format!("{}/api/tools/run", app.url)).bearer_auth(&person.token).json(&run);
    assert_eq!(called.send().await.unwrap().status(), 200);
    app.stop().await;
}
