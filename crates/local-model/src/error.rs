//! Errors of loading and inference.

use std::path::PathBuf;

use domain::model::ModelError;

/// Reason why a weight file cannot be used. The messages are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such file.
    #[error(
        "the built-in model's weights are missing: there is no file {0}; `ai-chat-mcp model fetch` or `cargo xtask model` fetches it"
    )]
    Missing(PathBuf),
    /// The file cannot be read.
    #[error("{path} cannot be read: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// The engine does not support the model's family.
    #[error(
        "this file contains a model of the family \"{0}\", and the built-in engine supports only qwen2 and llama; \
         run it with Ollama and connect to that"
    )]
    Family(String),
    /// The engine does not support the model's tokenizer.
    #[error(
        "the built-in engine does not support this model's tokenizer ({0}); run it with Ollama and connect to that"
    )]
    Tokenizer(String),
    /// The content of the file is malformed.
    #[error(
        "the file of weights is damaged or incomplete ({0}); fetch it again with `ai-chat-mcp model fetch`, or name \
         another file in CHAT_LOCAL_MODEL"
    )]
    Damaged(String),
    /// There is too little free memory.
    #[error(
        "the built-in model needs about {needed} MB of memory, and {free} MB are free; close other programs, or name \
         a smaller file in CHAT_LOCAL_MODEL"
    )]
    Memory {
        /// Needed megabytes.
        needed: u64,
        /// Free megabytes.
        free: u64,
    },
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

/// Reason why a response ends early.
#[derive(Debug)]
pub(crate) enum InferenceError {
    /// The request was cancelled.
    Cancelled,
    /// The request failed; the model can be used for others.
    Failed(ModelError),
    /// The request failed, and the model must be loaded again.
    Unusable(ModelError),
}

impl From<candle_core::Error> for InferenceError {
    fn from(error: candle_core::Error) -> Self {
        Self::internal(error)
    }
}

impl From<ModelError> for InferenceError {
    fn from(error: ModelError) -> Self {
        Self::Failed(error)
    }
}

impl InferenceError {
    /// Wraps an internal error for users.
    pub(crate) fn internal(error: impl std::fmt::Display) -> Self {
        Self::Failed(ModelError::Unavailable(format!("the built-in model failed: {error}")))
    }
}
