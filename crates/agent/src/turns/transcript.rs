//! Folding of a turn's events into the parts of its answer. Live turns and turns that are read from the journal share
//! this code.

use domain::InteractionId;
use domain::message::Part;
use domain::tool::{Outcome, ToolCall};
use serde_json::Value;

use super::event::{ElicitationData, ElicitationState, TurnEvent};

/// Error of a tool call that the user declined, for the model and for the stored answer.
pub const CALL_DECLINED: &str = "The person declined this call. It was not made.";

/// [Parts](Part) of an answer, as of the last applied event.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    parts: Vec<TrackedPart>,
}

/// A part with the id that events refer to it by.
#[derive(Debug, Clone)]
struct TrackedPart {
    id: String,
    part: Part,
    /// Whether the part has no end yet. A tool call without an end may have been sent; only its result settles the
    /// outcome.
    open: bool,
    /// Approval that the tool call waits for.
    approval: Option<InteractionId>,
    /// Elicitations that the tool call waits for, each with whether it survives a restart.
    elicitations: Vec<(InteractionId, bool)>,
}

impl TrackedPart {
    /// Returns whether it waits for an elicitation that survives a restart.
    fn has_durable_elicitation(&self) -> bool {
        self.elicitations.iter().any(|(_, lasts)| *lasts)
    }
}

impl Transcript {
    /// Applies one event. An event about an unknown part changes nothing.
    pub fn apply(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::TextStart { id } => self.push(id, Part::Text { text: String::new() }),
            TurnEvent::ReasoningStart { id } => self.push(id, Part::Reasoning { text: String::new(), signature: None }),
            TurnEvent::TextDelta { id, delta } | TurnEvent::ReasoningDelta { id, delta } => {
                if let Some(Part::Text { text } | Part::Reasoning { text, .. }) = self.part(id) {
                    text.push_str(delta);
                }
            }
            TurnEvent::ReasoningEnd { id, provider_metadata: Some(metadata) } => {
                if let Some(Part::Reasoning { signature, .. }) = self.part(id) {
                    *signature = Some(metadata.provider.clone());
                }
            }
            TurnEvent::File(file) => self.push("", Part::File(file.clone())),
            TurnEvent::DataNotice { data } => self.push("", Part::Notice { text: data.text.clone() }),
            TurnEvent::DataReplyOptions { data } => {
                self.push("", Part::ReplyOptions { options: data.options.clone() });
            }
            TurnEvent::ToolInputStart { tool_call_id, tool_name, tool_metadata, .. } => {
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
            TurnEvent::ToolInputDelta { tool_call_id, input_text_delta } => {
                if let Some(ToolCall { arguments: Value::String(text), .. }) = self.call(tool_call_id) {
                    text.push_str(input_text_delta);
                }
            }
            TurnEvent::ToolInputAvailable { tool_call_id, input, tool_metadata, .. } => {
                if let Some(call) = self.call(tool_call_id) {
                    call.arguments.clone_from(input);
                    call.app.clone_from(&tool_metadata.app);
                    // The announcement is durable before the call is made, so from here on it may have been sent.
                    call.outcome = Outcome::Unknown;
                }
            }
            TurnEvent::ToolApprovalRequest { approval_id, tool_call_id, .. } => {
                if let Some(call) = self.call(tool_call_id) {
                    // A call that waits for approval has certainly not been sent.
                    call.outcome = Outcome::Stopped;
                }
                if let Some(slot) = self.parts.iter_mut().rev().find(|slot| slot.id == *tool_call_id) {
                    slot.approval = Some(*approval_id);
                }
            }
            TurnEvent::ToolApprovalResponse { approval_id, approved } => {
                let mut slots = self.parts.iter_mut();
                let Some(slot) = slots.find(|slot| slot.approval == Some(*approval_id)) else { return };
                slot.approval = None;
                if let Part::ToolCall { call } = &mut slot.part {
                    call.outcome = if *approved { Outcome::Unknown } else { Outcome::Denied };
                }
            }
            TurnEvent::DataElicitation { id, data } => self.apply_elicitation(*id, data),
            TurnEvent::ToolOutputDenied { tool_call_id } => {
                if let Some(call) = self.finish_call(tool_call_id) {
                    call.outcome = Outcome::Denied;
                    call.error = Some(CALL_DECLINED.to_owned());
                }
            }
            TurnEvent::ToolOutputAvailable { tool_call_id, output, duration_ms, .. } => {
                if let Some(call) = self.finish_call(tool_call_id) {
                    call.outcome = if output.is_error { Outcome::Error } else { Outcome::Done };
                    call.result = Some(output.clone());
                    call.duration_ms = *duration_ms;
                }
            }
            TurnEvent::ToolOutputError { tool_call_id, error_text, duration_ms, outcome, .. } => {
                if let Some(call) = self.finish_call(tool_call_id) {
                    call.outcome = *outcome;
                    call.error = Some(error_text.clone());
                    call.duration_ms = *duration_ms;
                }
            }
            _ => {}
        }
    }

