//! Following a turn from another node.

use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::json;
use storage::Storage;
use testkit::{Step, StreamEvent, events_of, new_turn};

use crate::nodes::{Scene, no_tools};

/// Returns the durable events of a stream; transient ones do not leave their node.
fn lasting(stream: &str) -> Vec<&str> {
    let is_of_the_moment = |frame: &&str| frame.contains(r#""transient":true"#);
    stream.split_inclusive("\n\n").filter(|frame| !is_of_the_moment(frame)).collect()
}

#[tokio::test]
async fn viewers_on_another_node_read_the_same() {
    let Some(scene) = Scene::new([Step::Words { count: 60, pace: Duration::from_millis(20) }]).await else { return };
    let first = scene.person.ask_streaming(&scene.chat, "Go on", no_tools()).await;
    let (viewer, seen) = scene.viewer("word").await;
    let last = events_of(&seen).iter().filter_map(|event| event.id).max().unwrap();
    // The subscriber reconnects for the rest.
    drop(viewer);
    let path = format!("{}?after={last}", scene.stream());
    let rest = scene.elsewhere.request(Method::GET, &path).send().await.unwrap().text().await.unwrap();
    let first = first.text().await.unwrap();
    assert!(first.ends_with("data: [DONE]\n\n"));
    assert_eq!(lasting(&first).concat(), seen + &rest);
    let after = scene.elsewhere.request(Method::GET, &scene.stream()).send().await.unwrap();
    assert_eq!(after.status(), StatusCode::NO_CONTENT);
    assert_eq!(scene.last_answer().await["content"], "word ".repeat(60));
    scene.stop().await;
}

#[tokio::test]
async fn one_chat_has_one_turn_on_all_nodes_and_strangers_see_none() {
    let Some(scene) = Scene::new([Step::Hang("Once".into())]).await else { return };
    let first = scene.person.ask_streaming(&scene.chat, "Tell me", no_tools()).await;
    scene.viewer("Once").await;
    let (status, refused) = scene.elsewhere.ask(&scene.chat, "And?", no_tools()).await;
    assert_eq!((status.as_u16(), &refused["code"]), (409, &json!("turn_active")));
    let stranger = scene.there.person().await;
    let answer = stranger.request(Method::GET, &scene.stream()).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    // A subscriber of another turn must not be placed in the middle of this one.
    let path = format!("{}?after=1&turn={}", scene.stream(), scene.chat);
    let answer = scene.elsewhere.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    drop(first);
    scene.stop().await;
}

#[tokio::test]
async fn what_a_stopped_node_leaves_goes_on_at_another() {
    let calls = Step::Calls(vec![("send".into(), json!({}))]);
    let Some(scene) = Scene::new([calls, Step::Text("Sent.".into())]).await else { return };
    let server = testkit::ScriptedMcp::start([json!({ "name": "send", "description": "Sends." })]).await;
    scene.person.connect_to("post", &server.url).await;
    let tools = json!([{ "name": "send", "serverName": "post" }]);
    let (_, waiting) = scene.person.ask(&scene.chat, "Send it", tools).await;
    let approval = waiting["approvals"][0]["approvalId"].clone();
    let (viewer, seen) = scene.viewer("tool-approval-request").await;
    let Scene { here, there, elsewhere, chat, model, .. } = scene;
    here.stop().await;
    let began = Instant::now();
    assert_eq!(elsewhere.decide(&chat, &approval, &json!({ "decision": "once" })).await.0, 200);
    let told = seen + &viewer.text().await.unwrap();
    assert!(told.contains("Sent.") && told.ends_with("data: [DONE]\n\n"), "{told}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(server.calls().len(), 1);
    assert_eq!(model.requests().len(), 2);
    there.stop().await;
}

#[tokio::test]
async fn a_turn_whose_node_died_before_it_wrote_a_word_is_told_from_its_start() {
    let Some(scene) = Scene::new([]).await else { return };
    // A third node accepts a message, and dies.
    let third = Storage::open(&scene.here.database_url).await.unwrap();
    third.nodes().register().await.unwrap();
    let (owner, chat) = (scene.person.id.parse().unwrap(), scene.chat.parse().unwrap());
    let turn = new_turn(owner, chat, "Hello?", scene.here.state.clock.now());
    third.chats().insert_turn(&turn, "Hello?").await.unwrap();
    let viewer = scene.elsewhere.request(Method::GET, &scene.stream()).send().await.unwrap();
    assert_eq!(viewer.status(), StatusCode::OK);
    third.nodes().remove(third.node()).await.unwrap();
    let told = viewer.text().await.unwrap();
    let events = events_of(&told);
    let kinds: Vec<&str> = events.iter().map(StreamEvent::kind).collect();
    assert_eq!(kinds[..2], ["start", "error"], "{told}");
    assert_eq!(events[0].data["messageId"], json!(turn.answer));
    assert_eq!(scene.last_answer().await["status"], "interrupted");
    scene.stop().await;
}
