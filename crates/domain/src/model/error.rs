//! Why a model gave no answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why a model gave no answer, or not a whole one. The words are for people; they never hold a key or a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ModelError {
    /// No connection, or it broke.
    #[error("could not reach the model server: {0}")]
    Unreachable(String),
    /// The provider refused the key.
    #[error("the model provider refused the key: {0}")]
    Unauthorized(String),
    /// The provider has had enough for now.
    #[error("the model provider is busy: {message}")]
    RateLimited {
        /// The provider's words.
        message: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The provider wants to be paid before it answers.
    #[error("the model provider wants to be paid first: {0}")]
    Unpaid(String),
    /// The provider does not have the model.
    #[error("the model provider does not know the model: {0}")]
    UnknownModel(String),
    /// The provider refused the request.
    #[error("the model provider refused the request: {0}")]
    Refused(String),
    /// The provider failed.
    #[error("the model provider failed: {0}")]
    Provider(String),
    /// What came back is not the wire that was expected.
    #[error("the model server answered something that could not be read: {0}")]
    Malformed(String),
    /// Nothing came for too long.
    #[error("the model server went silent for {} s", .0.as_secs())]
    Silent(Duration),
    /// The conversation does not fit the model.
    #[error("the conversation is too long for this model: {0}")]
    TooLong(String),
    /// The person has used what they may use in a day.
    #[error("you have used the {tokens} tokens that you may use a day; from midnight (UTC) on you can go on")]
    SpentForToday {
        /// What they may use.
        tokens: u64,
        /// How long it is until they may again.
        retry_after: Duration,
    },
    /// The model cannot run here now.
    #[error("{0}")]
    Unavailable(String),
}
