//! Events folded into the parts of an answer. Live runs and runs read back after a crash take the same path.

use domain::message::Part;
use domain::tool::{Outcome, ToolCall};
use domain::{ApprovalId, ElicitationId};
use serde_json::Value;

use super::event::{ElicitationData, ElicitationState, RunEvent};

/// What the model reads, and the answer keeps, of a call that the person declined.
pub const DECLINED: &str = "The person declined this call. It was not made.";

/// An answer as far as it has come.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    parts: Vec<Slot>,
}

/// A part, and the id under which events speak of it.
#[derive(Debug, Clone)]
struct Slot {
    id: String,
    part: Part,
    /// A tool call whose arguments are complete may have been sent; only an answer settles what became of it.
    open: bool,
    /// The question that a tool call waits for.
    waits: Option<ApprovalId>,
    /// The questions that a tool call waits with, and whether they outlast the program.
    asks: Vec<(ElicitationId, bool)>,
}

impl Slot {
    /// Whether it waits with a question that outlasts the program.
    fn is_kept(&self) -> bool {
        self.asks.iter().any(|(_, lasts)| *lasts)
    }
}

impl Transcript {
    /// Takes in one event. An event that speaks of nothing known changes nothing.
    pub fn apply(&mut self, event: &RunEvent) {
        match event {
            RunEvent::TextStart { id } => self.push(id, Part::Text { text: String::new() }),
            RunEvent::ReasoningStart { id } => self.push(id, Part::Reasoning { text: String::new(), seal: None }),
            RunEvent::TextDelta { id, delta } | RunEvent::ReasoningDelta { id, delta } => {
                if let Some(Part::Text { text } | Part::Reasoning { text, .. }) = self.part(id) {
                    text.push_str(delta);
                }
            }
            RunEvent::ReasoningEnd { id, provider_metadata: Some(metadata) } => {
                if let Some(Part::Reasoning { seal, .. }) = self.part(id) {
                    *seal = Some(metadata.provider.clone());
                }
            }
            RunEvent::File(file) => self.push("", Part::File(file.clone())),
            RunEvent::DataNotice { data } => self.push("", Part::Notice { text: data.text.clone() }),
            RunEvent::ToolInputStart { tool_call_id, tool_name, tool_metadata, .. } => {
                let call = ToolCall {
                    id: tool_call_id.clone(),
                    name: tool_name.clone(),
                    server_name: tool_metadata.server_name.clone(),
                    arguments: Value::String(String::new()),
                    result: None,
                    error: None,
                    outcome: Outcome::Stopped,
                    duration_ms: 0,
                    app: tool_metadata.app.clone(),
                };
                self.push(tool_call_id, Part::ToolCall { call: Box::new(call) });
            }
            RunEvent::ToolInputDelta { tool_call_id, input_text_delta } => {
                if let Some(ToolCall { arguments: Value::String(text), .. }) = self.call(tool_call_id) {
                    text.push_str(input_text_delta);
                }
            }
            RunEvent::ToolInputAvailable { tool_call_id, input, tool_metadata, .. } => {
                if let Some(call) = self.call(tool_call_id) {
                    call.arguments.clone_from(input);
                    call.app.clone_from(&tool_metadata.app);
                    // From here on the call may be under way.
                    call.outcome = Outcome::Unknown;
                }
            }
            RunEvent::ToolApprovalRequest { approval_id, tool_call_id, .. } => {
                if let Some(call) = self.call(tool_call_id) {
                    // While it waits, it is certain that it was not sent.
                    call.outcome = Outcome::Stopped;
                }
                if let Some(slot) = self.parts.iter_mut().rev().find(|slot| slot.id == *tool_call_id) {
                    slot.waits = Some(*approval_id);
                }
            }
            RunEvent::ToolApprovalResponse { approval_id, approved } => {
                let mut slots = self.parts.iter_mut();
                let Some(slot) = slots.find(|slot| slot.waits == Some(*approval_id)) else { return };
                slot.waits = None;
                if let Part::ToolCall { call } = &mut slot.part {
                    call.outcome = if *approved { Outcome::Unknown } else { Outcome::Denied };
                }
            }
            RunEvent::DataElicitation { id, data } => self.ask(*id, data),
            RunEvent::ToolOutputDenied { tool_call_id } => {
                if let Some(call) = self.settle(tool_call_id) {
                    call.outcome = Outcome::Denied;
                    call.error = Some(DECLINED.to_owned());
                }
            }
            RunEvent::ToolOutputAvailable { tool_call_id, output, duration_ms, .. } => {
                if let Some(call) = self.settle(tool_call_id) {
                    call.outcome = if output.is_error { Outcome::Error } else { Outcome::Done };
                    call.result = Some(output.clone());
                    call.duration_ms = *duration_ms;
                }
            }
            RunEvent::ToolOutputError { tool_call_id, error_text, duration_ms, outcome, .. } => {
                if let Some(call) = self.settle(tool_call_id) {
                    call.outcome = *outcome;
                    call.error = Some(error_text.clone());
                    call.duration_ms = *duration_ms;
                }
            }
            _ => {}
        }
    }

