//! What can go wrong, and what ends an answer early.

use std::path::PathBuf;

use domain::model::ModelError;

/// Why a file of weights cannot be used. The words are for the person who runs the program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(
        "the built-in model's weights are missing: there is no file {0}; `ai-chat-mcp model fetch` or `cargo xtask model` fetches it"
    )]
    Missing(PathBuf),
    #[error("{path} cannot be read: {error}")]
    Read { path: PathBuf, error: std::io::Error },
    #[error(
        "this file holds a model of the family \"{0}\", and the built-in engine runs qwen2 and llama only; \
         run it with Ollama and connect to that"
    )]
    Family(String),
    #[error(
        "this model's tokenizer ({0}) is not one that the built-in engine knows; run it with Ollama and connect to that"
    )]
    Tokenizer(String),
    #[error(
        "the file of weights is damaged or incomplete ({0}); fetch it again with `ai-chat-mcp model fetch`, or name \
         another file in CHAT_LOCAL_MODEL"
    )]
    Damaged(String),
    #[error(
        "the built-in model needs about {needed} MB of memory, and {free} MB are free; close other programs, or name \
         a smaller file in CHAT_LOCAL_MODEL"
    )]
    Memory { needed: u64, free: u64 },
}

impl From<candle_core::Error> for LoadError {
    fn from(error: candle_core::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<LoadError> for ModelError {
    fn from(error: LoadError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// Why an answer ends before it is whole.
#[derive(Debug)]
pub(crate) enum Halt {
    /// Nobody wants the answer any more.
    Cancelled,
    /// It cannot be given.
    Failed(ModelError),
    /// It cannot be given, and the model is of no use any more.
    Broken(ModelError),
}

impl From<candle_core::Error> for Halt {
    fn from(error: candle_core::Error) -> Self {
        Self::failed(error)
    }
}

impl From<ModelError> for Halt {
    fn from(error: ModelError) -> Self {
        Self::Failed(error)
    }
}

impl Halt {
    pub(crate) fn failed(error: impl std::fmt::Display) -> Self {
        Self::Failed(ModelError::Unavailable(format!("the built-in model failed: {error}")))
    }
}
