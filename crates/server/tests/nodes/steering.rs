//! Controlling a turn from another node.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{CallAnswer, Person, ScriptedMcp, Step, events_of};

use crate::nodes::{Fixture, no_tools};

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "Does it." })
}

#[tokio::test]
async fn stop_works_from_another_node() {
    let Some(fixture) = Fixture::new([Step::Hang("Once upon a time".into())]).await else { return };
    let stream = fixture.person.ask_streaming(&fixture.chat, "Tell me a story", no_tools()).await;
    let (viewer, _) = fixture.viewer("time").await;
    let stop = format!("/api/sessions/{}/stop", fixture.chat);
    assert_eq!(fixture.elsewhere.post(&stop, &json!({})).await.1, json!({ "stopped": true }));
    for told in [stream.text().await.unwrap(), viewer.text().await.unwrap()] {
        assert!(told.contains(r#""type":"abort""#) && told.ends_with("data: [DONE]\n\n"), "{told}");
    }
    assert_eq!(fixture.elsewhere.post(&stop, &json!({})).await.1, json!({ "stopped": false }));
    let answer = fixture.last_answer().await;
    assert_eq!((&answer["content"], &answer["status"]), (&json!("Once upon a time"), &json!("stopped")));
    fixture.stop().await;
}

#[tokio::test]
async fn a_call_is_allowed_from_another_node() {
    let calls = Step::Calls(vec![("send".into(), json!({}))]);
    let Some(fixture) = Fixture::new([calls, Step::Text("Sent.".into())]).await else { return };
    let server = ScriptedMcp::start([tool("send")]).await;
    fixture.person.connect_to("post", &server.url).await;
    let tools = json!([{ "name": "send", "serverName": "post" }]);
    let stream = fixture.person.ask_streaming(&fixture.chat, "Send it", tools).await;
    let (_, seen) = fixture.viewer("tool-approval-request").await;
    let request = events_of(&seen).into_iter().find(|event| event.kind() == "tool-approval-request").unwrap();
    let approval = &request.data["approvalId"];
    let (status, decided) = fixture.elsewhere.decide(&fixture.chat, approval, &json!({ "decision": "once" })).await;
    assert_eq!((status.as_u16(), &decided["first"]), (200, &json!(true)));
    assert!(stream.text().await.unwrap().contains("Sent."));
    assert_eq!(server.calls().len(), 1);
    fixture.stop().await;
}

#[tokio::test]
async fn a_question_of_a_server_is_answered_and_checked_on_another_node() {
    let calls = Step::Calls(vec![("book".into(), json!({}))]);
    let Some(fixture) = Fixture::new([calls, Step::Text("Booked.".into())]).await else { return };
    let server = ScriptedMcp::start([tool("book")]).await;
    server.answer([CallAnswer::Ask(json!({ "mode": "form", "message": "How many?", "requestedSchema": {
        "type": "object", "required": ["people"],
        "properties": { "people": { "type": "integer", "minimum": 1, "maximum": 8 } },
    }}))]);
    let connection = fixture.person.connect_to("inn", &server.url).await;
    assert!(fixture.person.allow(&connection, "book", "always").await.0.is_success());
    let tools = json!([{ "name": "book", "serverName": "inn" }]);
    let stream = fixture.person.ask_streaming(&fixture.chat, "Book a table", tools).await;
    let (_, seen) = fixture.viewer("data-elicitation").await;
    let asked = events_of(&seen).into_iter().find(|event| event.kind() == "data-elicitation").unwrap();
    let path = format!("/api/sessions/{}/elicitations/{}", fixture.chat, asked.data["id"].as_str().unwrap());
    let answer = |people: u64| json!({ "action": "accept", "content": { "people": people } });
    let (status, refused) = fixture.elsewhere.post(&path, &answer(9)).await;
    assert_eq!((status.as_u16(), &refused["error"]["code"]), (422, &json!("bad_content")));
    assert_eq!(fixture.elsewhere.post(&path, &answer(4)).await.1, json!({ "action": "accept", "first": true }));
    let told = stream.text().await.unwrap();
    assert!(told.contains("Booked.") && told.contains(r#"\"people\":4"#), "{told}");
    fixture.stop().await;
}

/// Returns the queued messages of a chat, in order.
async fn waiting(person: &Person, chat: &str) -> Vec<Value> {
    let queue = person.get(&format!("/api/sessions/{chat}/queue")).await;
    queue["messages"].as_array().unwrap().iter().map(|message| message["content"].clone()).collect()
}

#[tokio::test]
async fn what_waits_is_changed_and_sent_from_another_node() {
    let steps = [Step::Hang("One".into()), Step::Text("Third.".into()), Step::Text("Second.".into())];
    let Some(fixture) = Fixture::new(steps).await else { return };
    let stream = fixture.person.ask_streaming(&fixture.chat, "one", no_tools()).await;
    fixture.viewer("One").await;
    let queue = format!("/api/sessions/{}/queue", fixture.chat);
    let mut paths = Vec::new();
    for message in ["two?", "away", "three"] {
        let body = json!({ "message": message, "sessionId": fixture.chat, "tools": [] });
        let (status, queued) = fixture.elsewhere.post(&queue, &body).await;
        assert_eq!(status.as_u16(), 201, "{queued}");
        paths.push(format!("{queue}/{}", queued["id"].as_str().unwrap()));
    }
    let change = async |method: Method, path: &str, body: Value| {
        fixture.elsewhere.request(method, path).json(&body).send().await.unwrap().status().as_u16()
    };
    assert_eq!(change(Method::PATCH, &paths[0], json!({ "message": "two" })).await, 204);
    assert_eq!(change(Method::DELETE, &paths[1], json!({})).await, 204);
    for person in [&fixture.person, &fixture.elsewhere] {
        assert_eq!(waiting(person, &fixture.chat).await, ["two", "three"]);
    }
    // Sent now: the node that runs the turn interrupts it, and continues with this message.
    assert_eq!(change(Method::POST, &format!("{}/send", paths[2]), json!({})).await, 204);
    assert!(stream.text().await.unwrap().contains(r#""type":"abort""#));
    while fixture.elsewhere.messages(&fixture.chat).await.len() < 6 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let messages = fixture.elsewhere.messages(&fixture.chat).await;
    let said: Vec<&str> = messages.iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["one", "One", "three", "Third.", "two", "Second."]);
    assert_eq!(messages[1]["status"], "stopped");
    assert_eq!(change(Method::DELETE, &paths[0], json!({})).await, 404, "it is not there twice");
    fixture.stop().await;
}
