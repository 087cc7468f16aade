//! OpenAI's responses API.

use serde_json::{Value, json};

use super::{CALL_COST, End, OutputPart, cut};

/// Encoder of a response.
#[derive(Default)]
struct Response {
    frames: Vec<String>,
    place: u32,
    text: Option<String>,
}

impl Response {
    /// Writes an event with its type and number.
    fn event(&mut self, kind: &str, mut data: Value) {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(self.frames.len());
        self.frames.push(format!("event: {kind}\ndata: {data}\n\n"));
    }

    /// Writes a delta. It has the index fields of all kinds of items, and readers ignore those of others.
    fn delta(&mut self, kind: &str, delta: &str) {
        let data = json!({ "output_index": self.place, "content_index": 0, "summary_index": 0, "delta": delta });
        self.event(kind, data);
    }

    /// Starts an output item.
    fn begin(&mut self, item: &Value) {
        self.event("response.output_item.added", json!({ "output_index": self.place, "item": item }));
    }

    /// Ends an output item.
    fn end(&mut self, item: &Value) {
        self.event("response.output_item.done", json!({ "output_index": self.place, "item": item }));
        self.place += 1;
    }

    /// Ends the current message, if there is one.
    fn end_text(&mut self) {
        if let Some(text) = self.text.take() {
            let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
            self.end(&json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": content }));
        }
    }
}

/// Encodes output ([`OutputPart`]) as events.
pub(super) fn frames(output: &[OutputPart], end: End) -> Vec<String> {
    let mut response = Response::default();
    response.event("response.created", json!({ "response": { "id": "resp_1", "status": "in_progress" } }));
    for part in output {
        if !matches!(part, OutputPart::Text(_)) {
            response.end_text();
        }
        match part {
            OutputPart::Reasoning { text, signature } => {
                response.begin(&json!({ "type": "reasoning", "id": "rs_1", "summary": [] }));
                response.delta("response.reasoning_summary_text.delta", text);
                let summary = json!([{ "type": "summary_text", "text": text }]);
                let item =
                    json!({ "type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": signature });
                response.end(&item);
            }
            OutputPart::Text(text) => {
                if response.text.is_none() {
                    response.begin(&json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [] }));
                }
                response.text.get_or_insert_default().push_str(text);
                response.delta("response.output_text.delta", text);
            }
            OutputPart::Call { id, name, arguments } => {
                let mut item = json!({ "type": "function_call", "id": "fc_1", "call_id": id, "name": name });
                item["arguments"] = json!("");
                response.begin(&item);
                for piece in cut(arguments, 5) {
                    response.delta("response.function_call_arguments.delta", &piece);
                }
                item["arguments"] = json!(arguments);
                response.end(&item);
            }
        }
    }
    if end.is_regular() {
        response.end_text();
        let usage = json!({
            "input_tokens": CALL_COST.input, "input_tokens_details": { "cached_tokens": CALL_COST.cached },
            "output_tokens": CALL_COST.output, "output_tokens_details": { "reasoning_tokens": 2 },
            "total_tokens": CALL_COST.input + CALL_COST.output
        });
        let mut whole = json!({ "id": "resp_1", "status": "completed", "usage": usage });
        if end == End::Length {
            whole["status"] = "incomplete".into();
            whole["incomplete_details"] = json!({ "reason": "max_output_tokens" });
        }
        let kind = if end == End::Length { "response.incomplete" } else { "response.completed" };
        response.event(kind, json!({ "response": whole }));
    }
    response.frames
}
