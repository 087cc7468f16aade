//! What stands in a transcript.

use serde::{Deserialize, Serialize};

use crate::model::Seal;
use crate::tool::ToolCall;

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

/// One part of an answer, in the order in which it came.
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
    /// A tool call, with what came of it.
    ToolCall {
        /// The call.
        call: Box<ToolCall>,
    },
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
