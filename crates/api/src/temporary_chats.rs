//! `/api/temporary-chats`: chats that exist in memory only.

use agent::chats::temporary::{TemporaryChats, TemporaryError};
use agent::turns::TurnService;
use axum::extract::State;
use axum::response::NoContent;
use domain::ChatId;
use http_server::error::ApiError;
use http_server::extract::Named;
use http_server::response::Created;
use schemars::JsonSchema;
use serde::Serialize;

use crate::signed_in::SignedIn;

/// A new temporary chat.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TemporaryChat {
    /// Its id, which is used as that of any chat.
    id: ChatId,
}

/// Opens a temporary chat (`POST /api/temporary-chats`).
pub async fn open_temporary_chat(
    State(turns): State<TurnService>,
    caller: SignedIn,
) -> Result<Created<TemporaryChat>, ApiError> {
    let opened = turns.open_temporary_chat(caller.user).await;
    let id = opened.map_err(|error| match error {
        TemporaryError::SeveralNodes => ApiError::Conflict { code: "several_nodes", message: error.to_string() },
        TemporaryError::TooMany => ApiError::TooMany { code: "too_many_chats", message: error.to_string() },
        TemporaryError::Open(error) => ApiError::Internal(error.into()),
        TemporaryError::Storage(error) => error.into(),
    })?;
    Ok(Created(TemporaryChat { id }))
}

/// Responds 204 if a temporary chat still exists, else 404 (`GET /api/temporary-chats/{id}`).
pub async fn check_temporary_chat(
    State(temporary): State<TemporaryChats>,
    caller: SignedIn,
    Named(chat): Named,
) -> Result<NoContent, ApiError> {
    let chat: ChatId = chat.parse().map_err(|_| ApiError::NotFound("session"))?;
    let home = temporary.find(caller.user, chat);
    home.map(|_| NoContent).ok_or(ApiError::NotFound("session"))
}

/// Deletes a temporary chat with all of its messages (`DELETE /api/temporary-chats/{id}`).
pub async fn close_temporary_chat(
    State(turns): State<TurnService>,
    caller: SignedIn,
    Named(chat): Named,
) -> Result<NoContent, ApiError> {
    let chat: ChatId = chat.parse().map_err(|_| ApiError::NotFound("session"))?;
    // Closing also stops a running turn and releases the chat's memory.
    let there = turns.close_temporary_chat(caller.user, chat);
    if there { Ok(NoContent) } else { Err(ApiError::NotFound("session")) }
}
