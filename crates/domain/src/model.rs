//! Model requests and model events, in one form for all provider APIs.
//!
//! A caller sends a [`Request`] and receives [`ModelEvent`]s. Each part of the response has a number by which it
//! starts, grows and ends, so that parallel tool calls are never mixed up. Every successful stream ends with exactly
//! one [`ModelEvent::Finish`].

mod access;
mod chat_facts;
mod error;
mod file;
mod prompts;
mod quota;
mod response_format;

use std::sync::Arc;

pub use access::{AccessAttributes, AllowedModels, InvalidModelRule, ModelRules};
pub use chat_facts::{ChatFacts, ServerFacts, ToolFacts, date_in_words};
pub use error::ModelError;
pub use file::{FileKind, ModelFile, PICTURE_TYPES, picture_type};
pub use prompts::{CONTINUE_PROMPT, SYSTEM_PROMPT};
pub use quota::{
    BYTES_PER_MEBIBYTE, NANODOLLARS_PER_DOLLAR, QuotaExceeded, QuotaKind, QuotaLimits, QuotaPeriod, QuotaRest,
    QuotaUnit,
};
pub use response_format::{OutputSchema, ResponseFormat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One call of a model: the conversation, the tools and the parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Name of the model at its provider, without the provider's prefix.
    pub model: String,
    /// System prompt; empty for none. It never holds a date or time, so that it stays a stable prefix that providers
    /// can cache.
    pub system: String,
    /// Conversation so far, oldest message first. The last message is the user's or a tool result.
    pub messages: Vec<ModelMessage>,
    /// Tools that the model may call, in an order that stays the same from turn to turn.
    pub tools: Vec<ToolSpec>,
    /// Constraint on calling a tool.
    pub tool_choice: ToolChoice,
    /// Maximum number of output tokens; `None` means the provider's own limit.
    pub max_tokens: Option<u32>,
    /// Sampling and reasoning parameters. A model that does not accept one of them is called without it.
    pub parameters: Parameters,
    /// Whether images are requested in the response. Some provider APIs send them only on request, and the flag is set
    /// only for models known to produce them.
    pub image_output: bool,
    /// Texts that end the response before they appear in it. Providers without such a parameter ignore them, so the
    /// caller also cuts the response itself.
    #[serde(default)]
    pub stop: Vec<String>,
    /// Form of the response text. A provider that does not support the form rejects the request.
    #[serde(default)]
    pub response_format: ResponseFormat,
    /// Facts of the chat for the built-in model, which tells who it is, and answers questions about its tools from
    /// them. Providers are sent nothing of them. `None` if the client has instructions of its own for the assistant.
    #[serde(default)]
    pub facts: Option<ChatFacts>,
}

/// Sampling and reasoning parameters of a [`Request`]. `None` means the model's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// Sampling temperature, 0 or more. The maximum depends on the model.
    pub temperature: Option<f64>,
    /// Nucleus sampling: the share of the most likely tokens to choose from, above 0 and up to 1.
    pub top_p: Option<f64>,
    /// Reasoning effort.
    pub effort: Option<Effort>,
}

/// Reasoning effort, one of the [`Parameters`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Shortest reasoning.
    Low,
    /// Medium reasoning.
    Medium,
    /// Longest reasoning.
    High,
}

impl Effort {
    /// Returns the word for this effort, which is the same in all provider APIs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Maximum length of a user's instructions, in characters.
pub const MAX_SYSTEM_CHARS: usize = 20_000;
/// Maximum of the setting for the length of an answer, in tokens. A model with a lower limit reports it itself.
pub const MAX_ANSWER_TOKENS: u32 = 1_000_000;
/// Highest temperature that any provider API accepts.
pub const MAX_TEMPERATURE: f64 = 2.0;

/// A user's settings for the models of one chat, or of all their chats. They become part of each [`Request`]. For a
/// chat's settings that are left out the user's defaults apply, then the model's own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelSettings {
    /// Additional instructions, appended to the standard system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_SYSTEM_CHARS))]
    pub system: Option<String>,
    /// Maximum number of output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_ANSWER_TOKENS))]
    pub max_tokens: Option<u32>,
    // The fields of [`Parameters`] are repeated here because an error of a flattened struct (`serde(flatten)`) does not
    // name the field that is wrong.
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MAX_TEMPERATURE))]
    pub temperature: Option<f64>,
    /// Nucleus sampling: the share of the most likely tokens to choose from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub top_p: Option<f64>,
    /// Reasoning effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

