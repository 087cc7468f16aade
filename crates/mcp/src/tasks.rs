//! Tool calls that run as tasks at the server: started once, then polled until they end.
//!
//! There are two protocols. In the extension `io.modelcontextprotocol/tasks` the server may answer any call with a
//! task, and `tasks/get` returns everything. In 2025-11-25 the client asks for a task, for tools that declare
//! support, and fetches the result with `tasks/result`, over which the server also sends its elicitations.

use std::fmt;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, ClientRequest, CustomRequest, ServerCapabilities, ServerResult};
use serde_json::{Value, json};

use crate::Error;
use crate::error::sanitize_text;
use crate::transport::capability_shim::PRESERVED_KEY;

pub(crate) mod notifications;
pub(crate) mod polling;
mod status;

/// `_meta` key by which a message of 2025-11-25 names its task.
pub(crate) const RELATED_TASK_KEY: &str = "io.modelcontextprotocol/related-task";
/// `_meta` key under which FastMCP 2 returns the task of a call, in place of the field `task`.
const FASTMCP_TASK_KEY: &str = "modelcontextprotocol.io/task";
/// Maximum length of a task id, in characters.
const MAX_TASK_ID_CHARS: usize = 1024;
/// Poll interval for servers that request none.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Bounds of the poll interval that a server may request.
pub(crate) const MIN_POLL_INTERVAL: Duration = Duration::from_millis(250);
const MAX_POLL_INTERVAL: Duration = Duration::from_mins(1);

/// Protocol by which a task is polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskProtocol {
    /// Tasks of the core protocol, revision 2025-11-25.
    Core,
    /// Extension `io.modelcontextprotocol/tasks`.
    Extension,
}

impl TaskProtocol {
    /// Returns the name that is stored in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Extension => "extension",
        }
    }

    /// Parses a name that [`TaskProtocol::as_str`] returned.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Core, Self::Extension].into_iter().find(|protocol| protocol.as_str() == name)
    }
}

/// Status of a task that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskStatus {
    /// The server works on it.
    Working,
    /// The server waits for responses to its elicitations.
    InputRequired,
}

/// Tool call that runs as a task at the server.
#[derive(Clone, PartialEq, Eq)]
pub struct Task {
    /// Id that the server chose. It may be all that is needed to read the result, so keep it from logs and clients.
    pub id: String,
    /// Protocol by which the task is polled.
    pub protocol: TaskProtocol,
    /// Latest known status.
    pub status: TaskStatus,
    /// Status message of the server, sanitized.
    pub message: Option<String>,
    /// Time for which the server keeps the task after its creation; `None` if it sets no limit.
    pub ttl: Option<Duration>,
    pub(crate) poll_interval: Duration,
}

// Leaves out the id, which may give access to the result, and the server's text.
impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id: _, protocol, status, message: _, ttl, poll_interval } = self;
        let mut debug = f.debug_struct("Task");
        debug.field("protocol", protocol).field("status", status).field("ttl", ttl);
        debug.field("poll_interval", poll_interval).finish_non_exhaustive()
    }
}

impl Task {
    /// Restores a stored task, for [`Connection::resume_task`](crate::Connection::resume_task).
    pub fn from_stored(id: String, protocol: TaskProtocol, ttl: Option<Duration>) -> Self {
        let poll_interval = DEFAULT_POLL_INTERVAL;
        Self { id, protocol, status: TaskStatus::Working, message: None, ttl, poll_interval }
    }

    /// Updates message, time to live and poll interval from a task object of the server.
    pub(crate) fn update_from(&mut self, state: &Value) {
        self.message = state["statusMessage"].as_str().map(sanitize_text).filter(|text| !text.trim().is_empty());
        // The extension appends the unit to the names of 2025-11-25.
        let millis = |names: [&str; 2]| names.into_iter().find_map(|name| state.get(name));
        if let Some(ttl) = millis(["ttlMs", "ttl"]) {
            self.ttl = ttl.as_f64().map(duration_from_millis);
        }
        if let Some(interval) = millis(["pollIntervalMs", "pollInterval"]).and_then(Value::as_f64) {
            self.poll_interval = duration_from_millis(interval).clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL);
        }
    }
}

