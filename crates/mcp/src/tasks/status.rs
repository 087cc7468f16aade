//! Status of a task, as `tasks/get` returns it.

use rmcp::model::{ClientRequest, GetTaskParams, GetTaskRequest};
use serde_json::{Map, Value};

use crate::error::sanitize_text;
use crate::session::Session;
use crate::tasks::Task;
use crate::{CallError, Error};

/// JSON-RPC error code "invalid params", by which a server says that it does not know the task.
const INVALID_PARAMS: i64 = -32602;

/// State of a task. Results and errors are there only in the extension, elicitations as well.
#[derive(Debug)]
pub(super) enum TaskState {
    Working,
    /// Waits for responses to these elicitations, by the server's keys.
    InputRequired(Map<String, Value>),
    Completed(Option<Value>),
    Failed(Option<Value>),
    Cancelled,
}

impl TaskState {
    /// Reads a task object and updates `task` from it.
    pub(super) fn parse(mut state: Value, task: &mut Task) -> Result<Self, Error> {
        task.update_from(&state);
        let mut take = |name: &str| state.get_mut(name).map(Value::take);
        match take("status").as_ref().and_then(Value::as_str) {
            Some("working") => Ok(Self::Working),
            Some("input_required") => Ok(Self::InputRequired(match take("inputRequests") {
                Some(Value::Object(requests)) => requests,
                _ => Map::new(),
            })),
            Some("completed") => Ok(Self::Completed(take("result"))),
            Some("failed") => Ok(Self::Failed(take("error"))),
            Some("cancelled") => Ok(Self::Cancelled),
            _ => Err(Error::Protocol("it says of a task what cannot be read".to_owned())),
        }
    }
}

/// Requests the task object.
///
/// # Errors
///
/// [`Error::TaskGone`] if the server does not know the task.
pub(super) async fn fetch_task(session: &Session, id: &str) -> Result<Value, Error> {
    let request = ClientRequest::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(id)));
    match session.request(request).await {
        Ok(result) => {
            let unreadable = |_| Error::Protocol("it says of a task what cannot be read".to_owned());
            serde_json::to_value(result).map_err(unreadable)
        }
        Err(Error::Server { code: INVALID_PARAMS, .. }) => Err(Error::TaskGone),
        Err(error) => Err(error),
    }
}

/// Returns the error that a task failed with.
pub(super) fn failed_task_error(error: Option<&Value>) -> CallError {
    let Some(error) = error.filter(|error| error.is_object()) else {
        return CallError::Unknown(Error::Protocol("its task failed without an error".to_owned()));
    };
    let message = sanitize_text(error["message"].as_str().unwrap_or_default());
    CallError::Server { code: error["code"].as_i64().unwrap_or_default(), message }
}
