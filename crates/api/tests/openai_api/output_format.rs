//! Stop sequences, response formats, and the text of several steps.

use super::*;

fn with(mut body: Value, more: &Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn person_schema() -> Value {
    json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] })
}

fn calculates() -> Step {
    Step::Calls(vec![("calculate".into(), json!({ "expression": "6*7" }))])
}

/// Returns the text of a streamed chat completion.
fn streamed_text(body: &str) -> String {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    let chunks = data.map(|data| serde_json::from_str::<Value>(data).unwrap());
    chunks.filter_map(|chunk| Some(chunk["choices"][0]["delta"]["content"].as_str()?.to_owned())).collect()
}

#[tokio::test]
async fn cuts_the_answer_at_a_stop_text() {
    let model = ScriptedModel::start([]).await;
    // This model ignores the parameter and continues.
    model.always(Step::Text("Question: why? Answer: because. Observation: none.".into()));
    let app = TestApp::builder().set("OPENAI_BASE_URL", &model.base_url).start().await;
    let person = app.person().await;
    let key = key_of(&person, &["chat"]).await;

    let stop = json!({ "stop": ["Observation:", "###"] });
    let (status, answer) = told(&app, &key, &with(question("openai/scripted"), &stop)).await;
    assert_eq!(status, 200, "{answer}");
    let choice = &answer["choices"][0];
    assert_eq!(choice["message"]["content"], "Question: why? Answer: because. ");
    assert_eq!(choice["finish_reason"], "stop");
    assert!(answer["usage"]["completion_tokens"].as_u64().unwrap() > 0, "{answer}");
    assert_eq!(model.requests()[0]["stop"], json!(["Observation:", "###"]));

    let streamed = json!({ "stop": "because", "stream": true });
    let streamed = ask(&app, &key, &with(question("openai/scripted"), &streamed)).await.text().await.unwrap();
    assert_eq!(streamed_text(&streamed), "Question: why? Answer: ");
    assert!(streamed.ends_with("data: [DONE]\n\n"), "{streamed}");

    let body = json!({ "model": "openai/scripted", "input": "Why?", "stop": "Answer" });
    let response: Value = respond(&app, &key, &body).await.json().await.unwrap();
    assert_eq!(response["output"][0]["content"][0]["text"], "Question: why? ", "{response}");
    assert_eq!(response["status"], "completed");

    let (_, whole) = told(&app, &key, &with(question("openai/scripted"), &json!({ "stop": "absent" }))).await;
    let text = whole["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(text.ends_with("Observation: none."), "{whole}");
    app.stop().await;
}

#[tokio::test]
async fn passes_response_formats_on() {
    let model = ScriptedModel::start([]).await;
    model.always(Step::Text("{\"name\": \"Ada\"}".into()));
    let app = TestApp::builder().set("OPENAI_BASE_URL", &model.base_url).start().await;
    let person = app.person().await;
    let key = key_of(&person, &["chat"]).await;

    let named = json!({ "name": "person", "schema": person_schema(), "strict": true });
    let format = json!({ "type": "json_schema", "json_schema": named });
    let body = with(question("openai/scripted"), &json!({ "response_format": format }));
    let (status, answer) = told(&app, &key, &body).await;
    assert_eq!((status, &answer["choices"][0]["message"]["content"]), (200, &json!("{\"name\": \"Ada\"}")));
    assert_eq!(model.requests()[0]["response_format"], format);

    let format = json!({ "type": "json_schema", "name": "person", "schema": person_schema() });
    let body = json!({ "model": "openai/scripted", "input": "Who?", "text": { "format": format } });
    let response: Value = respond(&app, &key, &body).await.json().await.unwrap();
    assert_eq!(response["text"]["format"]["schema"], person_schema(), "{response}");
    assert_eq!(model.requests()[1]["response_format"]["json_schema"]["schema"], person_schema());

    for (field, more) in [
        ("response_format", json!({ "response_format": { "type": "json_schema" } })),
        ("response_format", json!({ "response_format": { "type": "xml" } })),
        ("stop", json!({ "stop": ["a", "b", "c", "d", "e"] })),
    ] {
        let (status, refused) = told(&app, &key, &with(question("openai/scripted"), &more)).await;
        assert_eq!((status, &refused["error"]["param"]), (400, &json!(field)), "{refused}");
    }
    assert_eq!(model.requests().len(), 2, "an invalid request reaches no model");
    app.stop().await;
}

#[tokio::test]
async fn names_the_provider_without_a_json_mode() {
    let model = ScriptedModel::start([]).await;
    model.always(Step::Text("{}".into()));
    let app =
        TestApp::builder().set("ANTHROPIC_API_KEY", "sk-test").set("ANTHROPIC_BASE_URL", &model.origin).start().await;
    let person = app.person().await;
    let key = key_of(&person, &["chat"]).await;
    let object = json!({ "response_format": { "type": "json_object" } });
    let (status, refused) = told(&app, &key, &with(question("anthropic/scripted"), &object)).await;
    assert_eq!((status, &refused["error"]["code"]), (400, &json!("model_refused")), "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("Anthropic has no JSON mode"), "{refused}");
    app.stop().await;
}

#[tokio::test]
async fn separates_the_texts_of_two_steps() {
    let steps = || {
        let first = Step::TextThen("Let me look.".into(), Box::new(calculates()));
        [first, Step::Text("Here is the plan.".into())]
    };
    let model = ScriptedModel::start(steps()).await;
    let app = TestApp::builder().set("OPENAI_BASE_URL", &model.base_url).start().await;
    let person = app.person().await;
    person.connect_to("toolbox", &format!("{}/mcp/toolbox", app.url)).await;
    let key = key_of(&person, &["chat", "tools"]).await;
    let body = question("openai/scripted:tools");
    let (_, answer) = told(&app, &key, &body).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "Let me look.\n\nHere is the plan.", "{answer}");

    for step in steps() {
        model.push(step);
    }
    let streamed = ask(&app, &key, &with(body.clone(), &json!({ "stream": true }))).await.text().await.unwrap();
    assert_eq!(streamed_text(&streamed), "Let me look.\n\nHere is the plan.");

    // A JSON answer must not contain other text.
    model.push(Step::TextThen("Let me look.".into(), Box::new(calculates())));
    model.push(Step::Text("{\"answer\": 42}".into()));
    let object = with(body, &json!({ "response_format": { "type": "json_object" } }));
    let (_, answer) = told(&app, &key, &object).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "{\"answer\": 42}", "{answer}");
    app.stop().await;
}
