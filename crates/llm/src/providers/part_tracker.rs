//! Numbers and states of a response's parts, and unique ids for its tool calls.

use std::collections::HashSet;

use domain::model::{ModelEvent, ModelMessage, PartKind, Request, Signature};

/// Tracker of a response's parts, which emits their events.
#[derive(Debug, Default)]
pub(super) struct PartTracker {
    next_part: u32,
    open_parts: Vec<u32>,
    /// Ids of the calls in the conversation and in this response.
    used_ids: HashSet<String>,
    has_calls: bool,
}

impl PartTracker {
    /// Creates a tracker for the response to `request`, whose call ids are not reused.
    pub fn new(request: &Request) -> Self {
        Self { used_ids: call_ids_in(request), ..Self::default() }
    }

    /// Returns the number of parts started so far.
    pub fn count(&self) -> u32 {
        self.next_part
    }

    /// Returns whether the model called a tool.
    pub fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Starts a part and returns its number.
    pub fn start_part(&mut self, kind: PartKind, out: &mut Vec<ModelEvent>) -> u32 {
        let part = self.next_part;
        self.next_part += 1;
        self.open_parts.push(part);
        out.push(ModelEvent::PartStart { part, kind });
        part
    }

    /// Starts a tool call and returns its part's number. An id that is missing or used already is replaced.
    pub fn start_call(&mut self, id: Option<&str>, name: String, out: &mut Vec<ModelEvent>) -> u32 {
        let id = id.filter(|id| !id.is_empty() && !self.used_ids.contains(*id));
        let id = id.map_or_else(|| unused_call_id(&self.used_ids), str::to_owned);
        self.used_ids.insert(id.clone());
        self.has_calls = true;
        self.start_part(PartKind::ToolCall { id, name }, out)
    }

    /// Appends text to a part, if it is open.
    pub fn append(&self, part: u32, text: impl Into<String>, out: &mut Vec<ModelEvent>) {
        let text = text.into();
        if !text.is_empty() && self.open_parts.contains(&part) {
            out.push(ModelEvent::Delta { part, text });
        }
    }

    /// Attaches a [`Signature`] to a part, if it is open.
    pub fn signature(&self, part: u32, signature: Signature, out: &mut Vec<ModelEvent>) {
        if self.open_parts.contains(&part) {
            out.push(ModelEvent::Signature { part, signature });
        }
    }

    /// Ends a part, if it is open.
    pub fn end_part(&mut self, part: u32, out: &mut Vec<ModelEvent>) {
        if let Some(at) = self.open_parts.iter().position(|open| *open == part) {
            self.open_parts.remove(at);
            out.push(ModelEvent::PartEnd { part });
        }
    }

    /// Ends all open parts.
    pub fn end_all(&mut self, out: &mut Vec<ModelEvent>) {
        out.extend(self.open_parts.drain(..).map(|part| ModelEvent::PartEnd { part }));
    }
}

/// Returns the ids of all tool calls in a conversation.
pub(super) fn call_ids_in(request: &Request) -> HashSet<String> {
    let calls = request.messages.iter().flat_map(|message| match message {
        ModelMessage::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    calls.map(|call| call.id.clone()).collect()
}

/// Returns a call id that is not in `used_ids`.
pub(super) fn unused_call_id(used_ids: &HashSet<String>) -> String {
    let mut number = used_ids.len();
    loop {
        let id = format!("call_{number}");
        if !used_ids.contains(&id) {
            return id;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_id_that_is_not_in_use() {
        let used_ids: HashSet<String> = ["call_1".to_owned()].into();
        assert_eq!(unused_call_id(&used_ids), "call_2");
        assert_eq!(unused_call_id(&HashSet::new()), "call_0");
    }
}
