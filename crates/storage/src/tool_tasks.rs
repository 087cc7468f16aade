//! Tool calls that run as tasks at their MCP servers, stored while they run, so that a restarted server can resume
//! polling.

use domain::permission::AllowedBy;
use domain::text::without_nul;
use domain::{ServerId, Timestamp, TurnId, UserId};
use uuid::Uuid;

use crate::db_macros::{read, write};
use crate::named_values::query_named;
use crate::unreadable::readable;
use crate::{Error, ToolTaskRepository};

const UPSERT: &str = "INSERT INTO tool_tasks
      (turn_id, tool_call_id, user_id, server_id, url, allowed_by, task, form, ttl_ms, created_at)
    SELECT id, :tool_call, user_id, :server, :url, :allowed_by, :task, :form, :ttl_ms, :created_at FROM turns
    WHERE id = :turn AND user_id = :owner AND status = 'running'
    ON CONFLICT (turn_id, tool_call_id) DO UPDATE SET server_id = excluded.server_id, url = excluded.url,
      allowed_by = excluded.allowed_by, task = excluded.task, form = excluded.form, ttl_ms = excluded.ttl_ms,
      created_at = excluded.created_at";

const LIST: &str = "SELECT tool_call_id, server_id, url, allowed_by, task, form, ttl_ms, created_at
    FROM tool_tasks WHERE turn_id = $1 AND user_id = $2 ORDER BY created_at, tool_call_id";

pub(crate) const DELETE_ALL: &str = "DELETE FROM tool_tasks WHERE turn_id = $1 AND user_id = $2";

/// A tool call that runs as a task (MCP tasks).
#[derive(Clone)]
pub struct ToolTask {
    /// Id of the tool call within the turn.
    pub tool_call: String,
    /// Connection.
    pub server: ServerId,
    /// URL of the server at the time of the call, masked.
    pub url: String,
    /// Permission or approval that allowed the call.
    pub allowed_by: AllowedBy,
    /// Id of the task, given by the server.
    pub task: String,
    /// Version of the task protocol by which the server is polled.
    pub form: String,
    /// Milliseconds for which the server keeps the task; `None` means without limit.
    pub ttl_ms: Option<u64>,
    /// Time of the call.
    pub created_at: Timestamp,
}

impl std::fmt::Debug for ToolTask {
    /// Omits the task id, which gives access to the task.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolTask").field("server", &self.server).field("form", &self.form).finish_non_exhaustive()
    }
}

#[derive(sqlx::FromRow)]
pub(crate) struct TaskRow {
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

impl ToolTaskRepository<'_> {
    /// Stores a task.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the turn has ended.
    pub async fn insert(self, owner: UserId, turn: TurnId, task: &ToolTask) -> Result<(), Error> {
        let [tool_call, id] = [&task.tool_call, &task.task].map(|text| without_nul(text.clone()));
        let ttl = task.ttl_ms.map(|ttl| i64::try_from(ttl).unwrap_or(i64::MAX));
        let made = write!(self.storage, |c| query_named!(
            UPSERT,
            turn = turn.0,
            owner = owner.0,
            tool_call = &tool_call,
            server = task.server.0,
            url = &task.url,
            allowed_by = task.allowed_by.as_str(),
            task = &id,
            form = &task.form,
            ttl_ms = ttl,
            created_at = task.created_at.0
        )
        .execute(c)
        .await
        .map(|done| done.rows_affected()))?;
        if made == 0 { Err(Error::NotFound) } else { Ok(()) }
    }

    /// Returns the [`ToolTask`]s of a turn, oldest first.
    pub async fn list(self, owner: UserId, turn: TurnId) -> Result<Vec<ToolTask>, Error> {
        let rows =
            read!(self.storage, |c| sqlx::query_as::<_, TaskRow>(LIST).bind(turn.0).bind(owner.0).fetch_all(c).await)?;
        Ok(readable("tool_tasks", rows, |row| format!("{turn}/{}", row.tool_call_id)))
    }
}
