//! Conversion of a stored chat into the messages of a model request.

use domain::message::{Part, Role};
use domain::model::{ModelCall, ModelFile, ModelMessage, ReasoningBlock};
use domain::text::cut_to;
use domain::tool::{ToolCall, ToolResult};
use serde_json::Value;
use storage::chats::StoredMessage;

use crate::files::model_attachments::{self, AttachmentLoader, ModelInput};

/// Maximum number of messages that are read from the database.
pub const MAX_MESSAGES: i64 = 200;
/// Maximum size of the conversation in a model request, in bytes; older messages are left out.
const MAX_CONVERSATION_BYTES: usize = 400_000;
/// Maximum size of one tool result in a model request, in bytes. The user sees the whole result.
const MAX_RESULT_BYTES: usize = 32_000;
/// Maximum size of one attachment in a model request, in bytes.
const MAX_ATTACHMENT_BYTES: usize = 100_000;

/// Returns the newest messages that fit, oldest first, starting with a user's message.
///
/// A message that fits only without its files keeps its text, with their names in place of the files; so the oldest
/// images are left out first. `name_of` returns the name under which the model knows a tool.
pub fn conversation(
    messages: &[StoredMessage],
    name_of: impl Fn(&ToolCall) -> String,
    attachments: &AttachmentLoader,
) -> Vec<ModelMessage> {
    let blind = AttachmentLoader::new(attachments.modalities());
    let mut turns: Vec<Vec<ModelMessage>> = Vec::new();
    let mut bytes = 0;
    // Newest first: what the conversation is about now is worth more than how it began.
    for message in messages.iter().rev() {
        let mut turn = read(message, &name_of, attachments);
        if bytes + weight(&turn) > MAX_CONVERSATION_BYTES && !turns.is_empty() {
            turn = read(message, &name_of, &blind);
        }
        bytes += weight(&turn);
        if bytes > MAX_CONVERSATION_BYTES && !turns.is_empty() {
            break;
        }
        turns.push(turn);
    }
    // Providers reject a conversation that starts with an answer.
    while turns.last().is_some_and(|turn| !matches!(turn.first(), Some(ModelMessage::User { .. }))) {
        turns.pop();
    }
    turns.into_iter().rev().flatten().collect()
}

/// Returns the size of messages in bytes, with the weight of their files.
fn weight(turn: &[ModelMessage]) -> usize {
    turn.iter().map(|message| message.bytes() + model_attachments::weight_bytes(message.files())).sum()
}

/// Converts one stored message.
fn read(
    message: &StoredMessage,
    name_of: &impl Fn(&ToolCall) -> String,
    attachments: &AttachmentLoader,
) -> Vec<ModelMessage> {
    match message.role {
        Role::User => vec![question(message, attachments)],
        // An answer that a client inserted has text and no parts.
        Role::Assistant if message.parts.is_empty() && !message.content.is_empty() => {
            vec![ModelMessage::assistant(message.content.clone(), Vec::new())]
        }
        Role::Assistant => answer(&message.parts, name_of, attachments),
    }
}

/// Converts a user's message: attachments first, then the text, then context from MCP apps.
fn question(message: &StoredMessage, attachments: &AttachmentLoader) -> ModelMessage {
    let (mut words, mut files) = (Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            Part::Attachment { attachment } => {
                words.push(attachment.to_model_text(|text| truncated(text, MAX_ATTACHMENT_BYTES)));
            }
            Part::File(file) => match attachments.to_model_input(file) {
                ModelInput::File(file) => files.push(file),
                ModelInput::Text(text) => words.push(text),
            },
            _ => {}
        }
    }
    words.push(message.content.clone());
    words.extend(message.parts.iter().filter_map(|part| match part {
        Part::AppContext { context } => Some(context.to_model_text()),
        _ => None,
    }));
    ModelMessage::User { text: words.join("\n\n"), files }
}

/// Converts the parts of an answer: text, reasoning, tool calls and their results, in the order that provider APIs
/// require.
pub fn answer(
    parts: &[Part],
    name_of: &impl Fn(&ToolCall) -> String,
    attachments: &AttachmentLoader,
) -> Vec<ModelMessage> {
    let mut messages = Vec::new();
    let mut step = StepMessages::default();
    for part in parts {
        // Anything after a tool call was written when its result was known, so it belongs to the next step.
        let is_outside_of_steps =
            matches!(part, Part::Notice { .. } | Part::ReplyOptions { .. } | Part::Reasoning { signature: None, .. });
        if !step.calls.is_empty() && !matches!(part, Part::ToolCall { .. }) && !is_outside_of_steps {
            step.close(&mut messages, name_of, attachments);
        }
        match part {
            Part::Text { text } => step.text.push_str(text),
            Part::ToolCall { call } => step.calls.push(call.as_ref()),
            Part::File(file) => match attachments.to_model_input(file) {
                ModelInput::File(file) => step.files.push(file),
                ModelInput::Text(text) => step.text.push_str(&text),
            },
            Part::Reasoning { text, signature: Some(signature) } => {
                step.reasoning_blocks.push(ReasoningBlock {
                    calls_before: 0,
                    text: text.clone(),
                    signature: signature.clone(),
                });
            }
            // Nothing for a model: it has the replies in the text before them, and the last two belong to the user.
            Part::Reasoning { signature: None, .. }
            | Part::Notice { .. }
            | Part::ReplyOptions { .. }
            | Part::AppContext { .. }
            | Part::Attachment { .. } => {}
        }
    }
    step.close(&mut messages, name_of, attachments);
    messages
}

