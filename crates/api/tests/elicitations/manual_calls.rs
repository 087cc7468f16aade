//! Elicitations of a manual tool call.

use reqwest::Response;
use serde_json::{Value, json};
use testkit::{CallAnswer, databases};

use crate::elicitations::{Fixture, asks, form, question};

async fn run(fixture: &Fixture) -> Response {
    let body = json!({ "serverName": "inn", "name": "book", "arguments": {} });
    let request = fixture.person.request(reqwest::Method::POST, "/api/tools/run").json(&body);
    request.header("accept", "text/event-stream").send().await.unwrap()
}

async fn next(stream: &mut Response) -> Value {
    let piece = stream.chunk().await.unwrap().unwrap();
    serde_json::from_slice(piece.strip_prefix(b"data: ").unwrap()).unwrap()
}

#[tokio::test]
async fn a_stream_tells_what_is_asked_and_then_what_came_of_it() {
    let fixture = Fixture::modern(databases()[0], [asks(&json!({ "table": question(&form()) }))]).await;
    let mut stream = run(&fixture).await;
    let asked = next(&mut stream).await;
    assert_eq!((&asked["type"], &asked["state"]), (&json!("elicitation"), &json!("waiting")));
    assert_eq!(asked["request"]["fields"][0]["name"], "day");
    let path = format!("/api/tools/run/elicitations/{}", asked["id"].as_str().unwrap());
    let stranger = fixture.app.person().await;
    assert_eq!(stranger.post(&path, &json!({ "action": "decline" })).await.0, 404);
    let (status, refused) = fixture.person.post(&path, &json!({ "action": "accept" })).await;
    assert_eq!((status.as_u16(), &refused["error"]["message"]), (422, &json!("day: fill this in")));
    let content = json!({ "day": "2026-11-21" });
    assert_eq!(fixture.person.post(&path, &json!({ "action": "accept", "content": content })).await.0, 200);
    let settled = next(&mut stream).await;
    assert_eq!(settled, json!({ "type": "elicitation", "id": asked["id"], "state": "settled" }));
    let result = next(&mut stream).await;
    assert_eq!((&result["type"], &result["result"]["isError"]), (&json!("result"), &json!(false)));
    assert_eq!(stream.chunk().await.unwrap(), None);
    assert_eq!(fixture.person.post(&path, &json!({ "action": "decline" })).await.0, 404, "nobody waits any more");
}

#[tokio::test]
async fn who_cannot_be_asked_is_told_so() {
    let fixture = Fixture::modern(databases()[0], [asks(&json!({ "table": question(&form()) }))]).await;
    let body = json!({ "serverName": "inn", "name": "book", "arguments": {} });
    let (status, refused) = fixture.person.post("/api/tools/run", &body).await;
    assert_eq!((status.as_u16(), &refused["error"]["code"]), (422, &json!("tool_needs_input")));
    assert!(refused["error"]["message"].as_str().unwrap().contains("text/event-stream"), "{refused}");
}

#[tokio::test]
async fn closing_the_stream_withdraws_the_question_and_the_call() {
    let fixture = Fixture::legacy(databases()[0], [CallAnswer::Ask(form())]).await;
    let mut stream = run(&fixture).await;
    let asked = next(&mut stream).await;
    let path = format!("/api/tools/run/elicitations/{}", asked["id"].as_str().unwrap());
    drop(stream);
    while fixture.person.post(&path, &json!({ "action": "accept" })).await.0 != 404 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
