//! Expected state of a chat: a tree of messages, none of which may be lost, changed or duplicated.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

/// A message that was stored at the end of an earlier scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedMessage {
    /// The stored row.
    pub row: Value,
    /// Id of the preceding message.
    pub parent: Option<String>,
    /// Number of the attempt at an answer that it belongs to.
    pub attempt: u64,
}

/// The expected state of a chat.
#[derive(Debug, Default)]
pub struct ExpectedChat {
    /// Id; empty before the first chat.
    pub id: String,
    /// Ids of the messages on the current branch, in order.
    pub current_branch: Vec<String>,
    /// All messages, by id.
    pub messages: HashMap<String, ExpectedMessage>,
}

/// Columns of a message that must never change.
const CONSTANT_COLUMNS: [&str; 4] = ["role", "content", "status", "tool_calls"];

impl ExpectedChat {
    /// Returns the [`ExpectedMessage`] at an index of the current branch.
    pub fn message_at(&self, at: usize) -> Option<&ExpectedMessage> {
        self.messages.get(self.current_branch.get(at)?)
    }

    /// Returns the indices of the current branch's messages of a role: `user` or `assistant`.
    pub fn indices_of(&self, role: &str) -> Vec<usize> {
        (0..self.current_branch.len())
            .filter(|at| self.message_at(*at).is_some_and(|message| message.row["role"] == role))
            .collect()
    }

    /// Returns the index of the user message that the message at `at` belongs to.
    pub fn user_message_of(&self, at: usize) -> Option<usize> {
        (0..=at).rev().find(|at| self.message_at(*at).is_some_and(|message| message.row["role"] == "user"))
    }

    /// Returns the ids of the messages on other branches, sorted so that random choices depend on the seed alone.
    pub fn other_branches(&self) -> Vec<String> {
        let mut ids: Vec<String> =
            self.messages.keys().filter(|id| !self.current_branch.contains(id)).cloned().collect();
        ids.sort();
        ids
    }

    /// Compares the stored messages with the expected ones. New messages are not checked.
    pub fn compare(&self, current_branch: &[Value], other_branches: &[Value]) -> Vec<String> {
        let mut violations = Vec::new();
        let mut stored_ids = BTreeSet::new();
        let current_rows = current_branch.iter().map(|row| (row, true));
        for (row, is_on_current_branch) in current_rows.chain(other_branches.iter().map(|row| (row, false))) {
            let id = id_of(row);
            if !stored_ids.insert(id.clone()) {
                violations.push(format!("repeated: message {id} is stored twice"));
            }
            match self.messages.get(&id) {
                Some(expected) => {
                    for field in CONSTANT_COLUMNS.iter().filter(|field| expected.row[**field] != row[**field]) {
                        violations
                            .push(format!("message {id}: {field} was {} and is {}", expected.row[*field], row[*field]));
                    }
                    if !is_on_current_branch && row["parent_id"].as_str() != expected.parent.as_deref() {
                        let (was, is) = (&expected.parent, &row["parent_id"]);
                        violations.push(format!("message {id} followed {was:?}, and now follows {is}"));
                    }
                }
                None if !is_on_current_branch => violations.push(format!("message {id} appeared on another branch")),
                None => {}
            }
        }
        // Every expected message must be on some branch.
        let lost = self.messages.keys().filter(|id| !stored_ids.contains(*id));
        violations.extend(lost.map(|id| format!("lost: message {id} is missing")));
        violations
    }

    /// Adds the stored messages. `attempt` returns the number of the attempt for new ones.
    pub fn add_stored(&mut self, current_branch: &[Value], attempt: impl Fn(&Value) -> u64) -> Vec<String> {
        let mut violations = Vec::new();
        let mut parent: Option<String> = None;
        for row in current_branch {
            let id = id_of(row);
            match self.messages.get(&id) {
                Some(expected) if expected.parent != parent => {
                    violations.push(format!("message {id} followed {:?}, and now follows {parent:?}", expected.parent));
                }
                Some(_) => {}
                None => {
                    let message = ExpectedMessage { row: row.clone(), parent: parent.clone(), attempt: attempt(row) };
                    self.messages.insert(id.clone(), message);
                }
            }
            parent = Some(id);
        }
        self.current_branch = current_branch.iter().map(id_of).collect();
        violations
    }

    /// Compares the branches that the server reports with the tree.
    pub fn compare_branches(&self, reported: &Value) -> Option<String> {
        let siblings = |id: &String| -> BTreeSet<String> {
            let parent = &self.messages[id].parent;
            self.messages.iter().filter(|(_, other)| other.parent == *parent).map(|(id, _)| id.clone()).collect()
        };
        let expected: Vec<(String, BTreeSet<String>)> =
            self.current_branch.iter().map(|id| (id.clone(), siblings(id))).collect();
        let expected: Vec<_> = expected.into_iter().filter(|(_, branches)| branches.len() > 1).collect();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let parse_fork = |fork: &Value| {
            let branches = fork["branches"].as_array().map(|all| all.iter().map(text).collect()).unwrap_or_default();
            (text(&fork["messageId"]), branches)
        };
        let reported: Vec<(String, BTreeSet<String>)> =
            reported["forks"].as_array().map(|forks| forks.iter().map(parse_fork).collect()).unwrap_or_default();
        (reported != expected).then(|| format!("the branches are {reported:?}, expected {expected:?}"))
    }
}

/// Returns the id of a row.
pub fn id_of(row: &Value) -> String {
    row["id"].as_str().unwrap_or_default().to_owned()
}
