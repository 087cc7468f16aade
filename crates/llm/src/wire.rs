//! The wires: how a request is written and how an answer is read. Nothing here does I/O.

pub mod anthropic;
pub(crate) mod files;
pub mod gemini;
mod leaf;
pub mod openai_chat;
pub mod openai_responses;
mod parts;
mod reader;
mod request;

use std::borrow::Cow;

use domain::model::{ModelError, ModelEvent, Request};
use serde::Serialize;

pub use reader::Reader;
pub(crate) use request::is_reduced;

use crate::sse::Event;

/// The language a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wire {
    /// OpenAI chat completions, which most hosts and local servers speak too.
    #[default]
    OpenAiChat,
    /// OpenAI responses, which OpenAI's own models want for thoughts beside tools.
    OpenAiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Gemini.
    Gemini,
}

/// A request as it goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// The path below the provider's base address, without a slash at its start; a query may follow.
    pub path: Cow<'static, str>,
    /// The JSON.
    pub body: Vec<u8>,
}

impl Encoded {
    fn new(path: impl Into<Cow<'static, str>>, body: &impl Serialize) -> Result<Self, ModelError> {
        let body = serde_json::to_vec(body)
            .map_err(|error| ModelError::Refused(format!("the request cannot be written as JSON: {error}")))?;
        Ok(Self { path: path.into(), body })
    }
}

/// How a wire sends its key, and what else it wants in the head of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// The header of the key.
    pub key_name: &'static str,
    /// What stands before the key there.
    pub key_prefix: &'static str,
    /// Further headers.
    pub others: &'static [(&'static str, &'static str)],
}

/// What a server has refused, so that the request is written another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Concessions {
    /// Do not ask for the usage.
    pub without_stream_options: bool,
    /// Name the limit on the answer as the newer models of OpenAI want it.
    pub max_completion_tokens: bool,
    /// How thoughts are asked for.
    pub thoughts: Thoughts,
    /// The most tokens that the model can write in one answer.
    pub output_limit: Option<u32>,
    /// Ask without tools.
    pub without_tools: bool,
    /// Leave the choice of words to the model.
    pub without_sampling: bool,
    /// Do not say how much it is to think.
    pub without_effort: bool,
    /// Tell it in words of pictures.
    pub without_pictures: bool,
    /// Tell it in words of documents.
    pub without_documents: bool,
    /// Show the files that a tool gave back beside its result and not in it.
    pub plain_results: bool,
    /// Do not ask for pictures.
    pub without_drawing: bool,
    /// Do not send stop texts.
    pub without_stop: bool,
}

/// How a model is asked to show its thoughts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thoughts {
    /// As the newest models of the wire want it.
    #[default]
    Newest,
    /// As older models want it, or those that show less.
    Older,
    /// Not at all.
    Off,
}

impl Thoughts {
    /// The next thing to try when this was refused.
    fn less(self) -> Option<Self> {
        match self {
            Self::Newest => Some(Self::Older),
            Self::Older => Some(Self::Off),
            Self::Off => None,
        }
    }
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The model is not done.
    Open,
    /// The model is done; at most the usage and the end mark are missing.
    Answered,
    /// The end mark is there: nothing follows.
    Closed,
}

/// Reads one answer.
pub trait Decoder: Send {
    /// Takes the next event of the stream and adds what the model says by it.
    fn push(&mut self, event: &Event<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// The stream is over: closes the open parts and adds the finish, or tells why there is no answer.
    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// How far the answer has come.
    fn progress(&self) -> Progress;
}

impl Wire {
    /// The request in this wire.
    pub fn encode(self, request: &Request, concessions: Concessions) -> Result<Encoded, ModelError> {
        let plain = concessions.without_tools.then(|| request::without_tools(request));
        let request = plain.as_ref().unwrap_or(request);
        let told = files::without_refused(request, concessions);
        let request = told.as_ref().unwrap_or(request);
        match self {
            Self::OpenAiChat => openai_chat::encode(request, concessions),
            Self::OpenAiResponses => openai_responses::encode(request, concessions),
            Self::Anthropic => anthropic::encode(request, concessions),
            Self::Gemini => gemini::encode(request, concessions),
        }
    }

    /// A decoder for the answer to `request`.
    pub fn decoder(self, request: &Request) -> Box<dyn Decoder> {
        match self {
            Self::OpenAiChat => Box::new(openai_chat::Decoder::new(request)),
            Self::OpenAiResponses => Box::new(openai_responses::Decoder::new(request)),
            Self::Anthropic => Box::new(anthropic::Decoder::new(request)),
            Self::Gemini => Box::new(gemini::Decoder::new(request)),
        }
    }

    /// The head of every request.
    pub(crate) fn head(self) -> Head {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => {
                Head { key_name: "authorization", key_prefix: "Bearer ", others: &[] }
            }
            Self::Anthropic => anthropic::HEAD,
            Self::Gemini => gemini::HEAD,
        }
    }

    /// What to write differently after a refusal in these words; `None` when nothing would help.
    pub(crate) fn concede(self, refusal: &str, made: Concessions) -> Option<Concessions> {
        if !made.without_tools && request::refuses_tools(refusal) {
            return Some(Concessions { without_tools: true, ..made });
        }
        if let Some(made) = request::without_parameters(refusal, made) {
            return Some(made);
        }
        match self {
            Self::OpenAiChat => openai_chat::concede(refusal, made),
            Self::OpenAiResponses => openai_responses::concede(refusal, made),
            Self::Anthropic => anthropic::concede(refusal, made),
            Self::Gemini => gemini::concede(refusal, made),
        }
    }

    /// The path of the list of models; a query may follow.
    pub(crate) fn models_path(self) -> &'static str {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => openai_chat::MODELS_PATH,
            Self::Anthropic => anthropic::MODELS_PATH,
            Self::Gemini => gemini::MODELS_PATH,
        }
    }

    /// The names in a list of models.
    pub(crate) fn model_names(self, body: &[u8]) -> Result<Vec<String>, ModelError> {
        match self {
            Self::OpenAiChat | Self::Anthropic => openai_chat::model_names(body),
            Self::OpenAiResponses => openai_responses::model_names(body),
            Self::Gemini => gemini::model_names(body),
        }
    }
}

#[cfg(test)]
mod tests;
