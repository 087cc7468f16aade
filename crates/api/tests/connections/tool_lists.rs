//! Tool listings: notifications, failures, and the stored copy.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{LivingMcp, TestApp, Trouble, databases};

use super::{Scene, names, tool};

#[tokio::test]
async fn tools_that_change_reach_an_open_page_and_a_list_that_fails_is_an_error() {
    let scene = Scene::new(databases()[0]).await;
    let mut page = scene.page().await;
    while scene.server.listeners() == 0 {
        tokio::task::yield_now().await;
    }
    scene.server.announce([tool("send"), tool("read")]);
    let news = page.told(|connection| names(connection).len() == 2).await;
    let listed_at = news["listedAt"].clone();
    scene.clock.advance_seconds(1);

    scene.server.trouble(Some(Trouble::NoList));
    scene.server.announce([tool("other")]);
    let news = page.told(|connection| connection["status"] == "error").await;
    assert_eq!(
        news["reason"],
        "could not be asked for its tools again: it answered with an error: Method not found (-32601)"
    );
    assert_eq!((names(&news), &news["listedAt"]), (vec!["send", "read"], &listed_at), "what was listed last is kept");

    scene.server.trouble(None);
    let again = scene.refresh().await;
    assert_eq!((&again["status"], names(&again)), (&json!("connected"), vec!["other"]));
}

#[tokio::test]
async fn a_flood_of_changes_is_listed_at_intervals_and_the_last_one_counts() {
    let scene = Scene::new(databases()[0]).await;
    let mut page = scene.page().await;
    while scene.server.listeners() == 0 {
        tokio::task::yield_now().await;
    }
    let before = scene.server.listings();
    for number in 0..15 {
        scene.server.announce([tool("send"), tool(&format!("number {number}"))]);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    page.told(|connection| names(connection).contains(&"number 14")).await;
    let listings = scene.server.listings() - before;
    assert!((1..=3).contains(&listings), "{listings} listings in two seconds");
}

#[tokio::test]
async fn the_list_can_be_asked_for_again_without_connecting_anew() {
    let scene = Scene::new(databases()[0]).await;
    let opened = scene.server.handshakes();
    scene.server.change([tool("send"), tool("read")]);
    let (_, listed) = scene.person.post(&scene.path("/tools"), &json!({})).await;
    assert_eq!((names(&listed), scene.server.handshakes()), (vec!["send", "read"], opened));
    scene.server.trouble(Some(Trouble::NoList));
    let (_, listed) = scene.person.post(&scene.path("/tools"), &json!({})).await;
    assert_eq!((&listed["status"], names(&listed)), (&json!("error"), vec!["send", "read"]));
}

#[tokio::test]
async fn a_first_list_that_fails_is_an_error_and_not_an_empty_list() {
    let server = LivingMcp::start([tool("send")]).await;
    server.trouble(Some(Trouble::NoList));
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
        let mut scene = Scene::new(database).await;
        scene.server.change([tool("send"), tool("read")]);
        scene.clock.advance_seconds(100);
        let listed = scene.refresh().await;
        scene.server.trouble(Some(Trouble::Down));
        scene.clock.advance_seconds(100);
        let (folder, url) = scene.app.stop().await;
        let app = TestApp::builder().on_data_of(&folder, &url).clock(&scene.clock).start().await;
        scene.person.move_to(&app);
        scene.app = app;
        let details = scene.now().await;
        assert_eq!(details["status"], "idle", "nobody has asked it");
        assert_eq!((names(&details), &details["listedAt"]), (vec!["send", "read"], &listed["listedAt"]));
        assert_eq!((&details["server"]["name"], &details["instructions"]), (&json!("scripted"), &json!("Be brief.")));
        let all = scene.person.get("/api/connections").await;
        assert_eq!(names(&all["connections"][0]), ["send", "read"]);
        let failed = scene.refresh().await;
        assert_eq!((&failed["status"], &failed["toolsFrom"]), (&json!("error"), &json!("server")));
        assert_eq!((names(&failed), &failed["listedAt"]), (vec!["send", "read"], &listed["listedAt"]));
        scene.app.stop().await;
    }
}

#[tokio::test]
async fn a_structured_result_that_was_not_announced_is_told() {
    let scene = Scene::new(databases()[0]).await;
    let schema = json!({
        "type": "object", "required": ["count"], "properties": { "count": { "$ref": "#/$defs/count" } },
        "$defs": { "count": { "type": "integer" } },
    });
    scene.server.change([json!({ "name": "send", "outputSchema": schema })]);
    scene.refresh().await;
    let error = async |structured: Value| {
        scene.server.structure(structured);
        scene.send().await.1["result"].get("schemaError").cloned()
    };
    assert_eq!(error(json!({ "count": 1 })).await, None);
    assert_eq!(error(json!({ "count": "one" })).await, Some(json!("result.count: must be of type integer")));
}
