//! Limits per user and in total.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{
    ScriptedMcp, ScriptedModel, SimulatedFailure, StatefulMcp, Step, TestApp, databases, send_message, temporary_error,
};

#[tokio::test]
async fn a_person_has_some_answers_at_a_time_and_everybody_together_some_more() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Hang("Well".into()));
        let app = TestApp::builder()
            .database(database)
            .set("OPENAI_BASE_URL", &model.base_url)
            .set("CHAT_MAX_TURNS_PER_USER", "1")
            .set("CHAT_MAX_TURNS", "2")
            .start()
            .await;
        let people = [app.person().await, app.person().await, app.person().await];
        let chats = [people[0].new_chat().await, people[1].new_chat().await, people[2].new_chat().await];
        let second = people[0].new_chat().await;
        let mut first = send_message(&people[0], &chats[0], "One").await;
        assert!(first.chunk().await.unwrap().is_some());
        let (code, words) = temporary_error(send_message(&people[0], &second, "Two").await, 429).await;
        assert_eq!(
            (code.as_str(), words.as_str()),
            ("too_many_turns", "You already have 1 response in progress. Wait for one to finish.",)
        );
        assert!(people[0].messages(&second).await.is_empty(), "what was refused is not there");
        let _other = send_message(&people[1], &chats[1], "One").await;
        let (code, _) = temporary_error(send_message(&people[2], &chats[2], "One").await, 503).await;
        assert_eq!(code, "overloaded");
        let (status, _) = people[0].post(&format!("/api/sessions/{}/stop", chats[0]), &json!({})).await;
        assert_eq!(status, 200);
        drop(first.text().await);
        assert_eq!(send_message(&people[2], &chats[2], "One").await.status(), 200);
        app.stop().await;
    }
}

#[tokio::test]
async fn a_person_has_some_streams_and_others_have_theirs() {
    let app = TestApp::builder().set("CHAT_MAX_STREAMS_PER_USER", "2").set("CHAT_MAX_STREAMS", "3").start().await;
    let (one, other) = (app.person().await, app.person().await);
    let follow = async |person: &testkit::Person| person.request(Method::GET, "/api/events").send().await.unwrap();
    let mut open = vec![follow(&one).await, follow(&one).await];
    assert_eq!(temporary_error(follow(&one).await, 429).await.0, "too_many_streams");
    let chat = one.new_chat().await;
    assert_eq!(temporary_error(send_message(&one, &chat, "Hi").await, 429).await.0, "too_many_streams");
    assert!(one.messages(&chat).await.is_empty(), "a turn that nobody could watch is not begun");
    open.push(follow(&other).await);
    assert!(open.iter().all(|answer| answer.status() == 200));
    assert_eq!(temporary_error(follow(&other).await, 503).await.0, "overloaded");
    drop(open);
    while app.state.streams.in_use() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(follow(&one).await.status(), 200);
    app.stop().await;
}

#[tokio::test]
async fn a_person_has_some_messages_that_wait() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Hang("Well".into()));
        let app = TestApp::builder()
            .database(database)
            .set("OPENAI_BASE_URL", &model.base_url)
            .set("CHAT_MAX_QUEUED_PER_USER", "2")
            .start()
            .await;
        let person = app.person().await;
        let chats = [person.new_chat().await, person.new_chat().await];
        let _streams = [send_message(&person, &chats[0], "Go").await, send_message(&person, &chats[1], "Go").await];
        let queue = async |chat: &str| {
            let body = json!({ "message": "Then this", "sessionId": chat });
            let path = format!("/api/sessions/{chat}/queue");
            person.request(Method::POST, &path).json(&body).send().await.unwrap()
        };
        assert_eq!(queue(&chats[0]).await.status(), 201);
        assert_eq!(queue(&chats[1]).await.status(), 201);
        let (code, words) = temporary_error(queue(&chats[0]).await, 429).await;
        assert!(code == "queue_full" && words.starts_with("too many messages are queued"), "{code}: {words}");
        app.stop().await;
    }
}

#[tokio::test]
async fn a_person_has_some_connections_open() {
    let app = TestApp::builder().set("CHAT_MAX_CONNECTIONS_PER_USER", "1").start().await;
    let servers =
        [ScriptedMcp::start([json!({ "name": "one" })]).await, ScriptedMcp::start([json!({ "name": "two" })]).await];
    let (person, other) = (app.person().await, app.person().await);
    let first = person.connect_to("first", &servers[0].url).await;
    let refresh = async |person: &testkit::Person, id: &str| -> Value {
        person.post(&format!("/api/connections/{id}/refresh"), &json!({})).await.1
    };
    assert_eq!(refresh(&person, &first).await["status"], "connected");
    // From here on, it would take the permit that the other connection releases while it is refreshed.
    let second = person.connect_to("second", &servers[1].url).await;
    let full = refresh(&person, &second).await.to_string();
    assert!(full.contains("you already have 1 open connection;"), "{full}");
    let theirs = other.connect_to("theirs", &servers[1].url).await;
    assert_eq!(refresh(&other, &theirs).await["status"], "connected");
    app.stop().await;
}

#[tokio::test]
async fn counts_connections_that_are_being_opened() {
    let (limit, count) = (3, 12);
    let app = TestApp::builder().set("CHAT_MAX_CONNECTIONS_PER_USER", limit.to_string()).start().await;
    let server = ScriptedMcp::start([json!({ "name": "one" })]).await;
    let person = app.person().await;
    let mut ids = Vec::new();
    for number in 0..count {
        ids.push(person.connect_to(&format!("server {number}"), &server.url).await);
    }
    let opened = ids.iter().map(async |id| {
        let (_, view) = person.post(&format!("/api/connections/{id}/refresh"), &json!({})).await;
        view["status"] == "connected"
    });
    let opened = futures_util::future::join_all(opened).await;
    assert_eq!(opened.iter().filter(|is_open| **is_open).count(), limit);
    app.stop().await;
}

#[tokio::test]
async fn a_person_asks_some_servers_at_a_time_for_their_tools() {
    let server = StatefulMcp::start([json!({ "name": "work" })]).await;
    server.set_failure(Some(SimulatedFailure::Silent));
    let app = TestApp::start().await;
    let (one, other) = (app.person().await, app.person().await);
    let ask = async |person: &testkit::Person| {
        let request = person.request(Method::POST, "/functions/v1/mcp-proxy").json(&json!({ "url": server.url }));
        request.send().await.unwrap()
    };
    let mut asking: Vec<_> = (0..5).map(|_| Box::pin(ask(&one))).collect();
    // The server never responds, so the request that ends is the one that got no permit.
    let (answer, _, _rest) = futures_util::future::select_all(asking.drain(..)).await;
    assert_eq!((answer.status().as_u16(), answer.headers()["retry-after"].to_str().unwrap()), (429, "5"));
    let answer: Value = answer.json().await.unwrap();
    assert_eq!((&answer["success"], &answer["data"]), (&json!(false), &json!([])));
    assert!(answer["error"].as_str().unwrap().starts_with("You are already connecting to as many servers"), "{answer}");
    server.set_failure(None);
    assert_eq!(ask(&other).await.status(), 200);
    app.stop().await;
}
