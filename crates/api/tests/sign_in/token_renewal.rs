//! Expiry and renewal of tokens.

use futures_util::future::join_all;
use serde_json::json;
use testkit::{Database, TestApp, databases};

use super::{Fixture, TOKEN_LIFETIME};

#[tokio::test]
async fn a_token_is_renewed_once_for_all_who_need_it() {
    for database in databases() {
        let fixture = Fixture::signed_in(database).await;
        let mine = fixture.read().await;
        // Each refresh token is valid once, so only the stored one can make the next.
        for round in 1..=2 {
            fixture.clock.advance_seconds(TOKEN_LIFETIME - 30);
            for read in join_all((0..8).map(|_| fixture.read())).await {
                assert_eq!(read, mine);
            }
            assert_eq!(fixture.seen("renewals").await, round);
        }
        // A server may revoke a token before it expires.
        fixture.control(json!({ "forgetAccess": true })).await;
        assert_eq!(fixture.read().await, mine);
        assert_eq!(fixture.seen("renewals").await, 3);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_refresh_token_that_is_refused_means_signing_in_again() {
    for database in databases() {
        let fixture = Fixture::signed_in(database).await;
        fixture.read().await;
        fixture.control(json!({ "forgetAccess": true, "refuseRefresh": true })).await;
        let (status, refused) = fixture.call("read_notes").await;
        assert!(!status.is_success());
        let words = refused["error"]["message"].as_str().unwrap();
        assert!(words.contains("wants you to sign in; you can do that in the MCP Servers tab"), "{refused}");
        let waiting = fixture.until("needs-sign-in").await;
        assert_eq!(waiting["tools"][0]["name"], "read_notes", "it is still known what it offers");
        fixture.control(json!({ "refuseRefresh": false })).await;
        assert_eq!(fixture.sign_in().await, "connected");
        fixture.until("connected").await;
        fixture.read().await;
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn two_nodes_renew_once() {
    if !databases().contains(&Database::Postgres) {
        return;
    }
    let fixture = Fixture::signed_in(Database::Postgres).await;
    let node = TestApp::builder().clock(&fixture.clock).on_data_of(&fixture.app.folder, &fixture.app.database_url);
    let node = node.start().await;
    let run = json!({ "serverName": "notes", "name": "read_notes", "arguments": {} });
    let there = async || {
        let request = node.http.post(format!("{}/api/tools/run", node.url)).bearer_auth(&fixture.person.token);
        request.json(&run).send().await.unwrap().status()
    };
    assert_eq!(there().await, 200);
    fixture.read().await;
    for round in 1..=3 {
        fixture.clock.advance_seconds(TOKEN_LIFETIME - 30);
        let (_, there) =
            futures_util::join!(join_all((0..4).map(|_| fixture.read())), join_all((0..4).map(|_| there())));
        assert!(there.iter().all(|status| *status == 200), "{there:?}");
        assert_eq!(fixture.seen("renewals").await, round);
    }
    node.stop().await;
    fixture.app.stop().await;
}
