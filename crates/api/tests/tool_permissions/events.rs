//! Events about turns that wait for their user.

use serde_json::{Value, json};
use testkit::{PageEvents, Step, databases};

use crate::tool_permissions::waiting::again;
use crate::tool_permissions::{Fixture, call_of_send, choice};

#[tokio::test]
async fn pages_hear_when_turn_waits_and_goes_on() {
    for database in databases() {
        let calls = Step::Calls(vec![("send".into(), json!({ "to": "Ada" })), ("send".into(), json!({ "to": "Bob" }))]);
        let fixture = Fixture::new(database, [calls, Step::Text("Both are settled.".into())]).await;
        let mut page = PageEvents::open(&fixture.person).await;
        let waiting = fixture.ask().await;
        assert_eq!(page.turn_state(&fixture.chat).await, "started");
        let approval = json!({ "kind": "approval", "tool": "send" });
        assert_eq!(page.turn_event(&fixture.chat, "waiting").await["waitingFor"], approval);
        // Another approval is still pending, so the state does not change.
        fixture.decide(&waiting[0], json!({ "decision": "deny" })).await;
        let mut later = PageEvents::open(&fixture.person).await;
        assert_eq!(later.turn_event(&fixture.chat, "waiting").await["waitingFor"], approval);
        fixture.decide(&waiting[1], json!({ "decision": "once" })).await;
        for mut page in [page, later] {
            assert_eq!(page.turn_event(&fixture.chat, "started").await["waitingFor"], Value::Null);
            assert_eq!(page.turn_event(&fixture.chat, "ended").await["outcome"], "done");
        }
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn page_first_hears_of_turns_that_go_on() {
    for database in databases() {
        let steps = [call_of_send(), Step::Hang("Once upon a time".into())];
        let fixture = Fixture::new(database, steps).await;
        let mut page = PageEvents::open(&fixture.person).await;
        let approval = fixture.ask().await[0].clone();
        while page.turn_state(&fixture.chat).await != "waiting" {}
        let other = fixture.person.new_chat().await;
        let _stream = fixture.person.ask_streaming(&other, "Tell me a story", choice()).await;

        let mut page = PageEvents::open(&fixture.person).await;
        let mut first = Vec::new();
        for _ in 0..2 {
            let event = page.find(|_| true).await.unwrap();
            assert_eq!(event["type"], "turn", "{event}");
            first.push((event["sessionId"].clone(), event["state"].clone()));
        }
        first.sort_by_key(|(chat, _)| *chat != json!(fixture.chat));
        assert_eq!(first, [(json!(fixture.chat), json!("waiting")), (json!(other), json!("started"))]);

        // Other users receive nothing.
        let stranger = fixture.app.person().await;
        let mut theirs = PageEvents::open(&stranger).await;
        stranger.new_chat().await;
        assert_eq!(theirs.find(|_| true).await.unwrap()["type"], "session");

        fixture.model.push(Step::Text("Not sent.".into()));
        fixture.decide(&approval, json!({ "decision": "deny" })).await;
        while page.turn_state(&fixture.chat).await != "ended" {}
        let mut page = PageEvents::open(&fixture.person).await;
        assert_eq!(page.find(|_| true).await.unwrap()["sessionId"], json!(other), "a turn that ended is not told");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn page_hears_of_turn_that_waits_again_after_restart() {
    for database in databases() {
        let fixture = Fixture::new(database, [call_of_send(), Step::Text("Sent.".into())]).await;
        let mut page = PageEvents::open(&fixture.person).await;
        let approval = fixture.ask().await[0].clone();
        while page.turn_state(&fixture.chat).await != "waiting" {}
        let (fixture, _) = again(fixture).await;
        let mut page = PageEvents::open(&fixture.person).await;
        assert_eq!(page.turn_state(&fixture.chat).await, "waiting");
        fixture.decide(&approval, json!({ "decision": "once" })).await;
        // On PostgreSQL, event streams end when the node starts to listen to others, soon after its start. Clients
        // reconnect then; this one has received the event under test.
        let has_ended = |event: &Value| event["type"] == "turn" && event["state"] == "ended";
        let _ended = page.find(has_ended).await;
        fixture.answered().await;
        fixture.app.stop().await;
    }
}
