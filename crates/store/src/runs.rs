//! Turns of the assistant while they go on: who runs, and what it has said so far.

use std::sync::LazyLock;

use domain::text::without_nul;
use domain::{ChatId, MessageId, RunId, Timestamp, UserId};
use uuid::Uuid;

use crate::dispatch::{read, transaction, write};
use crate::{Error, JsonText, Store, news};

pub(crate) const INSERT: &str =
    "INSERT INTO runs (id, session_id, user_id, message_id, status, model, tools, created_at, node_id)
    VALUES ($1, $2, $3, $4, 'running', $5, $6, $7, $8)";

pub(crate) const CLOSE: &str = "UPDATE runs SET status = $3, ended_at = $4
    WHERE id = $1 AND user_id = $2 AND status = 'running' AND node_id = $5";

pub(crate) const DELETE_CHUNKS: &str = "DELETE FROM run_chunks WHERE run_id = $1";

pub(crate) const INSERT_CHUNK: &str = "INSERT INTO run_chunks (run_id, seq, payload)
    SELECT id, $2, $3 FROM runs WHERE id = $1 AND status = 'running' AND node_id = $4
    ON CONFLICT (run_id, seq) DO NOTHING";

/// Pieces that one statement appends at most: a statement costs many times what a row does.
const ROWS: usize = 32;

/// The same for [`ROWS`] of them. Rows without a run stand where there are fewer.
static INSERT_CHUNKS: LazyLock<String> = LazyLock::new(|| {
    let row = |row: usize| format!("(${}, ${}, ${})", 3 * row + 2, 3 * row + 3, 3 * row + 4);
    let rows: Vec<String> = (0..ROWS).map(row).collect();
    format!(
        "INSERT INTO run_chunks (run_id, seq, payload)
        WITH new (run_id, seq, payload) AS (VALUES {})
        SELECT n.run_id, n.seq, n.payload FROM new n JOIN runs r ON r.id = n.run_id
        WHERE r.status = 'running' AND r.node_id = $1
        ON CONFLICT (run_id, seq) DO NOTHING",
        rows.join(", ")
    )
});

const PURGE_ORDERS: &str = "DELETE FROM run_orders
    WHERE run_id IN (SELECT r.id FROM runs r WHERE r.status <> 'running' AND r.ended_at < $1)";

const PURGE_CHUNKS: &str = "DELETE FROM run_chunks WHERE run_id IN (SELECT DISTINCT c.run_id FROM run_chunks c
    JOIN runs r ON r.id = c.run_id WHERE r.status <> 'running' AND r.ended_at < $1)";

const IS_DRIVEN: &str =
    "SELECT EXISTS (SELECT 1 FROM runs WHERE id = $1 AND user_id = $2 AND status = 'running' AND node_id = $3)";

const FIND_RUNNING: &str = "SELECT id FROM runs WHERE session_id = $1 AND user_id = $2 AND status = 'running'";

const IS_RUNNING: &str = "SELECT EXISTS (SELECT 1 FROM runs WHERE id = $1 AND user_id = $2 AND status = 'running')";

const LIST_RUNNING: &str = "SELECT session_id, id, is_waiting FROM runs WHERE user_id = $1 AND status = 'running'";

const SET_WAITING: &str = "UPDATE runs SET is_waiting = $3
    WHERE id = $1 AND user_id = $2 AND status = 'running' AND node_id = $4";

const LIST_CHUNKS_AFTER: &str = "SELECT c.seq, c.payload FROM run_chunks c JOIN runs r ON r.id = c.run_id
    WHERE c.run_id = $1 AND r.user_id = $2 AND c.seq > $3 ORDER BY c.seq";

const ORDER: &str = "INSERT INTO run_orders (run_id, what)
    SELECT id, $3 FROM runs WHERE session_id = $1 AND user_id = $2 AND status = 'running'
    ON CONFLICT (run_id, what) DO NOTHING";

const ORDER_ALL: &str = "INSERT INTO run_orders (run_id, what)
    SELECT id, $2 FROM runs WHERE user_id = $1 AND status = 'running'
    ON CONFLICT (run_id, what) DO NOTHING";

const LIST_ORDERS: &str = "SELECT o.run_id, o.what FROM run_orders o JOIN runs r ON r.id = o.run_id
    WHERE r.node_id = $1 AND r.status = 'running'";