/// Output of one step: one model call.
#[derive(Default)]
struct StepMessages<'a> {
    reasoning_blocks: Vec<ReasoningBlock>,
    text: String,
    calls: Vec<&'a ToolCall>,
    files: Vec<ModelFile>,
}

impl StepMessages<'_> {
    /// Appends the step as one assistant message with the results of its tool calls, and clears it.
    fn close(
        &mut self,
        messages: &mut Vec<ModelMessage>,
        name_of: &impl Fn(&ToolCall) -> String,
        attachments: &AttachmentLoader,
    ) {
        let Self { reasoning_blocks, text, calls, files } = std::mem::take(self);
        // Providers reject a reasoning block without text or tool call after it, as an incomplete answer may have.
        if text.is_empty() && calls.is_empty() && files.is_empty() {
            return;
        }
        let made = calls.iter().map(|call| ModelCall {
            id: call.id.clone(),
            name: name_of(call),
            arguments: arguments_text(&call.arguments),
        });
        messages.push(ModelMessage::Assistant { reasoning_blocks, text, calls: made.collect(), files });
        messages.extend(calls.into_iter().map(|call| tool_result(call, name_of(call), attachments)));
    }
}

/// Returns the result of a tool call as a [message](ModelMessage::ToolResult) for the model. `name` is the name under
/// which the model knows the tool.
pub fn tool_result(call: &ToolCall, name: String, attachments: &AttachmentLoader) -> ModelMessage {
    let (text, is_error) = match (&call.result, &call.error) {
        (Some(result), _) => (result_text(result), result.is_error),
        (None, Some(error)) => (truncated(error.clone(), MAX_RESULT_BYTES), true),
        (None, None) => ("The call was stopped before it gave a result.".to_owned(), true),
    };
    let files = call.result.as_ref().map(|result| attachments.of_result(result)).unwrap_or_default();
    let notes = call.result.as_ref().map(|result| attachments.notes_of(result)).unwrap_or_default();
    let text = notes.into_iter().fold(text, |text, note| format!("{text}\n{note}"));
    ModelMessage::ToolResult { call_id: call.id.clone(), name, text, is_error, files }
}

/// Returns the text of a result. Of a large result, which was stored as a file, only the beginning is available.
fn result_text(result: &ToolResult) -> String {
    let text = result.to_model_text();
    match &result.whole {
        Some(whole) => {
            let cut = cut_to(&text, MAX_RESULT_BYTES);
            format!("{cut}\n[cut: {} of about {} bytes]", cut.len(), whole.size)
        }
        None => truncated(text, MAX_RESULT_BYTES),
    }
}

/// Returns a text, cut to `bytes` with a note if it is longer.
fn truncated(text: String, bytes: usize) -> String {
    match cut_to(&text, bytes) {
        cut if cut.len() < text.len() => format!("{cut}\n[cut: {} of {} bytes]", cut.len(), text.len()),
        _ => text,
    }
}

