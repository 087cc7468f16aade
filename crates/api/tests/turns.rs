//! Turns over HTTP, with a scripted model and real tools.

use agent::tool_selection::{RequestedTool, ToolSelection, Toolset};
use connections::{CallContext, CallOutcome};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{Database, ScriptedModel, Step, StreamEvent, TestApp, databases};
use tokio_util::sync::CancellationToken;

async fn app_with(model: &ScriptedModel, database: Database) -> TestApp {
    TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await
}

fn kinds(events: &[StreamEvent]) -> Vec<&str> {
    let mut kinds: Vec<&str> = events.iter().map(StreamEvent::kind).collect();
    kinds.dedup();
    kinds
}

fn toolbox(name: &str) -> Value {
    json!([{ "name": name, "serverName": "toolbox" }])
}

async fn connect_toolbox(person: &testkit::Person, app: &TestApp) {
    let url = format!("{}/mcp/toolbox", app.url);
    let (status, found) = person.post("/functions/v1/mcp-proxy", &json!({ "url": url })).await;
    assert_eq!((status, &found["success"]), (StatusCode::OK, &json!(true)), "{found}");
    person.connect("toolbox", &url, found["data"].clone()).await;
}

#[tokio::test]
async fn a_question_is_answered_with_a_tool_and_all_of_it_is_stored() {
    for database in databases() {
        let model = ScriptedModel::start([
            Step::Calls(vec![
                ("calculate".into(), json!({ "expression": "12.5*8" })),
                ("calculate".into(), json!({ "expression": "1/0" })),
            ]),
            Step::Text("It is **100**.".into()),
        ])
        .await;
        let app = app_with(&model, database).await;
        let person = app.person().await;
        connect_toolbox(&person, &app).await;
        let chat = person.new_chat().await;

        let events = person.ask_for_events(&chat, "What is 12.5 times 8? Use calculate.", toolbox("calculate")).await;
        let ids: Vec<u64> = events.iter().filter_map(|event| event.id).collect();
        assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>(), "numbered without a gap");
        assert_eq!(events.first().unwrap().kind(), "start");
        assert_eq!(events.last().unwrap().kind(), "[DONE]");
        assert_eq!(events[events.len() - 2].kind(), "finish");
        assert!(kinds(&events).contains(&"data-title"));

        let messages = person.messages(&chat).await;
        assert_eq!(messages.len(), 2);
        assert_eq!(messages[0]["role"], "user");
        let answer = &messages[1];
        assert_eq!(answer["id"], events[0].data["messageId"]);
        assert_eq!((&answer["content"], &answer["status"]), (&json!("It is **100**."), &json!("done")));
        let calls = answer["tool_calls"].as_array().unwrap();
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[0]["arguments"], json!({ "expression": "12.5*8" }));
        assert!(calls[0]["result"]["content"][0]["text"].as_str().unwrap().contains("100"));
        assert_eq!((&calls[0]["outcome"], &calls[1]["outcome"]), (&json!("done"), &json!("error")));
        assert_eq!(calls[0]["serverName"], "toolbox");

        let second = &model.requests()[1];
        let roles: Vec<&str> =
            second["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
        let chats = person.get("/rest/v1/ai_chat_sessions?select=title").await;
        assert_eq!(chats, json!([{ "title": "What is 12.5 times 8? Use calc..." }]));
        app.stop().await;
    }
}

#[tokio::test]
async fn a_message_that_is_sent_again_under_its_id_is_stored_once() {
    for database in databases() {
        let model = ScriptedModel::start([Step::Text("Hello.".into())]).await;
        let app = app_with(&model, database).await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let id = "5f0c4c5e-8a36-4d3c-9a39-3f6a4c3b8f10";
        let body = json!({ "message": "Hi", "sessionId": chat, "messageId": id, "tools": [] });
        let (status, answer) = person.post("/functions/v1/ai-chat", &body).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        let (status, refusal) = person.post("/functions/v1/ai-chat", &body).await;
        assert_eq!((status, &refusal["code"]), (StatusCode::CONFLICT, &json!("message_exists")), "{refusal}");
        let messages = person.messages(&chat).await;
        assert_eq!(messages.len(), 2);
        assert_eq!((&messages[0]["id"], &messages[0]["content"]), (&json!(id), &json!("Hi")));
        assert_eq!(model.requests().len(), 1);

        // The id is not secret, and discloses nothing to other users.
        let other = app.person().await;
        let own = other.new_chat().await;
        let body = json!({ "message": "Hi", "sessionId": own, "messageId": id, "tools": [] });
        let (status, refusal) = other.post("/functions/v1/ai-chat", &body).await;
        assert_eq!((status, &refusal["code"]), (StatusCode::CONFLICT, &json!("message_exists")), "{refusal}");
        assert_eq!(other.messages(&own).await, Vec::<Value>::new());
        app.stop().await;
    }
}

