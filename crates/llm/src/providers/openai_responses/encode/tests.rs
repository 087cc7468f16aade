use super::*;
use domain::model::{ModelCall, ReasoningBlock, Signature};

fn encoded_body(request: &Request, adjustments: RequestAdjustments) -> Value {
    let encoded = encode(request, adjustments).unwrap();
    assert_eq!(encoded.path, "responses");
    serde_json::from_slice(&encoded.body).unwrap()
}

fn thought(text: &str, model: &str, cipher: &str) -> ReasoningBlock {
    let data = json!({ "encrypted_content": cipher });
    let signature = Signature { wire: API_NAME.to_owned(), model: model.to_owned(), data };
    ReasoningBlock { calls_before: 0, text: text.to_owned(), signature }
}

fn conversation() -> Request {
    let call = |id: &str, arguments: &str| ModelCall {
        id: id.to_owned(),
        name: "clock".to_owned(),
        arguments: arguments.to_owned(),
    };
    Request {
        model: "m".to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![
            ModelMessage::user("What time is it?"),
            ModelMessage::Assistant {
                reasoning_blocks: vec![
                    thought("The clock knows.", "m", "c1"),
                    thought("", "m", "c2"),
                    thought("Of another model.", "n", "c3"),
                ],
                text: "Let me see.".to_owned(),
                calls: vec![call("call_1", r#"{"zone":"UTC"}"#), call("b:2", "{zone")],
                files: Vec::new(),
            },
            ModelMessage::ToolResult {
                call_id: "call_1".to_owned(),
                name: "clock".to_owned(),
                text: "noon".to_owned(),
                is_error: false,
                files: Vec::new(),
            },
            ModelMessage::ToolResult {
                call_id: "b:2".to_owned(),
                name: "clock".to_owned(),
                text: "no zone".to_owned(),
                is_error: true,
                files: Vec::new(),
            },
            ModelMessage::assistant("Noon.", Vec::new()),
            ModelMessage::user("Thanks"),
        ],
        tools: vec![ToolSpec {
            name: "clock".to_owned(),
            description: "Tells the time.".to_owned(),
            input_schema: json!({ "type": "object" }),
        }],
        max_tokens: Some(9),
        ..Request::default()
    }
}

#[test]
fn encodes_conversation_with_reasoning_and_tools() {
    assert_eq!(
        encoded_body(&conversation(), RequestAdjustments::default()),
        json!({
            "model": "m",
            "instructions": "Be brief.",
            "stream": true,
            "store": false,
            "max_output_tokens": 9,
            "reasoning": { "summary": "auto" },
            "include": ["reasoning.encrypted_content"],
            "tools": [{
                "type": "function", "name": "clock", "description": "Tells the time.",
                "parameters": { "type": "object", "properties": {} }, "strict": false,
            }],
            "input": [
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "What time is it?" }] },
                {
                    "type": "reasoning", "encrypted_content": "c1",
                    "summary": [{ "type": "summary_text", "text": "The clock knows." }],
                },
                { "type": "reasoning", "encrypted_content": "c2", "summary": [] },
                { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Let me see." }] },
                { "type": "function_call", "call_id": "call_1", "name": "clock", "arguments": "{\"zone\":\"UTC\"}" },
                { "type": "function_call", "call_id": "_b_2", "name": "clock", "arguments": "{\"invalid_json\":\"{zone\"}" },
                { "type": "function_call_output", "call_id": "call_1", "output": "noon" },
                { "type": "function_call_output", "call_id": "_b_2", "output": "Error: no zone" },
                { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Noon." }] },
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Thanks" }] },
            ],
        })
    );
}

#[test]
fn omits_refused_reasoning() {
    let refused = "Your organization must be verified to generate reasoning summaries.";
    let older = adjust_after_refusal(refused, RequestAdjustments::default()).unwrap();
    let body = encoded_body(&conversation(), older);
    assert_eq!((body.get("reasoning"), &body["include"][0]), (None, &json!("reasoning.encrypted_content")));
    let off = adjust_after_refusal("Encrypted content is not supported with this model.", older).unwrap();
    let body = encoded_body(&conversation(), off);
    assert_eq!((body.get("include"), &body["input"][1]["type"]), (None, &json!("message")));
    assert_eq!(adjust_after_refusal("reasoning", off), None);
    assert_eq!(adjust_after_refusal("The model does not exist.", RequestAdjustments::default()), None);
}

#[test]
fn encodes_tool_choice() {
    let tools = vec![ToolSpec { name: "clock".to_owned(), description: String::new(), input_schema: Value::Null }];
    let tool_choice = ToolChoice::Named("clock".to_owned());
    let encoded = encode(&Request { tools, tool_choice, ..Request::default() }, RequestAdjustments::default()).unwrap();
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    assert_eq!(body["tool_choice"], json!({ "type": "function", "name": "clock" }));
}
