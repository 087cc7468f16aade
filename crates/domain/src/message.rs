//! Messages and their parts, as they are stored and sent to clients.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::attachment::Attachment;
use crate::file::FileRef;
use crate::model::Signature;
use serde_json::Value;

use crate::tool::{ToolCall, ToolContent, ToolResult};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Returns the word that the database and the wire formats use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// Context that an MCP app provides for the next turn (MCP Apps, `ui/update-model-context`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppContext {
    /// Name of the app's connection.
    pub server_name: String,
    /// Tool that the app belongs to.
    pub tool: String,
    /// Content blocks in the format of MCP. The model reads their texts.
    #[serde(default)]
    pub content: Vec<ToolContent>,
    /// The same content in machine-readable form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
}

impl AppContext {
    /// Returns the text for the model, marked as coming from an app and not from the user.
    pub fn to_model_text(&self) -> String {
        let Self { server_name, tool, content, structured_content } = self;
        // An app's content has the format of a tool result, so that the same rules apply to what the model may read.
        let result = ToolResult { content: content.clone(), ..ToolResult::default() };
        let said = [result.to_model_text(), structured_content.as_ref().map(Value::to_string).unwrap_or_default()];
        let said: Vec<String> = said.into_iter().filter(|text| !text.is_empty()).collect();
        format!("[From the app of the tool {tool} ({server_name}), not from the person: {}]", said.join("\n"))
    }
}

/// One part of a message. The parts of a message are in the order in which they arrived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
// Parts are stored in this form, so that renaming a variant or a field requires a migration of stored messages.
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Part {
    /// Text, in Markdown.
    Text {
        /// The text.
        text: String,
    },
    /// Reasoning of the model, if the provider reveals it.
    Reasoning {
        /// The reasoning text; may be empty if there is a `signature`.
        text: String,
        /// Data that the provider requires back with the reasoning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Signature>,
    },
    /// A notice for the user about the response, such as an unreachable server.
    Notice {
        /// The text.
        text: String,
    },
    /// Replies to the text before them, of which the user can send one with a click.
    ReplyOptions {
        /// The replies.
        options: Vec<String>,
    },
    /// A tool call and its result.
    ToolCall {
        /// The call.
        call: Box<ToolCall>,
    },
    /// Context from an MCP app, sent with the user's message.
    AppContext {
        /// The context and the app that it came from.
        context: AppContext,
    },
    /// A resource or prompt that the user attached to the message.
    Attachment {
        /// The attachment, with its content at the time of attaching.
        attachment: Box<Attachment>,
    },
    /// A file that the user attached or that the model produced.
    File(FileRef),
}

/// The state in which the response of a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageStatus {
    /// The response is complete.
    Done,
    /// The response reached a limit on its length; the text up to there is stored, and can be continued.
    Length,
    /// The user stopped the turn; the text so far is stored.
    Stopped,
    /// The model failed; the text so far is stored.
    Failed,
    /// The server stopped during the turn; the text so far is stored.
    Interrupted,
}

impl MessageStatus {
    /// Returns the word that the database and the wire formats use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Length => "length",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Returns the [text parts](Part::Text) of a message, separated by blank lines.
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

/// Returns the [files](Part::File) among the parts themselves, in order. Files of tool results are not included.
pub fn files_of(parts: &[Part]) -> impl Iterator<Item = &FileRef> {
    parts.iter().filter_map(|part| match part {
        Part::File(file) => Some(file),
        _ => None,
    })
}

/// Returns the [tool calls](Part::ToolCall) of a message, in order.
pub fn tool_calls_of(parts: &[Part]) -> Vec<&ToolCall> {
    parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { call } => Some(call.as_ref()),
            _ => None,
        })
        .collect()
}