#[tokio::test]
async fn the_answer_can_be_had_as_json() {
    let model = ScriptedModel::start([Step::Text("Hello.".into())]).await;
    let app = app_with(&model, Database::of_environment()).await;
    let person = app.person().await;
    let chat = person.new_chat().await;
    let (status, answer) = person.ask(&chat, "Hi", json!([])).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        (&answer["content"], &answer["status"], &answer["toolCalls"]),
        (&json!("Hello."), &json!("done"), &json!([]))
    );
    assert_eq!(person.messages(&chat).await[1]["id"], answer["messageId"]);
}

#[tokio::test]
async fn a_viewer_that_goes_and_comes_back_misses_nothing() {
    let model = ScriptedModel::start([Step::Words { count: 60, pace: Duration::from_millis(20) }]).await;
    let app = app_with(&model, Database::of_environment()).await;
    let person = app.person().await;
    let chat = person.new_chat().await;
    // The request that started the turn is dropped with its response unread.
    drop(person.ask_streaming(&chat, "Go on", json!([])).await);
    let path = format!("/api/sessions/{chat}/stream");
    let mut viewer = person.request(Method::GET, &path).send().await.unwrap();
    let mut whole = String::new();
    while !whole.contains("id: 5\n") {
        whole.push_str(&String::from_utf8_lossy(&viewer.chunk().await.unwrap().unwrap()));
    }
    let tail = person.request(Method::GET, &path).header("last-event-id", "5").send().await.unwrap();
    whole.push_str(&viewer.text().await.unwrap());
    let tail = tail.text().await.unwrap();
    assert!(whole.ends_with(&tail) && tail.starts_with("id: 6\n"), "the tail is exactly the rest");
    assert_eq!(person.messages(&chat).await[1]["content"], "word ".repeat(60));
    let after = person.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(after.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn stop_ends_the_turn_at_the_model_too_and_keeps_the_text() {
    for database in databases() {
        let model = ScriptedModel::start([Step::Hang("Once upon a time".into())]).await;
        let app = app_with(&model, database).await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let mut stream = person.ask_streaming(&chat, "Tell me a story", json!([])).await;
        let mut seen = String::new();
        while !seen.contains("time") {
            seen.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()));
        }
        let stop = format!("/api/sessions/{chat}/stop");
        assert_eq!(person.post(&stop, &json!({})).await.1, json!({ "stopped": true }));
        while let Some(piece) = stream.chunk().await.unwrap() {
            seen.push_str(&String::from_utf8_lossy(&piece));
        }
        assert!(seen.contains(r#""type":"abort""#) && seen.ends_with("data: [DONE]\n\n"));
        assert_eq!(person.post(&stop, &json!({})).await.1, json!({ "stopped": false }), "a second click is harmless");
        while model.open_streams() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let messages = person.messages(&chat).await;
        assert_eq!(messages[1]["content"], "Once upon a time");
        assert_eq!(messages[1]["status"], "stopped");
    }
}

#[tokio::test]
async fn a_model_that_fails_costs_nothing_that_was_said() {
    for (step, kept, words) in [
        (Step::Status(401, "Incorrect API key".into()), "", "refused the key"),
        (Step::Status(404, "no such model".into()), "", "no such model"),
        (Step::BreakOff("Half an ans".into()), "Half an ans", "broke off"),
    ] {
        let model = ScriptedModel::start([step]).await;
        let app = app_with(&model, Database::of_environment()).await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let events = person.ask_for_events(&chat, "Hello?", json!([])).await;
        let error = events.iter().find(|event| event.kind() == "error").unwrap();
        let text = error.data["errorText"].as_str().unwrap();
        assert!(text.contains(words), "{text}");
        let messages = person.messages(&chat).await;
        assert_eq!(messages[0]["content"], "Hello?");
        assert_eq!((&messages[1]["content"], &messages[1]["status"]), (&json!(kept), &json!("failed")));
        assert_eq!(messages[1]["error"], text);
        model.push(Step::Text("Here again.".into()));
        let (status, answer) = person.ask(&chat, "Try again", json!([])).await;
        assert_eq!((status, &answer["content"]), (StatusCode::OK, &json!("Here again.")));
    }
}

#[tokio::test]
async fn a_process_that_dies_leaves_an_interrupted_answer_with_all_that_was_written() {
    for database in databases() {
        let model = ScriptedModel::start([Step::Hang("The first half".into())]).await;
        let app = app_with(&model, database).await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let mut stream = person.ask_streaming(&chat, "Begin", json!([])).await;
        let mut seen = String::new();
        while !seen.contains("half") {
            seen.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()));
        }
        let turn = app.state.turns.find(person.id.parse().unwrap(), chat.parse().unwrap()).unwrap();
        assert!(app.state.turns.journal().flush(turn.id).await);
        // After a kill, the database has what it has now: a second server reads it.
        let copy = match database {
            Database::Sqlite => {
                let copy = app.folder.path().join("killed.db");
                let from = app.folder.path().join("test.db");
                for ending in ["", "-wal"] {
                    std::fs::copy(format!("{}{ending}", from.display()), format!("{}{ending}", copy.display()))
                        .unwrap();
                }
                format!("sqlite://{}", copy.display())
            }
            Database::Postgres => app.database_url.clone(),
        };
        if database == Database::Postgres {
            // The other nodes have declared this one dead.
            app.state.storage.nodes().remove(app.state.storage.node()).await.unwrap();
        }
        let revived =
            TestApp::builder().on_data_of(&app.folder, &copy).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let path =
            format!("{}/rest/v1/ai_chat_messages?select=*&session_id=eq.{chat}&order=created_at.asc", revived.url);
        let read = async || -> Value {
            revived.http.get(&path).bearer_auth(&person.token).send().await.unwrap().json().await.unwrap()
        };
        let mut messages = read().await;
        while messages[1].is_null() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            messages = read().await;
        }
        assert_eq!(messages[1]["content"], "The first half");
        assert_eq!(messages[1]["status"], "interrupted");
        revived.stop().await;
        app.stop().await;
    }
}