fn duration_from_millis(millis: f64) -> Duration {
    Duration::try_from_secs_f64(millis / 1000.0).unwrap_or(Duration::MAX)
}

/// Returns whether a server of 2025-11-25 accepts tool calls as tasks.
pub(crate) fn supports_task_calls(capabilities: &ServerCapabilities) -> bool {
    let preserved = capabilities.experimental.as_ref().and_then(|preserved| preserved.get(PRESERVED_KEY));
    preserved.is_some_and(|tasks| tasks.get("requests").is_some_and(|requests| !requests["tools"]["call"].is_null()))
}

/// Returns whether a tool of such a server is called as a task. That is the case wherever it can be: then the call
/// survives a lost connection.
pub(crate) fn is_task_tool(tool: &Value) -> bool {
    matches!(tool["_meta"][PRESERVED_KEY]["taskSupport"].as_str(), Some("required" | "optional"))
}

/// Builds a tool call that asks for a task, by the rules of 2025-11-25.
pub(crate) fn task_call_request(params: &CallToolRequestParams, ttl: Duration) -> ClientRequest {
    let ttl = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
    let params = json!({ "name": params.name, "arguments": params.arguments, "task": { "ttl": ttl } });
    ClientRequest::CustomRequest(CustomRequest::new("tools/call", Some(params)))
}

/// Returns the task that a call was answered with, and the server's task object; `None` if it is another answer.
/// `requested` says whether the call asked for a task.
pub(crate) fn parse_started_task(result: &ServerResult, requested: bool) -> Result<Option<(Task, Value)>, Error> {
    let (protocol, state) = match result {
        ServerResult::CreateTaskResult(created) => (TaskProtocol::Extension, serde_json::to_value(&created.task)),
        ServerResult::CustomResult(raw) if raw.0["resultType"] == "task" => {
            (TaskProtocol::Extension, Ok(raw.0.clone()))
        }
        ServerResult::CustomResult(raw) if requested && raw.0["task"].is_object() => {
            (TaskProtocol::Core, Ok(raw.0["task"].clone()))
        }
        ServerResult::CallToolResult(result) if requested => {
            match result.meta.as_ref().and_then(|meta| meta.get(FASTMCP_TASK_KEY)) {
                Some(state) if state.is_object() => (TaskProtocol::Core, Ok(state.clone())),
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    let unreadable = || Error::Protocol("it answered with a task that cannot be read".to_owned());
    let state = state.map_err(|_| unreadable())?;
    let id = state["taskId"].as_str().filter(|id| !id.is_empty() && id.chars().nth(MAX_TASK_ID_CHARS).is_none());
    let mut task = Task::from_stored(id.ok_or_else(unreadable)?.to_owned(), protocol, None);
    task.update_from(&state);
    Ok(Some((task, state)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_the_times_that_a_server_requests() {
        let mut task = Task::from_stored("1".to_owned(), TaskProtocol::Core, None);
        task.update_from(&json!({ "pollInterval": 0, "ttl": 60_000, "statusMessage": "a\nb" }));
        assert_eq!((task.poll_interval, task.ttl), (MIN_POLL_INTERVAL, Some(Duration::from_mins(1))));
        assert_eq!(task.message.as_deref(), Some("a b"));
        task.update_from(&json!({ "pollIntervalMs": 1e300, "ttlMs": null, "statusMessage": " " }));
        assert_eq!((task.poll_interval, task.ttl, task.message), (MAX_POLL_INTERVAL, None, None));
        assert_eq!(duration_from_millis(-1.0), Duration::MAX);
    }
}
