//! Errors of model calls.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::QuotaExceeded;

/// The reason why a model call failed or its response is incomplete. Its messages are for users; they never contain a
/// key or a chat message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ModelError {
    /// The connection failed or broke.
    #[error("could not reach the model server: {0}")]
    Unreachable(String),
    /// The provider rejected the API key.
    #[error("the model provider refused the key: {0}")]
    Unauthorized(String),
    /// The provider's rate limit is reached.
    #[error("the model provider is busy: {message}")]
    RateLimited {
        /// Message of the provider.
        message: String,
        /// Wait that the provider asks for.
        retry_after: Option<Duration>,
    },
    /// The provider requires payment.
    #[error("the model provider requires payment: {0}")]
    Unpaid(String),
    /// The provider does not offer the model.
    #[error("the model provider does not know the model: {0}")]
    UnknownModel(String),
    /// The provider rejected the request.
    #[error("the model provider refused the request: {0}")]
    Refused(String),
    /// The provider failed.
    #[error("the model provider failed: {0}")]
    Provider(String),
    /// The response does not follow the provider API.
    #[error("the model server sent an unreadable response: {0}")]
    Malformed(String),
    /// No data arrived for this long.
    #[error("the model server sent nothing for {} s", .0.as_secs())]
    StreamTimeout(Duration),
    /// The conversation exceeds the model's context window.
    #[error("the conversation is too long for this model: {0}")]
    ContextOverflow(String),
    /// A quota of the user is used up or reserved.
    #[error("{0}")]
    QuotaExceeded(#[from] QuotaExceeded),
    /// The model is currently unavailable on this server. The text says why.
    #[error("{0}")]
    Unavailable(String),
}