    /// The parts that say something.
    pub fn into_parts(self) -> Vec<Part> {
        let says_something = |part: &Part| match part {
            Part::Text { text } => !text.is_empty(),
            Part::Reasoning { text, seal } => !text.is_empty() || seal.is_some(),
            Part::ToolCall { .. }
            | Part::AppContext { .. }
            | Part::Notice { .. }
            | Part::Attachment { .. }
            | Part::File(_) => true,
        };
        self.parts.into_iter().map(|slot| slot.part).filter(says_something).collect()
    }

    /// The calls that wait, each with its question.
    pub fn waiting(&self) -> Vec<(ApprovalId, ToolCall)> {
        let waits = |slot: &Slot| match (&slot.part, slot.waits) {
            (Part::ToolCall { call }, Some(question)) => Some((question, call.as_ref().clone())),
            _ => None,
        };
        self.parts.iter().filter_map(waits).collect()
    }

    /// The calls that wait with questions which outlast the program.
    pub fn asking(&self) -> Vec<ToolCall> {
        let asks = |slot: &Slot| match &slot.part {
            Part::ToolCall { call } if slot.open && slot.is_kept() => Some(call.as_ref().clone()),
            _ => None,
        };
        self.parts.iter().filter_map(asks).collect()
    }

    /// Whether a call waits for something that outlasts the program.
    pub fn waits(&self) -> bool {
        self.parts.iter().any(|slot| slot.open && (slot.waits.is_some() || slot.is_kept()))
    }

    /// Whether a question is open.
    pub fn asks(&self, id: ElicitationId) -> bool {
        self.parts.iter().any(|slot| slot.open && slot.asks.iter().any(|(open, _)| *open == id))
    }

    /// The open questions that do not outlast the program, each with its call.
    pub fn lost_questions(&self) -> Vec<(ElicitationId, ToolCall)> {
        let lost = |slot: &Slot| match &slot.part {
            Part::ToolCall { call } if slot.open => {
                let lost = slot.asks.iter().filter(|(_, lasts)| !lasts);
                lost.map(|(id, _)| (*id, call.as_ref().clone())).collect()
            }
            _ => Vec::new(),
        };
        self.parts.iter().flat_map(lost).collect()
    }

    /// The calls that have no end and do not wait for consent: they were under way, or were about to be.
    pub fn unsettled(&self) -> Vec<ToolCall> {
        let is_unsettled = |slot: &&Slot| slot.open && slot.waits.is_none();
        let call = |slot: &Slot| match &slot.part {
            Part::ToolCall { call } => Some(call.as_ref().clone()),
            _ => None,
        };
        self.parts.iter().filter(is_unsettled).filter_map(call).collect()
    }

    /// What has an end, for those who look while it goes on.
    pub fn settled_parts(&self) -> Vec<Part> {
        let has_end = |slot: &&Slot| !matches!(slot.part, Part::ToolCall { .. }) || !slot.open;
        Self { parts: self.parts.iter().filter(has_end).cloned().collect() }.into_parts()
    }

