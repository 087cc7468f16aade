//! What a server says to a call instead of its result: that it needs something first.

use std::collections::BTreeMap;

use rmcp::model::{ErrorData, ServerResult};
use serde_json::{Map, Value};

use super::suspended::Needs;
use crate::Error;
use crate::error::quote;

/// The error of 2025-11-25 that says which pages have to be visited before the call can be made again.
const VISITS_REQUIRED: i32 = -32042;
/// Questions in one answer. A person could not keep more apart.
const QUESTIONS: usize = 16;

/// Takes a result apart: what is needed, or the result itself.
pub(crate) fn needs(result: ServerResult) -> Result<Result<Needs, ServerResult>, Error> {
    let mut raw = match result {
        ServerResult::InputRequiredResult(asked) => match serde_json::to_value(asked) {
            Ok(Value::Object(raw)) => raw,
            _ => return Err(Error::Protocol("it asks something that cannot be read".to_owned())),
        },
        // The library gives what it cannot read as it came.
        ServerResult::CustomResult(raw) => match raw.0 {
            Value::Object(raw) if raw.get("resultType").is_some_and(|kind| kind == "input_required") => raw,
            Value::Object(raw) if raw.get("resultType").is_some_and(|kind| kind != "complete") => {
                return Err(Error::Protocol("it answered with a result of an unknown kind".to_owned()));
            }
            other => return Ok(Err(ServerResult::CustomResult(rmcp::model::CustomResult(other)))),
        },
        other => return Ok(Err(other)),
    };
    let state = match raw.remove("requestState") {
        Some(Value::String(state)) => Some(state),
        _ => None,
    };
    let questions = match raw.remove("inputRequests") {
        Some(Value::Object(requests)) => requests,
        _ => Map::new(),
    };
    Ok(Ok(Needs::Answers { questions: self::questions(questions)?, state }))
}

/// The parameters of the questions, by the server's keys.
pub(super) fn questions(requests: Map<String, Value>) -> Result<BTreeMap<String, Value>, Error> {
    if requests.len() > QUESTIONS {
        return Err(Error::Protocol("it asks too many questions at once".to_owned()));
    }
    requests.into_iter().map(|(key, request)| Ok((key, parameters(request)?))).collect()
}

/// The parameters of a question. Everything else that could be asked for was not offered.
fn parameters(mut request: Value) -> Result<Value, Error> {
    match request.get("method").and_then(Value::as_str) {
        Some("elicitation/create") => Ok(request.get_mut("params").map(Value::take).unwrap_or_default()),
        Some("sampling/createMessage") => Err(Error::Protocol("it asked for sampling, which was not offered".into())),
        Some("roots/list") => Err(Error::Protocol("it asked for roots, which were not offered".into())),
        _ => Err(Error::Protocol("it asked for something that was not offered".into())),
    }
}

/// The visits that have to be made before the call can be made again, if that is what the error says.
pub(super) fn visits(error: &ErrorData) -> Option<Needs> {
    let visits = error.data.as_ref()?.get("elicitations")?.as_array()?;
    let good = error.code.0 == VISITS_REQUIRED && (1..=QUESTIONS).contains(&visits.len());
    good.then(|| Needs::Visits { visits: visits.clone(), code: error.code.0.into(), message: quote(&error.message) })
}
