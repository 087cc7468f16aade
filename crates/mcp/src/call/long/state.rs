//! What a server says about a task.

use rmcp::model::{ClientRequest, GetTaskParams, GetTaskRequest};
use serde_json::{Map, Value};

use super::Task;
use crate::connection::Inner;
use crate::error::quote;
use crate::offers::ask;
use crate::{CallError, Error};

/// JSON-RPC's "invalid params", which is how a server says that it knows no such task.
const UNKNOWN: i64 = -32602;

/// Where a task stands.
#[derive(Debug)]
pub(super) enum Now {
    Working,
    /// With the questions, by the server's keys, where they come with it.
    InputRequired(Map<String, Value>),
    /// With the result, where it comes with it.
    Completed(Option<Value>),
    /// With the error, where it comes with it.
    Failed(Option<Value>),
    Cancelled,
}

impl Now {
    /// Reads where it stands, and takes in the rest of what is said.
    pub(super) fn read(mut said: Value, task: &mut Task) -> Result<Self, Error> {
        task.update(&said);
        let mut take = |name: &str| said.get_mut(name).map(Value::take);
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

/// Asks where a task stands.
pub(super) async fn get(connection: &Inner, id: &str) -> Result<Value, Error> {
    let request = ClientRequest::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(id)));
    match ask::once(connection, request).await {
        Ok(result) => {
            let unreadable = |_| Error::Protocol("it says of a task what cannot be read".to_owned());
            serde_json::to_value(result).map_err(unreadable)
        }
        Err(Error::Server { code: UNKNOWN, .. }) => Err(Error::TaskGone),
        Err(error) => Err(error),
    }
}

/// The error that a task ended with.
pub(super) fn failure(error: Option<&Value>) -> CallError {
    let Some(error) = error.filter(|error| error.is_object()) else {
        return CallError::Unknown(Error::Protocol("its task failed without an error".to_owned()));
    };
    let message = quote(error["message"].as_str().unwrap_or_default());
    CallError::Server { code: error["code"].as_i64().unwrap_or_default(), message }
}