/// Returns the arguments of a tool call as JSON text.
fn arguments_text(arguments: &Value) -> String {
    match arguments {
        // The model wrote invalid JSON, but provider APIs require an object.
        Value::String(_) => "{}".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::model_attachments::InputModalities;
    use domain::file::FileRef;
    use domain::model::Signature;
    use domain::tool::Outcome;
    use domain::{FileId, MessageId, Timestamp};
    use serde_json::json;
    use std::sync::Arc;

    fn call(id: &str) -> Part {
        Part::ToolCall {
            call: Box::new(ToolCall {
                id: id.into(),
                name: "add".into(),
                server_name: "toolbox".into(),
                arguments: json!({ "a": 1 }),
                result: Some(ToolResult::text("one")),
                error: None,
                outcome: Outcome::Done,
                duration_ms: 1,
                app: None,
            }),
        }
    }

    fn message(role: Role, content: &str, parts: Vec<Part>) -> StoredMessage {
        StoredMessage { id: MessageId::fresh(), role, content: content.into(), parts, created_at: Timestamp(0) }
    }

    /// Returns the files of a model that accepts images.
    fn keen() -> AttachmentLoader {
        AttachmentLoader::new(InputModalities { pictures: true, documents: true })
    }

    fn text(text: &str) -> Part {
        Part::Text { text: text.into() }
    }

    #[test]
    fn parallel_calls_stay_together_and_results_follow() {
        let parts = vec![text("Let me see."), call("1"), call("2"), text("Two.")];
        let messages = [message(Role::User, "How many?", vec![]), message(Role::Assistant, "", parts)];
        let shape: Vec<String> = conversation(&messages, |call| call.name.clone(), &keen())
            .iter()
            .map(|message| match message {
                ModelMessage::User { text, .. } => format!("user {text}"),
                ModelMessage::Assistant { text, calls, .. } => format!("assistant {text} +{}", calls.len()),
                ModelMessage::ToolResult { call_id, text, .. } => format!("result {call_id} {text}"),
            })
            .collect();
        assert_eq!(
            shape,
            ["user How many?", "assistant Let me see. +2", "result 1 one", "result 2 one", "assistant Two. +0"]
        );
    }

    #[test]
    fn a_sealed_thought_begins_the_message_that_it_led_to() {
        let signature = |word: &str| Signature { wire: "w".into(), model: "m".into(), data: json!(word) };
        let thought = |text: &str, signature| Part::Reasoning { text: text.into(), signature };
        let parts = vec![
            thought("", Some(signature("a"))),
            call("1"),
            thought("Only shown.", None),
            call("2"),
            thought("Then.", Some(signature("b"))),
            call("3"),
            text("Three."),
        ];
        let broken_off = vec![thought("It broke off here", Some(signature("c")))];
        let messages = [
            message(Role::User, "How many?", vec![]),
            message(Role::Assistant, "", parts),
            message(Role::Assistant, "", broken_off),
        ];
        let shape: Vec<String> = conversation(&messages, |call| call.name.clone(), &keen())
            .iter()
            .map(|message| match message {
                ModelMessage::User { .. } => "user".to_owned(),
                ModelMessage::Assistant { reasoning_blocks, text, calls, .. } => {
                    let signatures: Vec<&Value> = reasoning_blocks.iter().map(|block| &block.signature.data).collect();
                    format!("{signatures:?} {text} +{}", calls.len())
                }
                ModelMessage::ToolResult { call_id, .. } => call_id.clone(),
            })
            .collect();
        let want = ["user", r#"[String("a")]  +2"#, "1", "2", r#"[String("b")]  +1"#, "3", "[] Three. +0"];
        assert_eq!(shape, want);
    }

    #[test]
    fn an_answer_that_a_client_wrote_is_part_of_the_conversation() {
        let messages = [message(Role::User, "Hello", vec![]), message(Role::Assistant, "Hi.", vec![])];
        let wrote = ModelMessage::assistant("Hi.", vec![]);
        assert_eq!(conversation(&messages, |call| call.name.clone(), &keen()), [ModelMessage::user("Hello"), wrote]);
    }

    #[test]
    fn old_messages_fall_away_and_a_person_speaks_first() {
        let long = "x".repeat(MAX_CONVERSATION_BYTES / 2);
        let messages = [
            message(Role::User, &long, vec![]),
            message(Role::Assistant, "", vec![text(&long)]),
            message(Role::User, "and now?", vec![]),
        ];
        assert_eq!(conversation(&messages, |call| call.name.clone(), &keen()), [ModelMessage::user("and now?")]);
    }

    #[test]
    fn the_oldest_pictures_are_the_first_to_go() {
        let picture = |id| FileRef { media_type: "image/png".into(), filename: None, id, size: 1 };
        let (old, new) = (FileId::fresh(), FileId::fresh());
        let attachments = keen();
        for id in [old, new] {
            attachments.add(id, Arc::from([1]));
        }
        // There is room for all texts, and for one image.
        let long = "x".repeat(MAX_CONVERSATION_BYTES - 10_000);
        let messages = [
            message(Role::User, "Before.", vec![Part::File(picture(old))]),
            message(Role::Assistant, &long, vec![]),
            message(Role::User, "And now?", vec![Part::File(picture(new))]),
        ];
        let read = conversation(&messages, |call| call.name.clone(), &attachments);
        let seen: Vec<usize> = read.iter().map(|message| message.files().len()).collect();
        assert_eq!(seen, [0, 0, 1]);
        let ModelMessage::User { text, .. } = &read[0] else { panic!("a person speaks first") };
        assert!(text.contains("left out") && text.ends_with("Before."), "{text}");
    }
}
