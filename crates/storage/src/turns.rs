//! Running turns: the node that runs each, the journal of its events, and commands to it.

use std::sync::LazyLock;

use domain::text::without_nul;
use domain::{AwaitedInteraction, ChatId, InteractionKind, MessageId, Timestamp, TurnId, UserId};
use uuid::Uuid;

use crate::db_macros::{read, transaction, write};
use crate::{Error, JsonText, TurnRepository, notify};

pub(crate) const INSERT: &str =
    "INSERT INTO turns (id, session_id, user_id, message_id, status, model, tools, created_at, node_id)
    VALUES (:id, :chat, :owner, :answer, 'running', :model, :tools, :now, :node)";

/// Ends a turn, but only on the node that runs it: another node may have taken it over.
pub(crate) const CLOSE: &str = "UPDATE turns SET status = :status, ended_at = :now
    WHERE id = :turn AND user_id = :owner AND status = 'running' AND node_id = :node";

pub(crate) const DELETE_CHUNKS: &str = "DELETE FROM turn_journal WHERE turn_id = $1";

/// Appends to the journal of a turn. The condition on the node keeps out a node that has lost the turn, and the
/// conflict clause makes a retry harmless.
pub(crate) const INSERT_CHUNK: &str = "INSERT INTO turn_journal (turn_id, seq, payload)
    SELECT id, $2, $3 FROM turns WHERE id = $1 AND status = 'running' AND node_id = $4
    ON CONFLICT (turn_id, seq) DO NOTHING";

/// Maximum number of rows per insert. A statement costs much more than a row.
const CHUNKS_PER_INSERT: usize = 32;

/// Inserts [`CHUNKS_PER_INSERT`] journal entries, always the same number, so that the statement is prepared once. Missing entries
/// are bound as NULL and match no turn.
static INSERT_CHUNKS: LazyLock<String> = LazyLock::new(|| {
    let row = |row: usize| format!("(${}, ${}, ${})", 3 * row + 2, 3 * row + 3, 3 * row + 4);
    let rows: Vec<String> = (0..CHUNKS_PER_INSERT).map(row).collect();
    format!(
        "INSERT INTO turn_journal (turn_id, seq, payload)
        WITH new (turn_id, seq, payload) AS (VALUES {})
        SELECT n.turn_id, n.seq, n.payload FROM new n JOIN turns t ON t.id = n.turn_id
        WHERE t.status = 'running' AND t.node_id = $1
        ON CONFLICT (turn_id, seq) DO NOTHING",
        rows.join(", ")
    )
});

const PURGE_COMMANDS: &str = "DELETE FROM turn_commands
    WHERE turn_id IN (SELECT t.id FROM turns t WHERE t.status <> 'running' AND t.ended_at < $1)";

// Starts from the journals, which are few, not from all turns that ever ran.
const PURGE_CHUNKS: &str = "DELETE FROM turn_journal WHERE turn_id IN (SELECT DISTINCT c.turn_id FROM turn_journal c
    JOIN turns t ON t.id = c.turn_id WHERE t.status <> 'running' AND t.ended_at < $1)";

const IS_DRIVEN: &str =
    "SELECT EXISTS (SELECT 1 FROM turns WHERE id = $1 AND user_id = $2 AND status = 'running' AND node_id = $3)";

const FIND_RUNNING: &str = "SELECT id FROM turns WHERE session_id = $1 AND user_id = $2 AND status = 'running'";

const IS_RUNNING: &str = "SELECT EXISTS (SELECT 1 FROM turns WHERE id = $1 AND user_id = $2 AND status = 'running')";

// The oldest pending interaction is the first in the order of ids, which begin with their time.
const LIST_RUNNING: &str = "SELECT t.session_id, t.id, t.is_waiting, i.kind, i.tool
    FROM turns t LEFT JOIN interactions i ON t.is_waiting AND i.id =
      (SELECT p.id FROM interactions p WHERE p.turn_id = t.id AND p.response IS NULL ORDER BY p.id LIMIT 1)
    WHERE t.user_id = $1 AND t.status = 'running'";

const SET_WAITING: &str = "UPDATE turns SET is_waiting = $3
    WHERE id = $1 AND user_id = $2 AND status = 'running' AND node_id = $4";

const LIST_CHUNKS_AFTER: &str = "SELECT c.seq, c.payload FROM turn_journal c JOIN turns t ON t.id = c.turn_id
    WHERE c.turn_id = $1 AND t.user_id = $2 AND c.seq > $3 ORDER BY c.seq";

const INSERT_COMMAND: &str = "INSERT INTO turn_commands (turn_id, command)
    SELECT id, $3 FROM turns WHERE session_id = $1 AND user_id = $2 AND status = 'running'
    ON CONFLICT (turn_id, command) DO NOTHING";

const INSERT_COMMAND_FOR_ALL: &str = "INSERT INTO turn_commands (turn_id, command)
    SELECT id, $2 FROM turns WHERE user_id = $1 AND status = 'running'
    ON CONFLICT (turn_id, command) DO NOTHING";

