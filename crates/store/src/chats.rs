//! Chats (`ai_chat_sessions`) and what was said in them (`ai_chat_messages`).

use domain::message::{MessageStatus, Part, Role, text_of, tool_calls_of};
use domain::text::without_nul;
use domain::{ChatId, MessageId, QueuedId, Timestamp, UserId};
use uuid::Uuid;

use crate::branches::{self, Node, Place};
use crate::dispatch::{read, transaction};
use crate::runs::Chunk;
use crate::usage::{self, Cost};
use crate::{Error, JsonText, Store, files};

/// The title of a chat before its first message (specification 3).
pub const UNTITLED: &str = "New Chat";

/// A chat of a person.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Chat {
    id: Uuid,
    /// What it is called.
    pub title: String,
}

impl Chat {
    /// Its id.
    pub fn id(&self) -> ChatId {
        ChatId(self.id)
    }
}

const GET: &str = "SELECT id, title FROM ai_chat_sessions WHERE id = $1 AND user_id = $2";

/// Turns of one chat begin and end one after the other, on whatever nodes: who comes later sees what the other has written.
/// So this, which holds the chat until its transaction ends, comes first in it, or [`LOCK`] does.
const TOUCH: &str = "UPDATE ai_chat_sessions SET updated_at = $3 WHERE id = $1 AND user_id = $2";

/// The same, and says whether the chat got its name: its first message gives it.
const TOUCH_AND_NAME: &str = "UPDATE ai_chat_sessions SET updated_at = $3, title = CASE
      WHEN EXISTS (SELECT 1 FROM ai_chat_messages WHERE session_id = $1) THEN title ELSE $4 END
    WHERE id = $1 AND user_id = $2
    RETURNING NOT EXISTS (SELECT 1 FROM ai_chat_messages WHERE session_id = $1)";

/// For what has to look before it [touches](TOUCH), on PostgreSQL; SQLite has one writer.
const LOCK: &str = "SELECT id FROM ai_chat_sessions WHERE id = $1 AND user_id = $2 FOR UPDATE";

/// A message stands after all that are there, though the clock of another node may be ahead, or its transaction may have been
/// faster.
const INSERT_USER_MESSAGE: &str =
    "INSERT INTO ai_chat_messages (id, session_id, role, content, tool_calls, parts, created_at)
    SELECT $1, s.id, 'user', $3, '[]', $6, COALESCE((SELECT m.created_at + 1 FROM ai_chat_messages m
      WHERE m.session_id = $2 AND m.created_at >= $4 ORDER BY m.created_at DESC LIMIT 1), $4)
    FROM ai_chat_sessions s WHERE s.id = $2 AND s.user_id = $5";

/// The same for an answer.
const INSERT_ANSWER: &str = "INSERT INTO ai_chat_messages
      (id, session_id, role, content, tool_calls, parts, status, error, model, created_at)
    SELECT $1, s.id, 'assistant', $3, $4, $5, $6, $7, $8, COALESCE((SELECT m.created_at + 1 FROM ai_chat_messages m
      WHERE m.session_id = $2 AND m.created_at >= $9 ORDER BY m.created_at DESC LIMIT 1), $9)
    FROM ai_chat_sessions s WHERE s.id = $2 AND s.user_id = $10
    ON CONFLICT (id) DO NOTHING";

const LIST_MESSAGES: &str = "SELECT m.id, m.role, m.content, m.parts, m.created_at FROM ai_chat_messages m
    JOIN ai_chat_sessions s ON s.id = m.session_id
    WHERE m.session_id = $1 AND s.user_id = $2 AND m.aside_at IS NULL ORDER BY m.created_at DESC, m.id DESC LIMIT $3";

const HAS_MESSAGE: &str =
    "SELECT EXISTS (SELECT 1 FROM ai_chat_messages m JOIN ai_chat_sessions s ON s.id = m.session_id
    WHERE m.id = $1 AND m.session_id = $2 AND s.user_id = $3)";

/// A message as the turn engine reads it back.
#[derive(Debug, Clone)]
pub struct StoredMessage {
    /// Its id.
    pub id: MessageId,
    /// Who said it.
    pub role: Role,
    /// The text.
    pub content: String,
    /// The parts of an answer; of a person's message, what goes with the words.
    pub parts: Vec<Part>,
    /// When it was said.
    pub created_at: Timestamp,
}

