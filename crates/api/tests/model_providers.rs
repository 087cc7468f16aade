//! Model providers that users add.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Database, Person, ScriptedModel, Step, TestApp, databases};

const KEY: &str = "sk-own-secret-key-0815";
/// The master key that the nodes share: any 32 bytes.
const MASTER_KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

async fn model() -> ScriptedModel {
    let model = ScriptedModel::start([]).await;
    model.always(Step::Text("Yes.".into()));
    model
}

async fn call(person: &Person, method: Method, path: &str, body: Value) -> (u16, Value) {
    let answer = person.request(method, path).json(&body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

/// Adds a provider. Returns its path, and the prefix of its models.
async fn add(person: &Person, kind: &str, name: &str, base_url: &str) -> (String, String) {
    let body = json!({ "kind": kind, "name": name, "baseUrl": base_url, "key": KEY });
    let (status, made) = call(person, Method::POST, "/api/model-providers", body).await;
    assert_eq!(status, 201, "{made}");
    let (id, prefix) = (made["provider"]["id"].as_str().unwrap(), made["provider"]["prefix"].as_str().unwrap());
    (format!("/api/model-providers/{id}"), prefix.to_owned())
}

async fn models_of(person: &Person) -> Vec<String> {
    let list = person.get("/api/models").await;
    list["models"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap().to_owned()).collect()
}

async fn choose(person: &Person, chat: &str, model: &str) -> u16 {
    call(person, Method::PUT, &format!("/api/sessions/{chat}/model"), json!({ "model": model })).await.0
}

#[tokio::test]
async fn a_persons_provider_answers_them_over_every_wire_and_its_key_never_comes_back() {
    for database in databases() {
        let model = model().await;
        let app = TestApp::builder().database(database).start().await;
        let person = app.person().await;
        for (kind, base_url) in [
            ("openai", &model.base_url),
            ("compatible", &model.base_url),
            ("ollama", &model.origin),
            ("anthropic", &model.origin),
            ("gemini", &model.origin),
        ] {
            let (path, prefix) = add(&person, kind, &format!("My {kind}"), base_url).await;
            assert_eq!(prefix, format!("my-my-{kind}"));
            let (_, tested) = call(&person, Method::POST, &format!("{path}/test"), json!({})).await;
            assert!(tested["ok"] == true, "{kind}: {tested}");
            let chat = person.new_chat().await;
            assert_eq!(choose(&person, &chat, &format!("{prefix}/scripted")).await, 200);
            let (status, told) = person.ask(&chat, "Are you there?", json!([])).await;
            assert_eq!((status.as_u16(), &told["content"]), (200, &json!("Yes.")), "{kind}: {told}");
            assert!(model.keys().pop().unwrap().ends_with(KEY), "{kind}");
        }
        let listed = person.get("/api/model-providers").await;
        assert_eq!(listed["providers"].as_array().unwrap().len(), 5);
        assert_eq!(listed["providers"][0]["hint"], "0815");
        let export = person.get("/api/account/export").await;
        let mut told = listed["providers"].clone();
        for provider in told.as_array_mut().unwrap() {
            provider.as_object_mut().unwrap().remove("hint");
        }
        assert_eq!(export["providers"], told, "not even the end of a key goes out");
        assert_eq!(export["usage"].as_array().unwrap().len(), 5);
        assert_eq!(export["usage"], person.get("/api/usage").await["days"]);
        assert!(!listed.to_string().contains(KEY) && !export.to_string().contains(KEY));
        let default = person.get("/api/models").await["default"].clone();
        assert_eq!(default, "my-my-openai/scripted", "where nothing is configured, the person's own answers");
        app.stop().await;
    }
}

#[tokio::test]
async fn nobody_is_served_by_the_provider_of_somebody_else() {
    for database in databases() {
        let (ours, theirs) = (model().await, model().await);
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &theirs.base_url).start().await;
        let (person, stranger) = (app.person().await, app.person().await);
        let (path, prefix) = add(&person, "compatible", "Work", &ours.base_url).await;
        let name = format!("{prefix}/scripted");
        assert_eq!(models_of(&person).await, ["openai/scripted", &name]);
        assert_eq!(models_of(&stranger).await, ["openai/scripted"]);
        for (method, path) in
            [(Method::PATCH, path.clone()), (Method::DELETE, path.clone()), (Method::POST, format!("{path}/test"))]
        {
            let (status, _) = call(&stranger, method.clone(), &path, json!({ "baseUrl": theirs.base_url })).await;
            assert_eq!(status, 404, "{method} {path}");
        }
        // Not by its name, not by a chat that names it, and not through the OpenAI-compatible API.
        let chat = stranger.new_chat().await;
        assert_eq!(choose(&stranger, &chat, &name).await, 422);
        let (owner, id) = (stranger.id.parse().unwrap(), chat.parse().unwrap());
        app.state.storage.models().set_of_chat(owner, id, Some(&name)).await.unwrap();
        let (status, refused) = stranger.ask(&chat, "Hello?", json!([])).await;
        assert_eq!((status.as_u16(), &refused["code"]), (502, &json!("model_unavailable")));
        let question = json!({ "model": name, "messages": [{ "role": "user", "content": "Hello?" }] });
        for (who, status) in [(&person, 200), (&stranger, 404)] {
            let (_, made) = who.post("/api/keys", &json!({ "name": "A program", "scopes": ["chat"] })).await;
            let key = made["secret"].as_str().unwrap().to_owned();
            let url = format!("{}/v1/chat/completions", app.url);
            let answer = app.http.post(url).bearer_auth(&key).json(&question).send().await.unwrap();
            assert_eq!(answer.status(), status);
            let list = app.http.get(format!("{}/v1/models", app.url)).bearer_auth(&key).send().await.unwrap();
            assert_eq!(list.text().await.unwrap().contains(&name), status == 200);
        }
        // Providers of two users may have the same name; each user's own is called.
        let (_, same) = add(&stranger, "compatible", "Work", &theirs.base_url).await;
        assert_eq!(same, prefix);
        let before = ours.requests().len();
        assert_eq!(stranger.ask(&chat, "Hello?", json!([])).await.0, 200);
        assert_eq!((ours.requests().len(), theirs.requests().len()), (before, 1));
        app.stop().await;
    }
}

#[tokio::test]
async fn a_provider_is_changed_removed_and_gone_for_its_chats() {
    for database in databases() {
        let (model, other) = (model().await, model().await);
        let app = TestApp::builder().database(database).start().await;
        let person = app.person().await;
        let (path, prefix) = add(&person, "compatible", "Work", &model.base_url).await;
        let chat = person.new_chat().await;
        choose(&person, &chat, &format!("{prefix}/scripted")).await;
        assert_eq!(person.ask(&chat, "One?", json!([])).await.0, 200);

        // A key is sent only to the server that it was entered for.
        let move_to = |key: Value| json!({ "name": "Home", "baseUrl": other.base_url, "key": key });
        let (status, refused) = call(&person, Method::PATCH, &path, json!({ "baseUrl": other.base_url })).await;
        assert_eq!((status, &refused["error"]["code"]), (422, &json!("key_needed")));
        let (status, moved) = call(&person, Method::PATCH, &path, move_to(json!("sk-for-the-other"))).await;
        assert_eq!((status, &moved["provider"]["name"]), (200, &json!("Home")), "{moved}");
        assert_eq!(person.ask(&chat, "Two?", json!([])).await.0, 200);
        assert!(other.keys().pop().unwrap().ends_with("sk-for-the-other"));
        let (_, without) = call(&person, Method::PATCH, &path, json!({ "key": "" })).await;
        assert_eq!((&without["provider"]["hasKey"], &without["provider"]["hint"]), (&json!(false), &Value::Null));
        assert_eq!(person.ask(&chat, "Three?", json!([])).await.0, 200);
        assert_eq!(other.keys().pop().unwrap(), "");

        assert_eq!(call(&person, Method::DELETE, &path, json!({})).await.0, 204);
        let (status, refused) = person.ask(&chat, "Four?", json!([])).await;
        assert_eq!((status.as_u16(), &refused["code"]), (502, &json!("model_unavailable")));
        assert!(refused["error"].as_str().unwrap().contains("Choose another one"), "{refused}");
        assert_eq!(models_of(&person).await, [""; 0]);
        app.stop().await;
    }
}

#[tokio::test]
async fn what_a_provider_refuses_is_said_with_what_its_person_can_do() {
    let model = ScriptedModel::start([]).await;
    model.always(Step::Status(401, r#"{"error":{"message":"Incorrect API key"}}"#.into()));
    let app = TestApp::builder().start().await;
    let person = app.person().await;
    let (_, prefix) = add(&person, "compatible", "Work", &model.base_url).await;
    let chat = person.new_chat().await;
    choose(&person, &chat, &format!("{prefix}/scripted")).await;
    let (_, refused) = person.ask(&chat, "Hello?", json!([])).await;
    let words = refused["error"].as_str().unwrap();
    assert!(words.contains("Incorrect API key") && words.contains("in your settings"), "{words}");

    let (path, _) = add(&person, "compatible", "Away", "http://127.0.0.1:9/v1").await;
    let (status, tested) = call(&person, Method::POST, &format!("{path}/test"), json!({})).await;
    assert_eq!((status, &tested["ok"]), (200, &json!(false)));
    assert!(tested["reason"].as_str().unwrap().contains("could not reach"), "{tested}");
    for (spoilt, status) in [
        (json!({ "kind": "other", "name": "x", "baseUrl": model.base_url }), 400),
        (json!({ "kind": "compatible", "name": " ", "baseUrl": model.base_url }), 400),
        (json!({ "kind": "compatible", "name": "x" }), 400),
        (json!({ "kind": "compatible", "name": "x", "baseUrl": "no address" }), 400),
        (json!({ "kind": "compatible", "name": "x", "baseUrl": model.base_url, "key": "a\nb" }), 400),
        (json!({ "kind": "compatible", "name": "x", "baseUrl": "http://me:you@127.0.0.1/v1" }), 422),
        (json!({ "kind": "compatible", "name": "x", "baseUrl": "ws://127.0.0.1/v1" }), 422),
        (json!({ "kind": "compatible", "name": "x", "baseUrl": "http://8.8.8.8/v1", "key": KEY }), 422),
        (json!({ "kind": "compatible", "name": "x", "baseUrl": "http://models.example/v1", "key": KEY }), 422),
    ] {
        let (told, refused) = call(&person, Method::POST, "/api/model-providers", spoilt.clone()).await;
        assert_eq!(told, status, "{spoilt}: {refused}");
    }
    app.stop().await;
}

#[tokio::test]
async fn every_node_serves_a_persons_provider_as_it_was_changed_last() {
    if !databases().contains(&Database::Postgres) {
        return;
    }
    let (model, other) = (model().await, model().await);
    let node = || TestApp::builder().database(Database::Postgres).set("CHAT_MASTER_KEY", MASTER_KEY);
    let here = node().start().await;
    let folder = Arc::new(TempDir::new().unwrap());
    let there = node().on_data_of(&folder, &here.database_url).start().await;
    let person = here.person().await;
    let mut elsewhere = person.clone();
    elsewhere.move_to(&there);
    let (path, prefix) = add(&person, "compatible", "Work", &model.base_url).await;
    let chat = person.new_chat().await;
    choose(&person, &chat, &format!("{prefix}/scripted")).await;
    assert_eq!(elsewhere.ask(&chat, "One?", json!([])).await.0, 200);
    assert_eq!(model.requests().len(), 1);
    let moved = json!({ "baseUrl": other.base_url, "key": "sk-for-the-other" });
    assert_eq!(call(&person, Method::PATCH, &path, moved).await.0, 200);
    assert_eq!(elsewhere.ask(&chat, "Two?", json!([])).await.0, 200);
    assert_eq!((model.requests().len(), other.requests().len()), (1, 1));
    assert_eq!(call(&person, Method::DELETE, &path, json!({})).await.0, 204);
    assert_eq!(elsewhere.ask(&chat, "Three?", json!([])).await.0, 502);
    here.stop().await;
    there.stop().await;
}

#[tokio::test]
async fn the_audit_log_records_providers() {
    for database in databases() {
        let model = model().await;
        let app = TestApp::builder().database(database).start().await;
        let person = app.person().await;
        let (path, _) = add(&person, "compatible", "Mine", &model.base_url).await;
        let bad = json!({ "kind": "compatible", "name": "Bad", "baseUrl": "nowhere" });
        assert_eq!(call(&person, Method::POST, "/api/model-providers", bad).await.0, 400, "no event");
        assert_eq!(call(&person, Method::PATCH, &path, json!({ "key": "another-key-0815" })).await.0, 200);
        for status in [204, 404] {
            assert_eq!(call(&person, Method::DELETE, &path, json!({})).await.0, status);
        }
        let events = app.state.storage.audit_events().list_of_user(person.id.parse().unwrap(), None, 3).await.unwrap();
        let told: Vec<_> = events.iter().rev().map(|event| (event.actor.as_str(), event.kind.as_str())).collect();
        let expected = ["model_provider_added", "model_provider_changed", "model_provider_removed"];
        assert_eq!(told, expected.map(|kind| ("user", kind)));
        app.stop().await;
    }
}
