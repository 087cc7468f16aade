//! Chats that are never written down. Each is a small database in the memory of this process, and gone with it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::attachment::Attachment;
use domain::{AttachmentId, ChatId, Timestamp, UserId};
use store::Store;

use crate::app::App;

/// Temporary chats of one person; the one that was used longest ago gives way to a fourth.
const PER_PERSON: usize = 3;
/// Of everybody: an empty one takes about half a megabyte.
const ALL: usize = 300;
/// Seconds for which one stays that nobody uses, with no page of its person in sight: a tab may be hidden for a while.
const FORSAKEN: i64 = 2 * 3600;
/// Seconds for which one stays that nobody uses.
const UNUSED: i64 = 24 * 3600;
/// How long the turn of a chat that is dropped may take to end before its database goes.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Why there is no temporary chat.
#[derive(Debug, thiserror::Error)]
pub enum TemporaryError {
    /// Another process may get the next request, and has nothing to read.
    #[error(
        "temporary chats need a server that runs alone, because nothing of them is kept where another one could read it"
    )]
    SeveralNodes,
    /// The memory for them is used up.
    #[error("too many temporary chats are open at once; close one, or try again later")]
    TooMany,
    /// No database in memory.
    #[error(transparent)]
    Open(#[from] store::OpenError),
    /// The database.
    #[error(transparent)]
    Store(#[from] store::Error),
}

#[derive(Debug)]
struct Kept {
    owner: UserId,
    store: Store,
    used_at: Timestamp,
}

/// The temporary chats of this process.
#[derive(Debug, Default)]
pub struct Temporary {
    chats: Mutex<HashMap<ChatId, Kept>>,
}

impl Temporary {
    /// Begins one.
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
            let oldest = oldest.map(|(id, _)| *id).filter(|_| count >= PER_PERSON);
            if chats.len() >= ALL && oldest.is_none() {
                return Err(TemporaryError::TooMany);
            }
            chats.insert(chat, Kept { owner, store, used_at: now });
            oldest
        };
        if let Some(oldest) = oldest {
            self.close(app, owner, oldest);
        }
        Ok(chat)
    }

    /// Where a chat of the owner's is kept, if it is a temporary one.
    pub fn home(&self, app: &App, owner: UserId, chat: ChatId) -> Option<Store> {
        let mut chats = self.chats();
        let kept = chats.get_mut(&chat).filter(|kept| kept.owner == owner)?;
        kept.used_at = app.clock.now();
        Some(kept.store.clone())
    }

    /// The databases of all temporary chats of a person.
    pub fn homes(&self, owner: UserId) -> Vec<Store> {
        self.chats().values().filter(|kept| kept.owner == owner).map(|kept| kept.store.clone()).collect()
    }

    /// What waits in one of a person's to be sent with a message.
    pub async fn attachment(&self, owner: UserId, id: AttachmentId) -> Result<Option<Attachment>, store::Error> {
        for home in self.homes(owner) {
            if let Some(found) = home.get_attachment(owner, id).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Drops one, and ends its turn. Says whether there was one.
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
            if let Some(run) = run {
                drop(tokio::time::timeout(LAST_WORDS, run.log.closed()).await);
            }
            store.close().await;
        });
        true
    }

    /// Drops all of a person's.
    pub fn close_all(&self, app: &App, owner: UserId) {
        for chat in self.find(|kept| kept.owner == owner) {
            self.close(app, owner, chat.0);
        }
    }

    /// Drops those that nobody uses any more.
    pub fn sweep(&self, app: &App) {
        let now = app.clock.now();
        let is_older = |kept: &Kept, seconds: i64| kept.used_at < now.plus_seconds(-seconds);
        let unused =
            |kept: &Kept| is_older(kept, UNUSED) || (is_older(kept, FORSAKEN) && !app.events.is_followed(kept.owner));
        for (chat, owner) in self.find(unused) {
            // An answer that is being written is read by somebody who comes back.
            if app.runs.get(owner, chat).is_none() {
                self.close(app, owner, chat);
            }
        }
    }

    fn find(&self, is: impl Fn(&Kept) -> bool) -> Vec<(ChatId, UserId)> {
        self.chats().iter().filter(|(_, kept)| is(kept)).map(|(chat, kept)| (*chat, kept.owner)).collect()
    }

    fn chats(&self) -> MutexGuard<'_, HashMap<ChatId, Kept>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
