//! Gemini's API. A signature belongs to the part after the reasoning.

use serde_json::{Value, json};

use super::{CALL_COST, End, OutputPart, frame};

/// Output tokens of reasoning, which this API counts separately.
const REASONING_TOKENS: u64 = 2;

/// Encodes output ([`OutputPart`]) as events.
pub(super) fn frames(output: &[OutputPart], end: End) -> Vec<String> {
    let mut frames = Vec::new();
    let mut pending_signature = None;
    for part in output {
        let mut encoded = match part {
            OutputPart::Reasoning { text, signature } => {
                pending_signature = Some(signature);
                frames.push(response(&json!([{ "text": text, "thought": true }]), None));
                continue;
            }
            OutputPart::Text(text) => json!({ "text": text }),
            OutputPart::Call { id, name, arguments } => {
                let arguments: Value = serde_json::from_str(arguments).unwrap();
                json!({ "functionCall": { "id": id, "name": name, "args": arguments } })
            }
        };
        if let Some(signature) = pending_signature.take() {
            encoded["thoughtSignature"] = json!(signature);
        }
        frames.push(response(&json!([encoded]), None));
    }
    if end.is_regular() {
        frames.push(response(&json!([{ "text": "" }]), Some(if end == End::Length { "MAX_TOKENS" } else { "STOP" })));
    }
    frames
}

/// Returns a response with some parts. Each one repeats the usage, as Gemini does.
fn response(parts: &Value, finish: Option<&str>) -> String {
    let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    let usage = json!({
        "promptTokenCount": CALL_COST.input, "cachedContentTokenCount": CALL_COST.cached, "thoughtsTokenCount": REASONING_TOKENS,
        "candidatesTokenCount": CALL_COST.output - REASONING_TOKENS, "totalTokenCount": CALL_COST.input + CALL_COST.output
    });
    frame(&json!({ "candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted" }))
}
