//! Idle, lost and backing-off connections.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{MockClock, ScriptedMcp, SimulatedFailure, StatefulMcp, TestApp, databases};

use super::{Fixture, names, tool};

/// A little more than the time after which an unused connection is closed, in seconds.
const IDLE: i64 = 16 * 60;

#[tokio::test]
async fn a_connection_that_nobody_needs_is_closed_and_opened_again_when_somebody_does() {
    let fixture = Fixture::new(databases()[0]).await;
    let opened = fixture.server.handshakes();
    while fixture.server.listeners() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    fixture.clock.advance_seconds(IDLE);
    let idle = fixture.until("status", &json!("idle")).await;
    assert_eq!((names(&idle), idle.get("reason")), (vec!["send"], None), "what it offers is still known");
    assert!(idle["listedAt"].is_string());
    while fixture.server.listeners() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(fixture.send().await.0, 200);
    assert_eq!(fixture.server.handshakes(), opened + 1);
    assert_eq!(fixture.now().await["status"], "connected");
}

#[tokio::test]
async fn a_connection_is_not_idle_while_a_call_is_under_way() {
    let fixture = Fixture::new(databases()[0]).await;
    let witness = StatefulMcp::start([tool("see")]).await;
    let other = fixture.person.connect_to("witness", &witness.url).await;
    let status = async || fixture.person.get(&format!("/api/connections/{other}")).await["status"].clone();
    while status().await != "connected" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    fixture.server.hang();
    let waited = async {
        while fixture.server.calls().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        fixture.clock.advance_seconds(IDLE);
        while status().await != "idle" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = fixture.send() => panic!("the call was cut off"),
        () = waited => {}
    }
    assert_eq!(fixture.now().await["status"], "connected");
}

#[tokio::test]
async fn a_server_that_fails_again_and_again_is_left_alone_and_says_so() {
    let fixture = Fixture::new(databases()[0]).await;
    fixture.server.set_failure(Some(SimulatedFailure::Down));
    for failures in 1..=4 {
        assert_eq!(fixture.send().await.0, 502);
        let now = fixture.now().await;
        assert_eq!(now["status"], "error");
        assert_eq!(now["reason"], "answered 503 Service Unavailable");
        assert_eq!(now["failures"], failures + 1, "the loss of the connection was the first one: {now}");
        assert_eq!(names(&now), ["send"], "what it offered last is still known");
        // The backoff begins after the first failures; later pauses are longer.
        fixture.clock.advance_seconds(if failures < 4 { 60 } else { 0 });
    }
    let before = fixture.server.handshakes();
    fixture.server.set_failure(None);
    let (status, answer) = fixture.send().await;
    let said = answer["error"]["message"].as_str().unwrap();
    assert_eq!(status, 502);
    assert!(said.contains("503 Service Unavailable; it failed 5 times in a row and is tried again in "), "{said}");
    let now = fixture.now().await;
    assert!(now["nextTryAt"].as_str().unwrap() > now["lastError"]["at"].as_str().unwrap());
    assert_eq!(fixture.server.handshakes(), before, "it is left alone");

    let again = fixture.refresh().await;
    assert_eq!((&again["status"], again.get("failures"), again.get("nextTryAt")), (&json!("connected"), None, None));
    assert_eq!(again["lastError"]["reason"], "answered 503 Service Unavailable");
    assert_eq!(fixture.send().await.0, 200);
}

#[tokio::test]
async fn a_tool_that_is_run_by_hand_tries_a_server_at_once_that_has_just_failed() {
    let fixture = Fixture::new(databases()[0]).await;
    fixture.server.set_failure(Some(SimulatedFailure::Down));
    let (status, refused) = fixture.send().await;
    assert_eq!((status, &refused["error"]["code"]), (502, &json!("tool_failed")));
    let now = fixture.now().await;
    assert_eq!((&now["failures"], now["nextTryAt"].is_string()), (&json!(2), true), "turns leave it alone");
    fixture.server.set_failure(None);
    assert_eq!(fixture.send().await.0, 200);
    // The message is about the tool, not about a turn.
    fixture.server.set_failure(Some(SimulatedFailure::Down));
    fixture.clock.advance_seconds(60);
    fixture.send().await;
    let (_, again) = fixture.send().await;
    let said = again["error"]["message"].as_str().unwrap();
    assert!(said.starts_with("The server post answered 503 Service Unavailable"), "{said}");
    assert!(!said.contains("left out"), "{said}");
}

#[tokio::test]
async fn an_open_page_sees_a_server_go_and_come_back_by_itself() {
    let fixture = Fixture::new(databases()[0]).await;
    let mut page = fixture.page().await;
    fixture.server.set_failure(Some(SimulatedFailure::Down));
    assert_eq!(fixture.send().await.0, 502);
    let gone = page.told(|connection| connection["status"] == "error").await;
    assert_eq!(gone["reason"], "answered 503 Service Unavailable");
    fixture.server.set_failure(None);
    fixture.clock.advance_seconds(60);
    let back = page.told(|connection| connection["status"] == "connected").await;
    assert_eq!(names(&back), ["send"]);
}

#[tokio::test]
async fn an_open_page_sees_a_server_go_that_speaks_only_when_it_is_asked() {
    for server in [ScriptedMcp::start([tool("send")]).await, ScriptedMcp::modern([tool("send")]).await] {
        let clock = MockClock::new();
        let app = TestApp::builder().database(databases()[0]).clock(&clock).start().await;
        let person = app.person().await;
        let connection = person.connect_to("post", &server.url).await;
        let fixture = Fixture { clock, server: StatefulMcp::start([]).await, app, person, connection };
        fixture.until("status", &json!("connected")).await;
        let asked = || server.requests("ping") + server.requests("server/discover");
        let before = asked();
        fixture.clock.advance_seconds(40);
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!(asked(), before, "nobody looks");

        let mut page = fixture.page().await;
        while asked() == before {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        server.is_away(true);
        fixture.clock.advance_seconds(40);
        let gone = page.told(|connection| connection["status"] == "error").await;
        assert_eq!(gone["reason"], "answered 503 Service Unavailable");
        server.is_away(false);
        fixture.clock.advance_seconds(60);
        page.told(|connection| connection["status"] == "connected").await;
    }
}

#[tokio::test]
async fn a_server_that_never_answers_costs_one_turn_its_patience_and_the_next_one_little() {
    let server = StatefulMcp::start([tool("send")]).await;
    server.set_failure(Some(SimulatedFailure::Silent));
    let app = testkit::TestApp::start().await;
    let person = app.person().await;
    person.connect("post", &server.url, json!([{ "name": "send", "description": "" }])).await;
    let send = async || {
        let began = std::time::Instant::now();
        let body = json!({ "serverName": "post", "name": "send", "arguments": {} });
        let (_, answer): (_, Value) = person.post("/api/tools/run", &body).await;
        (began.elapsed(), answer["error"]["message"].as_str().unwrap().to_owned())
    };
    let (first, said) = send().await;
    assert!(said.contains("did not answer within 10 s"), "{said}");
    let (second, said) = send().await;
    assert!(second < first / 3, "{second:?} after {first:?}: {said}");
}
