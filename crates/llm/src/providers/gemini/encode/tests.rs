use domain::model::{ModelCall, ReasoningBlock, Signature};

use super::*;

fn encoded_body(request: &Request, adjustments: RequestAdjustments) -> Value {
    let encoded = encode(request, adjustments).unwrap();
    assert_eq!(encoded.path, "v1beta/models/m:streamGenerateContent?alt=sse");
    serde_json::from_slice(&encoded.body).unwrap()
}

fn thought(calls_before: usize, model: &str, data: Value) -> ReasoningBlock {
    let signature = Signature { wire: API_NAME.to_owned(), model: model.to_owned(), data };
    ReasoningBlock { calls_before, text: "Shown.".to_owned(), signature }
}

fn conversation() -> Request {
    let call = |id: &str, name: &str, arguments: &str| ModelCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    let result = |id: &str, name: &str, text: &str, is_error: bool| ModelMessage::ToolResult {
        call_id: id.to_owned(),
        name: name.to_owned(),
        text: text.to_owned(),
        is_error,
        files: Vec::new(),
    };
    Request {
        model: "m".to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![
            ModelMessage::user("What time is it?"),
            ModelMessage::Assistant {
                reasoning_blocks: vec![
                    thought(0, "m", json!({ "call": "s1" })),
                    thought(1, "n", json!({ "call": "s2" })),
                ],
                text: String::new(),
                calls: vec![call("a", "clock", r#"{"zone":"UTC"}"#), call("b", "2nd", "")],
                files: Vec::new(),
            },
            result("a", "clock", "noon", false),
            result("b", "2nd", "no zone", true),
            ModelMessage::Assistant {
                reasoning_blocks: vec![thought(0, "m", json!({ "text": "s3" }))],
                text: "Noon.".to_owned(),
                calls: Vec::new(),
                files: Vec::new(),
            },
            ModelMessage::user("Thanks"),
        ],
        tools: vec![
            ToolSpec {
                name: "clock".to_owned(),
                description: "Tells the time.".to_owned(),
                input_schema: json!({ "type": "object" }),
            },
            ToolSpec { name: "2nd".to_owned(), description: String::new(), input_schema: Value::Null },
        ],
        max_tokens: Some(9),
        ..Request::default()
    }
}

#[test]
fn encodes_conversation_with_reasoning_and_tools() {
    let nothing = json!({ "type": "object", "properties": {} });
    assert_eq!(
        encoded_body(&conversation(), RequestAdjustments::default()),
        json!({
            "systemInstruction": { "parts": [{ "text": "Be brief." }] },
            "generationConfig": { "maxOutputTokens": 9, "thinkingConfig": { "includeThoughts": true } },
            "tools": [{ "functionDeclarations": [
                { "name": "clock", "description": "Tells the time.", "parametersJsonSchema": nothing },
                { "name": "_2nd", "parametersJsonSchema": nothing },
            ] }],
            "contents": [
                { "role": "user", "parts": [{ "text": "What time is it?" }] },
                { "role": "model", "parts": [
                    { "functionCall": { "id": "a", "name": "clock", "args": { "zone": "UTC" } }, "thoughtSignature": "s1" },
                    { "functionCall": { "id": "b", "name": "_2nd", "args": {} } },
                ] },
                { "role": "user", "parts": [
                    { "functionResponse": { "id": "a", "name": "clock", "response": { "output": "noon" } } },
                    { "functionResponse": { "id": "b", "name": "_2nd", "response": { "error": "no zone" } } },
                ] },
                { "role": "model", "parts": [{ "text": "Noon.", "thoughtSignature": "s3" }] },
                { "role": "user", "parts": [{ "text": "Thanks" }] },
            ],
        })
    );
}

#[test]
fn omits_refused_thinking() {
    let off = adjust_after_refusal("Thinking is not enabled for models/m", RequestAdjustments::default()).unwrap();
    assert_eq!(encoded_body(&conversation(), off)["generationConfig"], json!({ "maxOutputTokens": 9 }));
    assert_eq!(adjust_after_refusal("Thinking is not enabled", off), None);
    assert_eq!(adjust_after_refusal("models/m is not found", RequestAdjustments::default()), None);
}

#[test]
fn accepts_model_name_with_prefix() {
    let request = Request { model: "models/m".to_owned(), ..Request::default() };
    assert_eq!(
        encode(&request, RequestAdjustments::default()).unwrap().path,
        "v1beta/models/m:streamGenerateContent?alt=sse"
    );
}

#[test]
fn encodes_tool_choice() {
    let tools = vec![ToolSpec { name: "clock".to_owned(), description: String::new(), input_schema: Value::Null }];
    let tool_choice = ToolChoice::Named("clock".to_owned());
    let encoded = encode(&Request { tools, tool_choice, ..Request::default() }, RequestAdjustments::default()).unwrap();
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    assert_eq!(
        body["toolConfig"]["functionCallingConfig"],
        json!({ "mode": "ANY", "allowedFunctionNames": ["clock"] })
    );
}
