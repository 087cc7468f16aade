//! Shared snapshots of chats.

use domain::{ChatId, FileId, ShareId, Timestamp, UserId};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::db_macros::{read, transaction};
use crate::named_values::query_named;
use crate::{Error, ShareRepository, files};

/// The input of [`ShareRepository::insert`](crate::ShareRepository::insert).
#[derive(Debug, Clone)]
pub struct NewShare {
    /// Id, by which the owner refers to the share.
    pub id: ShareId,
    /// SHA-256 hash of the token in the link.
    pub token_hash: Vec<u8>,
    /// Chat.
    pub chat: ChatId,
    /// Messages at the time of sharing, a JSON list.
    pub messages: String,
    /// Files that the messages refer to.
    pub files: Vec<FileId>,
    /// Number of messages.
    pub count: i64,
    /// Whether arguments and results of tool calls are included.
    pub tools: bool,
    /// Current time.
    pub now: Timestamp,
}

/// A share as its owner sees it.
#[derive(Debug, Clone)]
pub struct Share {
    /// Its id.
    pub id: ShareId,
    /// Chat.
    pub chat: ChatId,
    /// Title of the chat at the time of sharing.
    pub title: String,
    /// Number of messages.
    pub count: i64,
    /// Whether arguments and results of tool calls are included.
    pub tools: bool,
    /// Time of creation.
    pub created_at: Timestamp,
}

/// A [`Share`] as a visitor with the link sees it.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Title of the chat at the time of sharing.
    pub title: String,
    /// Messages at the time of sharing, a JSON list.
    pub messages: String,
    /// Time of creation.
    pub created_at: Timestamp,
}

#[derive(sqlx::FromRow)]
struct ShareRow {
    id: Uuid,
    session_id: Uuid,
    title: String,
    count: i64,
    tools: bool,
    created_at: i64,
}

#[derive(sqlx::FromRow)]
struct SnapshotRow {
    title: String,
    messages: String,
    created_at: i64,
}

const COUNT: &str = "SELECT COUNT(*) FROM chat_shares WHERE user_id = $1";

// The title is copied by the statement, so that it is that of the same moment.
const INSERT: &str =
    "INSERT INTO chat_shares (id, token_hash, user_id, session_id, title, messages, count, tools, created_at)
    SELECT :id, :token_hash, user_id, id, title, :messages, :count, :tools, :now FROM existing_chats
    WHERE id = :chat AND user_id = :owner";

// Shares of a deleted chat are hidden but not deleted, because the chat can be restored.
const LIST: &str = "SELECT h.id, h.session_id, h.title, h.count, h.tools, h.created_at FROM chat_shares h
    JOIN existing_chats s ON s.id = h.session_id AND s.user_id = h.user_id
    WHERE h.user_id = $1 ORDER BY h.id DESC";

const DELETE_ALL: &str = "DELETE FROM chat_shares WHERE user_id = $1";

const DELETE: &str = "DELETE FROM chat_shares WHERE id = $1 AND user_id = $2";

// A share is not served while its chat is deleted or its owner's account is emptied.
const GET: &str = "SELECT h.title, h.messages, h.created_at FROM chat_shares h
    JOIN existing_chats s ON s.id = h.session_id AND s.user_id = h.user_id
    JOIN users u ON u.id = h.user_id AND u.deleted_at IS NULL
    WHERE h.token_hash = $1";

impl ShareRepository<'_> {
    /// Stores a share and audit events. Returns `false` and stores nothing if the user already has `most` shares.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the chat does not belong to the owner.
    pub async fn insert(
        self,
        owner: UserId,
        share: &NewShare,
        most: i64,
        events: &[NewAuditEvent],
    ) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            let count = sqlx::query_scalar::<_, i64>(COUNT).bind(owner.0).fetch_one(&mut *tx).await?;
            if count >= most {
                return Ok(false);
            }
            let inserted = query_named!(
                INSERT,
                id = share.id.0,
                token_hash = &share.token_hash,
                chat = share.chat.0,
                owner = owner.0,
                messages = &share.messages,
                count = share.count,
                tools = share.tools,
                now = share.now.0
            )
            .execute(&mut *tx)
            .await?
            .rows_affected();
            if inserted == 0 {
                return Err(Error::NotFound);
            }
            files::hold_files!(tx, owner, share.chat, share.id.0, &share.files);
            insert_events!(tx, events);
            Ok(true)
        })
    }

    /// Returns the [`Share`]s of a user, newest first.
    pub async fn list(self, owner: UserId) -> Result<Vec<Share>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, ShareRow>(LIST).bind(owner.0).fetch_all(c).await)?;
        let share = |row: ShareRow| Share {
            id: ShareId(row.id),
            chat: ChatId(row.session_id),
            title: row.title,
            count: row.count,
            tools: row.tools,
            created_at: Timestamp(row.created_at),
        };
        Ok(rows.into_iter().map(share).collect())
    }

    /// Deletes all shares of a user and stores audit events. Returns how many there were; if none, nothing is stored.
    pub async fn delete_all(self, owner: UserId, events: &[NewAuditEvent]) -> Result<u64, Error> {
        transaction!(self.storage, |tx| {
            let deleted = sqlx::query(DELETE_ALL).bind(owner.0).execute(&mut *tx).await?.rows_affected();
            if deleted == 0 {
                return Ok(0);
            }
            insert_events!(tx, events);
            Ok(deleted)
        })
    }

    /// Deletes a share and stores audit events. Returns whether it existed; otherwise nothing is stored.
    pub async fn delete(self, owner: UserId, share: ShareId, events: &[NewAuditEvent]) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            if sqlx::query(DELETE).bind(share.0).bind(owner.0).execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(false);
            }
            insert_events!(tx, events);
            Ok(true)
        })
    }

    /// Returns the snapshot behind a link, or `None` if the share or its chat is deleted. The request carries no
    /// session: the token identifies the share.
    pub async fn get_snapshot(self, token_hash: &[u8]) -> Result<Option<Snapshot>, Error> {
        let row =
            read!(self.storage, |c| sqlx::query_as::<_, SnapshotRow>(GET).bind(token_hash).fetch_optional(c).await)?;
        Ok(row.map(|row| Snapshot { title: row.title, messages: row.messages, created_at: Timestamp(row.created_at) }))
    }
}
