//! Calls that run as a task at the server: begun once, then asked about until they have ended.
//!
//! There are two forms. In the extension `io.modelcontextprotocol/tasks` the server answers any call with a task when it
//! wants to, and everything is read with `tasks/get`. In 2025-11-25 a call asks to be a task, for tools that say so, and
//! its result is fetched with `tasks/result`, over which the server also asks its questions.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CancelTaskParams, CancelTaskRequest, ClientRequest, CustomRequest, ServerCapabilities,
    ServerResult,
};
use rmcp::service::PeerRequestOptions;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::{CallOptions, NOTICE};
use crate::Error;
use crate::connection::Inner;
use crate::error::quote;
use crate::transport::kept::KEPT;

pub(super) use follow::follow;

mod follow;
mod state;

/// Where a message of a server of 2025-11-25 says to which task it belongs.
pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";
/// Where FastMCP 2 writes in the `_meta` of a result that the call became a task, in place of `task`.
const BEGUN: &str = "modelcontextprotocol.io/task";
/// Characters of a task's id.
const ID: usize = 1024;
/// How often a server is asked about a task when it does not say: every so often.
const POLL: Duration = Duration::from_secs(1);
/// However often a server wants to be asked, it is between these.
const POLL_LEAST: Duration = Duration::from_millis(250);
const POLL_MOST: Duration = Duration::from_mins(1);

/// By which rules a task is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Those of 2025-11-25.
    Core,
    /// Those of the extension.
    Extension,
}

impl Form {
    /// A word for the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Extension => "extension",
        }
    }

    /// What [`Form::as_str`] has written.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Core, Self::Extension].into_iter().find(|form| form.as_str() == word)
    }
}

/// What a task that has not ended does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It goes on.
    Working,
    /// It waits for answers to its server's questions.
    InputRequired,
}

/// A call that runs as a task at the server.
#[derive(Clone, PartialEq, Eq)]
pub struct Task {
    /// The server's id for it. Whoever knows it may be able to read the result: it is for the server and the database.
    pub id: String,
    /// The rules.
    pub form: Form,
    /// What it does.
    pub status: Status,
    /// What is going on, in the server's words, on one line.
    pub message: Option<String>,
    /// How long the server keeps it, from its beginning; without an end if it says nothing.
    pub ttl: Option<Duration>,
    poll: Duration,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id: _, form, status, message: _, ttl, poll } = self;
        let mut debug = f.debug_struct("Task");
        debug.field("form", form).field("status", status).field("ttl", ttl).field("poll", poll).finish_non_exhaustive()
    }
}

impl Task {
    /// A task that is known from before, for [`Connection::resume_task`](crate::Connection::resume_task).
    pub fn known(id: String, form: Form, ttl: Option<Duration>) -> Self {
        Self { id, form, status: Status::Working, message: None, ttl, poll: POLL }
    }

    /// Takes in what the server says about it now.
    fn update(&mut self, said: &Value) {
        self.message = said["statusMessage"].as_str().map(quote).filter(|text| !text.trim().is_empty());
        let millis = |names: [&str; 2]| names.into_iter().find_map(|name| said.get(name));
        if let Some(ttl) = millis(["ttlMs", "ttl"]) {
            self.ttl = ttl.as_f64().map(duration);
        }
        if let Some(poll) = millis(["pollIntervalMs", "pollInterval"]).and_then(Value::as_f64) {
            self.poll = duration(poll).clamp(POLL_LEAST, POLL_MOST);
        }
    }
}

fn duration(millis: f64) -> Duration {
    Duration::try_from_secs_f64(millis / 1000.0).unwrap_or(Duration::MAX)
}

/// Whether a server of 2025-11-25 takes calls as tasks.
pub(crate) fn is_offered(capabilities: &ServerCapabilities) -> bool {
    let kept = capabilities.experimental.as_ref().and_then(|kept| kept.get(KEPT));
    kept.is_some_and(|tasks| tasks.get("requests").is_some_and(|requests| !requests["tools"]["call"].is_null()))
}

/// Whether a tool of such a server is to be called as a task: because it has to be, or because it can be, for then the
/// call outlives a lost connection.
pub(crate) fn is_wanted(tool: &Value) -> bool {
    matches!(tool["_meta"][KEPT]["taskSupport"].as_str(), Some("required" | "optional"))
}

