//! Messages that users have sent while a turn was running, in the order in which they will be sent.

use domain::message::Part;
use domain::text::without_nul;
use domain::{ChatId, QueuedId, Timestamp, UserId};
use uuid::Uuid;

use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::{Error, JsonText, QueuedMessageRepository, files};

const COUNT: &str = "SELECT COUNT(*) FROM queued_messages WHERE session_id = $1 AND user_id = $2";

const COUNT_OWN: &str = "SELECT COUNT(*) FROM queued_messages WHERE user_id = $1";

const INSERT: &str = "INSERT INTO queued_messages (id, session_id, user_id, content, parts, tools, position)
    SELECT :id, id, user_id, :content, :parts, :tools, :now FROM existing_chats WHERE id = :chat AND user_id = :owner";

const LIST: &str = "SELECT id, content, parts, tools FROM queued_messages
    WHERE session_id = $1 AND user_id = $2 ORDER BY position, id";

const UPDATE: &str = "UPDATE queued_messages SET content = $4 WHERE id = $1 AND session_id = $2 AND user_id = $3";

/// Moves a message before the first one. Positions are timestamps, so that smaller values are always free.
const FIRST: &str = "UPDATE queued_messages
    SET position = (SELECT MIN(q.position) - 1 FROM queued_messages q WHERE q.session_id = $2 AND q.user_id = $3)
    WHERE id = $1 AND session_id = $2 AND user_id = $3";

const DELETE: &str = "DELETE FROM queued_messages WHERE id = $1 AND session_id = $2 AND user_id = $3";

/// Removes a message in order to send it, unless its text was edited in the meantime.
pub(crate) const TAKE: &str =
    "DELETE FROM queued_messages WHERE id = $1 AND session_id = $2 AND user_id = $3 AND content = $4";

/// Maximum number of queued messages per chat.
const MAX_QUEUED_MESSAGES: i64 = 50;

/// A message in the queue of a chat.
#[derive(Debug, Clone)]
pub struct QueuedMessage {
    /// Its id.
    pub id: QueuedId,
    /// Text of the message.
    pub content: String,
    /// Attachments and files of the message.
    pub parts: Vec<Part>,
    /// Tools that its turn may use: a JSON list of `{name, serverName, serverId}`.
    pub tools: serde_json::Value,
}

#[derive(sqlx::FromRow)]
pub(crate) struct QueuedRow {
    id: Uuid,
    content: String,
    parts: JsonText<Vec<Part>>,
    tools: JsonText<serde_json::Value>,
}

impl QueuedMessageRepository<'_> {
    /// Appends a message to the queue of a chat.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the chat does not belong to the owner, [`Error::Conflict`] if the chat already has 50
    /// queued messages, or the owner's chats together have `most_of_owner`.
    pub async fn insert(
        self,
        owner: UserId,
        chat: ChatId,
        message: &QueuedMessage,
        most_of_owner: usize,
        now: Timestamp,
    ) -> Result<(), Error> {
        let content = without_nul(message.content.clone());
        transaction!(self.storage, |tx| {
            let queued = sqlx::query_scalar::<_, i64>(COUNT).bind(chat.0).bind(owner.0).fetch_one(&mut *tx).await?;
            // On PostgreSQL, parallel requests may exceed the limit slightly. It only protects against abuse.
            if queued >= MAX_QUEUED_MESSAGES {
                return Err(Error::Conflict(format!("{MAX_QUEUED_MESSAGES} messages that wait")));
            }
            let own = sqlx::query_scalar::<_, i64>(COUNT_OWN).bind(owner.0).fetch_one(&mut *tx).await?;
            if own >= i64::try_from(most_of_owner).unwrap_or(i64::MAX) {
                return Err(Error::Conflict("messages of the person that wait".to_owned()));
            }
            let inserted = query_named!(
                INSERT,
                id = message.id.0,
                chat = chat.0,
                owner = owner.0,
                content = &content,
                parts = JsonText(&message.parts),
                tools = JsonText(&message.tools),
                now = now.0
            )
            .execute(&mut *tx)
            .await?;
            if inserted.rows_affected() == 0 {
                return Err(Error::NotFound);
            }
            files::hold_files!(tx, owner, chat, message.id.0, &files::named_in(&message.parts));
            Ok(())
        })
    }

    /// Returns the [`QueuedMessage`]s of a chat, in the order in which they will be sent.
    pub async fn list(self, owner: UserId, chat: ChatId) -> Result<Vec<QueuedMessage>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, QueuedRow>(LIST)
            .bind(chat.0)
            .bind(owner.0)
            .fetch_all(c)
            .await)?;
        let message = |row: QueuedRow| QueuedMessage {
            id: QueuedId(row.id),
            content: row.content,
            parts: row.parts.0,
            tools: row.tools.0,
        };
        Ok(rows.into_iter().map(message).collect())
    }

    /// Changes the text of a queued message. Returns whether it was still queued.
    pub async fn update(self, owner: UserId, chat: ChatId, id: QueuedId, content: &str) -> Result<bool, Error> {
        let content = without_nul(content.to_owned());
        let done = write!(self.storage, |c| sqlx::query(UPDATE)
            .bind(id.0)
            .bind(chat.0)
            .bind(owner.0)
            .bind(&content)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(done == 1)
    }

    /// Moves a queued message to the front. Returns whether it was still queued.
    pub async fn put_first(self, owner: UserId, chat: ChatId, id: QueuedId) -> Result<bool, Error> {
        self.change_queued(FIRST, owner, chat, id).await
    }

    /// Removes a queued message. Returns whether it was still queued.
    pub async fn delete(self, owner: UserId, chat: ChatId, id: QueuedId) -> Result<bool, Error> {
        self.change_queued(DELETE, owner, chat, id).await
    }

    async fn change_queued(
        self,
        statement: &'static str,
        owner: UserId,
        chat: ChatId,
        id: QueuedId,
    ) -> Result<bool, Error> {
        let done = write!(self.storage, |c| sqlx::query(statement)
            .bind(id.0)
            .bind(chat.0)
            .bind(owner.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(done == 1)
    }
}
