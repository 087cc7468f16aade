//! Changes of a connection by its user.

use serde_json::{Value, json};
use testkit::{Step, TestApp, databases};

use super::{Fixture, names, tool};

#[tokio::test]
async fn a_tool_that_is_switched_off_runs_on_no_path() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let mut page = fixture.page().await;
        let (status, changed) = fixture.change(json!({ "tools": { "send": false } })).await;
        assert_eq!((status, &changed["disabledTools"], names(&changed)), (200, &json!(["send"]), vec!["send"]));
        page.told(|connection| connection["disabledTools"] == json!(["send"])).await;
        let (status, refused) = fixture.send().await;
        assert_eq!((status, &refused["error"]["code"]), (422, &json!("unknown_tool")));
        assert_eq!(refused["error"]["message"], "post: send is switched off.");
        let (status, _) = fixture.change(json!({ "tools": { "send": true, "other": false } })).await;
        assert_eq!(status, 200);
        assert_eq!(fixture.now().await["disabledTools"], json!(["other"]));
        assert_eq!((fixture.send().await.0, fixture.server.calls().len()), (200, 1));
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_turn_goes_on_without_a_tool_that_is_switched_off() {
    let mut fixture = Fixture::new(databases()[0]).await;
    let model = testkit::ScriptedModel::start([Step::Text("Without it, then.".into())]).await;
    let (folder, url) = fixture.app.stop().await;
    let settings = TestApp::builder().on_data_of(&folder, &url).clock(&fixture.clock);
    fixture.app = settings.set("OPENAI_BASE_URL", &model.base_url).start().await;
    fixture.person.move_to(&fixture.app);
    fixture.change(json!({ "tools": { "send": false } })).await;
    let chat = fixture.person.new_chat().await;
    let events =
        fixture.person.ask_for_events(&chat, "Send it", json!([{ "name": "send", "serverName": "post" }])).await;
    let notice = events.iter().find(|event| event.kind() == "data-notice").unwrap();
    assert_eq!(notice.data["data"]["text"], "post: send is switched off.");
    assert!(model.requests()[0].get("tools").is_none());
}

#[tokio::test]
async fn a_connection_gets_another_name_and_keeps_its_rules() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        fixture.person.allow(&fixture.connection, "send", "never").await;
        let opened = fixture.server.handshakes();
        let (status, renamed) = fixture.change(json!({ "name": " mail " })).await;
        assert_eq!((status, &renamed["name"], &renamed["status"]), (200, &json!("mail"), &json!("connected")));
        assert_eq!(fixture.server.handshakes(), opened, "it stays open");
        let rules = fixture.person.get("/api/tools/permissions").await;
        let rule = &rules["permissions"][0];
        assert_eq!((&rule["serverName"], &rule["permission"]), (&json!("mail"), &json!("never")));
        fixture.server.announce([tool("send"), tool("read")]);
        fixture.person.post(&fixture.path("/tools"), &json!({})).await;
        assert_eq!(fixture.now().await["name"], "mail", "what is told later has the new name");

        fixture.person.connect_to("post", &fixture.server.url).await;
        let (status, taken) = fixture.change(json!({ "name": "post" })).await;
        assert_eq!((status, &taken["error"]["code"]), (409, &json!("name_taken")));
        let (status, _) = fixture.change(json!({ "name": "  " })).await;
        assert_eq!(status, 400);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn headers_are_kept_replaced_and_removed_and_never_read_back() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let (status, _) = fixture.change(json!({ "headers": { "X-One": "s3cret-1", "X-Two": "s3cret-2" } })).await;
        assert_eq!(status, 200);
        fixture.refresh().await;
        let header = |name: &str| fixture.server.header(name);
        assert_eq!((header("x-one").as_deref(), header("x-two").as_deref()), (Some("s3cret-1"), Some("s3cret-2")));
        fixture.change(json!({ "headers": { "x-one": null, "Authorization": "Bearer s3cret-3" } })).await;
        let refreshed = fixture.refresh().await;
        assert_eq!(refreshed["status"], "connected");
        assert_eq!((header("x-one").as_deref(), header("x-two").as_deref()), (None, Some("s3cret-2")));
        assert_eq!(header("authorization").as_deref(), Some("Bearer s3cret-3"));
        let details: Value = fixture.now().await;
        assert_eq!(details["headers"], json!(["Authorization", "X-Two"]));
        assert!(!details.to_string().contains("s3cret"));
        let (status, refused) = fixture.change(json!({ "headers": { "Host": "a", "X-Two": null } })).await;
        assert_eq!((status, &refused["error"]["code"]), (400, &json!("bad_request")));
        assert_eq!(fixture.now().await["headers"], json!(["Authorization", "X-Two"]), "all of it or nothing");
        fixture.app.stop().await;
    }
}