const LIST_COMMANDS: &str = "SELECT o.turn_id, o.command FROM turn_commands o JOIN turns t ON t.id = o.turn_id
    WHERE t.node_id = $1 AND t.status = 'running'";

const LIST_CHUNKS: &str = "SELECT c.payload FROM turn_journal c JOIN turns t ON t.id = c.turn_id
    WHERE c.turn_id = $1 AND t.user_id = $2 ORDER BY c.seq";

/// A turn without an end in the database, see [`NodeRepository::claim_turns`](crate::NodeRepository::claim_turns).
#[derive(Debug, Clone)]
pub struct UnfinishedTurn {
    /// The turn.
    pub id: TurnId,
    /// Its chat.
    pub chat: ChatId,
    /// Owner of the chat.
    pub owner: UserId,
    /// Id of the assistant message to write.
    pub answer: MessageId,
    /// Model, as `provider/name`.
    pub model: String,
    /// Selected tools, as stored at the start of the turn.
    pub tools: serde_json::Value,
    /// Start of the turn.
    pub created_at: Timestamp,
    /// Whether the turn was waiting for its user at its last update.
    pub is_waiting: bool,
}

#[derive(sqlx::FromRow)]
pub(crate) struct TurnRow {
    pub id: Uuid,
    session_id: Uuid,
    user_id: Uuid,
    message_id: Uuid,
    model: String,
    tools: JsonText<serde_json::Value>,
    created_at: i64,
    is_waiting: bool,
}

impl From<TurnRow> for UnfinishedTurn {
    fn from(row: TurnRow) -> Self {
        Self {
            id: TurnId(row.id),
            chat: ChatId(row.session_id),
            owner: UserId(row.user_id),
            answer: MessageId(row.message_id),
            model: row.model,
            tools: row.tools.0,
            created_at: Timestamp(row.created_at),
            is_waiting: row.is_waiting,
        }
    }
}

/// A running turn of a user, on any node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningTurn {
    /// Its chat.
    pub chat: ChatId,
    /// The turn.
    pub id: TurnId,
    /// Whether it is waiting for its user.
    pub is_waiting: bool,
    /// What it is waiting for. `None` also if the response was just stored.
    pub waiting_for: Option<AwaitedInteraction>,
}

/// A batch of consecutive events of a turn, for the journal.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// The turn.
    pub turn: TurnId,
    /// Sequence number of the last event.
    pub seq: i64,
    /// Events, one JSON object per line.
    pub payload: String,
}

/// A command to a turn that may run on another node. It remains in effect until the turn ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnCommand {
    /// Stop the turn.
    Stop,
    /// Reload approvals and responses to elicitations.
    Refresh,
    /// Cancel the tool call with this id.
    Cancel(String),
    /// End the turn so that the first queued message can be sent.
    Preempt,
}

