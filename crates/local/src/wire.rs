//! What the program and the process of its model tell each other: a line of JSON each.

use std::io::Write;

use domain::model::{ModelError, ModelEvent, Request};
use serde::{Deserialize, Serialize};

/// What is wanted of the model. It works on one thing at a time.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Answer this.
    Answer(Request),
    /// Read what questions with these instructions and tools begin with.
    Prepare(Request),
    /// Leave what you are at.
    Cancel,
}

/// What the model says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// So many of so many layers are in memory.
    Loading { done: u32, total: u32 },
    /// It is in memory.
    Ready,
    /// A piece of the answer.
    Event(ModelEvent),
    /// What was wanted is done.
    Done,
    /// What was wanted was left, as it was told to.
    Left,
    /// What was wanted cannot be had.
    Failed(ModelError),
}

/// Writes one line.
pub(crate) fn write(target: &mut impl Write, message: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    target.write_all(&line)?;
    target.flush()
}
