//! Turns of the assistant while they go on: who runs, and what it has said so far.

use domain::{ChatId, MessageId, RunId, Timestamp, UserId};
use uuid::Uuid;

use crate::dispatch::{read, transaction};
use crate::{Error, JsonText, Store};

pub(crate) const INSERT: &str =
    "INSERT INTO runs (id, session_id, user_id, message_id, status, model, tools, created_at)
    VALUES ($1, $2, $3, $4, 'running', $5, $6, $7)";

pub(crate) const CLOSE: &str =
    "UPDATE runs SET status = $3, ended_at = $4 WHERE id = $1 AND user_id = $2 AND status = 'running'";

pub(crate) const DELETE_CHUNKS: &str = "DELETE FROM run_chunks WHERE run_id = $1";

const INSERT_CHUNK: &str = "INSERT INTO run_chunks (run_id, seq, payload)
    SELECT id, $2, $3 FROM runs WHERE id = $1 AND status = 'running'
    ON CONFLICT (run_id, seq) DO NOTHING";

const LIST_UNFINISHED: &str = "SELECT id, session_id, user_id, message_id, model, tools, created_at FROM runs WHERE status = 'running' ORDER BY id";

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
}

#[derive(sqlx::FromRow)]
struct RunRow {
    id: Uuid,
    session_id: Uuid,
    user_id: Uuid,
    message_id: Uuid,
    model: String,
    tools: JsonText<serde_json::Value>,
    created_at: i64,
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

impl Store {
    /// Appends pieces of any number of runs in one transaction. A piece of a run that has ended is dropped: its answer
    /// is written already.
    pub async fn insert_chunks(&self, chunks: &[Chunk]) -> Result<(), Error> {
        transaction!(self, |tx| {
            for chunk in chunks {
                sqlx::query(INSERT_CHUNK)
                    .bind(chunk.run.0)
                    .bind(chunk.seq)
                    .bind(&chunk.payload)
                    .execute(&mut *tx)
                    .await?;
            }
            Ok(())
        })
    }

    /// Every run that was going on when the program stopped, oldest first. For the start only: it crosses owners.
    pub async fn list_unfinished_runs(&self) -> Result<Vec<UnfinishedRun>, Error> {
        let rows = read!(self, |c| sqlx::query_as::<_, RunRow>(LIST_UNFINISHED).fetch_all(c).await)?;
        Ok(rows
            .into_iter()
            .map(|row| UnfinishedRun {
                id: RunId(row.id),
                chat: ChatId(row.session_id),
                owner: UserId(row.user_id),
                answer: MessageId(row.message_id),
                model: row.model,
                tools: row.tools.0,
                created_at: Timestamp(row.created_at),
            })
            .collect())
    }

    /// What a run had said up to its last flush, in order.
    pub async fn list_chunks(&self, owner: UserId, run: RunId) -> Result<Vec<String>, Error> {
        let rows =
            read!(self, |c| sqlx::query_as::<_, (String,)>(LIST_CHUNKS).bind(run.0).bind(owner.0).fetch_all(c).await)?;
        Ok(rows.into_iter().map(|(payload,)| payload).collect())
    }
}