    /// Returns the parts that are not empty.
    pub fn into_parts(self) -> Vec<Part> {
        let says_something = |part: &Part| match part {
            Part::Text { text } => !text.is_empty(),
            Part::Reasoning { text, signature } => !text.is_empty() || signature.is_some(),
            Part::ToolCall { .. }
            | Part::AppContext { .. }
            | Part::Notice { .. }
            | Part::ReplyOptions { .. }
            | Part::Attachment { .. }
            | Part::File(_) => true,
        };
        self.parts.into_iter().map(|slot| slot.part).filter(says_something).collect()
    }

    /// Returns the calls that wait for approval, with the approval's id.
    pub fn calls_awaiting_approval(&self) -> Vec<(InteractionId, ToolCall)> {
        let waits = |slot: &TrackedPart| match (&slot.part, slot.approval) {
            (Part::ToolCall { call }, Some(question)) => Some((question, call.as_ref().clone())),
            _ => None,
        };
        self.parts.iter().filter_map(waits).collect()
    }

    /// Returns the calls that wait for elicitations which survive a restart.
    pub fn calls_awaiting_elicitation(&self) -> Vec<ToolCall> {
        let asks = |slot: &TrackedPart| match &slot.part {
            Part::ToolCall { call } if slot.open && slot.has_durable_elicitation() => Some(call.as_ref().clone()),
            _ => None,
        };
        self.parts.iter().filter_map(asks).collect()
    }

    /// Returns whether a call waits for an interaction that survives a restart.
    pub fn awaits_user(&self) -> bool {
        self.parts.iter().any(|slot| slot.open && (slot.approval.is_some() || slot.has_durable_elicitation()))
    }

    /// Returns whether an elicitation is waiting.
    pub fn awaits_elicitation(&self, id: InteractionId) -> bool {
        self.parts.iter().any(|slot| slot.open && slot.elicitations.iter().any(|(open, _)| *open == id))
    }

    /// Returns the waiting elicitations that do not survive a restart, each with its call.
    pub fn lost_elicitations(&self) -> Vec<(InteractionId, ToolCall)> {
        let lost = |slot: &TrackedPart| match &slot.part {
            Part::ToolCall { call } if slot.open => {
                let lost = slot.elicitations.iter().filter(|(_, lasts)| !lasts);
                lost.map(|(id, _)| (*id, call.as_ref().clone())).collect()
            }
            _ => Vec::new(),
        };
        self.parts.iter().flat_map(lost).collect()
    }

    /// Returns the calls that have no end and do not wait for approval: they were in progress or about to start.
    pub fn unfinished_calls(&self) -> Vec<ToolCall> {
        let is_unsettled = |slot: &&TrackedPart| slot.open && slot.approval.is_none();
        let call = |slot: &TrackedPart| match &slot.part {
            Part::ToolCall { call } => Some(call.as_ref().clone()),
            _ => None,
        };
        self.parts.iter().filter(is_unsettled).filter_map(call).collect()
    }

    /// Returns the parts that have an end, for readers during the turn.
    pub fn finished_parts(&self) -> Vec<Part> {
        let has_end = |slot: &&TrackedPart| !matches!(slot.part, Part::ToolCall { .. }) || !slot.open;
        Self { parts: self.parts.iter().filter(has_end).cloned().collect() }.into_parts()
    }