#[derive(sqlx::FromRow)]
struct MessageRow {
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

/// An answer that is complete, or as complete as it will get.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The message's id, known since the run began.
    pub id: MessageId,
    /// Its parts, in order. The text and the list of tool calls are taken from them.
    pub parts: Vec<Part>,
    /// How it ended.
    pub status: MessageStatus,
    /// What went wrong, for people.
    pub error: Option<String>,
    /// `provider/name`.
    pub model: String,
    /// What calls of models for it cost, as far as that is not written yet.
    pub costs: Vec<Cost>,
}

impl Store {
    /// A person's chat.
    pub async fn get_chat(&self, owner: UserId, chat: ChatId) -> Result<Option<Chat>, Error> {
        let row = read!(self, |c| sqlx::query_as::<_, Chat>(GET).bind(chat.0).bind(owner.0).fetch_optional(c).await)?;
        Ok(row)
    }

    /// The newest `limit` messages of the present branch of a person's chat, oldest first.
    pub async fn list_messages(&self, owner: UserId, chat: ChatId, limit: i64) -> Result<Vec<StoredMessage>, Error> {
        let mut rows = read!(self, |c| sqlx::query_as::<_, MessageRow>(LIST_MESSAGES)
            .bind(chat.0)
            .bind(owner.0)
            .bind(limit)
            .fetch_all(c)
            .await)?;
        rows.reverse();
        Ok(rows.into_iter().map(StoredMessage::from).collect())
    }

    /// Returns whether a message is stored in a chat of this owner, on whichever branch.
    pub async fn has_message(&self, owner: UserId, chat: ChatId, message: MessageId) -> Result<bool, Error> {
        let found = read!(self, |c| sqlx::query_scalar::<_, bool>(HAS_MESSAGE)
            .bind(message.0)
            .bind(chat.0)
            .bind(owner.0)
            .fetch_one(c)
            .await)?;
        Ok(found)
    }

