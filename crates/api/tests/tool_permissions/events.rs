//! Events about turns that wait for their user.

use serde_json::{Value, json};
use testkit::{PageEvents, Step, databases};

use crate::tool_permissions::waiting::again;
use crate::tool_permissions::{Scene, call_of_send, choice};

#[tokio::test]
async fn pages_hear_when_turn_waits_and_goes_on() {
    for database in databases() {
        let calls = Step::Calls(vec![("send".into(), json!({ "to": "Ada" })), ("send".into(), json!({ "to": "Bob" }))]);
        let scene = Scene::new(database, [calls, Step::Text("Both are settled.".into())]).await;
        let mut page = PageEvents::open(&scene.person).await;
        let waiting = scene.ask().await;
        assert_eq!(page.turn_state(&scene.chat).await, "started");
        assert_eq!(page.turn_state(&scene.chat).await, "waiting");
        // Another approval is still pending, so the state does not change.
        scene.decide(&waiting[0], json!({ "decision": "deny" })).await;
        let mut later = PageEvents::open(&scene.person).await;
        assert_eq!(later.turn_state(&scene.chat).await, "waiting");
        scene.decide(&waiting[1], json!({ "decision": "once" })).await;
        for mut page in [page, later] {
            assert_eq!(page.turn_state(&scene.chat).await, "started");
            assert_eq!(page.turn_state(&scene.chat).await, "ended");
        }
        scene.app.stop().await;
    }
}

#[tokio::test]
async fn page_first_hears_of_turns_that_go_on() {
    for database in databases() {
        let steps = [call_of_send(), Step::Hang("Once upon a time".into())];
        let scene = Scene::new(database, steps).await;
        let mut page = PageEvents::open(&scene.person).await;
        let approval = scene.ask().await[0].clone();
        while page.turn_state(&scene.chat).await != "waiting" {}
        let other = scene.person.new_chat().await;
        let _stream = scene.person.ask_streaming(&other, "Tell me a story", choice()).await;

        let mut page = PageEvents::open(&scene.person).await;
        let mut first = Vec::new();
        for _ in 0..2 {
            let event = page.find(|_| true).await.unwrap();
            assert_eq!(event["type"], "turn", "{event}");
            first.push((event["sessionId"].clone(), event["state"].clone()));
        }
        first.sort_by_key(|(chat, _)| *chat != json!(scene.chat));
        assert_eq!(first, [(json!(scene.chat), json!("waiting")), (json!(other), json!("started"))]);

        // Other users receive nothing.
        let stranger = scene.app.person().await;
        let mut theirs = PageEvents::open(&stranger).await;
        stranger.new_chat().await;
        assert_eq!(theirs.find(|_| true).await.unwrap()["type"], "session");

        scene.model.push(Step::Text("Not sent.".into()));
        scene.decide(&approval, json!({ "decision": "deny" })).await;
        while page.turn_state(&scene.chat).await != "ended" {}
        let mut page = PageEvents::open(&scene.person).await;
        assert_eq!(page.find(|_| true).await.unwrap()["sessionId"], json!(other), "a turn that ended is not told");
        scene.app.stop().await;
    }
}

#[tokio::test]
async fn page_hears_of_turn_that_waits_again_after_restart() {
    for database in databases() {
        let scene = Scene::new(database, [call_of_send(), Step::Text("Sent.".into())]).await;
        let mut page = PageEvents::open(&scene.person).await;
        let approval = scene.ask().await[0].clone();
        while page.turn_state(&scene.chat).await != "waiting" {}
        let (scene, _) = again(scene).await;
        let mut page = PageEvents::open(&scene.person).await;
        assert_eq!(page.turn_state(&scene.chat).await, "waiting");
        scene.decide(&approval, json!({ "decision": "once" })).await;
        // On PostgreSQL, event streams end when the node starts to listen to others, soon after its start. Clients
        // reconnect then; this one has received the event under test.
        let has_ended = |event: &Value| event["type"] == "turn" && event["state"] == "ended";
        let _ended = page.find(has_ended).await;
        scene.answered().await;
        scene.app.stop().await;
    }
}
