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

/// Everything that came of one turn on the person's side.
#[derive(Debug, Default)]
pub struct Witness {
    /// Whether the message was taken.
    pub taken: Option<Asked>,
    /// The number of the last event.
    pub last: u64,
    /// Whether the end was told, and with which word.
    pub ended: Option<String>,
    /// Whether Stop was pressed.
    pub stopped: Option<Asked>,
    /// By token: what was decided.
    pub decided: HashMap<String, (bool, Asked)>,
    /// By id: the calls that wait to be decided.
    pub waiting: HashMap<String, String>,
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
    /// Takes in an event; its approval, if it is one that waits to be decided.
    pub fn hear(&mut self, id: Option<u64>, data: &Value) -> Option<String> {
        if data["type"] == "start" {
            // The turn is told again from its start: what was told and lost does not count any more.
            let Self { taken, stopped, decided, faults, kills_before, .. } = std::mem::take(self);
            *self = Self { taken, stopped, decided, faults, kills_before, ..Self::default() };
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
                let approval = text("approvalId");
                let token = self.tokens.get(&text("toolCallId")).cloned().unwrap_or_default();
                self.waiting.insert(approval.clone(), token);
                return Some(approval);
            }
            "tool-approval-response" => drop(self.waiting.remove(&text("approvalId"))),
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
