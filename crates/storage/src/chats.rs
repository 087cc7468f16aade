//! Chats (`ai_chat_sessions`) and their messages (`ai_chat_messages`).

use domain::message::{MessageStatus, Part, Role, text_of, tool_calls_of};
use domain::text::without_nul;
use domain::{ChatId, MessageId, QueuedId, Timestamp, UserId};
use uuid::Uuid;

use crate::branches::{self, Node, TurnPosition};
use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::turns::Chunk;
use crate::usage::{self, Cost};
use crate::{ChatRepository, Error, JsonText, files, trash};

/// Title of a chat before its first message (specification 3).
pub const UNTITLED: &str = "New Chat";

/// A chat of a user.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Chat {
    id: Uuid,
    /// Title.
    pub title: String,
}

impl Chat {
    /// Returns the id of the chat.
    pub fn id(&self) -> ChatId {
        ChatId(self.id)
    }
}

const GET: &str = "SELECT id, title FROM existing_chats WHERE id = $1 AND user_id = $2";

/// Locks the chat until the end of the transaction. Turns of one chat begin and end one after the other, on any node,
/// and the later one sees the changes of the earlier one. Therefore this statement, or [`LOCK`], comes first in their
/// transactions.
const TOUCH: &str = "UPDATE ai_chat_sessions SET updated_at = $3 WHERE id = $1 AND user_id = $2 AND deleted_at IS NULL";

/// Locks the chat like [`TOUCH`], sets its title if it has no messages yet, and returns whether it did.
const TOUCH_AND_NAME: &str = "UPDATE ai_chat_sessions SET updated_at = $3, title = CASE
      WHEN EXISTS (SELECT 1 FROM ai_chat_messages WHERE session_id = $1) THEN title ELSE $4 END
    WHERE id = $1 AND user_id = $2 AND deleted_at IS NULL
    RETURNING NOT EXISTS (SELECT 1 FROM ai_chat_messages WHERE session_id = $1)";

/// Replaces the title of a chat. What the chat was last used at stays: its user did nothing.
const REPLACE_TITLE: &str = "UPDATE ai_chat_sessions SET title = $4
    WHERE id = $1 AND user_id = $2 AND title = $3 AND deleted_at IS NULL";

/// Locks the chat for a transaction that has to read before [`TOUCH`]. PostgreSQL only: SQLite has a single writer.
const LOCK: &str = "SELECT id FROM existing_chats WHERE id = $1 AND user_id = $2 FOR UPDATE";

/// Inserts a user message after all existing ones, even if the clock of another node is ahead or its transaction was
/// faster.
const INSERT_USER_MESSAGE: &str =
    "INSERT INTO ai_chat_messages (id, session_id, role, content, tool_calls, parts, created_at)
    SELECT :id, s.id, 'user', :content, '[]', :parts, COALESCE((SELECT m.created_at + 1 FROM ai_chat_messages m
      WHERE m.session_id = :chat AND m.created_at >= :now ORDER BY m.created_at DESC LIMIT 1), :now)
    FROM existing_chats s WHERE s.id = :chat AND s.user_id = :owner
    ON CONFLICT (id) DO NOTHING";

/// Inserts an assistant message, with the same rule for its time.
const INSERT_ANSWER: &str = "INSERT INTO ai_chat_messages
      (id, session_id, role, content, tool_calls, parts, status, error, model, created_at)
    SELECT :id, s.id, 'assistant', :content, :tool_calls, :parts, :status, :error, :model,
      COALESCE((SELECT m.created_at + 1 FROM ai_chat_messages m
      WHERE m.session_id = :chat AND m.created_at >= :now ORDER BY m.created_at DESC LIMIT 1), :now)
    FROM existing_chats s WHERE s.id = :chat AND s.user_id = :owner
    ON CONFLICT (id) DO NOTHING";

const LIST_MESSAGES: &str = "SELECT m.id, m.role, m.content, m.parts, m.created_at FROM ai_chat_messages m
    JOIN existing_chats s ON s.id = m.session_id
    WHERE m.session_id = $1 AND s.user_id = $2 AND m.inactive_since IS NULL ORDER BY m.created_at DESC, m.id DESC LIMIT $3";

