//! The one language in which the house speaks with models, whatever their wire.
//!
//! A caller sends a [`Request`] and gets [`ModelEvent`]s. Parts open, grow and close by number, so that parallel
//! tool calls are never mixed up; every stream that ends well ends with exactly one [`ModelEvent::Finish`].

mod error;
mod file;
mod response_format;

use std::sync::Arc;

pub use error::ModelError;
pub use file::{FileKind, ModelFile, picture_type};
pub use response_format::{OutputSchema, ResponseFormat};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a model is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The model's name at its provider, without the provider's.
    pub model: String,
    /// Standing instructions; empty for none. Never holds a date or time, so that it stays a stable prefix.
    pub system: String,
    /// The conversation so far, oldest first; the last one is the person's or a tool's.
    pub messages: Vec<ModelMessage>,
    /// The tools it may call, in an order that stays the same from turn to turn.
    pub tools: Vec<ToolSpec>,
    /// Whether it has to call one.
    pub tool_choice: ToolChoice,
    /// The most tokens of the answer; the provider's own limit when `None`.
    pub max_tokens: Option<u32>,
    /// How it is to answer. A model that does not take one of these is asked without it.
    pub parameters: Parameters,
    /// Pictures are welcome in the answer. Some wires have to be asked for them, and only a model that is known to make
    /// them is.
    pub draws: bool,
    /// Texts that end the answer before they appear in it. Providers that have no such parameter ignore them, so the
    /// caller cuts the answer as well.
    #[serde(default)]
    pub stop: Vec<String>,
    /// Form of the answer's text. A provider that does not have the form refuses the request.
    #[serde(default)]
    pub response_format: ResponseFormat,
}

/// How a model is to answer; what is `None` is the model's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// How far it strays from the likeliest word, from 0 on; how far it can depends on the model.
    pub temperature: Option<f64>,
    /// The share of the likeliest words that it chooses among, above 0 and up to 1.
    pub top_p: Option<f64>,
    /// How much it thinks first.
    pub effort: Option<Effort>,
}

/// How much a model thinks first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

impl Effort {
    /// The word that all wires have for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What a person sets for the models of a chat, or of all their chats.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelSettings {
    /// Instructions beside the standing ones; empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The most tokens of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// As in [`Parameters`], whose fields stand here one by one: where a reader goes through a part of a struct, it
    /// does not say any more which field is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// As in [`Parameters`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// As in [`Parameters`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

impl ModelSettings {
    /// These, and where they say nothing `others`.
    #[must_use]
    pub fn over(self, others: Self) -> Self {
        Self {
            system: self.system.or(others.system),
            max_tokens: self.max_tokens.or(others.max_tokens),
            temperature: self.temperature.or(others.temperature),
            top_p: self.top_p.or(others.top_p),
            effort: self.effort.or(others.effort),
        }
    }

    /// How models are to answer.
    pub fn parameters(&self) -> Parameters {
        let Self { temperature, top_p, effort, .. } = *self;
        Parameters { temperature, top_p, effort }
    }
}

/// Whether a model has to call a tool. The built-in model decides for itself whatever this says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolChoice {
    /// It decides.
    #[default]
    Auto,
    /// It has to call some tool.
    Required,
    /// It has to call this one.
    Named(String),
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Unique in the request, `[A-Za-z0-9_-]{1,64}`: the narrowest rule among the providers.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ModelMessage {
    /// The person's words.
    User {
        /// What they wrote; may be empty beside files.
        text: String,
        /// What they attached; may be empty.
        files: Vec<ModelFile>,
    },
    /// The model's words and the calls it made in the same breath.
    Assistant {
        /// The thoughts that its provider wants back; may be empty.
        thoughts: Vec<Thought>,
        /// What it said; may be empty.
        text: String,
        /// What it called; may be empty.
        calls: Vec<ModelCall>,
        /// The pictures it made, in order, after its words; sent back where the wire takes them.
        files: Vec<ModelFile>,
    },
    /// What a call gave back.
    ToolResult {
        /// The id of the call.
        call_id: String,
        /// The tool's name in the request.
        name: String,
        /// The bounded text of the result.
        text: String,
        /// The tool failed.
        is_error: bool,
        /// The pictures and documents beside the text; may be empty.
        files: Vec<ModelFile>,
    },
}

impl ModelMessage {
    /// Bytes of text in it. Files are not counted: a model reads them at a price of its own.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Assistant { thoughts, text, calls, .. } => {
                let thoughts: usize = thoughts.iter().map(|thought| thought.text.len()).sum();
                thoughts + text.len() + calls.iter().map(|call| call.arguments.len()).sum::<usize>()
            }
            Self::User { text, .. } | Self::ToolResult { text, .. } => text.len(),
        }
    }

    /// What a person wrote, without files.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), files: Vec::new() }
    }

    /// What a model said and called, without thoughts and files.
    pub fn assistant(text: impl Into<String>, calls: Vec<ModelCall>) -> Self {
        Self::Assistant { thoughts: Vec::new(), text: text.into(), calls, files: Vec::new() }
    }

    /// The same with words in the place of those files that `is_left_out` names.
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

    /// The files of it, whoever's they are.
    pub fn files(&self) -> &[ModelFile] {
        match self {
            Self::User { files, .. } | Self::Assistant { files, .. } | Self::ToolResult { files, .. } => files,
        }
    }
}