    fn ask(&mut self, id: ElicitationId, data: &ElicitationData) {
        let Some(slot) = self.parts.iter_mut().rev().find(|slot| slot.id == data.tool_call_id && slot.open) else {
            return;
        };
        slot.asks.retain(|(known, _)| *known != id);
        if let ElicitationState::Waiting { in_flight } = data.state {
            slot.asks.push((id, !in_flight));
        }
        let is_kept = slot.is_kept();
        if let Part::ToolCall { call } = &mut slot.part {
            // As long as nothing but the person is waited for, it is certain that nothing runs.
            call.outcome = if is_kept { Outcome::Stopped } else { Outcome::Unknown };
        }
    }

    fn push(&mut self, id: &str, part: Part) {
        self.parts.push(Slot { id: id.to_owned(), part, open: true, waits: None, asks: Vec::new() });
    }

    fn part(&mut self, id: &str) -> Option<&mut Part> {
        self.parts.iter_mut().rev().find(|slot| slot.id == id).map(|slot| &mut slot.part)
    }

    fn call(&mut self, id: &str) -> Option<&mut ToolCall> {
        match self.part(id) {
            Some(Part::ToolCall { call }) => Some(call),
            _ => None,
        }
    }

    /// The call, if its end has not been told yet.
    fn settle(&mut self, id: &str) -> Option<&mut ToolCall> {
        let slot = self.parts.iter_mut().rev().find(|slot| slot.id == id && slot.open)?;
        slot.open = false;
        match &mut slot.part {
            Part::ToolCall { call } => Some(call),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::event::ToolMetadata;
    use domain::tool::ToolResult;
    use serde_json::json;

    fn of(events: &[RunEvent]) -> Vec<Part> {
        let mut transcript = Transcript::default();
        for event in events {
            transcript.apply(event);
        }
        transcript.into_parts()
    }

    fn call_events() -> Vec<RunEvent> {
        let metadata = || ToolMetadata { server_name: "toolbox".into(), app: None };
        vec![
            RunEvent::ToolInputStart {
                tool_call_id: "c".into(),
                tool_name: "add".into(),
                dynamic: true,
                tool_metadata: metadata(),
            },
            RunEvent::ToolInputDelta { tool_call_id: "c".into(), input_text_delta: "{\"a\":1".into() },
            RunEvent::ToolInputDelta { tool_call_id: "c".into(), input_text_delta: "}".into() },
            RunEvent::ToolInputAvailable {
                tool_call_id: "c".into(),
                tool_name: "add".into(),
                input: json!({ "a": 1 }),
                dynamic: true,
                tool_metadata: metadata(),
            },
            RunEvent::ToolOutputAvailable {
                tool_call_id: "c".into(),
                output: ToolResult::text("1"),
                dynamic: true,
                duration_ms: 5,
            },
        ]
    }

    #[test]
    fn a_call_that_was_cut_off_tells_how_far_it_came() {
        let outcome = |events: &[RunEvent]| match of(events).first() {
            Some(Part::ToolCall { call }) => (call.outcome, call.arguments.clone()),
            _ => panic!("no call"),
        };
        let events = call_events();
        assert_eq!(
            outcome(&events[..2]),
            (Outcome::Stopped, json!("{\"a\":1")),
            "the arguments were still being written"
        );
        assert_eq!(outcome(&events[..4]), (Outcome::Unknown, json!({ "a": 1 })), "it may have been sent");
        assert_eq!(outcome(&events), (Outcome::Done, json!({ "a": 1 })));
    }

    #[test]
    fn text_grows_and_empty_text_falls_away() {
        let events = [
            RunEvent::TextStart { id: "0".into() },
            RunEvent::TextDelta { id: "0".into(), delta: "Hel".into() },
            RunEvent::TextDelta { id: "0".into(), delta: "lo".into() },
            RunEvent::TextStart { id: "1".into() },
            RunEvent::TextDelta { id: "gone".into(), delta: "x".into() },
        ];
        assert_eq!(of(&events), [Part::Text { text: "Hello".into() }]);
    }
}
