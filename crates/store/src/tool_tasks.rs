//! Calls that run as tasks at their servers, for as long as they run.

use domain::permission::AllowedBy;
use domain::text::without_nul;
use domain::{RunId, ServerId, Timestamp, UserId};
use uuid::Uuid;

use crate::dispatch::{read, write};
use crate::unreadable::readable;
use crate::{Error, Store};

const UPSERT: &str = "INSERT INTO tool_tasks
      (run_id, tool_call_id, user_id, server_id, url, allowed_by, task, form, ttl_ms, created_at)
    SELECT id, $3, user_id, $4, $5, $6, $7, $8, $9, $10 FROM runs
    WHERE id = $1 AND user_id = $2 AND status = 'running'
    ON CONFLICT (run_id, tool_call_id) DO UPDATE SET server_id = excluded.server_id, url = excluded.url,
      allowed_by = excluded.allowed_by, task = excluded.task, form = excluded.form, ttl_ms = excluded.ttl_ms,
      created_at = excluded.created_at";

const LIST: &str = "SELECT tool_call_id, server_id, url, allowed_by, task, form, ttl_ms, created_at
    FROM tool_tasks WHERE run_id = $1 AND user_id = $2 ORDER BY created_at, tool_call_id";

pub(crate) const DELETE_ALL: &str = "DELETE FROM tool_tasks WHERE run_id = $1 AND user_id = $2";

/// A call that runs as a task.
#[derive(Clone)]
pub struct ToolTask {
    /// The call within the run.
    pub tool_call: String,
    /// The connection.
    pub server: ServerId,
    /// Where the server was when the call was made.
    pub url: String,
    /// Who allowed the call.
    pub allowed_by: AllowedBy,
    /// The server's id for it.
    pub task: String,
    /// By which rules the server is asked about it.
    pub form: String,
    /// Milliseconds that the server keeps it; without an end if there are none.
    pub ttl_ms: Option<u64>,
    /// When the call was made.
    pub created_at: Timestamp,
}

impl std::fmt::Debug for ToolTask {
    /// Without what would open the task.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolTask").field("server", &self.server).field("form", &self.form).finish_non_exhaustive()
    }
}

#[derive(sqlx::FromRow)]
struct TaskRow {
    tool_call_id: String,
    server_id: Uuid,
    url: String,
    allowed_by: String,
    task: String,
    form: String,
    ttl_ms: Option<i64>,
    created_at: i64,
}

impl TryFrom<TaskRow> for ToolTask {
    type Error = Error;

    fn try_from(row: TaskRow) -> Result<Self, Error> {
        let allowed_by = AllowedBy::from_word(&row.allowed_by);
        Ok(Self {
            tool_call: row.tool_call_id,
            server: ServerId(row.server_id),
            url: row.url,
            allowed_by: allowed_by.ok_or_else(|| Error::Corrupt(format!("allowed by {}", row.allowed_by)))?,
            task: row.task,
            form: row.form,
            ttl_ms: row.ttl_ms.map(i64::unsigned_abs),
            created_at: Timestamp(row.created_at),
        })
    }
}

impl Store {
    /// Writes down a call that runs as a task. `NotFound` when the run has ended.
    pub async fn insert_tool_task(&self, owner: UserId, run: RunId, task: &ToolTask) -> Result<(), Error> {
        let [tool_call, id] = [&task.tool_call, &task.task].map(|text| without_nul(text.clone()));
        let ttl = task.ttl_ms.map(|ttl| i64::try_from(ttl).unwrap_or(i64::MAX));
        let made = write!(self, |c| sqlx::query(UPSERT)
            .bind(run.0)
            .bind(owner.0)
            .bind(&tool_call)
            .bind(task.server.0)
            .bind(&task.url)
            .bind(task.allowed_by.as_str())
            .bind(&id)
            .bind(&task.form)
            .bind(ttl)
            .bind(task.created_at.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        if made == 0 { Err(Error::NotFound) } else { Ok(()) }
    }

    /// The calls of a run that run as tasks, oldest first.
    pub async fn list_tool_tasks(&self, owner: UserId, run: RunId) -> Result<Vec<ToolTask>, Error> {
        let rows = read!(self, |c| sqlx::query_as::<_, TaskRow>(LIST).bind(run.0).bind(owner.0).fetch_all(c).await)?;
        Ok(readable("tool_tasks", rows, |row| format!("{run}/{}", row.tool_call_id)))
    }
}
