//! Record of a turn's events as one subscriber received them.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Age after which received text must survive a kill. The server promises a quarter of a second; more is allowed
/// because the machine may be busy.
const DURABLE_AGE: Duration = Duration::from_secs(2);
/// Time after a kill within which events sent before it may still be read.
const LATE_EVENT_TIME: Duration = Duration::from_secs(10);

/// Message of a turn that another node marked as interrupted.
const INTERRUPTED_MESSAGE: &str = "The server stopped before the answer was complete.";

/// Certainty that the server accepted a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The response was lost, so the request may have been accepted or not.
    Perhaps,
    /// The server confirmed it.
    Surely,
}

/// Length of the received text at a time.
#[derive(Debug)]
struct Heard {
    at: Instant,
    letters: usize,
    kills_before: usize,
}

impl Heard {
    /// Returns whether no kill followed soon after the text was sent. Text that is read after a kill can have been
    /// sent before it.
    fn is_settled(&self, kills: &[Instant]) -> bool {
        let later = kills.get(self.kills_before..).unwrap_or_default();
        !later.iter().any(|&killed| self.at < killed + LATE_EVENT_TIME && killed < self.at + DURABLE_AGE)
    }
}

/// An interaction that waits for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Id of the interaction.
    pub id: String,
    /// Token of the call that waits.
    pub token: String,
    /// Kind of the interaction.
    pub kind: Kind,
}

/// Kind of an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An approval of a tool call.
    Approval,
    /// An elicitation, which survives a restart unless the MCP server holds the call open.
    Form {
        /// Whether the MCP server holds the call open.
        held: bool,
    },
}

/// The received events of one answer.
#[derive(Debug, Default)]
pub struct Witness {
    /// Id of the turn, from its first event.
    pub turn: String,
    /// Id of the last event.
    pub last: u64,
    /// Status with which the answer ended; `None` before the end.
    pub ended: Option<String>,
    /// Pending interactions, by id.
    pub waiting: HashMap<String, Waiting>,
    /// Violations in the stream itself.
    pub faults: Vec<String>,
    said: String,
    parts: usize,
    /// Number of kills before the current stream was requested.
    pub kills_before: usize,
    lengths: Vec<Heard>,
    tokens: HashMap<String, String>,
    results: Vec<String>,
}

impl Witness {
    /// Applies an event. Returns the interaction ([`Waiting`]) if it begins one.
    pub fn hear(&mut self, id: Option<u64>, data: &Value) -> Option<Waiting> {
        if data["type"] == "start" {
            // The turn is replayed from its start, so events that were received before and lost in a crash no longer
            // count.
            let Self { faults, kills_before, .. } = std::mem::take(self);
            let turn = data["messageMetadata"]["turnId"].as_str().unwrap_or_default().to_owned();
            *self = Self { turn, faults, kills_before, ..Self::default() };
        }
        if let Some(id) = id {
            // Event ids only increase, also after a resumed stream.
            if id <= self.last {
                self.faults.push(format!("event {id} came after event {}", self.last));
            }
            self.last = id;
        }
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        match data["type"].as_str().unwrap_or("[DONE]") {
            "text-start" => {
                // The texts of several steps are stored with a blank line in between.
                if self.parts > 0 {
                    self.said.push_str("\n\n");
                }
                self.parts += 1;
            }
            "text-delta" => {
                self.said.push_str(&text("delta"));
                let (at, kills_before) = (Instant::now(), self.kills_before);
                self.lengths.push(Heard { at, letters: self.said.len(), kills_before });
            }
            "tool-input-available" => {
                let token = data["input"]["token"].as_str().unwrap_or_default().to_owned();
                self.tokens.insert(text("toolCallId"), token);
            }
            "tool-approval-request" => {
                return Some(self.asks(text("approvalId"), &text("toolCallId"), Kind::Approval));
            }
            "tool-approval-response" => drop(self.waiting.remove(&text("approvalId"))),
            "data-elicitation" if data["data"]["state"] == "waiting" => {
                let held = data["data"]["inFlight"] == true;
                let call = data["data"]["toolCallId"].as_str().unwrap_or_default();
                return Some(self.asks(text("id"), call, Kind::Form { held }));
            }
            "data-elicitation" => drop(self.waiting.remove(&text("id"))),
            "tool-output-available" => {
                let token = self.tokens.get(&text("toolCallId")).cloned().unwrap_or_default();
                self.results.push(token);
            }
            "finish" => self.ended = Some("done".to_owned()),
            "abort" => self.ended = Some("stopped".to_owned()),
            "error" if text("errorText") == INTERRUPTED_MESSAGE => self.ended = Some("interrupted".to_owned()),
            "error" => self.ended = Some(format!("failed: {}", text("errorText"))),
            _ => {}
        }
        None
    }

    fn asks(&mut self, id: String, call: &str, kind: Kind) -> Waiting {
        let waiting = Waiting { id: id.clone(), token: self.tokens.get(call).cloned().unwrap_or_default(), kind };
        self.waiting.insert(id, waiting.clone());
        waiting
    }

    /// Compares with the record of a second subscriber of the same turn.
    pub fn compare(&mut self, second: Self) {
        // Either may have read less than the other, but never something else.
        let (ours, theirs) = (self.said.as_str(), second.said.as_str());
        if !ours.starts_with(theirs) && !theirs.starts_with(ours) {
            self.faults.push(format!("one viewer read {ours:?} and another {theirs:?}"));
        }
        if let (Some(ours), Some(theirs)) = (&self.ended, &second.ended)
            && ours != theirs
        {
            self.faults.push(format!("one viewer was told {ours:?} and another {theirs:?}"));
        }
        self.faults.extend(second.faults);
    }

    /// Returns the received text.
    pub fn said(&self) -> &str {
        &self.said
    }

    /// Returns the number of bytes that must be stored after kills at these times.
    pub fn settled_letters(&self, kills: &[Instant]) -> usize {
        self.lengths.iter().rev().find(|heard| heard.is_settled(kills)).map_or(0, |heard| heard.letters)
    }

    /// Returns the tokens of calls whose results were received. A result is stored before any subscriber receives it.
    pub fn results(&self) -> HashSet<&str> {
        self.results.iter().map(String::as_str).collect()
    }
}