impl ModelSettings {
    /// Merges two settings: fields that are `None` here are taken from `others`.
    #[must_use]
    pub fn over(self, others: Self) -> Self {
        Self {
            // A chat's own instructions replace the user's general ones; the two are not joined.
            system: self.system.or(others.system),
            max_tokens: self.max_tokens.or(others.max_tokens),
            temperature: self.temperature.or(others.temperature),
            top_p: self.top_p.or(others.top_p),
            effort: self.effort.or(others.effort),
        }
    }

    /// Returns the [`Parameters`] among these settings.
    pub fn parameters(&self) -> Parameters {
        let Self { temperature, top_p, effort, .. } = *self;
        Parameters { temperature, top_p, effort }
    }
}

/// Constraint on calling a tool, see [`Request::tool_choice`]. The built-in model ignores it and decides for itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model has to call at least one tool.
    Required,
    /// The model has to call the tool of this name.
    Named(String),
}

/// A [`ToolDefinition`](crate::tool::ToolDefinition) as it is described to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name, unique in the request: `[A-Za-z0-9_-]{1,64}`, the narrowest rule among the providers.
    pub name: String,
    /// Description of what the tool does.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
}

/// One message of the conversation that is sent to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ModelMessage {
    /// A message of the user.
    User {
        /// Text of the message; may be empty if there are files.
        text: String,
        /// Attached files; may be empty.
        files: Vec<ModelFile>,
    },
    /// A response of the model, with the tool calls of the same step.
    Assistant {
        /// Reasoning blocks that the provider requires back; may be empty.
        reasoning_blocks: Vec<ReasoningBlock>,
        /// Response text; may be empty.
        text: String,
        /// Tool calls; may be empty.
        calls: Vec<ModelCall>,
        /// Images that the model produced, in order, after the text. They are sent back where the provider API accepts
        /// them.
        files: Vec<ModelFile>,
    },
    /// The result of a tool call.
    ToolResult {
        /// Id of the call, see [`ModelCall::id`].
        call_id: String,
        /// Name of the tool in the request.
        name: String,
        /// Text of the result, already bounded in length.
        text: String,
        /// Whether the tool failed.
        is_error: bool,
        /// Images and documents of the result; may be empty.
        files: Vec<ModelFile>,
    },
}

impl ModelMessage {
    /// Returns the bytes of text in the message. Files are not counted: providers count their tokens differently.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Assistant { reasoning_blocks, text, calls, .. } => {
                let reasoning_blocks: usize = reasoning_blocks.iter().map(|block| block.text.len()).sum();
                reasoning_blocks + text.len() + calls.iter().map(|call| call.arguments.len()).sum::<usize>()
            }
            Self::User { text, .. } | Self::ToolResult { text, .. } => text.len(),
        }
    }

    /// Creates a user message without files.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), files: Vec::new() }
    }

    /// Creates an assistant message without reasoning and files.
    pub fn assistant(text: impl Into<String>, calls: Vec<ModelCall>) -> Self {
        Self::Assistant { reasoning_blocks: Vec::new(), text: text.into(), calls, files: Vec::new() }
    }

    /// Replaces each file for which `is_left_out` returns `true` by a sentence about it (see [`ModelFile::in_words`]),
    /// placed before the text.
    #[must_use]
    pub fn with_files_in_words(mut self, is_left_out: impl Fn(&ModelFile) -> bool) -> Self {
        let (Self::User { text, files } | Self::Assistant { text, files, .. } | Self::ToolResult { text, files, .. }) =
            &mut self;
        let mut words: Vec<String> =
            files.extract_if(.., |file| is_left_out(file)).map(|file| file.in_words()).collect();
        if !words.is_empty() {
            words.extend(Some(std::mem::take(text)).filter(|text| !text.is_empty()));
            *text = words.join("\n");
        }
        self
    }

    /// Returns the files of the message, whatever its role.
    pub fn files(&self) -> &[ModelFile] {
        match self {
            Self::User { files, .. } | Self::Assistant { files, .. } | Self::ToolResult { files, .. } => files,
        }
    }
}

/// A reasoning block that its provider requires back unchanged, see [`Signature`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReasoningBlock {
    /// Number of the message's tool calls that come before this block.
    pub calls_before: usize,
    /// Reasoning text that was shown; may be empty.
    pub text: String,
    /// Data that the provider attached to the block.
    pub signature: Signature,
}

