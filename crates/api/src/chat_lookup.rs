//! Look-up of the caller's chats by the ids in paths.

use agent::chats::temporary::TemporaryChats;
use axum::extract::FromRef;
use domain::{ChatId, UserId};
use http_server::error::ApiError;
use storage::Storage;

use crate::AppState;

/// The chats of all users, in the database and in memory.
#[derive(Debug, Clone)]
pub struct ChatLookup {
    storage: Storage,
    temporary: TemporaryChats,
}

impl FromRef<AppState> for ChatLookup {
    fn from_ref(state: &AppState) -> Self {
        Self { storage: state.storage.clone(), temporary: state.temporary.clone() }
    }
}

impl ChatLookup {
    /// Returns the user's chat and the store that it is in: a temporary chat has a store of its own in memory.
    ///
    /// # Errors
    ///
    /// 404 if the chat does not exist or belongs to another user.
    pub async fn find(&self, user: UserId, chat: &str) -> Result<(ChatId, Storage), ApiError> {
        let id: ChatId = chat.parse().map_err(|_| ApiError::NotFound("session"))?;
        // First the chats in memory, because the look-up there needs no query.
        match self.temporary.find(user, id) {
            Some(storage) => Ok((id, storage)),
            None => Ok((self.find_stored(user, chat).await?, self.storage.clone())),
        }
    }

    /// Returns the user's chat if it exists in the database; temporary chats are not found.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub async fn find_stored(&self, user: UserId, chat: &str) -> Result<ChatId, ApiError> {
        let chat: ChatId = chat.parse().map_err(|_| ApiError::NotFound("session"))?;
        let found = self.storage.chats().get(user, chat).await?;
        found.map(|chat| chat.id()).ok_or(ApiError::NotFound("session"))
    }
}