/// A thought that its provider wants back, as it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thought {
    /// How many of the message's calls stand before it.
    pub calls_before: usize,
    /// The words that were shown of it; may be empty.
    pub text: String,
    /// What the provider put on it.
    pub seal: Seal,
}

/// What a provider puts on a thought (a signature, or the thought itself in its cipher) and wants back unchanged.
/// Only the model that made it can read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seal {
    /// The wire it came over.
    pub wire: String,
    /// The model that made it, by its name at its provider.
    pub model: String,
    /// In the shape that the wire chose.
    pub data: Value,
}

impl Seal {
    /// Whether `model` can read it over `wire`.
    pub fn is_for(&self, wire: &str, model: &str) -> bool {
        self.wire == wire && self.model == model
    }
}

/// A call as a model made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// Unique within the answer.
    pub id: String,
    /// The tool's name in the request.
    pub name: String,
    /// The arguments: JSON text as the model wrote it, which need not be valid.
    pub arguments: String,
}

/// What a part is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartKind {
    /// Words for the person.
    Text,
    /// What the model thinks first.
    Reasoning,
    /// A call; its deltas are pieces of the arguments' JSON text.
    ToolCall {
        /// Unique within the stream; made by the decoder when the provider sends none.
        id: String,
        /// The tool's name in the request.
        name: String,
    },
}

/// What a model says, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ModelEvent {
    /// What keeps it busy before the first word; may come any number of times before the first part.
    Status(ModelStatus),
    /// A part opens. Numbers start at 0 and are never used twice in a stream.
    PartStart {
        /// The part's number.
        part: u32,
        /// What it is.
        kind: PartKind,
    },
    /// An open part grows; never empty.
    Delta {
        /// The part's number.
        part: u32,
        /// What is added.
        text: String,
    },
    /// A thought, still open, has something on it that must be kept and sent back with it. At most once for a part.
    Seal {
        /// The part's number.
        part: u32,
        /// What is to be kept.
        seal: Seal,
    },
    /// A part is complete. Every part that opened closes before `Finish`.
    PartEnd {
        /// The part's number.
        part: u32,
    },
    /// A whole picture that it made. What its provider wants back with it comes as a thought of its own, so that a
    /// picture is a picture alone. It belongs after the parts that opened before it.
    File {
        /// What it is, such as `image/png`.
        media_type: String,
        /// The picture.
        #[serde(serialize_with = "file::as_base64", deserialize_with = "file::from_base64")]
        bytes: Arc<[u8]>,
    },
    /// What it cost so far; the last one counts.
    Usage(Usage),
    /// What the person should know about how the question was put, such as tools that had to be left out. Only before
    /// the first part.
    Notice(String),
    /// The end; nothing follows.
    Finish(FinishReason),
}

/// What a model is busy with before its first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum ModelStatus {
    /// Others are being answered first.
    Queued {
        /// How many are before this one, at least 1.
        ahead: u32,
    },
    /// The weights are being read from disk, once until the model is let go.
    Loading {
        /// Layers read so far.
        done: u32,
        /// Layers in all; 0 before that is known.
        total: u32,
    },
    /// The list of tools is being read, once per list.
    ReadingTools {
        /// Tokens read so far.
        done: u32,
        /// Tokens in all.
        total: u32,
    },
    /// The question, or a tool's result, is being read.
    Reading {
        /// Tokens read so far.
        done: u32,
        /// Tokens in all.
        total: u32,
    },
    /// The provider asked to wait before the request is tried again.
    Retrying {
        /// Milliseconds until the next try.
        after_ms: u64,
    },
}

/// Tokens, as the provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Of the tokens read, those that came from a cache.
    pub cached_input_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cached_input_tokens += other.cached_input_tokens;
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It wants its tool calls to be run.
    ToolCalls,
    /// It reached a limit on length.
    Length,
    /// The provider's filter cut it.
    ContentFilter,
    /// The stream ended without an end mark.
    Truncated,
    /// Something the house has no word for.
    Other(String),
}
