//! Turns of temporary chats: they end when their chat is closed, and before its in-memory database is.

use domain::{ChatId, UserId};

use super::{LAST_WORDS, Runs};
use crate::app::App;
use crate::chats::temporary::TemporaryError;

impl Runs {
    /// Opens a temporary chat, and closes the user's least recently used one if there are too many.
    ///
    /// # Errors
    ///
    /// See [`TemporaryError`].
    pub async fn open_temporary_chat(&self, app: &App, owner: UserId) -> Result<ChatId, TemporaryError> {
        let opened = app.temporary.open(owner).await?;
        if let Some(superseded) = opened.superseded {
            self.close_temporary_chat(app, owner, superseded);
        }
        Ok(opened.id)
    }

    /// Closes a temporary chat and stops its turn. Returns whether it existed.
    pub fn close_temporary_chat(&self, app: &App, owner: UserId, chat: ChatId) -> bool {
        let Some(store) = app.temporary.remove(owner, chat) else { return false };
        let run = self.get(owner, chat);
        self.end_here(owner, chat);
        app.tasks.spawn("temporary", async move {
            // The turn writes its end to this store.
            if let Some(run) = run {
                drop(tokio::time::timeout(LAST_WORDS, run.log.closed()).await);
            }
            store.close().await;
        });
        true
    }

    /// Closes all temporary chats of a user.
    pub fn close_temporary_chats(&self, app: &App, owner: UserId) {
        for chat in app.temporary.ids(owner) {
            self.close_temporary_chat(app, owner, chat);
        }
    }

    /// Closes temporary chats that are no longer used.
    pub fn close_unused_temporary_chats(&self, app: &App) {
        for (owner, chat) in app.temporary.list_unused(|user| app.events.has_subscribers(user)) {
            // A chat with an answer in progress stays: its user is likely to come back.
            if self.get(owner, chat).is_none() {
                self.close_temporary_chat(app, owner, chat);
            }
        }
    }
}
