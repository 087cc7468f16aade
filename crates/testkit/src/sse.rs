//! Reading a whole stream of server-sent events.

use serde_json::Value;

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamEvent {
    /// The `id:` line.
    pub id: Option<u64>,
    /// The `data:` line as JSON; `null` for `[DONE]`.
    pub data: Value,
}

impl StreamEvent {
    /// The chunk's type; `[DONE]` for the last one.
    pub fn kind(&self) -> &str {
        self.data.get("type").and_then(Value::as_str).unwrap_or("[DONE]")
    }
}

/// The events of a stream, comments left out.
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
