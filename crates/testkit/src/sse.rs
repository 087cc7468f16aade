//! Parsing of complete event streams.

use serde_json::Value;

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamEvent {
    /// Value of the `id:` line.
    pub id: Option<u64>,
    /// Value of the `data:` line as JSON; `null` for `[DONE]`.
    pub data: Value,
}

impl StreamEvent {
    /// Returns the event's type; `[DONE]` for the last one.
    pub fn kind(&self) -> &str {
        self.data.get("type").and_then(Value::as_str).unwrap_or("[DONE]")
    }
}

/// Returns each [`StreamEvent`] of a stream; comments are left out.
pub fn events_of(text: &str) -> Vec<StreamEvent> {
    let line = |block: &str, name: &str| block.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
    text.split("\n\n")
        .filter_map(|block| {
            let data = line(block, "data: ")?;
            let id = line(block, "id: ").map(|id| id.parse().unwrap());
            Some(StreamEvent { id, data: serde_json::from_str(&data).unwrap_or(Value::Null) })
        })
        .collect()
}
