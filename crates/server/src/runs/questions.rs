//! The calls of a run that wait for its person, in memory: what is decided stands in the database first.

use std::collections::HashMap;

use domain::ApprovalId;
use serde::Serialize;
use serde_json::Value;
use store::approvals::Decided;
use tokio::sync::watch;

use super::event::ApprovalDescriptor;

/// A call that waits, as it is told to those who do not follow the stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// The question.
    pub approval_id: ApprovalId,
    /// The call.
    pub tool_call_id: String,
    /// The tool.
    pub name: String,
    /// What it is to be called with.
    pub arguments: Value,
    /// What the server says about it.
    #[serde(flatten)]
    pub descriptor: ApprovalDescriptor,
}

#[derive(Debug, Default)]
struct State {
    /// Calls of the round that are being made.
    busy: usize,
    open: Vec<Waiting>,
    decided: HashMap<ApprovalId, Decided>,
}

/// The questions of one run.
#[derive(Debug)]
pub struct Questions(watch::Sender<State>);

impl Default for Questions {
    fn default() -> Self {
        Self(watch::Sender::new(State::default()))
    }
}

impl Questions {
    /// So many calls begin at once.
    pub fn begin(&self, calls: usize) {
        self.0.send_modify(|state| state.busy = calls);
    }

    /// One of them has ended.
    pub fn end_one(&self) {
        self.0.send_modify(|state| state.busy = state.busy.saturating_sub(1));
    }

    /// Waits until a question is decided, and gives the decision.
    pub async fn answer(&self, question: Waiting) -> Option<Decided> {
        let id = question.approval_id;
        self.0.send_modify(|state| {
            state.open.push(question);
            state.busy = state.busy.saturating_sub(1);
        });
        let mut states = self.0.subscribe();
        let decided = states.wait_for(|state| state.decided.contains_key(&id)).await.ok()?.decided.get(&id).cloned();
        self.0.send_modify(|state| {
            state.open.retain(|open| open.approval_id != id);
            state.busy += 1;
        });
        decided
    }

    /// Hands a decision to the call that waits for it, or will.
    pub fn decide(&self, id: ApprovalId, decided: Decided) {
        self.0.send_modify(|state| {
            state.decided.entry(id).or_insert(decided);
        });
    }

    /// Whether a call waits.
    pub fn is_any_open(&self) -> bool {
        !self.0.borrow().open.is_empty()
    }

    /// Waits until nothing goes on any more but waiting, and tells for what.
    pub async fn only_waiting(&self) -> Vec<Waiting> {
        let mut states = self.0.subscribe();
        match states.wait_for(|state| state.busy == 0 && !state.open.is_empty()).await {
            Ok(state) => state.open.clone(),
            Err(_) => Vec::new(),
        }
    }
}
