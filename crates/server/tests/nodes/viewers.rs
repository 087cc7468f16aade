//! Following a turn from another node.

use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::json;
use storage::Storage;
use testkit::{Step, StreamEvent, events_of, new_turn};

use crate::nodes::{Fixture, no_tools};

/// Returns the durable events of a stream; transient ones do not leave their node.
fn lasting(stream: &str) -> Vec<&str> {
    let is_of_the_moment = |frame: &&str| frame.contains(r#""transient":true"#);
    stream.split_inclusive("\n\n").filter(|frame| !is_of_the_moment(frame)).collect()
}

#[tokio::test]
async fn viewers_on_another_node_read_the_same() {
    let Some(fixture) = Fixture::new([Step::Words { count: 60, pace: Duration::from_millis(20) }]).await else {
        return;
    };
    let first = fixture.person.ask_streaming(&fixture.chat, "Go on", no_tools()).await;
    let (viewer, seen) = fixture.viewer("word").await;
    let last = events_of(&seen).iter().filter_map(|event| event.id).max().unwrap();
    // The subscriber reconnects for the rest.
    drop(viewer);
    let path = format!("{}?after={last}", fixture.stream());
    let rest = fixture.elsewhere.request(Method::GET, &path).send().await.unwrap().text().await.unwrap();
    let first = first.text().await.unwrap();
    assert!(first.ends_with("data: [DONE]\n\n"));
    assert_eq!(lasting(&first).concat(), seen + &rest);
    let after = fixture.elsewhere.request(Method::GET, &fixture.stream()).send().await.unwrap();
    assert_eq!(after.status(), StatusCode::NO_CONTENT);
    assert_eq!(fixture.last_answer().await["content"], "word ".repeat(60));
    fixture.stop().await;
}

#[tokio::test]
async fn one_chat_has_one_turn_on_all_nodes_and_strangers_see_none() {
    let Some(fixture) = Fixture::new([Step::Hang("Once".into())]).await else { return };
    let first = fixture.person.ask_streaming(&fixture.chat, "Tell me", no_tools()).await;
    fixture.viewer("Once").await;
    let (status, refused) = fixture.elsewhere.ask(&fixture.chat, "And?", no_tools()).await;
    assert_eq!((status.as_u16(), &refused["code"]), (409, &json!("turn_active")));
    let stranger = fixture.there.person().await;
    let answer = stranger.request(Method::GET, &fixture.stream()).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    // A subscriber of another turn must not be placed in the middle of this one.
    let path = format!("{}?after=1&turn={}", fixture.stream(), fixture.chat);
    let answer = fixture.elsewhere.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    drop(first);
    fixture.stop().await;
}

#[tokio::test]
async fn what_a_stopped_node_leaves_goes_on_at_another() {
    let calls = Step::Calls(vec![("send".into(), json!({}))]);
    let Some(fixture) = Fixture::new([calls, Step::Text("Sent.".into())]).await else { return };
    let server = testkit::ScriptedMcp::start([json!({ "name": "send", "description": "Sends." })]).await;
    fixture.person.connect_to("post", &server.url).await;
    let tools = json!([{ "name": "send", "serverName": "post" }]);
    let (_, waiting) = fixture.person.ask(&fixture.chat, "Send it", tools).await;
    let approval = waiting["approvals"][0]["approvalId"].clone();
    let (viewer, seen) = fixture.viewer("tool-approval-request").await;
    let Fixture { here, there, elsewhere, chat, model, .. } = fixture;
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
    let Some(fixture) = Fixture::new([]).await else { return };
    // A third node accepts a message, and dies.
    let third = Storage::open(&fixture.here.database_url).await.unwrap();
    third.nodes().register().await.unwrap();
    let (owner, chat) = (fixture.person.id.parse().unwrap(), fixture.chat.parse().unwrap());
    let turn = new_turn(owner, chat, "Hello?", fixture.here.state.clock.now());
    third.chats().insert_turn(&turn, "Hello?").await.unwrap();
    let viewer = fixture.elsewhere.request(Method::GET, &fixture.stream()).send().await.unwrap();
    assert_eq!(viewer.status(), StatusCode::OK);
    third.nodes().remove(third.node()).await.unwrap();
    let told = viewer.text().await.unwrap();
    let events = events_of(&told);
    let kinds: Vec<&str> = events.iter().map(StreamEvent::kind).collect();
    assert_eq!(kinds[..2], ["start", "error"], "{told}");
    assert_eq!(events[0].data["messageId"], json!(turn.answer));
    assert_eq!(fixture.last_answer().await["status"], "interrupted");
    fixture.stop().await;
}