const HAS_MESSAGE: &str = "SELECT EXISTS (SELECT 1 FROM ai_chat_messages m JOIN existing_chats s ON s.id = m.session_id
    WHERE m.id = $1 AND m.session_id = $2 AND s.user_id = $3)";

/// A message as it is read for a turn.
#[derive(Debug, Clone)]
pub struct StoredMessage {
    /// Its id.
    pub id: MessageId,
    /// Its author.
    pub role: Role,
    /// Text.
    pub content: String,
    /// Parts of an assistant message, or the attachments and files of a user message.
    pub parts: Vec<Part>,
    /// Time of creation.
    pub created_at: Timestamp,
}

#[derive(sqlx::FromRow)]
pub(crate) struct MessageRow {
    id: Uuid,
    role: String,
    content: String,
    parts: Option<JsonText<Vec<Part>>>,
    created_at: i64,
}

impl From<MessageRow> for StoredMessage {
    fn from(row: MessageRow) -> Self {
        Self {
            id: MessageId(row.id),
            role: if row.role == "user" { Role::User } else { Role::Assistant },
            content: row.content,
            parts: row.parts.map(|parts| parts.0).unwrap_or_default(),
            created_at: Timestamp(row.created_at),
        }
    }
}

/// The assistant message of a turn that has ended, complete or not.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Id of the message, known since the start of the turn.
    pub id: MessageId,
    /// Parts, in order. Text and tool calls are derived from them.
    pub parts: Vec<Part>,
    /// State in which the response ended.
    pub status: MessageStatus,
    /// Error message for the user.
    pub error: Option<String>,
    /// Model, as `provider/name`.
    pub model: String,
    /// Costs of model calls of this turn that are not recorded yet.
    pub costs: Vec<Cost>,
}

