//! Temporary chats, which are never written to disk. Each has a small in-memory database and is lost with the
//! process.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::attachment::Attachment;
use domain::{AttachmentId, ChatId, Timestamp, UserId};
use store::Store;

use crate::app::App;

/// Maximum number of temporary chats per user; a further one replaces the least recently used.
const PER_PERSON: usize = 3;
/// Maximum number of temporary chats of all users; an empty one takes about half a megabyte.
const ALL: usize = 300;
/// Time in seconds after which an unused chat is closed if its user has no client connected. A tab may be suspended
/// for a while.
const FORSAKEN: i64 = 2 * 3600;
/// Time in seconds after which any unused chat is closed.
const UNUSED: i64 = 24 * 3600;
/// Longest wait for the turn of a closed chat to end before its database is closed.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Reason for which a temporary chat could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum TemporaryError {
    /// Several nodes are running, and the next request may reach one that does not have the chat.
    #[error(
        "temporary chats need a server that runs alone, because nothing of them is kept where another one could read it"
    )]
    SeveralNodes,
    /// The limit of all temporary chats is reached.
    #[error("too many temporary chats are open at once; close one, or try again later")]
    TooMany,
    /// The in-memory database could not be created.
    #[error(transparent)]
    Open(#[from] store::OpenError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] store::Error),
}

#[derive(Debug)]
/// A temporary chat, as the process holds it.
struct Kept {
    owner: UserId,
    store: Store,
    used_at: Timestamp,
}

/// Temporary chats of this process, each with its [`Store`].
#[derive(Debug, Default)]
pub struct Temporary {
    chats: Mutex<HashMap<ChatId, Kept>>,
}

impl Temporary {
    /// Opens a temporary chat, and closes the user's least recently used one if there are too many.
    ///
    /// # Errors
    ///
    /// See [`TemporaryError`].
    pub async fn open(&self, app: &App, owner: UserId) -> Result<ChatId, TemporaryError> {
        if app.store.is_shared() && !app.store.list_other_nodes().await?.is_empty() {
            return Err(TemporaryError::SeveralNodes);
        }
        let (chat, now) = (ChatId::fresh(), app.clock.now());
        let store = Store::in_memory(owner, chat, now).await?;
        let oldest = {
            let mut chats = self.chats();
            let of_owner = chats.iter().filter(|(_, kept)| kept.owner == owner);
            let (count, oldest) = (of_owner.clone().count(), of_owner.min_by_key(|(_, kept)| kept.used_at));
            // Chosen under the lock, so that two requests at once do not both close the same chat.
            let oldest = oldest.map(|(id, _)| *id).filter(|_| count >= PER_PERSON);
            if chats.len() >= ALL && oldest.is_none() {
                return Err(TemporaryError::TooMany);
            }
            chats.insert(chat, Kept { owner, store, used_at: now });
            oldest
        };
        // After the lock is released: `close` takes it again.
        if let Some(oldest) = oldest {
            self.close(app, owner, oldest);
        }
        Ok(chat)
    }

    /// Returns the store of a chat if it is a temporary chat of the user, and marks it as used.
    pub fn home(&self, app: &App, owner: UserId, chat: ChatId) -> Option<Store> {
        let mut chats = self.chats();
        let kept = chats.get_mut(&chat).filter(|kept| kept.owner == owner)?;
        kept.used_at = app.clock.now();
        Some(kept.store.clone())
    }

    /// Returns the stores of a user's temporary chats.
    pub fn homes(&self, owner: UserId) -> Vec<Store> {
        self.chats().values().filter(|kept| kept.owner == owner).map(|kept| kept.store.clone()).collect()
    }

    /// Returns an attachment that was prepared for a message in one of the user's temporary chats.
    pub async fn attachment(&self, owner: UserId, id: AttachmentId) -> Result<Option<Attachment>, store::Error> {
        for home in self.homes(owner) {
            if let Some(found) = home.get_attachment(owner, id).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Closes a temporary chat and stops its turn. Returns whether it existed.
    pub fn close(&self, app: &App, owner: UserId, chat: ChatId) -> bool {
        let kept = {
            let mut chats = self.chats();
            if chats.get(&chat).is_none_or(|kept| kept.owner != owner) {
                return false;
            }
            chats.remove(&chat)
        };
        let Some(Kept { store, .. }) = kept else { return false };
        let run = app.runs.get(owner, chat);
        app.runs.end_here(owner, chat);
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
    pub fn close_all(&self, app: &App, owner: UserId) {
        for chat in self.find(|kept| kept.owner == owner) {
            self.close(app, owner, chat.0);
        }
    }

    /// Closes temporary chats that are no longer used.
    pub fn sweep(&self, app: &App) {
        let now = app.clock.now();
        let is_older = |kept: &Kept, seconds: i64| kept.used_at < now.plus_seconds(-seconds);
        let unused = |kept: &Kept| {
            is_older(kept, UNUSED) || (is_older(kept, FORSAKEN) && !app.events.has_subscribers(kept.owner))
        };
        for (chat, owner) in self.find(unused) {
            // A chat with an answer in progress stays: its user is likely to come back.
            if app.runs.get(owner, chat).is_none() {
                self.close(app, owner, chat);
            }
        }
    }

    /// Returns the chats that satisfy a condition, with their users.
    fn find(&self, is: impl Fn(&Kept) -> bool) -> Vec<(ChatId, UserId)> {
        self.chats().iter().filter(|(_, kept)| is(kept)).map(|(chat, kept)| (*chat, kept.owner)).collect()
    }

    fn chats(&self) -> MutexGuard<'_, HashMap<ChatId, Kept>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
