//! Record of a turn's events as one subscriber received them.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use agent::turns::INTERRUPTED_MESSAGE;
use serde_json::Value;

/// Age after which received text must survive a kill. The server promises a quarter of a second; more is allowed
/// because the machine may be busy.
const DURABLE_AGE: Duration = Duration::from_secs(2);
/// Time after a kill within which events sent before it may still be read.
const LATE_EVENT_TIME: Duration = Duration::from_secs(10);

/// Certainty that the server accepted a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// The response was lost, so the request may have been accepted or not.
    Unknown,
    /// The server confirmed it.
    Confirmed,
}

/// Length of the received text at a time.
#[derive(Debug)]
struct TextLength {
    at: Instant,
    bytes: usize,
    kills_before: usize,
}

impl TextLength {
    /// Returns whether no kill followed soon after the text was sent. Text that is read after a kill can have been
    /// sent before it.
    fn is_durable(&self, kills: &[Instant]) -> bool {
        let later = kills.get(self.kills_before..).unwrap_or_default();
        !later.iter().any(|&killed| self.at < killed + LATE_EVENT_TIME && killed < self.at + DURABLE_AGE)
    }
}

/// An interaction that waits for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedInteraction {
    /// Id of the interaction.
    pub id: String,
    /// Token of the tool call.
    pub token: String,
    /// Kind of the interaction.
    pub kind: ObservedInteractionKind,
}

/// Kind of an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObservedInteractionKind {
    /// An approval of a tool call.
    Approval,
    /// An elicitation, which survives a restart unless the MCP server holds the call open.
    Elicitation {
        /// Whether the MCP server holds the call open.
        in_flight: bool,
    },
}

/// End of a stream, from its last event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEnd {
    /// The answer is complete.
    Done,
    /// A user stopped the answer.
    Stopped,
    /// The server stopped before the answer was complete.
    Interrupted,
    /// The answer failed with this message.
    Error(String),
}

impl StreamEnd {
    /// Returns the status that the stored answer must have.
    pub fn status(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
            Self::Error(_) => "failed",
        }
    }
}

/// The received events of one answer.
#[derive(Debug, Default)]
pub struct StreamLog {
    /// Id of the turn, from its first event.
    pub turn_id: String,
    /// Id of the last event.
    pub last_event_id: u64,
    /// End of the stream; `None` before it.
    pub end: Option<StreamEnd>,
    /// Pending interactions, by id.
    pub pending: HashMap<String, ObservedInteraction>,
    /// Violations in the stream itself.
    pub violations: Vec<String>,
    text: String,
    text_parts: usize,
    /// Number of kills before the current stream was requested.
    pub kills_before: usize,
    lengths: Vec<TextLength>,
    tokens: HashMap<String, String>,
    received_results: Vec<String>,
}

impl StreamLog {
    /// Applies an event. Returns the interaction ([`ObservedInteraction`]) if it begins one.
    pub fn apply(&mut self, id: Option<u64>, data: &Value) -> Option<ObservedInteraction> {
        if data["type"] == "start" {
            // The turn is replayed from its start, so events that were received before and lost in a crash no longer
            // count.
            let Self { violations, kills_before, .. } = std::mem::take(self);
            let turn_id = data["messageMetadata"]["turnId"].as_str().unwrap_or_default().to_owned();
            *self = Self { turn_id, violations, kills_before, ..Self::default() };
        }
        if let Some(id) = id {
            // Event ids only increase, also after a resumed stream.
            if id <= self.last_event_id {
                self.violations.push(format!("event {id} came after event {}", self.last_event_id));
            }
            self.last_event_id = id;
        }
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        match data["type"].as_str().unwrap_or("[DONE]") {
            "text-start" => {
                // The texts of several steps are stored with a blank line in between.
                if self.text_parts > 0 {
                    self.text.push_str("\n\n");
                }
                self.text_parts += 1;
            }
            "text-delta" => {
                self.text.push_str(&text("delta"));
                let (at, kills_before) = (Instant::now(), self.kills_before);
                self.lengths.push(TextLength { at, bytes: self.text.len(), kills_before });
            }
            "tool-input-available" => {
                let token = data["input"]["token"].as_str().unwrap_or_default().to_owned();
                self.tokens.insert(text("toolCallId"), token);
            }
            "tool-approval-request" => {
                return Some(self.add_interaction(
                    text("approvalId"),
                    &text("toolCallId"),
                    ObservedInteractionKind::Approval,
                ));
            }
            "tool-approval-response" => drop(self.pending.remove(&text("approvalId"))),
            "data-elicitation" if data["data"]["state"] == "waiting" => {
                let in_flight = data["data"]["inFlight"] == true;
                let call = data["data"]["toolCallId"].as_str().unwrap_or_default();
                return Some(self.add_interaction(
                    text("id"),
                    call,
                    ObservedInteractionKind::Elicitation { in_flight },
                ));
            }
            "data-elicitation" => drop(self.pending.remove(&text("id"))),
            "tool-output-available" => {
                let token = self.tokens.get(&text("toolCallId")).cloned().unwrap_or_default();
                self.received_results.push(token);
            }
            "finish" => self.end = Some(StreamEnd::Done),
            "abort" => self.end = Some(StreamEnd::Stopped),
            // The event has no code, so its text tells an interruption from other errors.
            "error" if text("errorText") == INTERRUPTED_MESSAGE => self.end = Some(StreamEnd::Interrupted),
            "error" => self.end = Some(StreamEnd::Error(text("errorText"))),
            _ => {}
        }
        None
    }

    /// Adds a pending interaction of the tool call with the id `call`.
    fn add_interaction(&mut self, id: String, call: &str, kind: ObservedInteractionKind) -> ObservedInteraction {
        let interaction =
            ObservedInteraction { id: id.clone(), token: self.tokens.get(call).cloned().unwrap_or_default(), kind };
        self.pending.insert(id, interaction.clone());
        interaction
    }

    /// Compares with the record of a second subscriber of the same turn.
    pub fn compare(&mut self, second: Self) {
        // One may have received less than the other, but no other text.
        let (own, other) = (self.text.as_str(), second.text.as_str());
        if !own.starts_with(other) && !other.starts_with(own) {
            self.violations.push(format!("one subscriber received the text {own:?} and another {other:?}"));
        }
        if let (Some(own), Some(other)) = (&self.end, &second.end)
            && own != other
        {
            self.violations.push(format!("one subscriber received the end {own:?} and another {other:?}"));
        }
        self.violations.extend(second.violations);
    }

    /// Returns the received text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the number of bytes that must be stored after kills at these times.
    pub fn durable_bytes(&self, kills: &[Instant]) -> usize {
        self.lengths.iter().rev().find(|length| length.is_durable(kills)).map_or(0, |length| length.bytes)
    }

    /// Returns the tokens of calls whose results were received. A result is stored before any subscriber receives it.
    pub fn received_results(&self) -> HashSet<&str> {
        self.received_results.iter().map(String::as_str).collect()
    }
}