    /// Applies the state of an elicitation to its call.
    fn apply_elicitation(&mut self, id: InteractionId, data: &ElicitationData) {
        let Some(slot) = self.parts.iter_mut().rev().find(|slot| slot.id == data.tool_call_id && slot.open) else {
            return;
        };
        slot.elicitations.retain(|(known, _)| *known != id);
        if let ElicitationState::Waiting { in_flight } = data.state {
            slot.elicitations.push((id, !in_flight));
        }
        let has_durable_elicitation = slot.has_durable_elicitation();
        if let Part::ToolCall { call } = &mut slot.part {
            // While only the user is waited for, the call is certainly not running at its server.
            call.outcome = if has_durable_elicitation { Outcome::Stopped } else { Outcome::Unknown };
        }
    }

    /// Appends an open part.
    fn push(&mut self, id: &str, part: Part) {
        self.parts.push(TrackedPart { id: id.to_owned(), part, open: true, approval: None, elicitations: Vec::new() });
    }

    /// Returns the newest part with an id.
    fn part(&mut self, id: &str) -> Option<&mut Part> {
        self.parts.iter_mut().rev().find(|slot| slot.id == id).map(|slot| &mut slot.part)
    }

    /// Returns the newest tool call with an id.
    fn call(&mut self, id: &str) -> Option<&mut ToolCall> {
        match self.part(id) {
            Some(Part::ToolCall { call }) => Some(call),
            _ => None,
        }
    }

    /// Marks a call as ended and returns it. Returns `None` if it has ended already.
    fn finish_call(&mut self, id: &str) -> Option<&mut ToolCall> {
        // Newest first: an id that a model uses twice means its latest call.
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
    use crate::turns::event::{ReplyOptionsData, ToolMetadata};
    use domain::tool::ToolResult;
    use serde_json::json;

    fn of(events: &[TurnEvent]) -> Vec<Part> {
        let mut transcript = Transcript::default();
        for event in events {
            transcript.apply(event);
        }
        transcript.into_parts()
    }

    fn call_events() -> Vec<TurnEvent> {
        let metadata = || ToolMetadata { server_name: "toolbox".into(), app: None };
        vec![
            TurnEvent::ToolInputStart {
                tool_call_id: "c".into(),
                tool_name: "add".into(),
                dynamic: true,
                tool_metadata: metadata(),
            },
            TurnEvent::ToolInputDelta { tool_call_id: "c".into(), input_text_delta: "{\"a\":1".into() },
            TurnEvent::ToolInputDelta { tool_call_id: "c".into(), input_text_delta: "}".into() },
            TurnEvent::ToolInputAvailable {
                tool_call_id: "c".into(),
                tool_name: "add".into(),
                input: json!({ "a": 1 }),
                dynamic: true,
                tool_metadata: metadata(),
            },
            TurnEvent::ToolOutputAvailable {
                tool_call_id: "c".into(),
                output: ToolResult::text("1"),
                dynamic: true,
                duration_ms: 5,
            },
        ]
    }

    #[test]
    fn a_call_that_was_cut_off_tells_how_far_it_came() {
        let outcome = |events: &[TurnEvent]| match of(events).first() {
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
            TurnEvent::TextStart { id: "0".into() },
            TurnEvent::TextDelta { id: "0".into(), delta: "Hel".into() },
            TurnEvent::TextDelta { id: "0".into(), delta: "lo".into() },
            TurnEvent::TextStart { id: "1".into() },
            TurnEvent::TextDelta { id: "gone".into(), delta: "x".into() },
        ];
        assert_eq!(of(&events), [Part::Text { text: "Hello".into() }]);
    }

    #[test]
    fn offered_replies_follow_the_question() {
        let options = vec!["find_files".to_owned(), "No tool".to_owned()];
        let events = [
            TurnEvent::TextStart { id: "0".into() },
            TurnEvent::TextDelta { id: "0".into(), delta: "Which one?".into() },
            TurnEvent::TextEnd { id: "0".into() },
            TurnEvent::DataReplyOptions { data: ReplyOptionsData { options: options.clone() } },
        ];
        assert_eq!(of(&events), [Part::Text { text: "Which one?".into() }, Part::ReplyOptions { options }]);
    }
}
