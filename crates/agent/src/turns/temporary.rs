//! Turns of temporary chats: they end when their chat is closed, and before its in-memory database is.

use domain::{ChatId, UserId};

use super::{MAX_STOP_WAIT, TurnService};
use crate::chats::temporary::TemporaryError;

impl TurnService {
    /// Opens a temporary chat, and closes the user's least recently used one if there are too many.
    ///
    /// # Errors
    ///
    /// See [`TemporaryError`].
    pub async fn open_temporary_chat(&self, owner: UserId) -> Result<ChatId, TemporaryError> {
        let opened = self.temporary.open(owner).await?;
        if let Some(superseded) = opened.superseded {
            self.close_temporary_chat(owner, superseded);
        }
        Ok(opened.id)
    }

    /// Closes a temporary chat and stops its turn. Returns whether it existed.
    pub fn close_temporary_chat(&self, owner: UserId, chat: ChatId) -> bool {
        let Some(storage) = self.temporary.remove(owner, chat) else { return false };
        let turn = self.find(owner, chat);
        self.stop_here(owner, chat);
        self.tasks.spawn("temporary", async move {
            // The turn writes its end to this store.
            if let Some(turn) = turn {
                drop(tokio::time::timeout(MAX_STOP_WAIT, turn.event_log.closed()).await);
            }
            storage.close().await;
        });
        true
    }

    /// Closes all temporary chats of a user.
    pub fn close_temporary_chats(&self, owner: UserId) {
        for chat in self.temporary.ids(owner) {
            self.close_temporary_chat(owner, chat);
        }
    }

    /// Closes temporary chats that are no longer used.
    pub fn close_unused_temporary_chats(&self) {
        for (owner, chat) in self.temporary.list_unused(|user| self.events.has_subscribers(user)) {
            // A chat with an answer in progress stays: its user is likely to come back.
            if self.find(owner, chat).is_none() {
                self.close_temporary_chat(owner, chat);
            }
        }
    }
}
