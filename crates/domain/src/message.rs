//! What stands in a transcript.

use serde::{Deserialize, Serialize};

use crate::attachment::Attachment;
use crate::file::FileRef;
use crate::model::Seal;
use serde_json::Value;

use crate::tool::{ToolCall, ToolContent, ToolResult};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The word in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// What an app wants the model to know in the next turn (MCP Apps, `ui/update-model-context`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppContext {
    /// The app's connection.
    pub server_name: String,
    /// The tool that the app belongs to.
    pub tool: String,
    /// Pieces in the protocol's own shape; their texts are read.
    #[serde(default)]
    pub content: Vec<ToolContent>,
    /// The same for machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
}

impl AppContext {
    /// What the model gets to read, marked as what it is: an app's words, not the person's.
    pub fn to_model_text(&self) -> String {
        let Self { server_name, tool, content, structured_content } = self;
        let result = ToolResult { content: content.clone(), ..ToolResult::default() };
        let said = [result.to_model_text(), structured_content.as_ref().map(Value::to_string).unwrap_or_default()];
        let said: Vec<String> = said.into_iter().filter(|text| !text.is_empty()).collect();
        format!("[From the app of the tool {tool} ({server_name}), not from the person: {}]", said.join("\n"))
    }
}

/// One part of a message, in the order in which it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Part {
    /// Words for the person, Markdown.
    Text {
        /// The words.
        text: String,
    },
    /// What the model thought first, where the provider shows it.
    Reasoning {
        /// The words; may be empty when there is a seal.
        text: String,
        /// What the provider wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<Seal>,
    },
    /// What the person should know about the answer, such as a server that was away.
    Notice {
        /// The words.
        text: String,
    },
    /// A tool call, with what came of it.
    ToolCall {
        /// The call.
        call: Box<ToolCall>,
    },
    /// What an app wants the model to know, beside the person's words.
    AppContext {
        /// What, and from which app.
        context: AppContext,
    },
    /// What the person attached to their words.
    Attachment {
        /// What it is, as it was then.
        attachment: Box<Attachment>,
    },
    /// A file that the person attached to their words, or that the model made.
    File(FileRef),
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageStatus {
    /// Whole.
    Done,
    /// The person stopped it; the text so far is kept.
    Stopped,
    /// The model failed; the text so far is kept.
    Failed,
    /// The server went away in the middle; the text so far is kept.
    Interrupted,
}

impl MessageStatus {
    /// The word in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The plain text of an answer: its text parts, a blank line between two of them.
pub fn text_of(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text { text } if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n\n")
}

/// The files that stand among the parts themselves, in order.
pub fn files_of(parts: &[Part]) -> impl Iterator<Item = &FileRef> {
    parts.iter().filter_map(|part| match part {
        Part::File(file) => Some(file),
        _ => None,
    })
}

/// The tool calls of an answer, in order.
pub fn tool_calls_of(parts: &[Part]) -> Vec<&ToolCall> {
    parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { call } => Some(call.as_ref()),
            _ => None,
        })
        .collect()
}
