//! Expiry and renewal of tokens.

use futures_util::future::join_all;
use serde_json::json;
use testkit::{Database, TestApp, databases};

use super::{TOKEN_LIFETIME, World};

#[tokio::test]
async fn a_token_is_renewed_once_for_all_who_need_it() {
    for database in databases() {
        let world = World::signed_in(database).await;
        let mine = world.read().await;
        // Each refresh token is valid once, so only the stored one can make the next.
        for round in 1..=2 {
            world.clock.advance_seconds(TOKEN_LIFETIME - 30);
            for read in join_all((0..8).map(|_| world.read())).await {
                assert_eq!(read, mine);
            }
            assert_eq!(world.seen("renewals").await, round);
        }
        // A server may revoke a token before it expires.
        world.control(json!({ "forgetAccess": true })).await;
        assert_eq!(world.read().await, mine);
        assert_eq!(world.seen("renewals").await, 3);
        world.app.stop().await;
    }
}

#[tokio::test]
async fn a_refresh_token_that_is_refused_means_signing_in_again() {
    for database in databases() {
        let world = World::signed_in(database).await;
        world.read().await;
        world.control(json!({ "forgetAccess": true, "refuseRefresh": true })).await;
        let (status, refused) = world.call("read_notes").await;
        assert!(!status.is_success());
        let words = refused["error"]["message"].as_str().unwrap();
        assert!(words.contains("wants you to sign in; you can do that in the MCP Servers tab"), "{refused}");
        let waiting = world.until("needs-sign-in").await;
        assert_eq!(waiting["tools"][0]["name"], "read_notes", "it is still known what it offers");
        world.control(json!({ "refuseRefresh": false })).await;
        assert_eq!(world.sign_in().await, "connected");
        world.until("connected").await;
        world.read().await;
        world.app.stop().await;
    }
}

#[tokio::test]
async fn two_nodes_renew_once() {
    if !databases().contains(&Database::Postgres) {
        return;
    }
    let world = World::signed_in(Database::Postgres).await;
    let node = TestApp::builder().clock(&world.clock).on_data_of(&world.app.folder, &world.app.database_url);
    let node = node.start().await;
    let run = json!({ "serverName": "notes", "name": "read_notes", "arguments": {} });
    let there = async || {
        let request = node.http.post(format!("{}/api/tools/run", node.url)).bearer_auth(&world.person.token);
        request.json(&run).send().await.unwrap().status()
    };
    assert_eq!(there().await, 200);
    world.read().await;
    for round in 1..=3 {
        world.clock.advance_seconds(TOKEN_LIFETIME - 30);
        let (_, there) = futures_util::join!(join_all((0..4).map(|_| world.read())), join_all((0..4).map(|_| there())));
        assert!(there.iter().all(|status| *status == 200), "{there:?}");
        assert_eq!(world.seen("renewals").await, round);
    }
    node.stop().await;
    world.app.stop().await;
}