impl ChatRepository<'_> {
    /// Returns a user's [`Chat`] by its id.
    pub async fn get(self, owner: UserId, chat: ChatId) -> Result<Option<Chat>, Error> {
        let row =
            read!(self.storage, |c| sqlx::query_as::<_, Chat>(GET).bind(chat.0).bind(owner.0).fetch_optional(c).await)?;
        Ok(row)
    }

    /// Replaces the title of a chat, unless the chat has another one than `current` by now. Returns whether it did.
    pub async fn replace_title(self, owner: UserId, chat: ChatId, current: &str, title: &str) -> Result<bool, Error> {
        let replaced = write!(self.storage, |c| sqlx::query(REPLACE_TITLE)
            .bind(chat.0)
            .bind(owner.0)
            .bind(current)
            .bind(title)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(replaced > 0)
    }

    /// Returns the newest `limit` messages of the active branch of a chat, oldest first.
    pub async fn list_messages(self, owner: UserId, chat: ChatId, limit: i64) -> Result<Vec<StoredMessage>, Error> {
        let mut rows = read!(self.storage, |c| sqlx::query_as::<_, MessageRow>(LIST_MESSAGES)
            .bind(chat.0)
            .bind(owner.0)
            .bind(limit)
            .fetch_all(c)
            .await)?;
        // The newest messages are selected, then put in chronological order.
        rows.reverse();
        Ok(rows.into_iter().map(StoredMessage::from).collect())
    }

    /// Returns whether a chat of the owner contains a message, on any branch.
    pub async fn has_message(self, owner: UserId, chat: ChatId, message: MessageId) -> Result<bool, Error> {
        let found = read!(self.storage, |c| sqlx::query_scalar::<_, bool>(HAS_MESSAGE)
            .bind(message.0)
            .bind(chat.0)
            .bind(owner.0)
            .fetch_one(c)
            .await)?;
        Ok(found)
    }

    /// Stores the user message and opens its turn, both or neither. The first message of a chat sets its title to
    /// `title`.
    ///
    /// Returns whether the title was set, or `None` if the turn cannot begin at [`NewTurn::place`]: there is no such
    /// message, its role does not fit, or the queued message is gone or was edited.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the chat does not belong to the owner, [`Error::Conflict`] if a turn of the chat is still
    /// running.
    pub async fn insert_turn(self, turn: &NewTurn, title: &str) -> Result<Option<bool>, Error> {
        let content = turn.content.clone().map(without_nul);
        let title = without_nul(title.to_owned());
        let tools = JsonText(&turn.tools);
        let mut parts = (!turn.parts.is_empty()).then(|| JsonText(turn.parts.clone()));
        transaction!(self.storage, |tx| {
            // Both cases read before they write. Without the lock, another node could change what was read.
            if self.storage.is_shared() && (turn.queued.is_some() || turn.place.message().is_some()) {
                sqlx::query(LOCK).bind(turn.chat.0).bind(turn.owner.0).execute(&mut *tx).await?;
            }
            if let Some(queued) = turn.queued {
                let taken = sqlx::query(crate::queue::TAKE).bind(queued.0).bind(turn.chat.0).bind(turn.owner.0);
                // The text is a condition, because the queued message may have been edited in the meantime.
                if taken.bind(&content).execute(&mut *tx).await?.rows_affected() == 0 {
                    return Ok(None);
                }
            }
            if let Some(at) = turn.place.message() {
                let nodes = sqlx::query_as::<_, Node>(branches::LIST_NODES).bind(turn.chat.0).bind(turn.owner.0);
                let nodes = nodes.fetch_all(&mut *tx).await?;
                let Some(moves) = branches::begin(&nodes, turn.place, content.is_some()) else { return Ok(None) };
                branches::make!(tx, moves, turn.chat, turn.owner, turn.now);
                // An edited message without attachments of its own keeps those of the message it replaces.
                if content.is_some() && parts.is_none() {
                    let older = sqlx::query_as::<_, (Option<JsonText<Vec<Part>>>,)>(branches::GET_PARTS);
                    (parts,) = older.bind(at.0).bind(turn.owner.0).fetch_one(&mut *tx).await?;
                }
            }
            let named = sqlx::query_scalar::<_, bool>(TOUCH_AND_NAME)
                .bind(turn.chat.0)
                .bind(turn.owner.0)
                .bind(turn.now.0)
                .bind(&title)
                .fetch_optional(&mut *tx)
                .await?
                .ok_or(Error::NotFound)?;
            if let Some(content) = &content {
                loop {
                    let inserted = query_named!(
                        INSERT_USER_MESSAGE,
                        id = turn.user_message.0,
                        chat = turn.chat.0,
                        content = content,
                        now = turn.now.0,
                        owner = turn.owner.0,
                        parts = &parts
                    )
                    .execute(&mut *tx)
                    .await?;
                    if inserted.rows_affected() == 1 {
                        break;
                    }
                    // Messages of own deleted chats do not keep their ids.
                    let purged = sqlx::query(trash::PURGE_MESSAGE).bind(turn.owner.0).bind(turn.user_message.0);
                    if purged.execute(&mut *tx).await?.rows_affected() == 0 {
                        return Err(Error::Conflict("ai_chat_messages.id".to_owned()));
                    }
                }
                let named = parts.as_ref().map(|parts| files::named_in(&parts.0)).unwrap_or_default();
                files::hold_files!(tx, turn.owner, turn.chat, turn.user_message.0, &named);
            }
            // A sent attachment is stored in the message's parts; its draft is deleted.
            for part in &turn.parts {
                let Part::Attachment { attachment } = part else { continue };
                sqlx::query(crate::attachments::DELETE)
                    .bind(attachment.id.0)
                    .bind(turn.owner.0)
                    .execute(&mut *tx)
                    .await?;
            }
            // A unique index on running turns rejects a second one for the same chat, which becomes `Error::Conflict`.
            query_named!(
                crate::turns::INSERT,
                id = turn.id.0,
                chat = turn.chat.0,
                owner = turn.owner.0,
                answer = turn.answer.0,
                model = &turn.model,
                tools = &tools,
                now = turn.now.0,
                node = self.storage.node.0
            )
            .execute(&mut *tx)
            .await?;
            Ok(Some(named))
        })
    }

    /// Ends a turn: stores the assistant message and the costs, closes the turn and deletes its journal.
    ///
    /// Where other nodes may follow the turn, the journal remains for a while, and `last` is appended as its end.
    /// Returns `false` if there is nothing to end: the turn has ended already, or another node has taken it over.
    pub async fn finish_turn(
        self,
        owner: UserId,
        chat: ChatId,
        turn: domain::TurnId,
        answer: &Answer,
        last: Option<&Chunk>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let content = without_nul(text_of(&answer.parts));
        let tool_calls = JsonText(tool_calls_of(&answer.parts));
        let parts = JsonText(&answer.parts);
        let written = transaction!(self.storage, |tx| {
            // First, so that turns of the chat end one after the other, see `TOUCH`.
            sqlx::query(TOUCH).bind(chat.0).bind(owner.0).bind(now.0).execute(&mut *tx).await?;
            // The end of the log must be written before the turn is closed, because the insert requires a running turn.
            if let Some(chunk) = last.filter(|_| self.storage.is_shared()) {
                sqlx::query(crate::turns::INSERT_CHUNK)
                    .bind(chunk.turn.0)
                    .bind(chunk.seq)
                    .bind(&chunk.payload)
                    .bind(self.storage.node.0)
                    .execute(&mut *tx)
                    .await?;
            }
            let closed = query_named!(
                crate::turns::CLOSE,
                turn = turn.0,
                owner = owner.0,
                status = answer.status.as_str(),
                now = now.0,
                node = self.storage.node.0
            )
            .execute(&mut *tx)
            .await?
            .rows_affected();
            // The error rolls back. If another node has taken over the turn, it writes the message.
            if closed == 0 {
                return Err(Error::NotFound);
            }
            query_named!(
                INSERT_ANSWER,
                id = answer.id.0,
                chat = chat.0,
                content = &content,
                tool_calls = &tool_calls,
                parts = &parts,
                status = answer.status.as_str(),
                error = answer.error.as_deref(),
                model = &answer.model,
                now = now.0,
                owner = owner.0
            )
            .execute(&mut *tx)
            .await?;
            for cost in &answer.costs {
                usage::insert_cost!(&mut *tx, owner, cost, now)?;
            }
            // No other node can follow the turn, so that its journal is not needed any more.
            if !self.storage.is_shared() {
                sqlx::query(crate::turns::DELETE_CHUNKS).bind(turn.0).execute(&mut *tx).await?;
            }
            // Only turns with tool calls can have tasks and interactions; most turns save two statements.
            if answer.parts.iter().any(|part| matches!(part, Part::ToolCall { .. })) {
                sqlx::query(crate::tool_tasks::DELETE_ALL).bind(turn.0).bind(owner.0).execute(&mut *tx).await?;
                sqlx::query(crate::interactions::DELETE_OF_TURN).bind(turn.0).bind(owner.0).execute(&mut *tx).await?;
            }
            Ok(())
        });
        // Outside the transaction: PostgreSQL serializes commits that notify.
        self.storage.notify_of_turns([turn]);
        match written {
            Err(Error::NotFound) => Ok(false),
            written => written.map(|()| true),
        }
    }
}

/// The input of [`ChatRepository::insert_turn`](crate::ChatRepository::insert_turn).
#[derive(Debug, Clone)]
pub struct NewTurn {
    /// Owner of the chat.
    pub owner: UserId,
    /// Chat.
    pub chat: ChatId,
    /// Id of the new turn.
    pub id: domain::TurnId,
    /// Id of the user message.
    pub user_message: MessageId,
    /// Id of the assistant message that the turn will write.
    pub answer: MessageId,
    /// Text of the user message; `None` if a response is regenerated or continued.
    pub content: Option<String>,
    /// Position in the chat at which the turn begins.
    pub place: TurnPosition,
    /// Queued message that is sent by this turn.
    pub queued: Option<QueuedId>,
    /// Attachments and files of the user message.
    pub parts: Vec<Part>,
    /// Model, as `provider/name`.
    pub model: String,
    /// Tools that the turn may use: a JSON list of `{name, serverName}`.
    pub tools: serde_json::Value,
    /// Current time.
    pub now: Timestamp,
}
