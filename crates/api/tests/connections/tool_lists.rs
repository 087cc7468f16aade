//! Tool listings: notifications, failures, and the stored copy.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{SimulatedFailure, StatefulMcp, TestApp, databases};

use super::{Fixture, names, tool};

#[tokio::test]
async fn tools_that_change_reach_an_open_page_and_a_list_that_fails_is_an_error() {
    let fixture = Fixture::new(databases()[0]).await;
    let mut page = fixture.page().await;
    while fixture.server.listeners() == 0 {
        tokio::task::yield_now().await;
    }
    fixture.server.announce([tool("send"), tool("read")]);
    let news = page.told(|connection| names(connection).len() == 2).await;
    let listed_at = news["listedAt"].clone();
    fixture.clock.advance_seconds(1);

    fixture.server.set_failure(Some(SimulatedFailure::NoList));
    fixture.server.announce([tool("other")]);
    let news = page.told(|connection| connection["status"] == "error").await;
    assert_eq!(
        news["reason"],
        "could not be asked for its tools again: it answered with an error: Method not found (-32601)"
    );
    assert_eq!((names(&news), &news["listedAt"]), (vec!["send", "read"], &listed_at), "what was listed last is kept");

    fixture.server.set_failure(None);
    let again = fixture.refresh().await;
    assert_eq!((&again["status"], names(&again)), (&json!("connected"), vec!["other"]));
}

#[tokio::test]
async fn tools_that_change_while_they_are_listed_first_are_listed_again() {
    let server = StatefulMcp::start([tool("send")]).await;
    server.change_while_listing([tool("send"), tool("read")]);
    let app = TestApp::builder().start().await;
    let person = app.person().await;
    let row = person.connect("post", &server.url, json!([])).await;
    let path = format!("/api/connections/{}", row["id"].as_str().unwrap());
    while names(&person.get(&path).await).len() != 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!((server.handshakes(), server.listings()), (1, 2), "in the same connection");
}

#[tokio::test]
async fn a_listing_that_a_reconnect_interrupts_says_nothing_about_the_new_connection() {
    let fixture = Fixture::new(databases()[0]).await;
    while fixture.server.listeners() == 0 {
        tokio::task::yield_now().await;
    }
    fixture.server.set_failure(Some(SimulatedFailure::Silent));
    fixture.server.announce([tool("send"), tool("read")]);
    // Until the listing has been requested.
    tokio::time::sleep(Duration::from_millis(300)).await;
    fixture.server.set_failure(None);
    let connected = |now: &Value| now["status"] == "connected" && names(now).len() == 2;
    let now = fixture.refresh().await;
    assert!(connected(&now), "{now}");
    // What the interrupted listing reports late would show by now.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let now = fixture.now().await;
    assert!(connected(&now), "{now}");
}

#[tokio::test]
async fn a_flood_of_changes_is_listed_at_intervals_and_the_last_one_counts() {
    let fixture = Fixture::new(databases()[0]).await;
    let mut page = fixture.page().await;
    while fixture.server.listeners() == 0 {
        tokio::task::yield_now().await;
    }
    let before = fixture.server.listings();
    for number in 0..15 {
        fixture.server.announce([tool("send"), tool(&format!("number {number}"))]);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    page.told(|connection| names(connection).contains(&"number 14")).await;
    let listings = fixture.server.listings() - before;
    assert!((1..=3).contains(&listings), "{listings} listings in two seconds");
}

#[tokio::test]
async fn the_list_can_be_asked_for_again_without_connecting_anew() {
    let fixture = Fixture::new(databases()[0]).await;
    let opened = fixture.server.handshakes();
    fixture.server.change([tool("send"), tool("read")]);
    let (_, listed) = fixture.person.post(&fixture.path("/tools"), &json!({})).await;
    assert_eq!((names(&listed), fixture.server.handshakes()), (vec!["send", "read"], opened));
    fixture.server.set_failure(Some(SimulatedFailure::NoList));
    let (_, listed) = fixture.person.post(&fixture.path("/tools"), &json!({})).await;
    assert_eq!((&listed["status"], names(&listed)), (&json!("error"), vec!["send", "read"]));
}

#[tokio::test]
async fn a_first_list_that_fails_is_an_error_and_not_an_empty_list() {
    let server = StatefulMcp::start([tool("send")]).await;
    server.set_failure(Some(SimulatedFailure::NoList));
    let app = TestApp::builder().set("CHAT_FALLBACK_TOOLS", "off").start().await;
    let person = app.person().await;
    let row = person.connect("post", &server.url, json!([])).await;
    let path = format!("/api/connections/{}/refresh", row["id"].as_str().unwrap());
    let (_, connection) = person.post(&path, &json!({})).await;
    assert_eq!(connection["status"], "error");
    assert_eq!(connection["reason"], "answered with an error: Method not found (-32601)");
    assert_eq!((names(&connection).len(), connection.get("listedAt")), (0, None));
}

#[tokio::test]
async fn what_was_listed_last_is_known_after_a_restart_with_its_time() {
    for database in databases() {
        let mut fixture = Fixture::new(database).await;
        fixture.server.change([tool("send"), tool("read")]);
        fixture.clock.advance_seconds(100);
        let listed = fixture.refresh().await;
        fixture.server.set_failure(Some(SimulatedFailure::Down));
        fixture.clock.advance_seconds(100);
        let (folder, url) = fixture.app.stop().await;
        let app = TestApp::builder().on_data_of(&folder, &url).clock(&fixture.clock).start().await;
        fixture.person.move_to(&app);
        fixture.app = app;
        let details = fixture.now().await;
        assert_eq!(details["status"], "idle", "nobody has asked it");
        assert_eq!((names(&details), &details["listedAt"]), (vec!["send", "read"], &listed["listedAt"]));
        assert_eq!((&details["server"]["name"], &details["instructions"]), (&json!("scripted"), &json!("Be brief.")));
        let all = fixture.person.get("/api/connections").await;
        assert_eq!(names(&all["connections"][0]), ["send", "read"]);
        let failed = fixture.refresh().await;
        assert_eq!((&failed["status"], &failed["toolsFrom"]), (&json!("error"), &json!("server")));
        assert_eq!((names(&failed), &failed["listedAt"]), (vec!["send", "read"], &listed["listedAt"]));
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_structured_result_that_was_not_announced_is_told() {
    let fixture = Fixture::new(databases()[0]).await;
    let schema = json!({
        "type": "object", "required": ["count"], "properties": { "count": { "$ref": "#/$defs/count" } },
        "$defs": { "count": { "type": "integer" } },
    });
    fixture.server.change([json!({ "name": "send", "outputSchema": schema })]);
    fixture.refresh().await;
    let error = async |structured: Value| {
        fixture.server.structure(structured);
        fixture.send().await.1["result"].get("schemaError").cloned()
    };
    assert_eq!(error(json!({ "count": 1 })).await, None);
    assert_eq!(error(json!({ "count": "one" })).await, Some(json!("result.count: must be of type integer")));
}
