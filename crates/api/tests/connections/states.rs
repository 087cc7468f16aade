//! Idle, lost and backing-off connections.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{LivingMcp, MockClock, ScriptedMcp, TestApp, Trouble, databases};

use super::{Scene, names, tool};

/// A little more than the time after which an unused connection is closed, in seconds.
const IDLE: i64 = 16 * 60;

#[tokio::test]
async fn a_connection_that_nobody_needs_is_closed_and_opened_again_when_somebody_does() {
    let scene = Scene::new(databases()[0]).await;
    let opened = scene.server.handshakes();
    while scene.server.listeners() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    scene.clock.advance_seconds(IDLE);
    let idle = scene.until("status", &json!("idle")).await;
    assert_eq!((names(&idle), idle.get("reason")), (vec!["send"], None), "what it offers is still known");
    assert!(idle["listedAt"].is_string());
    while scene.server.listeners() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(scene.send().await.0, 200);
    assert_eq!(scene.server.handshakes(), opened + 1);
    assert_eq!(scene.now().await["status"], "connected");
}

#[tokio::test]
async fn a_connection_is_not_idle_while_a_call_is_under_way() {
    let scene = Scene::new(databases()[0]).await;
    let witness = LivingMcp::start([tool("see")]).await;
    let other = scene.person.connect_to("witness", &witness.url).await;
    let status = async || scene.person.get(&format!("/api/connections/{other}")).await["status"].clone();
    while status().await != "connected" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    scene.server.hang();
    let waited = async {
        while scene.server.calls().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        scene.clock.advance_seconds(IDLE);
        while status().await != "idle" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = scene.send() => panic!("the call was cut off"),
        () = waited => {}
    }
    assert_eq!(scene.now().await["status"], "connected");
}

#[tokio::test]
async fn a_server_that_fails_again_and_again_is_left_alone_and_says_so() {
    let scene = Scene::new(databases()[0]).await;
    scene.server.trouble(Some(Trouble::Down));
    for failures in 1..=4 {
        assert_eq!(scene.send().await.0, 502);
        let now = scene.now().await;
        assert_eq!(now["status"], "error");
        assert_eq!(now["reason"], "answered 503 Service Unavailable");
        assert_eq!(now["failures"], failures + 1, "the loss of the connection was the first one: {now}");
        assert_eq!(names(&now), ["send"], "what it offered last is still known");
        // The backoff begins after the first failures; later pauses are longer.
        scene.clock.advance_seconds(if failures < 4 { 60 } else { 0 });
    }
    let before = scene.server.handshakes();
    scene.server.trouble(None);
    let (status, answer) = scene.send().await;
    let said = answer["error"]["message"].as_str().unwrap();
    assert_eq!(status, 502);
    assert!(said.contains("503 Service Unavailable; it failed 5 times in a row and is tried again in "), "{said}");
    let now = scene.now().await;
    assert!(now["nextTryAt"].as_str().unwrap() > now["lastError"]["at"].as_str().unwrap());
    assert_eq!(scene.server.handshakes(), before, "it is left alone");

    let again = scene.refresh().await;
    assert_eq!((&again["status"], again.get("failures"), again.get("nextTryAt")), (&json!("connected"), None, None));
    assert_eq!(again["lastError"]["reason"], "answered 503 Service Unavailable");
    assert_eq!(scene.send().await.0, 200);
}

#[tokio::test]
async fn a_tool_that_is_run_by_hand_tries_a_server_at_once_that_has_just_failed() {
    let scene = Scene::new(databases()[0]).await;
    scene.server.trouble(Some(Trouble::Down));
    let (status, refused) = scene.send().await;
    assert_eq!((status, &refused["error"]["code"]), (502, &json!("tool_failed")));
    let now = scene.now().await;
    assert_eq!((&now["failures"], now["nextTryAt"].is_string()), (&json!(2), true), "turns leave it alone");
    scene.server.trouble(None);
    assert_eq!(scene.send().await.0, 200);
    // The message is about the tool, not about a turn.
    scene.server.trouble(Some(Trouble::Down));
    scene.clock.advance_seconds(60);
    scene.send().await;
    let (_, again) = scene.send().await;
    let said = again["error"]["message"].as_str().unwrap();
    assert!(said.starts_with("The server post answered 503 Service Unavailable"), "{said}");
    assert!(!said.contains("left out"), "{said}");
}

#[tokio::test]
async fn an_open_page_sees_a_server_go_and_come_back_by_itself() {
    let scene = Scene::new(databases()[0]).await;
    let mut page = scene.page().await;
    scene.server.trouble(Some(Trouble::Down));
    assert_eq!(scene.send().await.0, 502);
    let gone = page.told(|connection| connection["status"] == "error").await;
    assert_eq!(gone["reason"], "answered 503 Service Unavailable");
    scene.server.trouble(None);
    scene.clock.advance_seconds(60);
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
        let scene = Scene { clock, server: LivingMcp::start([]).await, app, person, connection };
        scene.until("status", &json!("connected")).await;
        let asked = || server.requests("ping") + server.requests("server/discover");
        let before = asked();
        scene.clock.advance_seconds(40);
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!(asked(), before, "nobody looks");

        let mut page = scene.page().await;
        while asked() == before {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        server.is_away(true);
        scene.clock.advance_seconds(40);
        let gone = page.told(|connection| connection["status"] == "error").await;
        assert_eq!(gone["reason"], "answered 503 Service Unavailable");
        server.is_away(false);
        scene.clock.advance_seconds(60);
        page.told(|connection| connection["status"] == "connected").await;
    }
}

#[tokio::test]
async fn a_server_that_never_answers_costs_one_turn_its_patience_and_the_next_one_little() {
    let server = LivingMcp::start([tool("send")]).await;
    server.trouble(Some(Trouble::Silent));
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
