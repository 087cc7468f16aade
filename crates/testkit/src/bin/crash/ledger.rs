//! A model of a chat as its user knows it: a tree of messages, none of which may be lost, changed or duplicated.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

/// A message that the user knows.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownMessage {
    /// The stored row.
    pub row: Value,
    /// Id of the preceding message.
    pub parent: Option<String>,
    /// Number of the attempt at an answer that it belongs to.
    pub attempt: u64,
}

/// A chat as its user knows it.
#[derive(Debug, Default)]
pub struct ChatState {
    /// Id; empty before the first chat.
    pub id: String,
    /// Ids of the messages on the current branch, in order.
    pub present: Vec<String>,
    /// All messages, by id.
    pub known: HashMap<String, KnownMessage>,
}

/// Columns of a message that must never change.
const CONSTANT_COLUMNS: [&str; 4] = ["role", "content", "status", "tool_calls"];

impl ChatState {
    /// Returns the [`KnownMessage`] message at an index of the current branch.
    pub fn present(&self, at: usize) -> Option<&KnownMessage> {
        self.known.get(self.present.get(at)?)
    }

    /// Returns the indices of the current branch's messages of a role: `user` or `assistant`.
    pub fn places_of(&self, role: &str) -> Vec<usize> {
        (0..self.present.len()).filter(|at| self.present(*at).is_some_and(|one| one.row["role"] == role)).collect()
    }

    /// Returns the index of the user message that the message at `at` belongs to.
    pub fn question_of(&self, at: usize) -> Option<usize> {
        (0..=at).rev().find(|at| self.present(*at).is_some_and(|one| one.row["role"] == "user"))
    }

    /// Returns the ids of the messages on other branches, sorted so that random choices depend on the seed alone.
    pub fn aside(&self) -> Vec<String> {
        let mut aside: Vec<String> = self.known.keys().filter(|id| !self.present.contains(id)).cloned().collect();
        aside.sort();
        aside
    }

    /// Compares the stored messages with the known ones. New messages are not checked.
    pub fn compare(&self, present: &[Value], aside: &[Value]) -> Vec<String> {
        let mut faults = Vec::new();
        let mut seen = BTreeSet::new();
        let present_rows = present.iter().map(|row| (row, true));
        for (row, is_present) in present_rows.chain(aside.iter().map(|row| (row, false))) {
            let id = id_of(row);
            if !seen.insert(id.clone()) {
                faults.push(format!("repeated: message {id} is there twice"));
            }
            match self.known.get(&id) {
                Some(known) => {
                    for field in CONSTANT_COLUMNS.iter().filter(|field| known.row[**field] != row[**field]) {
                        faults.push(format!("message {id}: {field} was {} and is {}", known.row[*field], row[*field]));
                    }
                    if !is_present && row["parent_id"].as_str() != known.parent.as_deref() {
                        let (was, is) = (&known.parent, &row["parent_id"]);
                        faults.push(format!("message {id} stood after {was:?}, and stands after {is}"));
                    }
                }
                None if !is_present => faults.push(format!("message {id} came to another branch by itself")),
                None => {}
            }
        }
        // Every known message must be on some branch.
        let lost = self.known.keys().filter(|id| !seen.contains(*id));
        faults.extend(lost.map(|id| format!("lost: message {id} is gone")));
        faults
    }

    /// Adds the stored messages. `attempt` returns the number of the attempt for new ones.
    pub fn learn(&mut self, present: &[Value], attempt: impl Fn(&Value) -> u64) -> Vec<String> {
        let mut faults = Vec::new();
        let mut before: Option<String> = None;
        for row in present {
            let id = id_of(row);
            match self.known.get(&id) {
                Some(known) if known.parent != before => {
                    faults.push(format!("message {id} stood after {:?}, and stands after {before:?}", known.parent));
                }
                Some(_) => {}
                None => {
                    let known = KnownMessage { row: row.clone(), parent: before.clone(), attempt: attempt(row) };
                    self.known.insert(id.clone(), known);
                }
            }
            before = Some(id);
        }
        self.present = present.iter().map(id_of).collect();
        faults
    }

    /// Compares the branches that the server reports with the tree.
    pub fn compare_forks(&self, told: &Value) -> Option<String> {
        let siblings = |id: &String| -> BTreeSet<String> {
            let parent = &self.known[id].parent;
            self.known.iter().filter(|(_, other)| other.parent == *parent).map(|(id, _)| id.clone()).collect()
        };
        let expected: Vec<(String, BTreeSet<String>)> =
            self.present.iter().map(|id| (id.clone(), siblings(id))).collect();
        let expected: Vec<_> = expected.into_iter().filter(|(_, branches)| branches.len() > 1).collect();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let fork = |fork: &Value| {
            let branches = fork["branches"].as_array().map(|all| all.iter().map(text).collect()).unwrap_or_default();
            (text(&fork["messageId"]), branches)
        };
        let told: Vec<(String, BTreeSet<String>)> =
            told["forks"].as_array().map(|forks| forks.iter().map(fork).collect()).unwrap_or_default();
        (told != expected).then(|| format!("the branches are {told:?} and not {expected:?}"))
    }
}

/// Returns the id of a row.
pub fn id_of(row: &Value) -> String {
    row["id"].as_str().unwrap_or_default().to_owned()
}
