//! Assembly of tool calls from their deltas.
//!
//! In this API, `index` identifies the call of a delta. In practice servers send index 0 for every call, no index, no
//! id, a new id with every delta, or the name with every delta. So a delta without a name always continues the call
//! of its index (or of its id, or the last call). A delta with a name starts a call if its id differs or, without
//! ids, if the name differs or the arguments so far are complete.

use std::collections::HashSet;

use domain::model::{ModelEvent, PartKind};

use super::chunk::ToolCallDelta;
use crate::providers::lenient_json::{arguments_text, as_number, as_text};
use crate::providers::part_tracker::unused_call_id;

/// Tool calls of one response, in the order in which they started.
#[derive(Debug, Default)]
pub(super) struct ToolCallAssembler {
    calls: Vec<PartialCall>,
    /// Ids of the calls in the conversation and in this response.
    used_ids: HashSet<String>,
}

/// A tool call that may be incomplete.
#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    /// Id from the provider, which may not be unique.
    id: Option<String>,
    name: Option<String>,
    /// Number of its part; `None` until its name is known.
    part: Option<u32>,
    /// Arguments that arrived before the name.
    buffered_arguments: String,
    nesting: JsonNesting,
}

impl ToolCallAssembler {
    /// Creates an assembler that does not reuse the given ids.
    pub fn new(used_ids: HashSet<String>) -> Self {
        Self { calls: Vec::new(), used_ids }
    }

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds a delta to its call. `part_count` is the number of parts of the response so far.
    pub fn push_delta(&mut self, delta: &ToolCallDelta<'_>, part_count: &mut u32, out: &mut Vec<ModelEvent>) {
        let index = as_number(delta.index);
        let id = as_text(delta.id).filter(|id| !id.is_empty());
        let name = delta.function.as_ref().and_then(|function| as_text(function.name)).filter(|name| !name.is_empty());
        let arguments = arguments_text(delta.function.as_ref().and_then(|function| function.arguments));

        let position = self.find_call(index, id.as_deref(), name.as_deref()).unwrap_or_else(|| {
            self.calls.push(PartialCall { index, ..PartialCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[position];
        // The first id counts; some servers send a new one with every delta.
        if call.id.is_none() {
            call.id = id.map(std::borrow::Cow::into_owned);
        }
        if let (None, Some(name)) = (&call.name, name) {
            call.name = Some(name.into_owned());
            call.start_part(&mut self.used_ids, part_count, out);
        }
        if arguments.is_empty() {
            return;
        }
        call.nesting.push_str(&arguments);
        match call.part {
            Some(part) => out.push(ModelEvent::Delta { part, text: arguments.into_owned() }),
            // The start event contains the name, so arguments wait for it.
            None => call.buffered_arguments.push_str(&arguments),
        }
    }

    /// Ends all calls. A call that has arguments but no name is emitted without one, so that the model learns of it;
    /// a call with neither is dropped.
    pub fn finish(&mut self, part_count: &mut u32, out: &mut Vec<ModelEvent>) {
        self.calls.retain(|call| call.part.is_some() || !call.buffered_arguments.is_empty());
        for call in &mut self.calls {
            if call.part.is_none() {
                call.start_part(&mut self.used_ids, part_count, out);
            }
            out.extend(call.part.map(|part| ModelEvent::PartEnd { part }));
        }
    }

    /// Returns the position of the call that a delta continues; `None` when the delta starts a call.
    fn find_call(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let last = self.calls.len().checked_sub(1);
        let position = match (index, id) {
            // The last one: servers that send index 0 for every call continue the newest.
            (Some(index), _) => self.calls.iter().rposition(|call| call.index == Some(index)),
            (None, Some(id)) => self
                .calls
                .iter()
                .rposition(|call| call.id.as_deref() == Some(id))
                .or_else(|| last.filter(|_| name.is_none())),
            // Without index and id, only the order is left.
            (None, None) => last,
        }?;
        let call = &self.calls[position];
        let Some(name) = name else { return Some(position) };
        let continues = match (id, &call.id, &call.name) {
            (Some(id), Some(known), _) => id == known,
            (_, _, Some(known)) => name == known && !call.nesting.is_complete(),
            (_, _, None) => true,
        };
        continues.then_some(position)
    }
}

impl PartialCall {
    /// Emits the start of the call's part, with an id that is unique in the conversation.
    fn start_part(&mut self, used_ids: &mut HashSet<String>, part_count: &mut u32, out: &mut Vec<ModelEvent>) {
        let part = *part_count;
        *part_count += 1;
        self.part = Some(part);
        let id = self.id.clone().filter(|id| !used_ids.contains(id)).unwrap_or_else(|| unused_call_id(used_ids));
        used_ids.insert(id.clone());
        let name = self.name.clone().unwrap_or_default();
        out.push(ModelEvent::PartStart { part, kind: PartKind::ToolCall { id, name } });
        if !self.buffered_arguments.is_empty() {
            out.push(ModelEvent::Delta { part, text: std::mem::take(&mut self.buffered_arguments) });
        }
    }
}

/// Tracker of whether a JSON object that arrives in pieces is complete. It does not store the object.
#[derive(Debug, Default)]
struct JsonNesting {
    depth: u32,
    in_string: bool,
    is_escaped: bool,
    is_complete: bool,
}

impl JsonNesting {
    fn push_str(&mut self, piece: &str) {
        for byte in piece.bytes() {
            if std::mem::take(&mut self.is_escaped) {
                continue;
            }
            match byte {
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                // Bytes suffice: no byte of a multi-byte character in UTF-8 equals one of these.
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => {
                    self.depth = self.depth.saturating_sub(1);
                    self.is_complete |= self.depth == 0;
                }
                _ => {}
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.is_complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_is_complete_after_its_last_brace() {
        let mut nesting = JsonNesting::default();
        for piece in ["{\"a\":\"}\\", "\"}\",\"b\":[{", "}]"] {
            nesting.push_str(piece);
            assert!(!nesting.is_complete(), "after {piece}");
        }
        nesting.push_str("}");
        assert!(nesting.is_complete());
    }
}
