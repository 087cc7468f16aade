//! Valid and forged responses of the authorization server.

use serde_json::json;
use testkit::databases;

use super::{Answer, Begun, Fixture};

#[tokio::test]
async fn an_answer_counts_once_soon_and_in_the_browser_that_began_it() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let other = fixture.app.person().await;
        let theirs = super::connect(&other, &fixture.peer).await;

        // The browser of another user, with or without a sign-in of its own. The state is consumed then.
        let mine = Begun::by(&fixture.person, &fixture.connection).await;
        let foreign = Begun::by(&other, &theirs).await;
        let answer = mine.decide(&fixture, "yes").await;
        assert_eq!(answer.come_back(&fixture, Some(&foreign.cookie)).await, "expired");
        assert_eq!(answer.come_back(&fixture, Some(&mine.cookie)).await, "expired");
        assert_eq!(foreign.decide(&fixture, "yes").await.come_back(&fixture, None).await, "expired");
        assert_eq!(fixture.seen("codes").await, 0);

        // A repeated callback.
        let mine = Begun::by(&fixture.person, &fixture.connection).await;
        let answer = mine.decide(&fixture, "yes").await;
        assert_eq!(answer.come_back(&fixture, Some(&mine.cookie)).await, "connected");
        assert_eq!(answer.come_back(&fixture, Some(&mine.cookie)).await, "expired");

        // A late, an unknown and an empty response.
        let late = Begun::by(&other, &theirs).await;
        let answer = late.decide(&fixture, "yes").await;
        fixture.clock.advance_seconds(601);
        assert_eq!(answer.come_back(&fixture, Some(&late.cookie)).await, "expired");
        for query in ["?state=x&code=y", ""] {
            let unknown = Answer(format!("/api/connections/callback{query}"));
            assert_eq!(unknown.come_back(&fixture, Some(&late.cookie)).await, "expired");
        }
        assert_eq!(super::until(&other, &theirs, "needs-sign-in").await["signedIn"], false);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_no_and_an_answer_of_another_issuer_are_told_apart() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let begun = Begun::by(&fixture.person, &fixture.connection).await;
        assert_eq!(begun.decide(&fixture, "no").await.come_back(&fixture, Some(&begun.cookie)).await, "denied");

        fixture.control(json!({ "iss": "https://evil.example" })).await;
        assert_eq!(fixture.sign_in().await, "failed");
        assert_eq!(fixture.seen("codes").await, 0, "the code went nowhere");
        let issuer = format!("http://127.0.0.1:{}/", fixture.peer.port);
        fixture.control(json!({ "iss": issuer })).await;
        assert_eq!(fixture.sign_in().await, "connected");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn two_sign_ins_can_wait_in_one_browser() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let url = format!("http://127.0.0.1:{}/mcp", fixture.peer.port);
        let second = fixture.person.connect("more notes", &url, json!([])).await;
        let second = second["id"].as_str().unwrap();
        let first = Begun::by(&fixture.person, &fixture.connection).await;
        let later = Begun::in_browser(&fixture.person, second, Some(&first.cookie)).await;
        let (one, two) = (first.decide(&fixture, "yes").await, later.decide(&fixture, "yes").await);
        // The browser has the newest cookie.
        assert_eq!(one.come_back(&fixture, Some(&later.cookie)).await, "connected");
        assert_eq!(two.come_back(&fixture, Some(&later.cookie)).await, "connected");
        fixture.app.stop().await;
    }
}
