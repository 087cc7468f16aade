//! Turns with every provider API: text, reasoning, calls and usage, and what is sent back of them.

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{Database, Person, ScriptedModel, Step, TestApp, databases};

/// A provider's API, and the settings of a server that has it.
struct Wire {
    provider: &'static str,
    base: &'static str,
    key: Option<&'static str>,
    /// Whether the base URL ends with the version of the API.
    has_version: bool,
    dialect: Option<&'static str>,
    /// Whether the API expects reasoning to be sent back.
    has_signatures: bool,
}

const CHAT: Wire = Wire {
    provider: "openai",
    base: "OPENAI_BASE_URL",
    key: Some("OPENAI_API_KEY"),
    has_version: true,
    dialect: None,
    has_signatures: false,
};

const WIRES: [Wire; 5] = [
    CHAT,
    Wire { dialect: Some("responses"), has_signatures: true, ..CHAT },
    Wire {
        provider: "anthropic",
        base: "ANTHROPIC_BASE_URL",
        key: Some("ANTHROPIC_API_KEY"),
        has_version: false,
        has_signatures: true,
        ..CHAT
    },
    Wire {
        provider: "gemini",
        base: "GEMINI_BASE_URL",
        key: Some("GEMINI_API_KEY"),
        has_version: false,
        has_signatures: true,
        ..CHAT
    },
    Wire { provider: "ollama", base: "OLLAMA_HOST", key: None, has_version: false, ..CHAT },
];

impl Wire {
    async fn app(&self, model: &ScriptedModel, database: Database) -> TestApp {
        let base = if self.has_version { &model.base_url } else { &model.origin };
        let mut app = TestApp::builder().database(database).set(self.base, base);
        if let Some(key) = self.key {
            app = app.set(key, "sk-secret");
        }
        if let Some(dialect) = self.dialect {
            app = app.set("CHAT_OPENAI_WIRE", dialect);
        }
        app.start().await
    }
}

async fn connect_toolbox(person: &Person, app: &TestApp) {
    let url = format!("{}/mcp/toolbox", app.url);
    let (status, found) = person.post("/functions/v1/mcp-proxy", &json!({ "url": url })).await;
    assert_eq!((status, &found["success"]), (StatusCode::OK, &json!(true)), "{found}");
    person.connect("toolbox", &url, found["data"].clone()).await;
}

/// Returns how many times a request contains a text.
fn times_in(request: &Value, text: &str) -> usize {
    request.to_string().matches(text).count()
}

#[tokio::test]
async fn a_turn_with_thoughts_and_tools_over_every_wire() {
    for database in databases() {
        for wire in WIRES {
            let calls = vec![
                ("calculate".into(), json!({ "expression": "12.5*8" })),
                ("calculate".into(), json!({ "expression": "7*6" })),
            ];
            let model = ScriptedModel::start([
                Step::Thinks {
                    reasoning: "This wants arithmetic.".into(),
                    signature: "signature-one".into(),
                    then: Box::new(Step::Calls(calls)),
                },
                Step::Thinks {
                    reasoning: "Both are there.".into(),
                    signature: "signature-two".into(),
                    then: Box::new(Step::Text("They are **100** and **42**.".into())),
                },
                Step::Text("You are welcome.".into()),
            ])
            .await;
            let app = wire.app(&model, database).await;
            let person = app.person().await;
            connect_toolbox(&person, &app).await;
            let chat = person.new_chat().await;
            let tools = json!([{ "name": "calculate", "serverName": "toolbox" }]);

            let events = person.ask_for_events(&chat, "What is 12.5*8, and 7*6?", tools.clone()).await;
            let finish = events.iter().find(|event| event.kind() == "finish").unwrap();
            let usage = json!({ "inputTokens": 240, "outputTokens": 20, "cachedInputTokens": 40 });
            assert_eq!(finish.data["messageMetadata"]["usage"], usage, "{}", wire.provider);

            let answer = person.messages(&chat).await.remove(1);
            assert_eq!(answer["content"], "They are **100** and **42**.");
            assert_eq!(answer["model"], format!("{}/scripted", wire.provider));
            // A signature on text is stored after it, in a part without text.
            let parts = answer["parts"].as_array().unwrap().iter().filter(|part| part["text"] != "");
            let kinds: Vec<&str> = parts.map(|part| part["type"].as_str().unwrap()).collect();
            assert_eq!(kinds, ["reasoning", "tool-call", "tool-call", "reasoning", "text"], "{}", wire.provider);
            assert_eq!(answer["parts"][0]["text"], "This wants arithmetic.");
            assert_eq!(answer["tool_calls"][1]["result"]["content"][0]["text"], "42");

            let (_, thanks) = person.ask(&chat, "Thanks", tools).await;
            assert_eq!(thanks["content"], "You are welcome.");
            let requests = model.requests();
            assert_eq!(requests.len(), 3);
            let key = wire.key.map_or("", |_| "sk-secret");
            assert!(model.keys().iter().all(|sent| sent.trim_start_matches("Bearer ") == key), "{:?}", model.keys());
            for (request, signatures) in requests.iter().zip([(0, 0), (1, 0), (1, 1)]) {
                let sent = (times_in(request, "signature-one"), times_in(request, "signature-two"));
                let want = if wire.has_signatures { signatures } else { (0, 0) };
                assert_eq!(sent, want, "{}: {request}", wire.provider);
            }
            app.stop().await;
        }
    }
}

