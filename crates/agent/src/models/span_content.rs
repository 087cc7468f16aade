//! Messages in spans, as JSON in the format of OpenTelemetry's conventions for generative AI. They are there only if the
//! operator has asked for them, and are bounded in size.

use domain::model::{ModelCall, ModelEvent, ModelMessage, PartKind};
use domain::text::cut_to;
use serde_json::{Value, json};

/// Maximum size of all messages of one attribute, in bytes. The oldest ones are left out.
const MAX_MESSAGES_BYTES: usize = 64 * 1024;
/// Maximum size of one text, in bytes. Its end is left out.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Returns the system prompt.
pub(super) fn system_instructions(system: &str) -> String {
    json!([text_part(system)]).to_string()
}

/// Returns the messages of a request, without their files.
pub(super) fn input_messages(messages: &[ModelMessage]) -> String {
    let mut bytes = 0;
    // Newest first, so that those are kept.
    let mut kept: Vec<String> = messages
        .iter()
        .rev()
        .map(|message| message_json(message).to_string())
        .take_while(|message| {
            bytes += message.len();
            bytes <= MAX_MESSAGES_BYTES
        })
        .collect();
    kept.reverse();
    format!("[{}]", kept.join(","))
}

fn message_json(message: &ModelMessage) -> Value {
    match message {
        ModelMessage::User { text, .. } => json!({ "role": "user", "parts": [text_part(text)] }),
        ModelMessage::Assistant { text, calls, .. } => {
            let text = Some(text).filter(|text| !text.is_empty()).map(|text| text_part(text));
            let parts: Vec<Value> = text.into_iter().chain(calls.iter().map(call_part)).collect();
            json!({ "role": "assistant", "parts": parts })
        }
        ModelMessage::ToolResult { call_id, text, .. } => {
            let part = json!({ "type": "tool_call_response", "id": call_id, "response": cut_to(text, MAX_TEXT_BYTES) });
            json!({ "role": "tool", "parts": [part] })
        }
    }
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "content": cut_to(text, MAX_TEXT_BYTES) })
}

fn call_part(call: &ModelCall) -> Value {
    let arguments = cut_to(&call.arguments, MAX_TEXT_BYTES);
    // As an object where it is one: a model may write anything.
    let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.to_owned()));
    json!({ "type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments })
}

/// Collector of the output of a model.
#[derive(Debug, Default)]
pub(super) struct OutputCapture {
    parts: Vec<(u32, PartKind, String)>,
    bytes: usize,
}

impl OutputCapture {
    /// Takes note of an event of the model.
    pub(super) fn record(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::PartStart { part, kind } => self.parts.push((*part, kind.clone(), String::new())),
            ModelEvent::Delta { part, text } if self.bytes + text.len() <= MAX_MESSAGES_BYTES => {
                if let Some((.., collected)) = self.parts.iter_mut().find(|(number, ..)| number == part) {
                    collected.push_str(text);
                    self.bytes += text.len();
                }
            }
            _ => {}
        }
    }

    /// Returns the output as the only message of a response.
    pub(super) fn into_messages(self, finish_reason: &str) -> String {
        let part = |(_, kind, text): (u32, PartKind, String)| match kind {
            PartKind::Text => text_part(&text),
            PartKind::Reasoning => json!({ "type": "reasoning", "content": cut_to(&text, MAX_TEXT_BYTES) }),
            PartKind::ToolCall { id, name } => call_part(&ModelCall { id, name, arguments: text }),
        };
        let parts: Vec<Value> = self.parts.into_iter().map(part).collect();
        json!([{ "role": "assistant", "parts": parts, "finish_reason": finish_reason }]).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_has_the_newest_messages_within_the_limit() {
        let call = ModelCall { id: "1".to_owned(), name: "find".to_owned(), arguments: "{\"q\":1}".to_owned() };
        let result = ModelMessage::ToolResult {
            call_id: "1".to_owned(),
            name: "find".to_owned(),
            text: "ü".repeat(MAX_TEXT_BYTES),
            is_error: false,
            files: Vec::new(),
        };
        let old = (0..10).map(|_| ModelMessage::user("x".repeat(MAX_TEXT_BYTES)));
        let messages: Vec<ModelMessage> =
            old.chain([ModelMessage::user("Find it"), ModelMessage::assistant("", vec![call]), result]).collect();
        let text = input_messages(&messages);
        assert!(text.len() <= MAX_MESSAGES_BYTES + 100, "{}", text.len());
        let kept: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert!(kept.len() > 3 && kept.len() < messages.len());
        let last = &kept[kept.len() - 3..];
        assert_eq!(last[0], json!({ "role": "user", "parts": [{ "type": "text", "content": "Find it" }] }));
        assert_eq!(last[1]["parts"][0]["arguments"], json!({ "q": 1 }));
        assert_eq!(last[1]["parts"].as_array().unwrap().len(), 1, "no empty text");
        assert_eq!(last[2]["parts"][0]["response"].as_str().unwrap().len(), MAX_TEXT_BYTES);
    }

    #[test]
    fn output_is_one_message_within_the_limit() {
        let mut output = OutputCapture::default();
        let call = PartKind::ToolCall { id: "1".to_owned(), name: "find".to_owned() };
        output.record(&ModelEvent::PartStart { part: 0, kind: PartKind::Text });
        output.record(&ModelEvent::PartStart { part: 1, kind: call });
        for (part, text) in [(0, "Let me "), (1, "{\"q\""), (0, "see."), (1, ":1}")] {
            output.record(&ModelEvent::Delta { part, text: text.to_owned() });
        }
        output.record(&ModelEvent::Delta { part: 0, text: "x".repeat(MAX_MESSAGES_BYTES) });
        let messages: Value = serde_json::from_str(&output.into_messages("tool_call")).unwrap();
        let parts = json!([
            { "type": "text", "content": "Let me see." },
            { "type": "tool_call", "id": "1", "name": "find", "arguments": { "q": 1 } },
        ]);
        assert_eq!(messages, json!([{ "role": "assistant", "parts": parts, "finish_reason": "tool_call" }]));
    }
}
