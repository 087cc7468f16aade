//! Errors of the beginning of a turn.

use domain::model::ModelError;

use crate::models::quota::QuotaError;

/// Reason for which a turn could not [begin](super::TurnService::begin).
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// The chat does not exist or belongs to another user.
    #[error("session not found")]
    NoChat,
    /// The message to replace or to continue does not exist or has the wrong role, or the queued message is gone.
    #[error("message not found")]
    NoMessage,
    /// A message with the id that the client chose already exists.
    #[error("this message was already received")]
    MessageExists,
    /// Another turn is in progress in the chat.
    #[error("the assistant is still answering in this chat")]
    Busy,
    /// The user has reached the per-user limit of turns in progress, which is given.
    #[error("You already have {0} response{plural} in progress. Wait for one to finish.", plural = if *.0 == 1 { "" } else { "s" })]
    TooMany(usize),
    /// The limit of all turns in progress, or of their memory, is reached.
    #[error("The server has reached its limit of answers in progress. Try again soon.")]
    Overloaded,
    /// No model can answer, or the user's quota is used up.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The database failed.
    #[error(transparent)]
    Storage(storage::Error),
}

impl From<QuotaError> for BeginError {
    fn from(error: QuotaError) -> Self {
        match error {
            QuotaError::Storage(error) => Self::Storage(error),
            other => Self::Model(other.into()),
        }
    }
}
