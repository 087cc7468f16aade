//! Which piece belongs to which tool call.
//!
//! The wire's rule is that `index` tells. In practice servers send index 0 for every call, no index, no id, a new id
//! with every piece, or the name again and again. So a piece without a name always goes on with the call of its
//! index (or id, or the last one), and a piece with a name starts a call when its id is another one or, without ids,
//! when the name is another one or the arguments so far are already whole.

use std::collections::HashSet;

use domain::model::{ModelEvent, PartKind};

use super::chunk::Piece;
use crate::wire::leaf::{arguments_in, number_in, text_in};
use crate::wire::parts::unused_id;

/// The calls of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// The ids in use, in the conversation and in this answer.
    taken: HashSet<String>,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    /// The provider's id, which need not be unique.
    id: Option<String>,
    name: Option<String>,
    /// The number of its part; none before its name is known.
    part: Option<u32>,
    /// Arguments that came before the name.
    held: String,
    arguments: Nesting,
}

impl Calls {
    pub fn new(taken: HashSet<String>) -> Self {
        Self { calls: Vec::new(), taken }
    }

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes a piece; `parts` counts the parts of the answer.
    pub fn take(&mut self, piece: &Piece<'_>, parts: &mut u32, out: &mut Vec<ModelEvent>) {
        let index = number_in(piece.index);
        let id = text_in(piece.id).filter(|id| !id.is_empty());
        let name = piece.function.as_ref().and_then(|function| text_in(function.name)).filter(|name| !name.is_empty());
        let arguments = arguments_in(piece.function.as_ref().and_then(|function| function.arguments));

        let at = self.find(index, id.as_deref(), name.as_deref()).unwrap_or_else(|| {
            self.calls.push(Call { index, ..Call::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_none() {
            call.id = id.map(std::borrow::Cow::into_owned);
        }
        if let (None, Some(name)) = (&call.name, name) {
            call.name = Some(name.into_owned());
            call.open(&mut self.taken, parts, out);
        }
        if arguments.is_empty() {
            return;
        }
        call.arguments.push(&arguments);
        match call.part {
            Some(part) => out.push(ModelEvent::Delta { part, text: arguments.into_owned() }),
            None => call.held.push_str(&arguments),
        }
    }

    /// No more pieces come: closes the calls. One that never got its name is told all the same, without one, so that
    /// the model hears of it; one that has neither name nor arguments was nothing.
    pub fn close(&mut self, parts: &mut u32, out: &mut Vec<ModelEvent>) {
        self.calls.retain(|call| call.part.is_some() || !call.held.is_empty());
        for call in &mut self.calls {
            if call.part.is_none() {
                call.open(&mut self.taken, parts, out);
            }
            out.extend(call.part.map(|part| ModelEvent::PartEnd { part }));
        }
    }

    /// The call that the piece goes on with; none when it starts one.
    fn find(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let last = self.calls.len().checked_sub(1);
        let at = match (index, id) {
            (Some(index), _) => self.calls.iter().rposition(|call| call.index == Some(index)),
            (None, Some(id)) => self
                .calls
                .iter()
                .rposition(|call| call.id.as_deref() == Some(id))
                .or_else(|| last.filter(|_| name.is_none())),
            (None, None) => last,
        }?;
        let call = &self.calls[at];
        let Some(name) = name else { return Some(at) };
        let goes_on = match (id, &call.id, &call.name) {
            (Some(id), Some(known), _) => id == known,
            (_, _, Some(known)) => name == known && !call.arguments.is_whole(),
            (_, _, None) => true,
        };
        goes_on.then_some(at)
    }
}

impl Call {
    fn open(&mut self, taken: &mut HashSet<String>, parts: &mut u32, out: &mut Vec<ModelEvent>) {
        let part = *parts;
        *parts += 1;
        self.part = Some(part);
        let id = self.id.clone().filter(|id| !taken.contains(id)).unwrap_or_else(|| unused_id(taken));
        taken.insert(id.clone());
        let name = self.name.clone().unwrap_or_default();
        out.push(ModelEvent::PartStart { part, kind: PartKind::ToolCall { id, name } });
        if !self.held.is_empty() {
            out.push(ModelEvent::Delta { part, text: std::mem::take(&mut self.held) });
        }
    }
}

/// Knows whether a JSON object that comes in pieces is whole, without keeping it.
#[derive(Debug, Default)]
struct Nesting {
    depth: u32,
    in_string: bool,
    escaped: bool,
    whole: bool,
}

impl Nesting {
    fn push(&mut self, piece: &str) {
        for byte in piece.bytes() {
            if std::mem::take(&mut self.escaped) {
                continue;
            }
            match byte {
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => {
                    self.depth = self.depth.saturating_sub(1);
                    self.whole |= self.depth == 0;
                }
                _ => {}
            }
        }
    }

    fn is_whole(&self) -> bool {
        self.whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_whole_when_its_last_brace_closes() {
        let mut nesting = Nesting::default();
        for piece in ["{\"a\":\"}\\", "\"}\",\"b\":[{", "}]"] {
            nesting.push(piece);
            assert!(!nesting.is_whole(), "after {piece}");
        }
        nesting.push("}");
        assert!(nesting.is_whole());
    }
}