const LIST_CHUNKS: &str = "SELECT c.payload FROM run_chunks c JOIN runs r ON r.id = c.run_id
    WHERE c.run_id = $1 AND r.user_id = $2 ORDER BY c.seq";

/// A turn that has no end in the database.
#[derive(Debug, Clone)]
pub struct UnfinishedRun {
    /// The run.
    pub id: RunId,
    /// Its chat.
    pub chat: ChatId,
    /// Whose chat it is.
    pub owner: UserId,
    /// The answer to be.
    pub answer: MessageId,
    /// `provider/name`.
    pub model: String,
    /// The tools it may use, as the turn's beginner named them.
    pub tools: serde_json::Value,
    /// When it began.
    pub created_at: Timestamp,
    /// Whether it waited for its user when it was last heard of.
    pub is_waiting: bool,
}

#[derive(sqlx::FromRow)]
pub(crate) struct RunRow {
    pub id: Uuid,
    session_id: Uuid,
    user_id: Uuid,
    message_id: Uuid,
    model: String,
    tools: JsonText<serde_json::Value>,
    created_at: i64,
    is_waiting: bool,
}

impl From<RunRow> for UnfinishedRun {
    fn from(row: RunRow) -> Self {
        Self {
            id: RunId(row.id),
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

/// A turn that goes on, on whichever node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningTurn {
    /// The chat.
    pub chat: ChatId,
    /// The turn.
    pub run: RunId,
    /// Whether it waits for its user.
    pub is_waiting: bool,
}

/// A piece of a run's log on its way to the database.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// The run.
    pub run: RunId,
    /// The number of its last event.
    pub seq: i64,
    /// The events, one JSON object a line.
    pub payload: String,
}

/// What somebody wants of a run that another process drives. It holds until the run ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// That it ends.
    Stop,
    /// That it looks what was decided and answered.
    Look,
    /// That this call ends.
    Cancel(String),
    /// That it ends for the message that waits first.
    GiveWay,
}

impl Order {
    fn to_text(&self) -> String {
        match self {
            Self::Stop => "stop".to_owned(),
            Self::Look => "look".to_owned(),
            Self::GiveWay => "give-way".to_owned(),
            Self::Cancel(call) => without_nul(format!("cancel {call}")),
        }
    }

    fn read(text: &str) -> Option<Self> {
        match text {
            "stop" => Some(Self::Stop),
            "look" => Some(Self::Look),
            "give-way" => Some(Self::GiveWay),
            other => other.strip_prefix("cancel ").map(|call| Self::Cancel(call.to_owned())),
        }
    }
}

impl Store {
    /// Appends pieces of any number of runs in one transaction. A piece of a run that has ended is dropped: its answer
    /// is written already. So is one of a run that another node has taken over.
    pub async fn insert_chunks(&self, chunks: &[Chunk]) -> Result<(), Error> {
        transaction!(self, |tx| {
            for some in chunks.chunks(ROWS) {
                let mut insert = sqlx::query(INSERT_CHUNKS.as_str()).bind(self.node.0);
                for row in 0..ROWS {
                    let chunk = some.get(row);
                    insert = insert
                        .bind(chunk.map(|chunk| chunk.run.0))
                        .bind(chunk.map(|chunk| chunk.seq))
                        .bind(chunk.map(|chunk| chunk.payload.as_str()));
                }
                insert.execute(&mut *tx).await?;
            }
            Ok(())
        })?;
        self.tell_of_runs(chunks.iter().map(|chunk| chunk.run));
        Ok(())
    }

    /// What a run had said up to its last flush, in order.
    pub async fn list_chunks(&self, owner: UserId, run: RunId) -> Result<Vec<String>, Error> {
        let rows =
            read!(self, |c| sqlx::query_as::<_, (String,)>(LIST_CHUNKS).bind(run.0).bind(owner.0).fetch_all(c).await)?;
        Ok(rows.into_iter().map(|(payload,)| payload).collect())
    }

    /// The same behind event `after`, each with the number of its last event.
    pub async fn list_chunks_after(&self, owner: UserId, run: RunId, after: u64) -> Result<Vec<(u64, String)>, Error> {
        let rows = read!(self, |c| sqlx::query_as::<_, (i64, String)>(LIST_CHUNKS_AFTER)
            .bind(run.0)
            .bind(owner.0)
            .bind(after as i64)
            .fetch_all(c)
            .await)?;
        Ok(rows.into_iter().map(|(seq, payload)| (seq as u64, payload)).collect())
    }

