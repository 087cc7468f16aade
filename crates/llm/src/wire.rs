//! The wires: how a request is written and how an answer is read. Nothing here does I/O.

pub mod openai_chat;
mod reader;

use domain::model::{ModelError, ModelEvent, Request};

pub use reader::Reader;

use crate::sse::Event;

/// The language a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wire {
    /// OpenAI chat completions, which most hosts and local servers speak too.
    #[default]
    OpenAiChat,
}

/// A request as it goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// The path below the provider's base address, without a slash at its start.
    pub path: &'static str,
    /// The JSON.
    pub body: Vec<u8>,
}

/// What a server has refused, so that the request is written another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Concessions {
    /// Do not ask for the usage.
    pub without_stream_options: bool,
    /// Name the limit on the answer as the newer models of OpenAI want it.
    pub max_completion_tokens: bool,
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
        match self {
            Self::OpenAiChat => openai_chat::encode(request, concessions),
        }
    }

    /// A decoder for the answer to `request`.
    pub fn decoder(self, request: &Request) -> Box<dyn Decoder> {
        match self {
            Self::OpenAiChat => Box::new(openai_chat::Decoder::new(request)),
        }
    }

    /// What to write differently after a refusal in these words; `None` when nothing would help.
    pub(crate) fn concede(self, refusal: &str, made: Concessions) -> Option<Concessions> {
        match self {
            Self::OpenAiChat => openai_chat::concede(refusal, made),
        }
    }

    /// The path of the list of models.
    pub(crate) fn models_path(self) -> &'static str {
        match self {
            Self::OpenAiChat => openai_chat::MODELS_PATH,
        }
    }

    /// The names in a list of models.
    pub(crate) fn model_names(self, body: &[u8]) -> Result<Vec<String>, ModelError> {
        match self {
            Self::OpenAiChat => openai_chat::model_names(body),
        }
    }
}

#[cfg(test)]
mod tests;
