//! What a person knows of a chat: a tree of messages, none of which may be lost, changed or doubled.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

/// A message that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// As it is stored.
    pub row: Value,
    /// What it stands after.
    pub parent: Option<String>,
    /// Which attempt at an answer it belongs to.
    pub attempt: u64,
}

/// A chat.
#[derive(Debug, Default)]
pub struct Chat {
    /// Its id; empty before the first one.
    pub id: String,
    /// The ids on its present branch, in order.
    pub present: Vec<String>,
    /// By id: all messages.
    pub known: HashMap<String, Known>,
}

/// What is stored of a message and may not change.
const LASTS: [&str; 4] = ["role", "content", "status", "tool_calls"];

impl Chat {
    /// A message of the present branch.
    pub fn present(&self, at: usize) -> Option<&Known> {
        self.known.get(self.present.get(at)?)
    }

    /// The places of what somebody said on the present branch: `user` or `assistant`.
    pub fn places_of(&self, role: &str) -> Vec<usize> {
        (0..self.present.len()).filter(|at| self.present(*at).is_some_and(|one| one.row["role"] == role)).collect()
    }

    /// Where the question of the message at a place stands.
    pub fn question_of(&self, at: usize) -> Option<usize> {
        (0..=at).rev().find(|at| self.present(*at).is_some_and(|one| one.row["role"] == "user"))
    }

    /// The messages that are not on the present branch.
    pub fn aside(&self) -> Vec<String> {
        let mut aside: Vec<String> = self.known.keys().filter(|id| !self.present.contains(id)).cloned().collect();
        aside.sort();
        aside
    }

    /// Holds what is stored now against what is known; what is new is not looked at.
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
                    for field in LASTS.iter().filter(|field| known.row[**field] != row[**field]) {
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
        let lost = self.known.keys().filter(|id| !seen.contains(*id));
        faults.extend(lost.map(|id| format!("lost: message {id} is gone")));
        faults
    }

    /// Takes over what is stored; `attempt` tells those of new messages.
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
                    let known = Known { row: row.clone(), parent: before.clone(), attempt: attempt(row) };
                    self.known.insert(id.clone(), known);
                }
            }
            before = Some(id);
        }
        self.present = present.iter().map(id_of).collect();
        faults
    }

    /// Holds the forks that the server tells against the tree.
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

/// The id of a row.
pub fn id_of(row: &Value) -> String {
    row["id"].as_str().unwrap_or_default().to_owned()
}
