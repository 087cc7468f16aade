//! Pending interactions of a turn, in memory. Decisions and answers are stored in the database before they are
//! delivered here.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use domain::{ApprovalId, ElicitationId};
use mcp::{ElicitationForm, ElicitationResponse};
use serde::Serialize;
use serde_json::Value;
use storage::approvals::Decided;
use tokio::sync::watch;

use super::event::ApprovalDescriptor;

/// Longest time between publishing an elicitation and waiting for its answer. An answer that is faster waits for it
/// this long.
const MAX_PUBLISH_DELAY: Duration = Duration::from_secs(5);

/// A pending approval, for clients that do not follow the event stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingApproval {
    /// Id of the approval.
    pub approval_id: ApprovalId,
    /// Id of the tool call.
    pub tool_call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments of the call.
    pub arguments: Value,
    /// Description of the tool by its server.
    #[serde(flatten)]
    pub descriptor: ApprovalDescriptor,
}

/// A pending elicitation or sign-in, for clients that do not follow the event stream.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingElicitation {
    /// Id of the elicitation.
    pub elicitation_id: ElicitationId,
    /// Id of the tool call.
    pub tool_call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Name of the connection whose server asks.
    pub server_name: String,
    /// Content of the elicitation.
    pub request: Value,
    /// Form that the answer is checked against.
    #[serde(skip)]
    pub form: Option<ElicitationForm>,
}

/// All pending interactions of a [turn](super::Turn).
#[derive(Debug, Clone, Default, Serialize)]
pub struct PendingSnapshot {
    /// Tool calls that wait for approval.
    pub approvals: Vec<PendingApproval>,
    /// Tool calls that wait for an answer or a sign-in.
    pub elicitations: Vec<PendingElicitation>,
}

impl PendingSnapshot {
    fn is_empty(&self) -> bool {
        self.approvals.is_empty() && self.elicitations.is_empty()
    }

    /// Returns the number of tool calls that wait. A call can wait for several answers.
    fn calls(&self) -> usize {
        let approvals = self.approvals.iter().map(|waiting| waiting.tool_call_id.as_str());
        let asked = self.elicitations.iter().map(|asked| asked.tool_call_id.as_str());
        approvals.chain(asked).collect::<HashSet<_>>().len()
    }
}

#[derive(Debug, Default)]
struct State {
    /// Whether the step's calls have started. After a restart, the stored interactions are pending again only from
    /// then on.
    has_begun: bool,
    /// Number of the step's calls that have not ended.
    under_way: usize,
    open: PendingSnapshot,
    /// Decisions, also of approvals that are not waited for yet.
    decided: HashMap<ApprovalId, Decided>,
    /// Answers, also of elicitations that are not waited for yet.
    replies: HashMap<ElicitationId, ElicitationResponse>,
}

/// Pending interactions of one [turn](super::Turn), with their answers.
#[derive(Debug)]
pub struct PendingInteractions(watch::Sender<State>);

impl Default for PendingInteractions {
    fn default() -> Self {
        Self(watch::Sender::new(State::default()))
    }
}

impl PendingInteractions {
    /// Records that a step starts so many calls.
    pub fn start_step(&self, calls: usize) {
        self.0.send_modify(|state| {
            state.has_begun = true;
            state.under_way = calls;
        });
    }

    /// Records that a call of the step has ended.
    pub fn finish_call(&self) {
        self.0.send_modify(|state| state.under_way = state.under_way.saturating_sub(1));
    }

    /// Adds an approval, waits for the decision, and returns it. Returns `None` if the turn is dropped.
    pub async fn wait_for_decision(&self, question: PendingApproval) -> Option<Decided> {
        let id = question.approval_id;
        self.0.send_modify(|state| state.open.approvals.push(question));
        // `wait_for` looks at the current state first, so a decision that was delivered before is not missed.
        let mut states = self.0.subscribe();
        let decided = states.wait_for(|state| state.decided.contains_key(&id)).await.ok()?.decided.get(&id).cloned();
        self.0.send_modify(|state| state.open.approvals.retain(|open| open.approval_id != id));
        decided
    }

    /// Delivers a decision to the call that waits for it now or later. The first decision holds.
    pub fn deliver_decision(&self, id: ApprovalId, decided: Decided) {
        self.0.send_modify(|state| {
            state.decided.entry(id).or_insert(decided);
        });
    }

    /// Adds an elicitation and waits for the answer. It stays pending until it is [closed](self::close).
    pub async fn wait_for_answer(&self, asked: PendingElicitation) -> ElicitationResponse {
        let id = asked.elicitation_id;
        self.0.send_modify(|state| state.open.elicitations.push(asked));
        let mut states = self.0.subscribe();
        match states.wait_for(|state| state.replies.contains_key(&id)).await {
            Ok(state) => state.replies.get(&id).cloned().unwrap_or(ElicitationResponse::Cancel),
            Err(_) => ElicitationResponse::Cancel,
        }
    }

    /// Delivers an answer to the call that waits for it. The first answer holds.
    pub fn deliver_answer(&self, id: ElicitationId, answer: ElicitationResponse) {
        self.0.send_modify(|state| {
            state.replies.entry(id).or_insert(answer);
        });
    }

    /// Removes an elicitation, answered or not.
    pub fn remove_elicitation(&self, id: ElicitationId) {
        self.0.send_modify(|state| state.open.elicitations.retain(|open| open.elicitation_id != id));
    }

    /// Returns whether a call waits for the user.
    pub fn has_open(&self) -> bool {
        !self.0.borrow().open.is_empty()
    }

    /// Waits until [`has_open`](Self::has_open) is no longer `known`, and returns what it is then.
    pub async fn wait_for_change(&self, known: bool) -> bool {
        let has_changed = |state: &State| state.has_begun && state.open.is_empty() == known;
        let mut states = self.0.subscribe();
        states.wait_for(has_changed).await.map_or(known, |state| !state.open.is_empty())
    }

    /// Returns a pending elicitation.
    pub fn find_elicitation(&self, id: ElicitationId) -> Option<PendingElicitation> {
        self.0.borrow().open.elicitations.iter().find(|open| open.elicitation_id == id).cloned()
    }

    /// Returns a pending elicitation, and waits up to five seconds for one that was just published: its event can
    /// reach a client before its call waits for the answer.
    pub async fn wait_for_elicitation(&self, id: ElicitationId) -> Option<PendingElicitation> {
        let find = |state: &State| state.open.elicitations.iter().find(|open| open.elicitation_id == id).cloned();
        let mut states = self.0.subscribe();
        let put = states.wait_for(|state| find(state).is_some());
        tokio::time::timeout(MAX_PUBLISH_DELAY, put).await.ok()?.ok().and_then(|state| find(&state))
    }

    /// Waits until every call of the step waits for the user, and returns what they wait for.
    pub async fn wait_until_blocked(&self) -> PendingSnapshot {
        let mut states = self.0.subscribe();
        let only_waits = |state: &State| match state.open.calls() {
            0 => false,
            waiting => waiting >= state.under_way,
        };
        states.wait_for(only_waits).await.map_or_else(|_| PendingSnapshot::default(), |state| state.open.clone())
    }
}
