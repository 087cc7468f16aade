//! The parts of an answer: their numbers, which of them are open, and the ids of calls.

use std::collections::HashSet;

use domain::model::{ModelEvent, ModelMessage, PartKind, Request, Seal};

/// Counts parts and tells of them.
#[derive(Debug, Default)]
pub(super) struct Parts {
    opened: u32,
    open: Vec<u32>,
    /// The ids in use, in the conversation and in this answer.
    taken: HashSet<String>,
    has_calls: bool,
}

impl Parts {
    /// For the answer to `request`, whose calls' ids are not used again.
    pub fn new(request: &Request) -> Self {
        Self { taken: ids_in(request), ..Self::default() }
    }

    /// How many parts there have been.
    pub fn count(&self) -> u32 {
        self.opened
    }

    /// Whether the model called a tool.
    pub fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Opens a part of words.
    pub fn start(&mut self, kind: PartKind, out: &mut Vec<ModelEvent>) -> u32 {
        let part = self.opened;
        self.opened += 1;
        self.open.push(part);
        out.push(ModelEvent::PartStart { part, kind });
        part
    }

    /// Opens a call. An id that is missing or in use is replaced.
    pub fn start_call(&mut self, id: Option<&str>, name: String, out: &mut Vec<ModelEvent>) -> u32 {
        let id = id.filter(|id| !id.is_empty() && !self.taken.contains(*id));
        let id = id.map_or_else(|| unused_id(&self.taken), str::to_owned);
        self.taken.insert(id.clone());
        self.has_calls = true;
        self.start(PartKind::ToolCall { id, name }, out)
    }

    /// Adds to an open part.
    pub fn grow(&self, part: u32, text: impl Into<String>, out: &mut Vec<ModelEvent>) {
        let text = text.into();
        if !text.is_empty() && self.open.contains(&part) {
            out.push(ModelEvent::Delta { part, text });
        }
    }

    /// Puts a seal on an open part.
    pub fn seal(&self, part: u32, seal: Seal, out: &mut Vec<ModelEvent>) {
        if self.open.contains(&part) {
            out.push(ModelEvent::Seal { part, seal });
        }
    }

    /// Closes a part, if it is open.
    pub fn end(&mut self, part: u32, out: &mut Vec<ModelEvent>) {
        if let Some(at) = self.open.iter().position(|open| *open == part) {
            self.open.remove(at);
            out.push(ModelEvent::PartEnd { part });
        }
    }

    /// Closes what is open.
    pub fn end_all(&mut self, out: &mut Vec<ModelEvent>) {
        out.extend(self.open.drain(..).map(|part| ModelEvent::PartEnd { part }));
    }
}

/// The ids of the calls in a conversation.
pub(super) fn ids_in(request: &Request) -> HashSet<String> {
    let calls = request.messages.iter().flat_map(|message| match message {
        ModelMessage::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    calls.map(|call| call.id.clone()).collect()
}

/// An id that nobody has.
pub(super) fn unused_id(taken: &HashSet<String>) -> String {
    let mut number = taken.len();
    loop {
        let id = format!("call_{number}");
        if !taken.contains(&id) {
            return id;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_id_is_one_that_nobody_has() {
        let taken: HashSet<String> = ["call_1".to_owned()].into();
        assert_eq!(unused_id(&taken), "call_2");
        assert_eq!(unused_id(&HashSet::new()), "call_0");
    }
}
