//! What others see of a chat that its person shares.

use domain::Timestamp;
use domain::message::{Part, Role};
use domain::tool::{Outcome, ToolCall};
use serde::Serialize;
use store::chats::StoredMessage;

/// A message as it is shared.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedMessage {
    role: Role,
    created_at: Timestamp,
    parts: Vec<SharedPart>,
}

/// A part of it. What the model thought first is not shared, and neither is what the person attached.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum SharedPart {
    /// Words.
    Text { text: String },
    /// That a tool was called.
    ToolCall { name: String, outcome: Outcome },
    /// A call with everything about it, where the person chose so.
    WholeToolCall { call: Box<ToolCall> },
}

/// Messages as they are shared, with or without what tools were given and gave back. Messages of which nothing is left
/// are not there.
pub fn shared(messages: Vec<StoredMessage>, with_tools: bool) -> Vec<SharedMessage> {
    let shared = |message: StoredMessage| {
        // What goes with a person's words is none of them.
        let is_plain = message.role == Role::User || message.parts.is_empty();
        let parts = if is_plain { vec![Part::Text { text: message.content }] } else { message.parts };
        let parts = parts.into_iter().filter_map(|part| shared_part(part, with_tools)).collect();
        SharedMessage { role: message.role, created_at: message.created_at, parts }
    };
    messages.into_iter().map(shared).filter(|message: &SharedMessage| !message.parts.is_empty()).collect()
}

fn shared_part(part: Part, with_tools: bool) -> Option<SharedPart> {
    match part {
        Part::Text { text } if text.is_empty() => None,
        Part::Text { text } => Some(SharedPart::Text { text }),
        Part::ToolCall { call } if with_tools => Some(SharedPart::WholeToolCall { call }),
        Part::ToolCall { call } => Some(SharedPart::ToolCall { name: call.name, outcome: call.outcome }),
        Part::Reasoning { .. } | Part::AppContext { .. } | Part::Notice { .. } | Part::Attachment { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::MessageId;
    use domain::tool::ToolResult;
    use serde_json::json;

    #[test]
    fn arguments_and_results_are_shared_only_when_chosen() {
        let call = ToolCall {
            id: "1".into(),
            name: "read_file".into(),
            server_name: "secret-server".into(),
            arguments: json!({ "path": "secret-path" }),
            result: Some(ToolResult::text("secret-result")),
            error: Some("secret-error".into()),
            outcome: Outcome::Done,
            duration_ms: 3,
            app: None,
        };
        let message = |role, content: &str, parts| StoredMessage {
            id: MessageId::fresh(),
            role,
            content: content.into(),
            parts,
            created_at: Timestamp(0),
        };
        let messages = vec![
            message(Role::User, "Hello", vec![]),
            message(
                Role::Assistant,
                "Hi",
                vec![
                    Part::Reasoning { text: "secret-thought".into(), seal: None },
                    Part::ToolCall { call: Box::new(call) },
                    Part::Text { text: "Hi".into() },
                ],
            ),
            message(Role::Assistant, "", vec![Part::Reasoning { text: "secret-thought".into(), seal: None }]),
        ];
        let plain = serde_json::to_value(shared(messages.clone(), false)).unwrap();
        assert!(!plain.to_string().contains("secret"), "{plain}");
        assert_eq!(plain[0]["parts"], json!([{ "type": "text", "text": "Hello" }]));
        assert_eq!(plain[1]["parts"][0], json!({ "type": "tool-call", "name": "read_file", "outcome": "done" }));
        assert_eq!(plain.as_array().unwrap().len(), 2);
        let whole = serde_json::to_value(shared(messages, true)).unwrap();
        assert_eq!(whole[1]["parts"][0]["call"]["arguments"]["path"], "secret-path");
        assert!(!whole.to_string().contains("secret-thought"));
    }
}
