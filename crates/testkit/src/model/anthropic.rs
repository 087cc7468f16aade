//! Anthropic's messages API.

use serde_json::{Value, json};

use super::{CALL_COST, End, OutputPart, cut};

/// Encoder of a message.
#[derive(Default)]
struct Message {
    frames: Vec<String>,
    index: u32,
    in_text: bool,
}

impl Message {
    /// Writes an event with its type.
    fn event(&mut self, kind: &str, mut data: Value) {
        data["type"] = json!(kind);
        self.frames.push(format!("event: {kind}\ndata: {data}\n\n"));
    }

    /// Starts a content block.
    fn begin(&mut self, block: &Value) {
        self.event("content_block_start", json!({ "index": self.index, "content_block": block }));
    }

    /// Writes a delta of the current content block.
    fn grow(&mut self, delta: &Value) {
        self.event("content_block_delta", json!({ "index": self.index, "delta": delta }));
    }

    /// Ends the current content block.
    fn end(&mut self) {
        self.event("content_block_stop", json!({ "index": self.index }));
        self.index += 1;
    }

    /// Ends the current text block, if there is one.
    fn end_text(&mut self) {
        if std::mem::take(&mut self.in_text) {
            self.end();
        }
    }
}

/// Encodes output ([`OutputPart`]) as events.
pub(super) fn frames(output: &[OutputPart], end: End) -> Vec<String> {
    let mut message = Message::default();
    // Anthropic counts cached tokens separately from `input_tokens`.
    let usage = json!({
        "input_tokens": CALL_COST.input - CALL_COST.cached, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": CALL_COST.cached, "output_tokens": 1
    });
    message.event(
        "message_start",
        json!({ "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage
        } }),
    );
    let mut reason = if end == End::Length { "max_tokens" } else { "end_turn" };
    for part in output {
        if !matches!(part, OutputPart::Text(_)) {
            message.end_text();
        }
        match part {
            OutputPart::Reasoning { text, signature } => {
                message.begin(&json!({ "type": "thinking", "thinking": "", "signature": "" }));
                message.grow(&json!({ "type": "thinking_delta", "thinking": text }));
                message.grow(&json!({ "type": "signature_delta", "signature": signature }));
                message.end();
            }
            OutputPart::Text(text) => {
                if !std::mem::replace(&mut message.in_text, true) {
                    message.begin(&json!({ "type": "text", "text": "" }));
                }
                message.grow(&json!({ "type": "text_delta", "text": text }));
            }
            OutputPart::Call { id, name, arguments } => {
                reason = "tool_use";
                message.begin(&json!({ "type": "tool_use", "id": id, "name": name, "input": {} }));
                for piece in cut(arguments, 5) {
                    message.grow(&json!({ "type": "input_json_delta", "partial_json": piece }));
                }
                message.end();
            }
        }
    }
    if end.is_regular() {
        message.end_text();
        let delta = json!({ "stop_reason": reason, "stop_sequence": null });
        message.event("message_delta", json!({ "delta": delta, "usage": { "output_tokens": CALL_COST.output } }));
        message.event("message_stop", json!({}));
    }
    message.frames
}