/// A call that asks to be a task, by the rules of 2025-11-25.
pub(super) fn request(params: &CallToolRequestParams, options: &CallOptions) -> ClientRequest {
    let ttl = u64::try_from(options.task_total.as_millis()).unwrap_or(u64::MAX);
    let params = json!({ "name": params.name, "arguments": params.arguments, "task": { "ttl": ttl } });
    ClientRequest::CustomRequest(CustomRequest::new("tools/call", Some(params)))
}

/// The task that a call was answered with, if it was.
pub(super) fn begun(result: &ServerResult, asked: bool) -> Result<Option<(Task, Value)>, Error> {
    let (form, said) = match result {
        ServerResult::CreateTaskResult(begun) => (Form::Extension, serde_json::to_value(&begun.task)),
        ServerResult::CustomResult(raw) if raw.0["resultType"] == "task" => (Form::Extension, Ok(raw.0.clone())),
        ServerResult::CustomResult(raw) if asked && raw.0["task"].is_object() => {
            (Form::Core, Ok(raw.0["task"].clone()))
        }
        ServerResult::CallToolResult(result) if asked => match result.meta.as_ref().and_then(|meta| meta.get(BEGUN)) {
            Some(begun) if begun.is_object() => (Form::Core, Ok(begun.clone())),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let unreadable = || Error::Protocol("it answered with a task that cannot be read".to_owned());
    let said = said.map_err(|_| unreadable())?;
    let id = said["taskId"].as_str().filter(|id| !id.is_empty() && id.chars().nth(ID).is_none());
    let mut task = Task::known(id.ok_or_else(unreadable)?.to_owned(), form, None);
    task.update(&said);
    Ok(Some((task, said)))
}

/// Those who want to know when a task changed, by the task's id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told(Arc<Mutex<HashMap<String, Arc<Notify>>>>);

impl Told {
    /// A server says that a task changed. What it says beyond that is asked for.
    pub(crate) fn tell(&self, id: &str) {
        if let Some(listener) = self.with(|listeners| listeners.get(id).cloned()) {
            listener.notify_one();
        }
    }

    fn listen(&self, id: &str) -> Heard {
        let changed = Arc::<Notify>::default();
        self.with(|listeners| listeners.insert(id.to_owned(), changed.clone()));
        Heard { told: self.clone(), id: id.to_owned(), changed }
    }

    fn with<T>(&self, change: impl FnOnce(&mut HashMap<String, Arc<Notify>>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Somebody who listens. Dropped, they do not any more.
struct Heard {
    told: Told,
    id: String,
    changed: Arc<Notify>,
}

impl Drop for Heard {
    fn drop(&mut self) {
        self.told.with(|listeners| listeners.remove(&self.id));
    }
}

/// Tells the server that nobody wants the result of a task any more. That is a wish: the server need not follow it.
fn give_up(connection: &Inner, id: &str) {
    let Ok(runtime) = Handle::try_current() else { return };
    let request = ClientRequest::CancelTaskRequest(CancelTaskRequest::new(CancelTaskParams::new(id)));
    let peer = connection.peer.clone();
    let notice = async move {
        let options = PeerRequestOptions::with_timeout(NOTICE);
        let told = async { peer.send_request_with_option(request, options).await.ok()?.await_response().await.ok() };
        // A dead wire must not keep it.
        tokio::time::timeout(NOTICE, told).await.ok();
    };
    connection.tasks.spawn_on(notice, &runtime);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_about_time_is_bounded() {
        let mut task = Task::known("1".to_owned(), Form::Core, None);
        task.update(&json!({ "pollInterval": 0, "ttl": 60_000, "statusMessage": "a\nb" }));
        assert_eq!((task.poll, task.ttl), (POLL_LEAST, Some(Duration::from_mins(1))));
        assert_eq!(task.message.as_deref(), Some("a b"));
        task.update(&json!({ "pollIntervalMs": 1e300, "ttlMs": null, "statusMessage": " " }));
        assert_eq!((task.poll, task.ttl, task.message), (POLL_MOST, None, None));
        assert_eq!(duration(-1.0), Duration::MAX);
    }
}