    /// Stores the person's message and opens the run that will answer it, both or neither. The first message of a chat
    /// names it: `title` is that name. Returns whether it did; `None` when the turn cannot begin at the place that it
    /// names: there is no such message, or it is not what the turn takes it for, or it waits no more, or with other words.
    ///
    /// Errors: `NotFound` when the chat is not the owner's, `Conflict` when a run of the chat is still going on.
    pub async fn insert_turn(&self, turn: &NewTurn, title: &str) -> Result<Option<bool>, Error> {
        let content = turn.content.clone().map(without_nul);
        let title = without_nul(title.to_owned());
        let tools = JsonText(&turn.tools);
        let mut parts = (!turn.parts.is_empty()).then(|| JsonText(turn.parts.clone()));
        transaction!(self, |tx| {
            if self.is_shared() && (turn.queued.is_some() || turn.place.message().is_some()) {
                sqlx::query(LOCK).bind(turn.chat.0).bind(turn.owner.0).execute(&mut *tx).await?;
            }
            if let Some(queued) = turn.queued {
                let taken = sqlx::query(crate::queue::TAKE).bind(queued.0).bind(turn.chat.0).bind(turn.owner.0);
                if taken.bind(&content).execute(&mut *tx).await?.rows_affected() == 0 {
                    return Ok(None);
                }
            }
            if let Some(at) = turn.place.message() {
                let nodes = sqlx::query_as::<_, Node>(branches::LIST).bind(turn.chat.0).bind(turn.owner.0);
                let nodes = nodes.fetch_all(&mut *tx).await?;
                let Some(moves) = branches::begin(&nodes, turn.place, content.is_some()) else { return Ok(None) };
                branches::make!(tx, moves, turn.chat, turn.owner, turn.now);
                // What went with the words goes with the new ones.
                if content.is_some() && parts.is_none() {
                    let older = sqlx::query_as::<_, (Option<JsonText<Vec<Part>>>,)>(branches::PARTS);
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
                sqlx::query(INSERT_USER_MESSAGE)
                    .bind(turn.user_message.0)
                    .bind(turn.chat.0)
                    .bind(content)
                    .bind(turn.now.0)
                    .bind(turn.owner.0)
                    .bind(&parts)
                    .execute(&mut *tx)
                    .await?;
                let named = parts.as_ref().map(|parts| files::named_in(&parts.0)).unwrap_or_default();
                files::hold_files!(tx, turn.owner, turn.chat, turn.user_message.0, &named);
            }
            for part in &turn.parts {
                let Part::Attachment { attachment } = part else { continue };
                sqlx::query(crate::attachments::DELETE)
                    .bind(attachment.id.0)
                    .bind(turn.owner.0)
                    .execute(&mut *tx)
                    .await?;
            }
            sqlx::query(crate::runs::INSERT)
                .bind(turn.run.0)
                .bind(turn.chat.0)
                .bind(turn.owner.0)
                .bind(turn.answer.0)
                .bind(&turn.model)
                .bind(&tools)
                .bind(turn.now.0)
                .bind(self.node.0)
                .execute(&mut *tx)
                .await?;
            Ok(Some(named))
        })
    }

    /// Folds a run into its answer: the message is written, with what it cost, the run is closed, its chunks go. Where other nodes may follow
    /// them they stay a while, with `last` behind them, the end of the log. `false` when there is nothing to fold: the run
    /// has ended, or another node has taken it over.
    pub async fn finish_turn(
        &self,
        owner: UserId,
        chat: ChatId,
        run: domain::RunId,
        answer: &Answer,
        last: Option<&Chunk>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let content = without_nul(text_of(&answer.parts));
        let tool_calls = JsonText(tool_calls_of(&answer.parts));
        let parts = JsonText(&answer.parts);
        let written = transaction!(self, |tx| {
            sqlx::query(TOUCH).bind(chat.0).bind(owner.0).bind(now.0).execute(&mut *tx).await?;
            if let Some(chunk) = last.filter(|_| self.is_shared()) {
                sqlx::query(crate::runs::INSERT_CHUNK)
                    .bind(chunk.run.0)
                    .bind(chunk.seq)
                    .bind(&chunk.payload)
                    .bind(self.node.0)
                    .execute(&mut *tx)
                    .await?;
            }
            let closed = sqlx::query(crate::runs::CLOSE)
                .bind(run.0)
                .bind(owner.0)
                .bind(answer.status.as_str())
                .bind(now.0)
                .bind(self.node.0)
                .execute(&mut *tx)
                .await?
                .rows_affected();
            if closed == 0 {
                return Err(Error::NotFound);
            }
            sqlx::query(INSERT_ANSWER)
                .bind(answer.id.0)
                .bind(chat.0)
                .bind(&content)
                .bind(&tool_calls)
                .bind(&parts)
                .bind(answer.status.as_str())
                .bind(answer.error.as_deref())
                .bind(&answer.model)
                .bind(now.0)
                .bind(owner.0)
                .execute(&mut *tx)
                .await?;
            for cost in &answer.costs {
                usage::insert_cost!(&mut *tx, owner, cost, now)?;
            }
            if !self.is_shared() {
                sqlx::query(crate::runs::DELETE_CHUNKS).bind(run.0).execute(&mut *tx).await?;
            }
            if answer.parts.iter().any(|part| matches!(part, Part::ToolCall { .. })) {
                sqlx::query(crate::tool_tasks::DELETE_ALL).bind(run.0).bind(owner.0).execute(&mut *tx).await?;
                sqlx::query(crate::elicitations::FORGET).bind(run.0).bind(owner.0).execute(&mut *tx).await?;
            }
            Ok(())
        });
        self.tell_of_runs([run]);
        match written {
            Err(Error::NotFound) => Ok(false),
            written => written.map(|()| true),
        }
    }
}

/// What begins with a person's message.
#[derive(Debug, Clone)]
pub struct NewTurn {
    /// Whose chat it is.
    pub owner: UserId,
    /// The chat.
    pub chat: ChatId,
    /// The run to be opened.
    pub run: domain::RunId,
    /// The id of the person's message.
    pub user_message: MessageId,
    /// The id of the answer to be.
    pub answer: MessageId,
    /// The person's words; none when an answer is wanted anew, or goes on.
    pub content: Option<String>,
    /// Where in the chat it begins.
    pub place: Place,
    /// The place in the queue in which the words have waited.
    pub queued: Option<QueuedId>,
    /// What goes with them.
    pub parts: Vec<Part>,
    /// `provider/name`.
    pub model: String,
    /// The tools that the run may use: a JSON list of `{name, serverName}`.
    pub tools: serde_json::Value,
    /// Now.
    pub now: Timestamp,
}