#[tokio::test]
async fn a_process_that_is_stopped_lets_viewers_come_back_for_what_it_kept() {
    for database in databases() {
        let model = ScriptedModel::start([Step::Hang("The first half".into())]).await;
        let app = app_with(&model, database).await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let stream = person.ask_streaming(&chat, "Begin", json!([])).await;
        while model.open_streams() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let (told, stopped) = tokio::join!(stream.text(), app.stop());
        let told = told.unwrap();
        assert!(
            !told.contains("[DONE]") && !told.contains("\"error\""),
            "a stream that ends well is not come back for: {told}"
        );
        let (folder, url) = stopped;
        let again = TestApp::builder().on_data_of(&folder, &url).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let path = format!("{}/rest/v1/ai_chat_messages?select=*&session_id=eq.{chat}&order=created_at.asc", again.url);
        let messages: Value =
            again.http.get(&path).bearer_auth(&person.token).send().await.unwrap().json().await.unwrap();
        assert_eq!(messages[1]["status"], "interrupted", "{messages}");
        again.stop().await;
    }
}

#[tokio::test]
async fn what_is_refused_is_refused_with_its_code() {
    let model = ScriptedModel::start([Step::Hang("…".into())]).await;
    let app = app_with(&model, Database::of_environment()).await;
    let (person, other) = (app.person().await, app.person().await);
    let (chat, foreign) = (person.new_chat().await, other.new_chat().await);
    let asks = [
        (json!({ "message": "  ", "sessionId": chat }), 400, "bad_request"),
        (json!({ "message": "x".repeat(200_001), "sessionId": chat }), 400, "bad_request"),
        (json!({ "message": "hi" }), 400, "bad_request"),
        (json!({ "message": 1, "sessionId": chat }), 400, "bad_request"),
        (json!({ "message": "hi", "sessionId": "not an id" }), 400, "bad_request"),
        (json!({ "message": "hi", "sessionId": chat, "more": "x".repeat(2 << 20) }), 413, "body_too_large"),
        (json!({ "message": "hi", "sessionId": foreign }), 404, "session_not_found"),
        (json!({ "message": "hi", "sessionId": chat, "tools": [{ "name": "rm" }] }), 422, "unknown_tool"),
    ];
    for (body, status, code) in asks {
        let (got, answer) = person.post("/functions/v1/ai-chat", &body).await;
        assert_eq!((got.as_u16(), answer["code"].as_str().unwrap()), (status, code), "{answer}");
        assert!(answer["error"].is_string());
    }
    drop(person.ask_streaming(&chat, "Hold on", json!([])).await);
    let (status, answer) = person.ask(&chat, "And another", json!([])).await;
    assert_eq!((status, &answer["code"]), (StatusCode::CONFLICT, &json!("turn_active")));
    for (method, path) in [(Method::GET, "stream"), (Method::POST, "stop")] {
        let path = format!("/api/sessions/{chat}/{path}");
        let answer = other.request(method, &path).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "another person's run is absent");
    }
    let anonymous = app.http.post(format!("{}/functions/v1/ai-chat", app.url)).json(&json!({})).send().await.unwrap();
    assert_eq!(anonymous.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_server_that_is_away_is_said_and_the_turn_goes_on() {
    for fallback in ["off", "google-drive"] {
        let model = ScriptedModel::start([Step::Text("Without tools, then.".into())]).await;
        let settings = TestApp::builder().set("CHAT_FALLBACK_TOOLS", fallback);
        let app = settings.set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        // Nothing listens on port 1.
        person.connect("gone", "http://127.0.0.1:1/mcp", json!([{ "name": "look", "description": "" }])).await;
        let chat = person.new_chat().await;
        let events = person.ask_for_events(&chat, "Look", json!([{ "name": "look", "serverName": "gone" }])).await;
        let notice = events.iter().find(|event| event.kind() == "data-notice").unwrap();
        assert_eq!(notice.data["data"]["text"], "gone: the server refused the connection. Its tools are left out.");
        assert_eq!(events[events.len() - 2].kind(), "finish");
        assert!(model.requests()[0].get("tools").is_none());
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_made_is_a_result_for_the_model() {
    let model = ScriptedModel::start([
        Step::Calls(vec![("invented".into(), json!({})), ("calculate".into(), json!("{\"expression\":"))]),
        Step::Text("Sorry.".into()),
    ])
    .await;
    let app = app_with(&model, Database::of_environment()).await;
    let person = app.person().await;
    connect_toolbox(&person, &app).await;
    let chat = person.new_chat().await;
    let (status, answer) = person.ask(&chat, "Do it", toolbox("calculate")).await;
    assert_eq!((status, &answer["content"]), (StatusCode::OK, &json!("Sorry.")));
    let errors: Vec<&str> =
        answer["toolCalls"].as_array().unwrap().iter().map(|call| call["error"].as_str().unwrap()).collect();
    assert_eq!(errors[0], "There is no tool called invented.");
    assert!(errors[1].starts_with("The arguments are not a JSON object"));
}

#[tokio::test]
async fn deleting_a_chat_ends_its_turn() {
    for database in databases() {
        let model = ScriptedModel::start([Step::Hang("Once upon a time".into())]).await;
        let app = app_with(&model, database).await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let mut stream = person.ask_streaming(&chat, "Tell me a story", json!([])).await;
        let mut seen = String::new();
        while !seen.contains("time") {
            seen.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()));
        }
        let path = format!("/rest/v1/ai_chat_sessions?id=eq.{chat}");
        let deleted = person.request(Method::DELETE, &path).send().await.unwrap();
        assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
        let rest = tokio::time::timeout(Duration::from_secs(20), stream.text()).await.expect("it ends").unwrap();
        assert!(rest.contains("\"abort\""), "{rest}");
        while model.open_streams() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(person.messages(&chat).await, Vec::<Value>::new());
        app.stop().await;
    }
}

#[tokio::test]
async fn a_turn_does_not_call_a_connection_that_was_removed_meanwhile() {
    let app = TestApp::start().await;
    let person = app.person().await;
    connect_toolbox(&person, &app).await;
    let (inner, user) = (&app.state, person.id.parse().unwrap());
    let wanted = [RequestedTool { name: "calculate".into(), server_name: Some("toolbox".into()) }];
    let servers = inner.storage.connections().list(user).await.unwrap();
    let selection = ToolSelection::resolve(&wanted, &servers, |_| Vec::new()).unwrap();
    let toolset = Toolset::open(&inner.connections, user, &selection).await;
    let tool = toolset.find("toolbox", "calculate").unwrap();
    let call = async || {
        let arguments = json!({ "expression": "1+1" }).as_object().unwrap().clone();
        let context = CallContext::new(CancellationToken::new());
        inner.connections.call_tool(user, tool, arguments, context).await
    };
    assert!(matches!(call().await, CallOutcome::Result(_)));
    let path = format!("/rest/v1/mcp_servers?id=eq.{}", tool.server.id);
    assert_eq!(person.request(Method::DELETE, &path).send().await.unwrap().status(), StatusCode::NO_CONTENT);
    let CallOutcome::Failed { reason, .. } = call().await else { panic!("it was called") };
    assert_eq!(reason, "The connection toolbox was removed or changed.");
    app.stop().await;
}

#[tokio::test]
async fn a_foreign_chat_is_refused_before_a_missing_model() {
    for database in databases() {
        let app = TestApp::builder().database(database).start().await;
        let (owner, stranger) = (app.person().await, app.person().await);
        let chat = owner.new_chat().await;
        let (status, refused) = owner.ask(&chat, "Hi", json!([])).await;
        assert_eq!((status.as_u16(), &refused["code"]), (502, &json!("model_unavailable")));
        let (status, refused) = stranger.ask(&chat, "Hi", json!([])).await;
        assert_eq!((status.as_u16(), &refused["code"]), (404, &json!("session_not_found")));
        app.stop().await;
    }
}
