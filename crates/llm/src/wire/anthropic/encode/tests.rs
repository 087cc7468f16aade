use super::*;
use domain::model::{ModelCall, Seal, Thought};

fn body_of(request: &Request, concessions: Concessions) -> Value {
    let encoded = encode(request, concessions).unwrap();
    assert_eq!(encoded.path, "v1/messages");
    serde_json::from_slice(&encoded.body).unwrap()
}

fn thought(calls_before: usize, text: &str, model: &str, data: Value) -> Thought {
    Thought { calls_before, text: text.to_owned(), seal: Seal { wire: WIRE.to_owned(), model: model.to_owned(), data } }
}

fn called(id: &str, arguments: &str) -> ModelCall {
    ModelCall { id: id.to_owned(), name: "clock".to_owned(), arguments: arguments.to_owned() }
}

fn answered(id: &str, text: &str, is_error: bool) -> ModelMessage {
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
                thoughts: vec![
                    thought(0, "The clock knows.", "m", json!({ "signature": "sig" })),
                    thought(0, "", "m", json!({ "redacted": "cipher" })),
                    thought(0, "Of another model.", "n", json!({ "signature": "foreign" })),
                    thought(1, "And there.", "m", json!({ "signature": "sig2" })),
                ],
                text: "Let me see.".to_owned(),
                calls: vec![called("call:1", r#"{"zone":"UTC"}"#), called("b", "")],
                files: Vec::new(),
            },
            answered("call:1", "noon", false),
            answered("b", " ", true),
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
fn a_round_with_thoughts_and_tools_is_written_as_the_wire_wants_it() {
    let mark = json!({ "type": "ephemeral" });
    let nothing = json!({ "type": "object", "properties": {} });
    assert_eq!(
        body_of(&conversation(), Concessions::default()),
        json!({
            "model": "m",
            "max_tokens": 32_000,
            "stream": true,
            "thinking": { "type": "adaptive", "display": "summarized" },
            "system": [{ "type": "text", "text": "Be brief.", "cache_control": mark }],
            "tools": [
                { "name": "clock", "input_schema": nothing },
                { "name": "bell", "input_schema": nothing, "cache_control": mark },
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
                    { "type": "tool_result", "tool_use_id": "b", "content": "(no output)", "is_error": true, "cache_control": mark },
                ] },
                { "role": "assistant", "content": [{ "type": "text", "text": "Noon." }] },
                { "role": "user", "content": [{ "type": "text", "text": "Thanks", "cache_control": mark }] },
            ],
        })
    );
}

#[test]
fn the_same_conversation_begins_with_the_same_bytes() {
    let mut request = conversation();
    let written = |request: &Request| {
        let mut body = body_of(request, Concessions::default());
        for message in body["messages"].as_array_mut().unwrap() {
            for block in message["content"].as_array_mut().unwrap() {
                block.as_object_mut().unwrap().remove("cache_control");
            }
        }
        (body["tools"].take(), body["system"].take(), body["messages"].take())
    };
    let (tools, system, before) = written(&request);
    request.messages.push(ModelMessage::assistant("You are welcome.", Vec::new()));
    request.messages.push(ModelMessage::user("And now?"));
    let (later_tools, later_system, after) = written(&request);
    assert_eq!((tools, system), (later_tools, later_system));
    assert!(after.as_array().unwrap().starts_with(before.as_array().unwrap()));
}

#[test]
fn what_a_model_cannot_do_is_asked_another_way() {
    let request = conversation();
    let refused = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m";
    let less = concede(refused, Concessions::default()).unwrap();
    assert_eq!(body_of(&request, less)["max_tokens"], 8192);
    assert_eq!(concede(refused, less), None);

    let older = concede("thinking.type: adaptive is not supported on this model", less).unwrap();
    assert_eq!(body_of(&request, older)["thinking"], json!({ "type": "enabled", "budget_tokens": 2048 }));
    let off = concede("'m' does not support thinking", older).unwrap();
    let body = body_of(&request, off);
    assert_eq!((body.get("thinking"), &body["messages"][1]["content"][0]["type"]), (None, &json!("text")));
    assert_eq!(concede("thinking", off), None);
    assert_eq!(concede("messages: at least one message is required", Concessions::default()), None);
}

#[test]
fn a_choice_of_tool_is_written_as_the_wire_wants_it() {
    let tools = vec![ToolSpec { name: "clock".to_owned(), description: String::new(), input_schema: Value::Null }];
    let tool_choice = ToolChoice::Named("clock".to_owned());
    let encoded = encode(&Request { tools, tool_choice, ..Request::default() }, Concessions::default()).unwrap();
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    assert_eq!(body["tool_choice"], json!({ "type": "tool", "name": "clock" }));
}
