//! The calls of a run that wait for its person, in memory: what is decided stands in the database first.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use domain::{ApprovalId, ElicitationId};
use mcp::{ElicitationForm, ElicitationResponse};
use serde::Serialize;
use serde_json::Value;
use store::approvals::Decided;
use tokio::sync::watch;

use super::event::ApprovalDescriptor;

/// Between the moment at which a question is told and the one at which its call waits for the answer.
const SOON: Duration = Duration::from_secs(5);

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

/// A question that a call waits with, as it is told to those who do not follow the stream.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// The question.
    pub elicitation_id: ElicitationId,
    /// The call.
    pub tool_call_id: String,
    /// The tool.
    pub name: String,
    /// The connection whose server asks.
    pub server_name: String,
    /// What is asked.
    pub request: Value,
    /// What the answer is checked against.
    #[serde(skip)]
    pub form: Option<ElicitationForm>,
}

/// All that a run waits for.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AllWaiting {
    /// Calls that wait for consent.
    pub approvals: Vec<Waiting>,
    /// Questions that calls wait with.
    pub elicitations: Vec<Asked>,
}

impl AllWaiting {
    fn is_empty(&self) -> bool {
        self.approvals.is_empty() && self.elicitations.is_empty()
    }

    fn calls(&self) -> usize {
        let approvals = self.approvals.iter().map(|waiting| waiting.tool_call_id.as_str());
        let asked = self.elicitations.iter().map(|asked| asked.tool_call_id.as_str());
        approvals.chain(asked).collect::<HashSet<_>>().len()
    }
}

#[derive(Debug, Default)]
struct State {
    /// Whether calls have begun: after a restart, the questions that were open are put again with them.
    has_begun: bool,
    /// Calls of the round without an end.
    under_way: usize,
    open: AllWaiting,
    decided: HashMap<ApprovalId, Decided>,
    replies: HashMap<ElicitationId, ElicitationResponse>,
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
        self.0.send_modify(|state| {
            state.has_begun = true;
            state.under_way = calls;
        });
    }

    /// One of them has ended.
    pub fn end_one(&self) {
        self.0.send_modify(|state| state.under_way = state.under_way.saturating_sub(1));
    }

    /// Waits until a question is decided, and gives the decision.
    pub async fn answer(&self, question: Waiting) -> Option<Decided> {
        let id = question.approval_id;
        self.0.send_modify(|state| state.open.approvals.push(question));
        let mut states = self.0.subscribe();
        let decided = states.wait_for(|state| state.decided.contains_key(&id)).await.ok()?.decided.get(&id).cloned();
        self.0.send_modify(|state| state.open.approvals.retain(|open| open.approval_id != id));
        decided
    }

    /// Hands a decision to the call that waits for it, or will.
    pub fn decide(&self, id: ApprovalId, decided: Decided) {
        self.0.send_modify(|state| {
            state.decided.entry(id).or_insert(decided);
        });
    }

    /// Puts a question and waits for the answer. It stays open until it is [closed](Self::close).
    pub async fn reply(&self, asked: Asked) -> ElicitationResponse {
        let id = asked.elicitation_id;
        self.0.send_modify(|state| state.open.elicitations.push(asked));
        let mut states = self.0.subscribe();
        match states.wait_for(|state| state.replies.contains_key(&id)).await {
            Ok(state) => state.replies.get(&id).cloned().unwrap_or(ElicitationResponse::Cancel),
            Err(_) => ElicitationResponse::Cancel,
        }
    }

    /// Hands an answer to the call that waits for it.
    pub fn tell(&self, id: ElicitationId, answer: ElicitationResponse) {
        self.0.send_modify(|state| {
            state.replies.entry(id).or_insert(answer);
        });
    }

    /// Takes a question back.
    pub fn close(&self, id: ElicitationId) {
        self.0.send_modify(|state| state.open.elicitations.retain(|open| open.elicitation_id != id));
    }

    /// Returns whether a call waits for the user.
    pub fn are_open(&self) -> bool {
        !self.0.borrow().open.is_empty()
    }

    /// Waits until [`Self::are_open`] is no longer `known`, and returns what it is then.
    pub async fn open_changed(&self, known: bool) -> bool {
        let has_changed = |state: &State| state.has_begun && state.open.is_empty() == known;
        let mut states = self.0.subscribe();
        states.wait_for(has_changed).await.map_or(known, |state| !state.open.is_empty())
    }

    /// A question that is open now.
    pub fn open(&self, id: ElicitationId) -> Option<Asked> {
        self.0.borrow().open.elicitations.iter().find(|open| open.elicitation_id == id).cloned()
    }

    /// A question that is open. One that is just being put is waited for a little.
    pub async fn asked(&self, id: ElicitationId) -> Option<Asked> {
        let find = |state: &State| state.open.elicitations.iter().find(|open| open.elicitation_id == id).cloned();
        let mut states = self.0.subscribe();
        let put = states.wait_for(|state| find(state).is_some());
        tokio::time::timeout(SOON, put).await.ok()?.ok().and_then(|state| find(&state))
    }

    /// Waits until nothing goes on any more but waiting, and tells for what.
    pub async fn only_waiting(&self) -> AllWaiting {
        let mut states = self.0.subscribe();
        let only_waits = |state: &State| match state.open.calls() {
            0 => false,
            waiting => waiting >= state.under_way,
        };
        states.wait_for(only_waits).await.map_or_else(|_| AllWaiting::default(), |state| state.open.clone())
    }
}
