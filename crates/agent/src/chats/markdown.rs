//! Export of a chat as a Markdown document.

use std::fmt::Write;

use domain::Timestamp;
use domain::message::{Part, Role};
use domain::tool::ToolCall;
use storage::chats::StoredMessage;

/// Returns the document: a heading for each [message](StoredMessage), the answers' own Markdown unchanged, and tool
/// calls as code blocks.
pub fn document(title: &str, messages: &[StoredMessage]) -> String {
    let mut text = format!("# {}\n", title.split_whitespace().collect::<Vec<_>>().join(" "));
    for message in messages {
        let who = if message.role == Role::User { "You" } else { "Assistant" };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {who}, {}\n", minute(message.created_at));
        // The parts of a user's message do not include its text.
        if message.role == Role::User || message.parts.is_empty() {
            let _ = write!(text, "\n{}\n", message.content.trim_end());
        }
        for part in &message.parts {
            let _ = match part {
                Part::Text { text: words } => write!(text, "\n{}\n", words.trim_end()),
                Part::ToolCall { call } => write!(text, "\n{}", tool_call(call)),
                Part::Attachment { attachment } => {
                    let (name, server) = (plain(&attachment.name), plain(&attachment.server_name));
                    writeln!(text, "\nAttached: `{name}` of `{server}`")
                }
                Part::File(file) => writeln!(text, "\nFile: `{}` ({})", plain(file.title()), plain(&file.media_type)),
                Part::Reasoning { .. } | Part::AppContext { .. } | Part::Notice { .. } | Part::ReplyOptions { .. } => {
                    Ok(())
                }
            };
        }
    }
    text
}

/// Formats a time as `2026-11-21 10:00 UTC`.
fn minute(moment: Timestamp) -> String {
    let text = moment.to_rfc3339();
    format!("{} {} UTC", text.get(..10).unwrap_or_default(), text.get(11..16).unwrap_or_default())
}

/// Formats a tool call with its arguments and its result.
fn tool_call(call: &ToolCall) -> String {
    let mut text =
        format!("Tool `{}` of `{}`: {}\n", plain(&call.name), plain(&call.server_name), call.outcome.as_str());
    text.push_str(&fenced("json", &format!("{:#}", call.arguments)));
    if let Some(result) = &call.result {
        text.push_str(&fenced("", &result.to_model_text()));
    }
    if let Some(error) = &call.error {
        text.push_str(&fenced("", error));
    }
    text
}

/// Replaces backticks in a name, which would end the code span around it.
fn plain(name: &str) -> String {
    name.replace('`', "'")
}

/// Returns a code block with a fence longer than any run of backticks in the code.
fn fenced(language: &str, code: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for character in code.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    format!("\n{fence}{language}\n{}\n{fence}\n", code.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::MessageId;
    use domain::tool::{Outcome, ToolResult};
    use serde_json::json;

    #[test]
    fn a_chat_is_a_document() {
        let call = ToolCall {
            id: "1".into(),
            name: "read".into(),
            server_name: "notes".into(),
            arguments: json!({ "path": "a.md" }),
            result: Some(ToolResult::text("```\ncode\n```")),
            error: None,
            outcome: Outcome::Done,
            duration_ms: 3,
            app: None,
        };
        let at: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        let message = |role, content: &str, parts| StoredMessage {
            id: MessageId::fresh(),
            role,
            content: content.into(),
            parts,
            created_at: at,
        };
        let messages = [
            message(Role::User, "What is in **a.md**?", vec![]),
            message(
                Role::Assistant,
                "Code.",
                vec![Part::ToolCall { call: Box::new(call) }, Part::Text { text: "Code.".into() }],
            ),
        ];
        let want = "# A title\n\n## You, 2026-11-21 10:00 UTC\n\nWhat is in **a.md**?\n\n\
            ## Assistant, 2026-11-21 10:00 UTC\n\nTool `read` of `notes`: done\n\n```json\n{\n  \"path\": \"a.md\"\n}\n```\n\n\
            ````\n```\ncode\n```\n````\n\nCode.\n";
        assert_eq!(document("A\ntitle", &messages), want);
    }
}
