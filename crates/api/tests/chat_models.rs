//! The model of a chat, and favourite models.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Person, ScriptedModel, Step, TestApp, databases};

async fn put(person: &Person, path: &str, body: Value) -> (u16, Value) {
    let answer = person.request(Method::PUT, path).json(&body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn choose(person: &Person, chat: &str, model: Value) -> (u16, Value) {
    put(person, &format!("/api/sessions/{chat}/model"), json!({ "model": model })).await
}

#[tokio::test]
async fn a_chat_is_answered_by_the_model_that_its_person_chose() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Yes.".into()));
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let (person, stranger) = (app.person().await, app.person().await);
        let (chat, other) = (person.new_chat().await, person.new_chat().await);
        let asked = async |chat: &str| {
            assert_eq!(person.ask(chat, "Are you there?", json!([])).await.0, 200);
            let told = person.messages(chat).await.pop().unwrap()["model"].clone();
            (model.requests().pop().unwrap()["model"].clone(), told)
        };
        assert_eq!(asked(&chat).await, (json!("scripted"), json!("openai/scripted")));
        let chosen = json!({ "model": "openai/gpt/large" });
        assert_eq!(choose(&person, &chat, json!("openai/gpt/large")).await, (200, chosen.clone()));
        assert_eq!(asked(&chat).await, (json!("gpt/large"), json!("openai/gpt/large")));
        assert_eq!(asked(&other).await.0, "scripted", "the choice is the chat's");
        let path = format!("/api/sessions/{chat}/model");
        assert_eq!(person.get(&path).await, chosen);
        assert_eq!(stranger.request(Method::GET, &path).send().await.unwrap().status(), 404);
        assert_eq!(choose(&stranger, &chat, json!("openai/mine")).await.0, 404);

        // Pinning does not change the model, and neither does deleting and restoring a chat.
        put(&person, &format!("/api/sessions/{chat}/marks"), json!({ "pinned": true })).await;
        let row = format!("/rest/v1/ai_chat_sessions?id=eq.{chat}");
        assert_eq!(person.request(Method::DELETE, &row).send().await.unwrap().status(), 204);
        assert_eq!(person.request(Method::GET, &path).send().await.unwrap().status(), 404);
        person.post(&format!("/api/sessions/{chat}/restore"), &json!({})).await;
        assert_eq!(person.get(&path).await, chosen);

        for odd in ["nobody/x", "scripted", "openai/", "openai/a\u{0}", &format!("openai/{}", "x".repeat(400))] {
            let (status, refused) = choose(&person, &chat, json!(odd)).await;
            assert_eq!((status, &refused["error"]["code"]), (422, &json!("unknown_model")), "{odd}");
        }
        assert_eq!(choose(&person, &chat, Value::Null).await, (200, json!({ "model": null })));
        assert_eq!(asked(&chat).await.0, "scripted");
        app.stop().await;
    }
}

#[tokio::test]
async fn another_model_answers_one_turn() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Yes.".into()));
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let (person, stranger) = (app.person().await, app.person().await);
        let provider = json!({ "kind": "compatible", "name": "Mine", "baseUrl": model.base_url });
        assert_eq!(stranger.post("/api/model-providers", &provider).await.0, 201);
        let chat = person.new_chat().await;
        choose(&person, &chat, json!("openai/large")).await;
        let asked = async |body: Value| {
            let (status, answer) = person.post("/functions/v1/ai-chat", &body).await;
            assert_eq!(status, 200, "{answer}");
            let stored = person.messages(&chat).await.pop().unwrap();
            (model.requests().pop().unwrap()["model"].clone(), stored["model"].clone(), stored["id"].clone())
        };
        let (name, _, first) = asked(json!({ "sessionId": chat, "message": "Are you there?" })).await;
        assert_eq!(name, "large");
        let again = json!({ "sessionId": chat, "replaces": first, "model": "openai/small" });
        let (name, stored, _) = asked(again).await;
        assert_eq!((name, stored), (json!("small"), json!("openai/small")));
        let with_message = json!({ "sessionId": chat, "message": "And now?", "model": "openai/tiny" });
        assert_eq!(asked(with_message).await.0, "tiny");
        assert_eq!(person.get(&format!("/api/sessions/{chat}/model")).await["model"], "openai/large");
        assert_eq!(asked(json!({ "sessionId": chat, "message": "And then?" })).await.0, "large");

        // Another user's provider is unknown as well.
        let before = model.requests().len();
        for odd in ["nobody/x", "scripted", "openai/", "openai/a\u{0}", "my-mine/scripted"] {
            let body = json!({ "sessionId": chat, "message": "Hello?", "model": odd });
            let (status, refused) = person.post("/functions/v1/ai-chat", &body).await;
            assert_eq!((status.as_u16(), &refused["code"]), (422, &json!("unknown_model")), "{odd}");
        }
        let body = json!({ "sessionId": chat, "message": "Later", "model": "openai/small" });
        assert_eq!(person.post(&format!("/api/sessions/{chat}/queue"), &body).await.0, 400);
        assert_eq!(model.requests().len(), before);
        app.stop().await;
    }
}

#[tokio::test]
async fn a_chat_whose_model_is_gone_says_so_and_asks_no_other() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let (owner, id) = (person.id.parse().unwrap(), chat.parse().unwrap());
        app.state.storage.models().set_of_chat(owner, id, Some("gone/model")).await.unwrap();
        let (status, refused) = person.ask(&chat, "Hello?", json!([])).await;
        assert_eq!((status.as_u16(), &refused["code"]), (502, &json!("model_unavailable")));
        assert!(refused["error"].as_str().unwrap().contains("gone/model"), "{refused}");
        assert!(model.requests().is_empty() && person.messages(&chat).await.is_empty());
        app.stop().await;
    }
}

#[tokio::test]
async fn models_are_kept_at_hand_by_each_person() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let (person, stranger) = (app.person().await, app.person().await);
        let mark = async |name: &str, favourite: bool| {
            put(&person, "/api/models/favourites", json!({ "model": name, "favourite": favourite })).await
        };
        for name in ["openai/b", "openai/a", "openai/b"] {
            assert_eq!(mark(name, true).await.0, 200);
        }
        assert_eq!(mark("nobody/x", true).await.0, 422);
        assert_eq!(person.get("/api/models").await["favourites"], json!(["openai/b", "openai/a"]));
        assert_eq!(stranger.get("/api/models").await["favourites"], json!([]));
        assert_eq!(mark("openai/b", false).await, (200, json!({ "favourites": ["openai/a"] })));
        assert_eq!(mark("nobody/x", false).await.0, 200, "what is gone can be taken away");
        app.stop().await;
    }
}
