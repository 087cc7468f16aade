//! What a person was told of a turn, as it came over the stream.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use serde_json::Value;

/// What is this old when the program is killed has to be in the database, though a quarter of a second is promised: the
/// machine may be busy.
const SETTLED: Duration = Duration::from_secs(2);
/// What was told before a kill may be read this much later.
const LATE: Duration = Duration::from_secs(10);

/// What another process says of a turn whose process is gone.
const INTERRUPTED: &str = "The server stopped before the answer was complete.";

/// What was asked of the server, and whether it said yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The answer was lost, so it may have been taken or not.
    Perhaps,
    /// It was taken.
    Surely,
}

/// How much was read, and when.
#[derive(Debug)]
struct Heard {
    at: Instant,
    letters: usize,
    kills_before: usize,
}

impl Heard {
    /// Whether nothing was killed soon after it was told. What is read after a kill may have been told before it.
    fn is_settled(&self, kills: &[Instant]) -> bool {
        let later = kills.get(self.kills_before..).unwrap_or_default();
        !later.iter().any(|&killed| self.at < killed + LATE && killed < self.at + SETTLED)
    }
}

/// A question to the person that was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its id.
    pub id: String,
    /// The token of the call that waits.
    pub token: String,
    /// How it is answered.
    pub kind: Kind,
}

/// Kinds of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whether a tool may run.
    Approval,
    /// What a server wants to know, which outlives the program unless the server holds the call open.
    Form {
        /// Whether it does.
        held: bool,
    },
}

/// Everything that came of one answer on the person's side.
#[derive(Debug, Default)]
pub struct Witness {
    /// The run, as its start told it.
    pub run: String,
    /// The number of the last event.
    pub last: u64,
    /// Whether the end was told, and with which word.
    pub ended: Option<String>,
    /// By id: what waits for the person.
    pub waiting: HashMap<String, Waiting>,
    /// What was wrong with the stream itself.
    pub faults: Vec<String>,
    said: String,
    parts: usize,
    /// So many kills were over when the stream was asked for that is being read.
    pub kills_before: usize,
    lengths: Vec<Heard>,
    tokens: HashMap<String, String>,
    results: Vec<String>,
}

impl Witness {
    /// Takes in an event; the question, if it is one that waits to be answered.
    pub fn hear(&mut self, id: Option<u64>, data: &Value) -> Option<Waiting> {
        if data["type"] == "start" {
            // The turn is told again from its start: what was told and lost does not count any more.
            let Self { faults, kills_before, .. } = std::mem::take(self);
            let run = data["messageMetadata"]["runId"].as_str().unwrap_or_default().to_owned();
            *self = Self { run, faults, kills_before, ..Self::default() };
        }
        if let Some(id) = id {
            if id <= self.last {
                self.faults.push(format!("event {id} came after event {}", self.last));
            }
            self.last = id;
        }
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        match data["type"].as_str().unwrap_or("[DONE]") {
            "text-start" => {
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
            "error" if text("errorText") == INTERRUPTED => self.ended = Some("interrupted".to_owned()),
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

    /// Holds what a second viewer of the same turn was told against this.
    pub fn compare(&mut self, second: Self) {
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

    /// What was read.
    pub fn said(&self) -> &str {
        &self.said
    }

    /// The letters that have to be there after kills at these moments.
    pub fn settled_letters(&self, kills: &[Instant]) -> usize {
        self.lengths.iter().rev().find(|heard| heard.is_settled(kills)).map_or(0, |heard| heard.letters)
    }

    /// The calls whose results were told: a result is written down before anybody sees it.
    pub fn results(&self) -> HashSet<&str> {
        self.results.iter().map(String::as_str).collect()
    }
}
