//! Messages between the program and the model's subprocess: one line of JSON each.

use std::io::Write;

use domain::model::{ModelError, ModelEvent, Request};
use serde::{Deserialize, Serialize};

/// Request to the subprocess, which processes one at a time.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum IpcRequest {
    /// Answer a model request.
    Answer(Request),
    /// Read the prompt prefix of requests with these instructions and tools.
    Prepare(Request),
    /// Cancel the request in progress.
    Cancel,
}

/// Response of the subprocess.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum IpcResponse {
    /// Loading progress, in layers.
    Loading { done: u32, total: u32 },
    /// The model is loaded.
    Ready,
    /// An event of the model's response.
    Event(ModelEvent),
    /// The request is complete.
    Done,
    /// The request was cancelled.
    Cancelled,
    /// Loading or the request failed.
    Failed(ModelError),
}

/// Writes a message as one line and flushes it.
pub(crate) fn write_message(target: &mut impl Write, message: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    target.write_all(&line)?;
    target.flush()
}
