//! OpenAI's chat completions API.

use serde_json::{Value, json};

use super::{CALL_COST, End, OutputPart, cut, frame};

/// Encodes output ([`OutputPart`]) as events. Signatures do not exist in this API.
pub(super) fn frames(output: &[OutputPart], end: End) -> Vec<String> {
    let mut chunks = Vec::new();
    let mut calls = 0;
    for part in output {
        match part {
            OutputPart::Reasoning { text, .. } => chunks.push(delta(&json!({ "reasoning_content": text }), None)),
            OutputPart::Text(text) => chunks.push(delta(&json!({ "content": text }), None)),
            OutputPart::Call { id, name, arguments } => {
                let function = json!({ "name": name, "arguments": "" });
                let call = json!({ "index": calls, "id": id, "type": "function", "function": function });
                chunks.push(delta(&json!({ "tool_calls": [call] }), None));
                for piece in cut(arguments, 5) {
                    let piece = json!({ "index": calls, "function": { "arguments": piece } });
                    chunks.push(delta(&json!({ "tool_calls": [piece] }), None));
                }
                calls += 1;
            }
        }
    }
    if end.is_regular() {
        let reason = match end {
            End::Length => "length",
            _ if calls > 0 => "tool_calls",
            _ => "stop",
        };
        chunks.push(delta(&json!({}), Some(reason)));
        chunks.push(json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [],
            "usage": {
                "prompt_tokens": CALL_COST.input, "completion_tokens": CALL_COST.output, "total_tokens": CALL_COST.input + CALL_COST.output,
                "prompt_tokens_details": { "cached_tokens": CALL_COST.cached }
            }
        }));
    }
    let mut frames: Vec<String> = chunks.iter().map(frame).collect();
    if end.is_regular() {
        frames.push("data: [DONE]\n\n".to_owned());
    }
    frames
}

/// Returns a chunk of the completion.
fn delta(delta: &Value, finish: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }]
    })
}