/// Opaque data that a provider attaches to a reasoning block and requires back unchanged: a signature, or the reasoning
/// itself, encrypted. Only the model that produced it can read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// Provider API it was received over.
    pub wire: String,
    /// Model that produced it, by its name at the provider.
    pub model: String,
    /// The data, in the format of that provider API.
    pub data: Value,
}

impl Signature {
    /// Returns whether the data can be sent back to `model` over the provider API `wire`.
    pub fn is_for(&self, wire: &str, model: &str) -> bool {
        self.wire == wire && self.model == model
    }
}

/// A tool call as the model wrote it. Its result is a [`ModelMessage::ToolResult`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// Id, unique within the response.
    pub id: String,
    /// Name of the tool in the request.
    pub name: String,
    /// Arguments: JSON text as the model wrote it. It may be invalid.
    pub arguments: String,
}

/// The kind of a response part, see [`ModelEvent::PartStart`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartKind {
    /// Text for the user.
    Text,
    /// Reasoning that precedes the response.
    Reasoning,
    /// A tool call. Its deltas are pieces of the arguments' JSON text.
    ToolCall {
        /// Id, unique within the stream. The decoder creates one if the provider sends none.
        id: String,
        /// Name of the tool in the request.
        name: String,
    },
}

/// One event of a model's response, in order of arrival.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ModelEvent {
    /// Progress before the first part. Any number of these may precede the first part.
    Status(ModelStatus),
    /// A part starts. Numbers start at 0 and are unique within a stream.
    PartStart {
        /// Number of the part.
        part: u32,
        /// Kind of the part.
        kind: PartKind,
    },
    /// Text is appended to an open part; never empty.
    Delta {
        /// Number of the part.
        part: u32,
        /// Appended text.
        text: String,
    },
    /// An open reasoning part receives data that must be stored and sent back with it. At most once per part.
    Signature {
        /// Number of the part.
        part: u32,
        /// Data to store.
        signature: Signature,
    },
    /// A part is complete. Every started part ends before [`Self::Finish`].
    PartEnd {
        /// Number of the part.
        part: u32,
    },
    /// A complete image that the model produced. It follows the parts that started before it. Data that the provider
    /// requires back with it arrives as a reasoning part of its own, so that this event is always just an image.
    File {
        /// Media type, such as `image/png`.
        media_type: String,
        /// Content of the image; base64 in JSON.
        #[serde(serialize_with = "file::as_base64", deserialize_with = "file::from_base64")]
        bytes: Arc<[u8]>,
    },
    /// Token usage so far; the last one is final.
    Usage(Usage),
    /// A notice for the user about how the request was changed, such as tools that had to be left out. Sent only before
    /// the first part.
    Notice(String),
    /// Short replies, of which the user can send one with a click. The text before them names them, too, for clients
    /// without buttons. At most once, after the last part.
    ReplyOptions(Vec<String>),
    /// End of the response; nothing follows.
    Finish(FinishReason),
}

/// The activity of a model before the first part of its response, see [`ModelEvent::Status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum ModelStatus {
    /// Other requests are processed first.
    Queued {
        /// Number of requests ahead of this one, at least 1.
        ahead: u32,
    },
    /// The weights are being read from disk. This happens once, until the model is unloaded.
    Loading {
        /// Layers read so far.
        done: u32,
        /// Total number of layers; 0 while unknown.
        total: u32,
    },
    /// The tool definitions are being processed, once per list of tools.
    ReadingTools {
        /// Tokens processed so far.
        done: u32,
        /// Total number of tokens.
        total: u32,
    },
    /// The user's message or a tool result is being processed.
    Reading {
        /// Tokens processed so far.
        done: u32,
        /// Total number of tokens.
        total: u32,
    },
    /// The provider asked to wait before the request is retried.
    Retrying {
        /// Milliseconds until the retry.
        after_ms: u64,
    },
}

/// Token usage as counted by the provider, see [`ModelEvent::Usage`]. Values add up across calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "CallUsage")]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens that were read from the provider's cache.
    pub cached_input_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cached_input_tokens += other.cached_input_tokens;
    }
}

/// The reason why a model stopped, see [`ModelEvent::Finish`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FinishReason {
    /// The response is complete.
    Stop,
    /// The model waits for the results of its tool calls.
    ToolCalls,
    /// A length limit was reached.
    Length,
    /// The provider's content filter stopped the response.
    ContentFilter,
    /// The stream ended without an end marker.
    Truncated,
    /// A reason that has no variant here, in the provider's words.
    Other(String),
}
