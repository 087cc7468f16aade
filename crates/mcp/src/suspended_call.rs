//! Calls that wait for a user's input and for nothing else: the data that is stored meanwhile.
//!
//! The step that collects the input is in [`input_required`](crate::input_required).

use std::collections::BTreeMap;
use std::fmt;

use rmcp::model::CallToolRequestParams;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Call that its server answered with a request for input instead of a result. The server keeps nothing open: the input
/// can be collected later, in another process, and the call made again with it.
///
/// Holds the server's request state, so store it as a secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct SuspendedCall {
    /// Number of the server's answer, from 1.
    pub(crate) round: usize,
    #[serde(rename = "needs")]
    pub(crate) required: RequiredInput,
}

/// Input that a server requires before it continues a call.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum RequiredInput {
    /// Responses to elicitations (2026-07-28, "Input Required").
    #[serde(rename = "Answers")]
    Responses {
        /// Parameters of the elicitations, by the server's keys.
        #[serde(rename = "questions")]
        elicitations: BTreeMap<String, Value>,
        /// Opaque request state, which the repeated call returns unchanged.
        state: Option<String>,
    },
    /// Visits to pages, required by the error `URLElicitationRequired` of 2025-11-25.
    Visits { visits: Vec<Value>, code: i64, message: String },
}

/// Call that can be made again with the collected input.
#[derive(Clone)]
pub struct ResumedCall {
    /// Number of times that the server has asked for input.
    pub(crate) round: usize,
    pub(crate) responses: BTreeMap<String, Value>,
    pub(crate) state: Option<String>,
}

// The request state and the responses are secrets: `Debug` leaves them out.
impl fmt::Debug for SuspendedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SuspendedCall").field("round", &self.round).finish_non_exhaustive()
    }
}

impl fmt::Debug for ResumedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResumedCall").field("round", &self.round).finish_non_exhaustive()
    }
}

impl ResumedCall {
    /// Adds the responses and the request state to the parameters of the original call.
    pub(crate) fn apply_to(&self, original: CallToolRequestParams) -> CallToolRequestParams {
        let responses = self.responses.clone();
        // The fields are omitted, not empty or null, if the server did not ask for them (2026-07-28, "Input Required").
        let params = if responses.is_empty() { original } else { original.with_input_responses(responses) };
        match &self.state {
            Some(state) => params.with_request_state(state.clone()),
            None => params,
        }
    }
}
