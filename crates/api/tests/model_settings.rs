//! Instructions and parameters for a chat, and the user's defaults.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Person, ScriptedModel, Step, TestApp, databases};

async fn put(person: &Person, path: &str, body: &Value) -> (u16, Value) {
    let answer = person.request(Method::PUT, path).json(body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn model() -> ScriptedModel {
    let model = ScriptedModel::start([]).await;
    model.always(Step::Text("Yes.".into()));
    model
}

fn of_chat(chat: &str) -> String {
    format!("/api/sessions/{chat}/settings")
}

#[tokio::test]
async fn a_chat_is_asked_with_what_was_set_for_it_and_else_with_what_holds_for_all() {
    for database in databases() {
        let model = model().await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let (person, stranger) = (app.person().await, app.person().await);
        let (chat, other) = (person.new_chat().await, person.new_chat().await);
        let asked = async |chat: &str| {
            assert_eq!(person.ask(chat, "Are you there?", json!([])).await.0, 200);
            model.requests().pop().unwrap()
        };
        let plain = asked(&chat).await;
        let said = |asked: &Value| asked["messages"][0]["content"].as_str().unwrap().to_owned();
        for name in ["temperature", "top_p", "max_tokens", "reasoning_effort"] {
            assert_eq!(plain[name], Value::Null, "{name}");
        }
        let settings = json!({
            "system": "Speak like a sailor.", "maxTokens": 77, "temperature": 0.25, "topP": 0.5, "effort": "high"
        });
        assert_eq!(put(&person, &of_chat(&chat), &settings).await, (200, json!({ "settings": settings })));
        let set = asked(&chat).await;
        assert_eq!((&set["temperature"], &set["top_p"], &set["max_tokens"]), (&json!(0.25), &json!(0.5), &json!(77)));
        assert_eq!(set["reasoning_effort"], "high");
        assert!(said(&set).starts_with(&said(&plain)) && said(&set).ends_with("Speak like a sailor."));
        assert_eq!(asked(&other).await["temperature"], Value::Null, "it is the chat's");

        let settings_of_all = json!({ "temperature": 1.5, "system": "Be brief." });
        let defaults = json!({ "model": "openai/other", "settings": settings_of_all, "proposeTitles": false });
        assert_eq!(put(&person, "/api/model-defaults", &defaults).await, (200, defaults.clone()));
        assert_eq!(person.get("/api/model-defaults").await, defaults);
        let all = asked(&other).await;
        assert_eq!((&all["model"], &all["temperature"]), (&json!("other"), &json!(1.5)));
        assert!(said(&all).ends_with("Be brief."));
        assert_eq!(asked(&chat).await["temperature"], 0.25, "what was set for the chat stands above");
        let told = person.get(&of_chat(&chat)).await;
        assert_eq!((&told["settings"], &told["defaults"]), (&settings, &defaults["settings"]));
        assert_eq!(person.get("/api/models").await["default"], "openai/other");

        // Other users are not affected, and a reset clears everything.
        let theirs = stranger.new_chat().await;
        let none = json!({ "model": null, "settings": {}, "proposeTitles": false });
        assert_eq!(stranger.get("/api/model-defaults").await, none);
        assert_eq!(put(&stranger, &of_chat(&chat), &settings).await.0, 404);
        assert_eq!(stranger.request(Method::GET, &of_chat(&chat)).send().await.unwrap().status(), 404);
        assert_eq!(stranger.ask(&theirs, "Hello?", json!([])).await.0, 200);
        assert_eq!(model.requests().pop().unwrap()["model"], "scripted");
        assert_eq!(put(&person, &of_chat(&chat), &json!({})).await.0, 200);
        assert_eq!(asked(&chat).await["temperature"], 1.5);
        for spoilt in [
            json!({ "temperature": 2.1 }),
            json!({ "temperature": "hot" }),
            json!({ "topP": 0 }),
            json!({ "maxTokens": 0 }),
            json!({ "effort": "utmost" }),
            json!({ "system": "x".repeat(20_001) }),
        ] {
            assert_eq!(put(&person, &of_chat(&chat), &spoilt).await.0, 400, "{spoilt}");
        }
        let unknown = json!({ "model": "nobody/x", "settings": {} });
        assert_eq!(put(&person, "/api/model-defaults", &unknown).await.0, 422);
        app.stop().await;
    }
}

#[tokio::test]
async fn every_wire_says_it_in_its_own_words() {
    let model = model().await;
    let app = TestApp::builder()
        .set("OPENAI_API_KEY", "sk")
        .set("OPENAI_BASE_URL", &model.base_url)
        .set("CHAT_OPENAI_WIRE", "responses")
        .set("ANTHROPIC_BASE_URL", &model.origin)
        .set("GEMINI_BASE_URL", &model.origin)
        .start()
        .await;
    let person = app.person().await;
    let settings = json!({ "temperature": 1.5, "topP": 0.5, "maxTokens": 900, "effort": "low" });
    for (provider, want) in [
        (
            "openai",
            json!({ "/temperature": 1.5, "/top_p": 0.5, "/max_output_tokens": 900, "/reasoning/effort": "low" }),
        ),
        (
            "anthropic",
            // Its maximum temperature is 1, and it does not reason if the sampling is set.
            json!({
                "/temperature": 1.0, "/top_p": 0.5, "/max_tokens": 900, "/output_config/effort": "low", "/thinking": null
            }),
        ),
        (
            "gemini",
            json!({
                "/generationConfig/temperature": 1.5, "/generationConfig/topP": 0.5,
                "/generationConfig/maxOutputTokens": 900, "/generationConfig/thinkingConfig/thinkingLevel": "low"
            }),
        ),
    ] {
        let chat = person.new_chat().await;
        put(&person, &format!("/api/sessions/{chat}/model"), &json!({ "model": format!("{provider}/x") })).await;
        put(&person, &of_chat(&chat), &settings).await;
        assert_eq!(person.ask(&chat, "Hello?", json!([])).await.0, 200);
        let asked = model.requests().pop().unwrap();
        for (place, want) in want.as_object().unwrap() {
            assert_eq!(asked.pointer(place).unwrap_or(&Value::Null), want, "{provider} {place}");
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn what_a_model_does_not_take_is_left_out_and_said() {
    let refusal = r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.5 with this model."}}"#;
    let model = ScriptedModel::start([Step::Status(400, refusal.into())]).await;
    model.always(Step::Text("Yes.".into()));
    let app = TestApp::builder().set("OPENAI_BASE_URL", &model.base_url).start().await;
    let person = app.person().await;
    let chat = person.new_chat().await;
    put(&person, &of_chat(&chat), &json!({ "temperature": 0.5, "effort": "low" })).await;
    let events = person.ask_for_events(&chat, "Hello?", json!([])).await;
    let told = format!("{events:?}");
    assert!(told.contains("does not support all of its settings"), "{told}");
    let asked = model.requests();
    assert_eq!((&asked[0]["temperature"], &asked[1]["temperature"]), (&json!(0.5), &Value::Null));
    assert_eq!(asked[1]["reasoning_effort"], "low");
    assert_eq!(person.messages(&chat).await.pop().unwrap()["status"], "done");
    app.stop().await;
}

#[tokio::test]
async fn settings_go_out_with_their_chat_come_in_again_and_are_in_no_share() {
    for database in databases() {
        let model = model().await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let (person, reader) = (app.person().await, app.person().await);
        let chat = person.new_chat().await;
        person.ask(&chat, "Hello?", json!([])).await;
        let settings = json!({ "system": "My secret manner.", "temperature": 0.25 });
        put(&person, &of_chat(&chat), &settings).await;
        let model_of = |chat: &str| format!("/api/sessions/{chat}/model");
        put(&person, &model_of(&chat), &json!({ "model": "openai/other" })).await;
        put(&person, &format!("/api/sessions/{chat}/marks"), &json!({ "pinned": true })).await;
        assert_eq!(person.get(&of_chat(&chat)).await["settings"], settings, "pinning leaves it alone");
        let file = person.get(&format!("/api/sessions/{chat}/export")).await;
        assert_eq!((&file["chats"][0]["settings"], &file["chats"][0]["model"]), (&settings, &json!("openai/other")));
        let (status, told) = reader.post("/api/account/import", &file).await;
        assert_eq!((status.as_u16(), &told["imported"]), (200, &json!(1)), "{told}");
        let rows = reader.get("/rest/v1/ai_chat_sessions?select=id").await;
        let theirs = rows[0]["id"].as_str().unwrap();
        assert_eq!(reader.get(&of_chat(theirs)).await["settings"], settings);
        assert_eq!(reader.get(&model_of(theirs)).await["model"], "openai/other");
        reader.ask(theirs, "And now?", json!([])).await;
        let asked = model.requests().pop().unwrap();
        assert_eq!((&asked["model"], &asked["temperature"]), (&json!("other"), &json!(0.25)));
        let (_, share) = person.post(&format!("/api/sessions/{chat}/shares"), &json!({ "tools": true })).await;
        assert!(!share.to_string().contains("secret manner"));
        let token = share["url"].as_str().unwrap().split_once("share=").unwrap().1.to_owned();
        let shared = app.http.get(format!("{}/api/shared/{token}", app.url)).send().await.unwrap();
        assert_eq!(shared.status(), 200);
        assert!(!shared.text().await.unwrap().contains("secret manner"));
        let mut spoilt = file.clone();
        spoilt["chats"][0]["settings"]["temperature"] = json!(9);
        assert_eq!(person.post("/api/account/import", &spoilt).await.0, 400);
        app.stop().await;
    }
}
