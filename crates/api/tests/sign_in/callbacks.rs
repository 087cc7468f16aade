//! Valid and forged responses of the authorization server.

use serde_json::json;
use testkit::databases;

use super::{Answer, Begun, World};

#[tokio::test]
async fn an_answer_counts_once_soon_and_in_the_browser_that_began_it() {
    for database in databases() {
        let world = World::new(database).await;
        let other = world.app.person().await;
        let theirs = super::connect(&other, &world.peer).await;

        // The browser of another user, with or without a sign-in of its own. The state is consumed then.
        let mine = Begun::by(&world.person, &world.connection).await;
        let foreign = Begun::by(&other, &theirs).await;
        let answer = mine.decide(&world, "yes").await;
        assert_eq!(answer.come_back(&world, Some(&foreign.cookie)).await, "expired");
        assert_eq!(answer.come_back(&world, Some(&mine.cookie)).await, "expired");
        assert_eq!(foreign.decide(&world, "yes").await.come_back(&world, None).await, "expired");
        assert_eq!(world.seen("codes").await, 0);

        // A repeated callback.
        let mine = Begun::by(&world.person, &world.connection).await;
        let answer = mine.decide(&world, "yes").await;
        assert_eq!(answer.come_back(&world, Some(&mine.cookie)).await, "connected");
        assert_eq!(answer.come_back(&world, Some(&mine.cookie)).await, "expired");

        // A late, an unknown and an empty response.
        let late = Begun::by(&other, &theirs).await;
        let answer = late.decide(&world, "yes").await;
        world.clock.advance_seconds(601);
        assert_eq!(answer.come_back(&world, Some(&late.cookie)).await, "expired");
        for query in ["?state=x&code=y", ""] {
            let unknown = Answer(format!("/api/connections/callback{query}"));
            assert_eq!(unknown.come_back(&world, Some(&late.cookie)).await, "expired");
        }
        assert_eq!(super::until(&other, &theirs, "needs-sign-in").await["signedIn"], false);
        world.app.stop().await;
    }
}

#[tokio::test]
async fn a_no_and_an_answer_of_another_issuer_are_told_apart() {
    for database in databases() {
        let world = World::new(database).await;
        let begun = Begun::by(&world.person, &world.connection).await;
        assert_eq!(begun.decide(&world, "no").await.come_back(&world, Some(&begun.cookie)).await, "denied");

        world.control(json!({ "iss": "https://evil.example" })).await;
        assert_eq!(world.sign_in().await, "failed");
        assert_eq!(world.seen("codes").await, 0, "the code went nowhere");
        let issuer = format!("http://127.0.0.1:{}/", world.peer.port);
        world.control(json!({ "iss": issuer })).await;
        assert_eq!(world.sign_in().await, "connected");
        world.app.stop().await;
    }
}

#[tokio::test]
async fn two_sign_ins_can_wait_in_one_browser() {
    for database in databases() {
        let world = World::new(database).await;
        let url = format!("http://127.0.0.1:{}/mcp", world.peer.port);
        let second = world.person.connect("more notes", &url, json!([])).await;
        let second = second["id"].as_str().unwrap();
        let first = Begun::by(&world.person, &world.connection).await;
        let later = Begun::in_browser(&world.person, second, Some(&first.cookie)).await;
        let (one, two) = (first.decide(&world, "yes").await, later.decide(&world, "yes").await);
        // The browser has the newest cookie.
        assert_eq!(one.come_back(&world, Some(&later.cookie)).await, "connected");
        assert_eq!(two.come_back(&world, Some(&later.cookie)).await, "connected");
        world.app.stop().await;
    }
}
