//! Content of a shared chat, as visitors see it.

use domain::file::FileRef;
use domain::message::{Part, Role};
use domain::tool::{Outcome, ToolCall, ToolResult};
use domain::{FileId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use storage::chats::StoredMessage;

/// A message of a shared chat.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedMessage {
    role: Role,
    created_at: Timestamp,
    parts: Vec<SharedPart>,
}

/// Options of a share, beyond the text and the generated images, which are always included.
#[derive(Debug, Clone, Copy, Default)]
pub struct With {
    /// Whether tool calls are shared with arguments and results.
    pub tools: bool,
    /// Whether the user's files are shared.
    pub files: bool,
}

/// A part of a shared message. Reasoning and attached MCP resources are never shared.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum SharedPart {
    /// Text.
    Text { text: String },
    /// Name and outcome of a tool call.
    ToolCall { name: String, outcome: Outcome },
    /// A complete tool call, if the user chose to share it.
    WholeToolCall { call: Box<ToolCall> },
    /// A file, which is served under the share by this id.
    File {
        id: FileId,
        media_type: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        size: u64,
    },
    /// Placeholder of a file that is not shared.
    HiddenFile { media_type: String },
}

/// Returns the shared form of [messages](StoredMessage), and the ids of the files in them. Messages without shared
/// parts are omitted.
pub fn shared(messages: Vec<StoredMessage>, with: With) -> (Vec<SharedMessage>, Vec<FileId>) {
    let mut files = Vec::new();
    let shared = |message: StoredMessage| {
        let StoredMessage { role, content, parts, created_at, .. } = message;
        let parts = match role {
            // The parts of a user's message do not include its text.
            Role::User => {
                let attached = parts.into_iter().filter(|part| matches!(part, Part::File(_)));
                attached.chain([Part::Text { text: content }]).collect()
            }
            // An answer that a client inserted has text and no parts.
            Role::Assistant if parts.is_empty() => vec![Part::Text { text: content }],
            Role::Assistant => parts,
        };
        let parts = parts.into_iter().filter_map(|part| {
            let part = shared_part(part, role, with)?;
            match &part {
                SharedPart::File { id, .. } => files.push(*id),
                SharedPart::WholeToolCall { call } => {
                    files.extend(call.result.iter().flat_map(ToolResult::files).map(|file| file.id));
                }
                _ => {}
            }
            Some(part)
        });
        SharedMessage { role, created_at, parts: parts.collect() }
    };
    let messages = messages.into_iter().map(shared).filter(|message| !message.parts.is_empty()).collect();
    (messages, files)
}

/// Returns the shared form of a part, or `None` if it is private.
fn shared_part(part: Part, role: Role, with: With) -> Option<SharedPart> {
    match part {
        Part::Text { text } if text.is_empty() => None,
        Part::Text { text } => Some(SharedPart::Text { text }),
        Part::ToolCall { call } if with.tools => Some(SharedPart::WholeToolCall { call }),
        Part::ToolCall { call } => Some(SharedPart::ToolCall { name: call.name, outcome: call.outcome }),
        Part::File(FileRef { media_type, .. }) if role == Role::User && !with.files => {
            Some(SharedPart::HiddenFile { media_type })
        }
        Part::File(FileRef { id, media_type, filename, size }) => {
            Some(SharedPart::File { id, media_type, filename, size })
        }
        Part::Reasoning { .. }
        | Part::AppContext { .. }
        | Part::Notice { .. }
        | Part::ReplyOptions { .. }
        | Part::Attachment { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::MessageId;
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
                    Part::Reasoning { text: "secret-thought".into(), signature: None },
                    Part::ToolCall { call: Box::new(call) },
                    Part::Text { text: "Hi".into() },
                ],
            ),
            message(Role::Assistant, "", vec![Part::Reasoning { text: "secret-thought".into(), signature: None }]),
        ];
        let plain = serde_json::to_value(shared(messages.clone(), With::default()).0).unwrap();
        assert!(!plain.to_string().contains("secret"), "{plain}");
        assert_eq!(plain[0]["parts"], json!([{ "type": "text", "text": "Hello" }]));
        assert_eq!(plain[1]["parts"][0], json!({ "type": "tool-call", "name": "read_file", "outcome": "done" }));
        assert_eq!(plain.as_array().unwrap().len(), 2);
        let whole = serde_json::to_value(shared(messages, With { tools: true, files: false }).0).unwrap();
        assert_eq!(whole[1]["parts"][0]["call"]["arguments"]["path"], "secret-path");
        assert!(!whole.to_string().contains("secret-thought"));
    }

    #[test]
    fn files_of_a_person_are_shared_only_when_chosen_and_pictures_of_the_model_always() {
        let file = |name: &str| FileRef {
            media_type: "image/png".into(),
            filename: Some(name.into()),
            id: FileId::fresh(),
            size: 3,
        };
        let (own, made) = (file("secret.png"), file("made.png"));
        let message = |role, file: &FileRef| StoredMessage {
            id: MessageId::fresh(),
            role,
            content: "Look.".into(),
            parts: vec![Part::File(file.clone())],
            created_at: Timestamp(0),
        };
        let messages = vec![message(Role::User, &own), message(Role::Assistant, &made)];
        let (plain, files) = shared(messages.clone(), With { tools: true, files: false });
        let plain = serde_json::to_value(plain).unwrap();
        assert_eq!(
            (&plain[0]["parts"][0], files),
            (&json!({ "type": "hidden-file", "mediaType": "image/png" }), vec![made.id])
        );
        let (whole, files) = shared(messages, With { tools: false, files: true });
        assert_eq!(files, [own.id, made.id]);
        let want =
            json!({ "type": "file", "id": own.id, "mediaType": "image/png", "filename": "secret.png", "size": 3 });
        assert_eq!(serde_json::to_value(whole).unwrap()[0]["parts"][0], want);
    }
}
