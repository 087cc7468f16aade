use super::*;
use domain::model::{ModelCall, ReasoningBlock, Signature};

fn encoded_body(request: &Request, adjustments: RequestAdjustments) -> Value {
    let encoded = encode(request, adjustments).unwrap();
    assert_eq!(encoded.path, "v1/messages");
    serde_json::from_slice(&encoded.body).unwrap()
}

fn thought(calls_before: usize, text: &str, model: &str, data: Value) -> ReasoningBlock {
    ReasoningBlock {
        calls_before,
        text: text.to_owned(),
        signature: Signature { wire: API_NAME.to_owned(), model: model.to_owned(), data },
    }
}

fn tool_call(id: &str, arguments: &str) -> ModelCall {
    ModelCall { id: id.to_owned(), name: "clock".to_owned(), arguments: arguments.to_owned() }
}

fn tool_result(id: &str, text: &str, is_error: bool) -> ModelMessage {
    let (call_id, name) = (id.to_owned(), "clock".to_owned());
    ModelMessage::ToolResult { call_id, name, text: text.to_owned(), is_error, files: Vec::new() }
}

fn conversation() -> Request {
    let tool =
        |name: &str, input_schema: Value| ToolSpec { name: name.to_owned(), description: String::new(), input_schema };
    Request {
        model: "m".to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![
            ModelMessage::user("What time is it?"),
            ModelMessage::Assistant {
                reasoning_blocks: vec![
                    thought(0, "The clock knows.", "m", json!({ "signature": "sig" })),
                    thought(0, "", "m", json!({ "redacted": "cipher" })),
                    thought(0, "Of another model.", "n", json!({ "signature": "foreign" })),
                    thought(1, "And there.", "m", json!({ "signature": "sig2" })),
                ],
                text: "Let me see.".to_owned(),
                calls: vec![tool_call("call:1", r#"{"zone":"UTC"}"#), tool_call("b", "")],
                files: Vec::new(),
            },
            tool_result("call:1", "noon", false),
            tool_result("b", " ", true),
            ModelMessage::assistant("Noon.", Vec::new()),
            ModelMessage::assistant("  ", Vec::new()),
            ModelMessage::user("Thanks"),
        ],
        tools: vec![tool("clock", json!({ "type": "object" })), tool("bell", json!({ "anyOf": [] }))],
        max_tokens: None,
        ..Request::default()
    }
}

#[test]
fn encodes_conversation_with_reasoning_and_tools() {
    let breakpoint = json!({ "type": "ephemeral" });
    let nothing = json!({ "type": "object", "properties": {} });
    assert_eq!(
        encoded_body(&conversation(), RequestAdjustments::default()),
        json!({
            "model": "m",
            "max_tokens": 32_000,
            "stream": true,
            "thinking": { "type": "adaptive", "display": "summarized" },
            "system": [{ "type": "text", "text": "Be brief.", "cache_control": breakpoint }],
            "tools": [
                { "name": "clock", "input_schema": nothing },
                { "name": "bell", "input_schema": nothing, "cache_control": breakpoint },
            ],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "What time is it?" }] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "The clock knows.", "signature": "sig" },
                    { "type": "redacted_thinking", "data": "cipher" },
                    { "type": "text", "text": "Let me see." },
                    { "type": "tool_use", "id": "_call_1", "name": "clock", "input": { "zone": "UTC" } },
                    { "type": "thinking", "thinking": "And there.", "signature": "sig2" },
                    { "type": "tool_use", "id": "b", "name": "clock", "input": {} },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "_call_1", "content": "noon" },
                    { "type": "tool_result", "tool_use_id": "b", "content": "(no output)", "is_error": true, "cache_control": breakpoint },
                ] },
                { "role": "assistant", "content": [{ "type": "text", "text": "Noon." }] },
                { "role": "user", "content": [{ "type": "text", "text": "Thanks", "cache_control": breakpoint }] },
            ],
        })
    );
}

#[test]
fn keeps_prefix_stable_as_conversation_grows() {
    let mut request = conversation();
    let encoded = |request: &Request| {
        let mut body = encoded_body(request, RequestAdjustments::default());
        for message in body["messages"].as_array_mut().unwrap() {
            for block in message["content"].as_array_mut().unwrap() {
                block.as_object_mut().unwrap().remove("cache_control");
            }
        }
        (body["tools"].take(), body["system"].take(), body["messages"].take())
    };
    let (tools, system, before) = encoded(&request);
    request.messages.push(ModelMessage::assistant("You are welcome.", Vec::new()));
    request.messages.push(ModelMessage::user("And now?"));
    let (later_tools, later_system, after) = encoded(&request);
    assert_eq!((tools, system), (later_tools, later_system));
    assert!(after.as_array().unwrap().starts_with(before.as_array().unwrap()));
}

#[test]
fn adjusts_output_limit_and_thinking_after_refusals() {
    let request = conversation();
    let refused = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m";
    let less = adjust_after_refusal(refused, RequestAdjustments::default()).unwrap();
    assert_eq!(encoded_body(&request, less)["max_tokens"], 8192);
    assert_eq!(adjust_after_refusal(refused, less), None);

    let older = adjust_after_refusal("thinking.type: adaptive is not supported on this model", less).unwrap();
    assert_eq!(encoded_body(&request, older)["thinking"], json!({ "type": "enabled", "budget_tokens": 2048 }));
    let off = adjust_after_refusal("'m' does not support thinking", older).unwrap();
    let body = encoded_body(&request, off);
    assert_eq!((body.get("thinking"), &body["messages"][1]["content"][0]["type"]), (None, &json!("text")));
    assert_eq!(adjust_after_refusal("thinking", off), None);
    assert_eq!(adjust_after_refusal("messages: at least one message is required", RequestAdjustments::default()), None);
}

#[test]
fn encodes_tool_choice() {
    let tools = vec![ToolSpec { name: "clock".to_owned(), description: String::new(), input_schema: Value::Null }];
    let tool_choice = ToolChoice::Named("clock".to_owned());
    let encoded = encode(&Request { tools, tool_choice, ..Request::default() }, RequestAdjustments::default()).unwrap();
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    assert_eq!(body["tool_choice"], json!({ "type": "tool", "name": "clock" }));
}