impl TurnCommand {
    fn to_text(&self) -> String {
        match self {
            Self::Stop => "stop".to_owned(),
            Self::Refresh => "refresh".to_owned(),
            Self::Preempt => "preempt".to_owned(),
            Self::Cancel(call) => without_nul(format!("cancel {call}")),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        // A command of a newer version is ignored.
        match text {
            "stop" => Some(Self::Stop),
            "refresh" => Some(Self::Refresh),
            "preempt" => Some(Self::Preempt),
            other => other.strip_prefix("cancel ").map(|call| Self::Cancel(call.to_owned())),
        }
    }
}

impl TurnRepository<'_> {
    /// Appends batches of any number of turns to the journal, in one transaction. Batches of turns that have ended, or
    /// that another node has taken over, are dropped.
    pub async fn insert_chunks(self, chunks: &[Chunk]) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            // One transaction for all turns: each commit waits for the disk.
            for some in chunks.chunks(CHUNKS_PER_INSERT) {
                let mut insert = sqlx::query(INSERT_CHUNKS.as_str()).bind(self.storage.node.0);
                for row in 0..CHUNKS_PER_INSERT {
                    let chunk = some.get(row);
                    insert = insert
                        .bind(chunk.map(|chunk| chunk.turn.0))
                        .bind(chunk.map(|chunk| chunk.seq))
                        .bind(chunk.map(|chunk| chunk.payload.as_str()));
                }
                insert.execute(&mut *tx).await?;
            }
            Ok(())
        })?;
        // Only after the commit, so that the other nodes find the events.
        self.storage.notify_of_turns(chunks.iter().map(|chunk| chunk.turn));
        Ok(())
    }

    /// Returns the journal of a turn in order: all events up to the last flush, one JSON object per line.
    pub async fn list_chunks(self, owner: UserId, turn: TurnId) -> Result<Vec<String>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, (String,)>(LIST_CHUNKS)
            .bind(turn.0)
            .bind(owner.0)
            .fetch_all(c)
            .await)?;
        Ok(rows.into_iter().map(|(payload,)| payload).collect())
    }

    /// Returns the journal of a turn after event `after`. Each batch comes with the sequence number of its last event.
    pub async fn list_chunks_after(self, owner: UserId, turn: TurnId, after: u64) -> Result<Vec<(u64, String)>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, (i64, String)>(LIST_CHUNKS_AFTER)
            .bind(turn.0)
            .bind(owner.0)
            .bind(after as i64)
            .fetch_all(c)
            .await)?;
        Ok(rows.into_iter().map(|(seq, payload)| (seq as u64, payload)).collect())
    }

    /// Deletes the journals and commands of turns that ended before `before`. Not limited to one owner.
    pub async fn purge_ended(self, before: Timestamp) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            for statement in [PURGE_CHUNKS, PURGE_COMMANDS] {
                sqlx::query(statement).bind(before.0).execute(&mut *tx).await?;
            }
            Ok(())
        })
    }

    /// Returns whether a turn is running on this node.
    pub async fn is_driven_here(self, owner: UserId, turn: TurnId) -> Result<bool, Error> {
        Ok(read!(self.storage, |c| sqlx::query_scalar(IS_DRIVEN)
            .bind(turn.0)
            .bind(owner.0)
            .bind(self.storage.node.0)
            .fetch_one(c)
            .await)?)
    }

    /// Returns whether a turn is running on any node.
    pub async fn is_running(self, owner: UserId, turn: TurnId) -> Result<bool, Error> {
        Ok(read!(self.storage, |c| sqlx::query_scalar(IS_RUNNING).bind(turn.0).bind(owner.0).fetch_one(c).await)?)
    }

    /// Returns the running turn of a chat, on any node.
    pub async fn find_running(self, owner: UserId, chat: ChatId) -> Result<Option<TurnId>, Error> {
        let row = read!(self.storage, |c| sqlx::query_scalar::<_, Uuid>(FIND_RUNNING)
            .bind(chat.0)
            .bind(owner.0)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(TurnId))
    }

    /// Returns the running turns of a user, on all nodes.
    pub async fn list_running(self, owner: UserId) -> Result<Vec<RunningTurn>, Error> {
        type Row = (Uuid, Uuid, bool, Option<String>, Option<String>);
        let rows = read!(self.storage, |c| sqlx::query_as::<_, Row>(LIST_RUNNING).bind(owner.0).fetch_all(c).await)?;
        let turn = |(chat, id, is_waiting, kind, tool): Row| RunningTurn {
            chat: ChatId(chat),
            id: TurnId(id),
            is_waiting,
            waiting_for: kind
                .and_then(|kind| InteractionKind::from_word(&kind))
                .zip(tool)
                .map(|(kind, tool)| AwaitedInteraction { kind, tool }),
        };
        Ok(rows.into_iter().map(turn).collect())
    }

    /// Stores whether a turn is waiting for its user. Has no effect if the turn has ended or another node has taken it
    /// over.
    pub async fn set_waiting(self, owner: UserId, turn: TurnId, is_waiting: bool) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(SET_WAITING)
            .bind(turn.0)
            .bind(owner.0)
            .bind(is_waiting)
            .bind(self.storage.node.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(())
    }

    /// Sends a command to the running turn of a chat. Returns whether there is one.
    pub async fn send_command(self, owner: UserId, chat: ChatId, command: &TurnCommand) -> Result<bool, Error> {
        let command = command.to_text();
        let found = transaction!(self.storage, |tx| {
            let found = sqlx::query(FIND_RUNNING).bind(chat.0).bind(owner.0).fetch_optional(&mut *tx).await?.is_some();
            sqlx::query(INSERT_COMMAND).bind(chat.0).bind(owner.0).bind(&command).execute(&mut *tx).await?;
            Ok(found)
        })?;
        // If the message is dropped, the other nodes still find the command when they poll.
        let _is_sent = self.storage.queue_message(notify::COMMANDS_MESSAGE.to_owned());
        Ok(found)
    }

    /// Sends a command to all running turns of a user.
    pub async fn send_command_to_all(self, owner: UserId, command: &TurnCommand) -> Result<(), Error> {
        let command = command.to_text();
        write!(self.storage, |c| sqlx::query(INSERT_COMMAND_FOR_ALL)
            .bind(owner.0)
            .bind(&command)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        // If the message is dropped, the other nodes still find the command when they poll.
        let _is_sent = self.storage.queue_message(notify::COMMANDS_MESSAGE.to_owned());
        Ok(())
    }

    /// Returns the commands to the turns of this node. Not limited to one owner.
    pub async fn list_commands(self) -> Result<Vec<(TurnId, TurnCommand)>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, (Uuid, String)>(LIST_COMMANDS)
            .bind(self.storage.node.0)
            .fetch_all(c)
            .await)?;
        Ok(rows.into_iter().filter_map(|(turn, command)| Some((TurnId(turn), TurnCommand::parse(&command)?))).collect())
    }
}