#[tokio::test]
async fn a_refusal_is_told_in_words_over_every_wire() {
    for wire in WIRES {
        let model = ScriptedModel::start([]).await;
        let app = wire.app(&model, Database::of_environment()).await;
        let person = app.person().await;
        for (status, words, want) in [
            (401, "invalid key", "refused the key: invalid key"),
            (404, "no such model", "does not know the model: no such model"),
            (402, "no credit", "requires payment: no credit"),
            (400, "prompt is too long: 9 > 8", "too long for this model"),
        ] {
            // Without earlier turns, nothing can be left out.
            let chat = person.new_chat().await;
            model.push(Step::Status(status, words.into()));
            let (told, answer) = person.ask(&chat, "Hello?", json!([])).await;
            assert_eq!(told, StatusCode::BAD_GATEWAY);
            let message = answer["error"].to_string();
            assert!(message.contains(want), "{}: {message}", wire.provider);
        }
        let chat = person.new_chat().await;
        model.push(Step::BreakOff("The first half".into()));
        assert!(person.ask(&chat, "Hello?", json!([])).await.1["error"].to_string().contains("broke off"));
        // An answer at the model's limit is no failure: it is kept, marked, and can be continued.
        let story = person.new_chat().await;
        model.push(Step::Length("Once upon".into()));
        model.push(Step::Text(" a time.".into()));
        let (told, cut) = person.ask(&story, "A story", json!([])).await;
        assert_eq!((told, &cut["content"], &cut["status"]), (StatusCode::OK, &json!("Once upon"), &json!("length")));
        let stored = person.messages(&story).await;
        let (status, error) = (&stored[1]["status"], &stored[1]["error"]);
        assert_eq!((status, error), (&json!("length"), &json!(null)), "{}", wire.provider);
        let continues = json!({ "sessionId": story, "continues": cut["messageId"] });
        let (told, rest) = person.post("/functions/v1/ai-chat", &continues).await;
        assert_eq!((told, &rest["content"], &rest["status"]), (StatusCode::OK, &json!(" a time."), &json!("done")));
        // The chat continues.
        model.push(Step::Text("Hello.".into()));
        assert_eq!(person.ask(&chat, "Hello?", json!([])).await.1["content"], "Hello.");
        app.stop().await;
    }
}

#[tokio::test]
async fn what_is_too_long_for_the_model_is_shortened_and_that_is_said() {
    for database in databases() {
        let calls = vec![("calculate".into(), json!({ "expression": "12.5*8" }))];
        let too_long = || Step::Status(400, "prompt is too long: 9 > 8".into());
        let model = ScriptedModel::start([
            Step::Calls(calls),
            Step::Text("word ".repeat(500)),
            too_long(),
            Step::Text("Goodbye.".into()),
        ])
        .await;
        let app = CHAT.app(&model, database).await;
        let person = app.person().await;
        connect_toolbox(&person, &app).await;
        let chat = person.new_chat().await;
        person.ask(&chat, "What is 12.5*8?", json!([{ "name": "calculate", "serverName": "toolbox" }])).await;
        let events = person.ask_for_events(&chat, "Goodbye!", json!([])).await;
        let notices: Vec<&Value> = events
            .iter()
            .filter(|event| event.kind() == "data-notice")
            .map(|event| &event.data["data"]["text"])
            .collect();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].as_str().unwrap().contains("longer than this model can read"), "{notices:?}");
        let answer = person.messages(&chat).await.remove(3);
        assert_eq!((&answer["content"], &answer["status"]), (&json!("Goodbye."), &json!("done")));
        assert_eq!(answer["parts"][0], json!({ "type": "notice", "text": notices[0] }));
        let requests = model.requests();
        assert!(requests[2].to_string().len() > 2_500 && requests[3].to_string().len() < 1_500);
        // A single message is too long, too, which no model can help.
        (0..3).for_each(|_| model.push(too_long()));
        let (_, answer) = person.ask(&chat, "Again?", json!([])).await;
        assert!(
            answer["error"].as_str().unwrap().ends_with("Send a shorter message, or start a new chat."),
            "{answer}"
        );
        app.stop().await;
    }
}

#[tokio::test]
async fn a_provider_that_is_away_hides_no_other() {
    let model = ScriptedModel::start([Step::Text("Hello.".into())]).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let away = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let app = TestApp::builder().set("OPENAI_BASE_URL", away).set("ANTHROPIC_BASE_URL", &model.origin).start().await;
    let person = app.person().await;
    let list = person.get("/api/models").await;
    assert_eq!(list["default"], "anthropic/scripted");
    let told: Vec<(&Value, &Value)> =
        list["models"].as_array().unwrap().iter().map(|model| (&model["id"], &model["available"])).collect();
    assert_eq!(told, [(&json!("openai/"), &json!(false)), (&json!("anthropic/scripted"), &json!(true))]);
    assert!(list["models"][0]["reason"].as_str().unwrap().contains("could not reach"), "{list}");
    let chat = person.new_chat().await;
    assert_eq!(person.ask(&chat, "Hi", json!([])).await.1["content"], "Hello.");
    app.stop().await;
}
