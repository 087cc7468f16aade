//! Temporary chats, which are never written to disk. Each has a small in-memory database and is lost with the
//! process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::attachment::Attachment;
use domain::{AttachmentId, ChatId, Clock, Timestamp, UserId};
use storage::Storage;

/// Maximum number of temporary chats per user; a further one replaces the least recently used.
const MAX_CHATS_PER_USER: usize = 3;
/// Maximum number of temporary chats of all users; an empty one takes about half a megabyte.
const MAX_CHATS: usize = 300;
/// Time in seconds after which an unused chat is closed if its user has no client connected. A tab may be suspended
/// for a while.
const ABANDONED_TTL_SECONDS: i64 = 2 * 3600;
/// Time in seconds after which any unused chat is closed.
const IDLE_TTL_SECONDS: i64 = 24 * 3600;

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
    Open(#[from] storage::OpenError),
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

/// A temporary chat, as the process holds it.
#[derive(Debug)]
struct TemporaryChat {
    owner: UserId,
    storage: Storage,
    used_at: Timestamp,
}

/// Temporary chats of this process, each with its [`Storage`]. Cheap to clone.
#[derive(Debug, Clone)]
pub struct TemporaryChats {
    database: Storage,
    clock: Arc<dyn Clock>,
    chats: Arc<Mutex<HashMap<ChatId, TemporaryChat>>>,
}

/// A temporary chat that was opened.
#[derive(Debug)]
pub struct OpenedChat {
    /// Id of the chat.
    pub id: ChatId,
    /// The user's least recently used temporary chat, which has to be closed because there are too many.
    pub superseded: Option<ChatId>,
}

impl TemporaryChats {
    /// Creates an empty set beside the stored chats of `database`.
    pub fn new(database: Storage, clock: Arc<dyn Clock>) -> Self {
        Self { database, clock, chats: Arc::default() }
    }

    /// Opens a temporary chat.
    ///
    /// # Errors
    ///
    /// See [`TemporaryError`].
    pub async fn open(&self, owner: UserId) -> Result<OpenedChat, TemporaryError> {
        if self.database.is_shared() && !self.database.nodes().list_others().await?.is_empty() {
            return Err(TemporaryError::SeveralNodes);
        }
        let (id, now) = (ChatId::fresh(), self.clock.now());
        let storage = Storage::in_memory(owner, id, now).await?;
        let mut chats = self.chats();
        let of_owner = chats.iter().filter(|(_, chat)| chat.owner == owner);
        let (count, oldest) = (of_owner.clone().count(), of_owner.min_by_key(|(_, chat)| chat.used_at));
        // Chosen under the lock, so that two requests at once do not both close the same chat.
        let superseded = oldest.map(|(id, _)| *id).filter(|_| count >= MAX_CHATS_PER_USER);
        if chats.len() >= MAX_CHATS && superseded.is_none() {
            return Err(TemporaryError::TooMany);
        }
        chats.insert(id, TemporaryChat { owner, storage, used_at: now });
        Ok(OpenedChat { id, superseded })
    }

    /// Returns the store of a chat: that of the user's temporary chat, or the database. Everything that holds content
    /// of a chat goes there.
    pub fn store_for(&self, owner: UserId, chat: ChatId) -> Storage {
        self.find(owner, chat).unwrap_or_else(|| self.database.clone())
    }

    /// Returns the store of a chat if it is a temporary chat of the user, and marks it as used.
    pub fn find(&self, owner: UserId, chat: ChatId) -> Option<Storage> {
        let mut chats = self.chats();
        let found = chats.get_mut(&chat).filter(|chat| chat.owner == owner)?;
        found.used_at = self.clock.now();
        Some(found.storage.clone())
    }

    /// Returns the stores of a user's temporary chats.
    pub fn stores(&self, owner: UserId) -> Vec<Storage> {
        self.chats().values().filter(|chat| chat.owner == owner).map(|chat| chat.storage.clone()).collect()
    }

    /// Returns an attachment that was prepared for a message in one of the user's temporary chats.
    ///
    /// # Errors
    ///
    /// Fails if an in-memory database fails.
    pub async fn attachment(&self, owner: UserId, id: AttachmentId) -> Result<Option<Attachment>, storage::Error> {
        for storage in self.stores(owner) {
            if let Some(found) = storage.attachments().get(owner, id).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Removes a temporary chat of the user. Returns its store, to be closed when the chat's turn has ended.
    pub fn remove(&self, owner: UserId, chat: ChatId) -> Option<Storage> {
        let mut chats = self.chats();
        chats.get(&chat).filter(|chat| chat.owner == owner)?;
        chats.remove(&chat).map(|chat| chat.storage)
    }

    /// Returns the ids of a user's temporary chats.
    pub fn ids(&self, owner: UserId) -> Vec<ChatId> {
        self.chats().iter().filter(|(_, chat)| chat.owner == owner).map(|(id, _)| *id).collect()
    }

    /// Returns the temporary chats that are no longer used, with their users. `is_connected` tells whether a user has
    /// a client connected.
    pub fn list_unused(&self, is_connected: impl Fn(UserId) -> bool) -> Vec<(UserId, ChatId)> {
        let now = self.clock.now();
        let is_older = |chat: &TemporaryChat, seconds: i64| chat.used_at < now.plus_seconds(-seconds);
        let is_unused = |chat: &TemporaryChat| {
            is_older(chat, IDLE_TTL_SECONDS) || (is_older(chat, ABANDONED_TTL_SECONDS) && !is_connected(chat.owner))
        };
        let chats = self.chats();
        chats.iter().filter(|(_, chat)| is_unused(chat)).map(|(id, chat)| (chat.owner, *id)).collect()
    }

    fn chats(&self) -> MutexGuard<'_, HashMap<ChatId, TemporaryChat>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