    /// Removes what is left of runs that ended before this time: their logs, and what was wanted of them. It crosses owners.
    pub async fn purge_ended(&self, before: Timestamp) -> Result<(), Error> {
        transaction!(self, |tx| {
            for statement in [PURGE_CHUNKS, PURGE_ORDERS] {
                sqlx::query(statement).bind(before.0).execute(&mut *tx).await?;
            }
            Ok(())
        })
    }

    /// Whether a run goes on, and this process drives it.
    pub async fn is_driven_here(&self, owner: UserId, run: RunId) -> Result<bool, Error> {
        Ok(read!(self, |c| sqlx::query_scalar(IS_DRIVEN)
            .bind(run.0)
            .bind(owner.0)
            .bind(self.node.0)
            .fetch_one(c)
            .await)?)
    }

    /// Whether a run goes on, whoever drives it.
    pub async fn is_running(&self, owner: UserId, run: RunId) -> Result<bool, Error> {
        Ok(read!(self, |c| sqlx::query_scalar(IS_RUNNING).bind(run.0).bind(owner.0).fetch_one(c).await)?)
    }

    /// The run of a chat that goes on, whoever drives it.
    pub async fn find_running(&self, owner: UserId, chat: ChatId) -> Result<Option<RunId>, Error> {
        let row = read!(self, |c| sqlx::query_scalar::<_, Uuid>(FIND_RUNNING)
            .bind(chat.0)
            .bind(owner.0)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(RunId))
    }

    /// Returns the turns of a user that go on, whoever drives them.
    pub async fn list_running(&self, owner: UserId) -> Result<Vec<RunningTurn>, Error> {
        let rows =
            read!(self, |c| sqlx::query_as::<_, (Uuid, Uuid, bool)>(LIST_RUNNING).bind(owner.0).fetch_all(c).await)?;
        let turn = |(chat, run, is_waiting)| RunningTurn { chat: ChatId(chat), run: RunId(run), is_waiting };
        Ok(rows.into_iter().map(turn).collect())
    }

    /// Stores whether a turn waits for its user. Changes nothing when the turn has ended or another node drives it.
    pub async fn set_waiting(&self, owner: UserId, run: RunId, is_waiting: bool) -> Result<(), Error> {
        write!(self, |c| sqlx::query(SET_WAITING)
            .bind(run.0)
            .bind(owner.0)
            .bind(is_waiting)
            .bind(self.node.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(())
    }

    /// Wants something of the run that goes on in a chat, from whoever drives it. Says whether there is one.
    pub async fn order(&self, owner: UserId, chat: ChatId, what: &Order) -> Result<bool, Error> {
        let what = what.to_text();
        let found = transaction!(self, |tx| {
            let found = sqlx::query(FIND_RUNNING).bind(chat.0).bind(owner.0).fetch_optional(&mut *tx).await?.is_some();
            sqlx::query(ORDER).bind(chat.0).bind(owner.0).bind(&what).execute(&mut *tx).await?;
            Ok(found)
        })?;
        // The others look by themselves once a second.
        let _is_sent = self.tell_payload(news::ORDERS.to_owned());
        Ok(found)
    }

    /// Wants something of every run of a person.
    pub async fn order_all(&self, owner: UserId, what: &Order) -> Result<(), Error> {
        let what = what.to_text();
        write!(self, |c| sqlx::query(ORDER_ALL)
            .bind(owner.0)
            .bind(&what)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        // The others look by themselves once a second.
        let _is_sent = self.tell_payload(news::ORDERS.to_owned());
        Ok(())
    }

    /// What is wanted of the runs that this process drives. It crosses owners.
    pub async fn list_orders(&self) -> Result<Vec<(RunId, Order)>, Error> {
        let rows =
            read!(self, |c| sqlx::query_as::<_, (Uuid, String)>(LIST_ORDERS).bind(self.node.0).fetch_all(c).await)?;
        Ok(rows.into_iter().filter_map(|(run, what)| Some((RunId(run), Order::read(&what)?))).collect())
    }
}
