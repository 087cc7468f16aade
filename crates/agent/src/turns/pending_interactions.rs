//! Pending interactions of a turn, in memory. Decisions and answers are stored in the database before they are
//! delivered here.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use domain::{AwaitedInteraction, InteractionId, InteractionKind};
use mcp::{ElicitationForm, ElicitationResponse};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use storage::interactions::ApprovalDecision;
use tokio::sync::watch;

use super::event::ApprovalDescriptor;

/// Longest time between publishing an elicitation and waiting for its answer. An answer that is faster waits for it
/// this long.
const MAX_PUBLISH_DELAY: Duration = Duration::from_secs(5);

/// A pending approval, for clients that do not follow the event stream.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingApproval {
    /// Id of the approval.
    pub approval_id: InteractionId,
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
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingElicitation {
    /// Id of the elicitation.
    pub elicitation_id: InteractionId,
    /// Id of the tool call.
    pub tool_call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Name of the connection whose server asks.
    pub server_name: String,
    /// Content of the elicitation; `mode` is `form`, `url` or `sign-in`.
    #[schemars(with = "Map<String, Value>")]
    pub request: Value,
    /// Form that the answer is checked against.
    #[serde(skip)]
    pub form: Option<ElicitationForm>,
}

/// Interaction that a tool call waits for.
#[derive(Debug, Clone)]
pub enum PendingInteraction {
    /// Approval of the call.
    Approval(PendingApproval),
    /// Elicitation or sign-in.
    Elicitation(PendingElicitation),
}

impl PendingInteraction {
    /// Returns the id of the interaction.
    fn id(&self) -> InteractionId {
        match self {
            Self::Approval(approval) => approval.approval_id,
            Self::Elicitation(elicitation) => elicitation.elicitation_id,
        }
    }

    /// Returns its kind and its tool.
    fn describe(&self) -> AwaitedInteraction {
        let (kind, tool) = match self {
            Self::Approval(approval) => (InteractionKind::Approval, &approval.name),
            Self::Elicitation(elicitation) if elicitation.request["mode"] == "sign-in" => {
                (InteractionKind::SignIn, &elicitation.name)
            }
            Self::Elicitation(elicitation) => (InteractionKind::Elicitation, &elicitation.name),
        };
        AwaitedInteraction { kind, tool: tool.clone() }
    }

    /// Returns the id of the tool call that waits.
    fn tool_call_id(&self) -> &str {
        match self {
            Self::Approval(approval) => &approval.tool_call_id,
            Self::Elicitation(elicitation) => &elicitation.tool_call_id,
        }
    }
}

/// Response to an interaction, as the waiting call gets it.
#[derive(Debug, Clone)]
pub enum InteractionResponse {
    /// Decision about an approval.
    Decision(ApprovalDecision),
    /// Answer to an elicitation or a sign-in.
    Answer(ElicitationResponse),
}

/// All pending interactions of a [turn](super::Turn), for clients that do not follow the event stream.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct PendingSnapshot {
    /// Tool calls that wait for approval.
    pub approvals: Vec<PendingApproval>,
    /// Tool calls that wait for an answer or a sign-in.
    pub elicitations: Vec<PendingElicitation>,
}

impl PendingSnapshot {
    /// Sorts pending interactions by their kind.
    fn new(pending: &[PendingInteraction]) -> Self {
        let mut snapshot = Self::default();
        for interaction in pending {
            match interaction {
                PendingInteraction::Approval(approval) => snapshot.approvals.push(approval.clone()),
                PendingInteraction::Elicitation(elicitation) => snapshot.elicitations.push(elicitation.clone()),
            }
        }
        snapshot
    }
}

#[derive(Debug, Default)]
struct State {
    /// Whether the step's calls have started. After a restart, the stored interactions are pending again only from
    /// then on.
    has_begun: bool,
    /// Number of the step's calls that have not ended.
    under_way: usize,
    pending: Vec<PendingInteraction>,
    /// Responses, also to interactions that are not waited for yet.
    responses: HashMap<InteractionId, InteractionResponse>,
}

impl State {
    /// Returns the number of tool calls that wait. A call can wait for several answers.
    fn waiting_calls(&self) -> usize {
        self.pending.iter().map(PendingInteraction::tool_call_id).collect::<HashSet<_>>().len()
    }

    /// Returns a pending elicitation.
    fn elicitation(&self, id: InteractionId) -> Option<&PendingElicitation> {
        self.pending.iter().find_map(|pending| match pending {
            PendingInteraction::Elicitation(elicitation) => Some(elicitation).filter(|open| open.elicitation_id == id),
            PendingInteraction::Approval(_) => None,
        })
    }
}

/// Pending interactions of one [turn](super::Turn), with their responses.
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
        // The number is known before the calls begin, so that one which waits early is not taken for all of them.
        self.0.send_modify(|state| {
            state.has_begun = true;
            state.under_way = calls;
        });
    }

    /// Records that a call of the step has ended.
    pub fn finish_call(&self) {
        self.0.send_modify(|state| state.under_way = state.under_way.saturating_sub(1));
    }

    /// Adds an approval and waits for the decision; then it is no longer pending. Returns `None` if the turn is
    /// dropped.
    pub async fn wait_for_decision(&self, approval: PendingApproval) -> Option<ApprovalDecision> {
        let id = approval.approval_id;
        let response = self.wait(PendingInteraction::Approval(approval)).await;
        self.remove(id);
        match response? {
            InteractionResponse::Decision(decision) => Some(decision),
            InteractionResponse::Answer(_) => None,
        }
    }

    /// Adds an elicitation and waits for the answer. It stays pending until it is [removed](Self::remove). The answer
    /// is a cancellation if the turn is dropped.
    pub async fn wait_for_answer(&self, elicitation: PendingElicitation) -> ElicitationResponse {
        match self.wait(PendingInteraction::Elicitation(elicitation)).await {
            Some(InteractionResponse::Answer(answer)) => answer,
            Some(InteractionResponse::Decision(_)) | None => ElicitationResponse::Cancel,
        }
    }

    /// Adds an interaction and waits for its response.
    async fn wait(&self, interaction: PendingInteraction) -> Option<InteractionResponse> {
        let id = interaction.id();
        self.0.send_modify(|state| state.pending.push(interaction));
        // `wait_for` looks at the current state first, so a response that was delivered before is not missed.
        let mut states = self.0.subscribe();
        states.wait_for(|state| state.responses.contains_key(&id)).await.ok()?.responses.get(&id).cloned()
    }

    /// Delivers a response to the call that waits for it now or later. The first response holds.
    pub fn deliver(&self, id: InteractionId, response: InteractionResponse) {
        self.0.send_modify(|state| {
            // The row in the database has decided already which response is the first. Another one here is the same one
            // again, read by a repeated command.
            state.responses.entry(id).or_insert(response);
        });
    }

    /// Removes an interaction, answered or not.
    pub fn remove(&self, id: InteractionId) {
        self.0.send_modify(|state| state.pending.retain(|pending| pending.id() != id));
    }

    /// Returns the oldest pending interaction; `None` if no call waits for the user.
    pub fn oldest(&self) -> Option<AwaitedInteraction> {
        self.0.borrow().pending.first().map(PendingInteraction::describe)
    }

    /// Waits until the turn begins to wait for its user, or no longer does so if it `was_waiting`. Returns
    /// [`oldest`](Self::oldest).
    pub async fn wait_for_change(&self, was_waiting: bool) -> Option<AwaitedInteraction> {
        let has_changed = |state: &State| state.has_begun && state.pending.is_empty() == was_waiting;
        let mut states = self.0.subscribe();
        states.wait_for(has_changed).await.ok()?.pending.first().map(PendingInteraction::describe)
    }

    /// Returns a pending elicitation.
    pub fn find_elicitation(&self, id: InteractionId) -> Option<PendingElicitation> {
        self.0.borrow().elicitation(id).cloned()
    }

    /// Returns a pending elicitation, and waits up to five seconds for one that was just published: its event can
    /// reach a client before its call waits for the answer.
    pub async fn wait_for_elicitation(&self, id: InteractionId) -> Option<PendingElicitation> {
        let mut states = self.0.subscribe();
        let added = states.wait_for(|state| state.elicitation(id).is_some());
        tokio::time::timeout(MAX_PUBLISH_DELAY, added).await.ok()?.ok().and_then(|state| state.elicitation(id).cloned())
    }

    /// Waits until every call of the step waits for the user, and returns what they wait for.
    pub async fn wait_until_blocked(&self) -> PendingSnapshot {
        let mut states = self.0.subscribe();
        let only_waits = |state: &State| match state.waiting_calls() {
            0 => false,
            waiting => waiting >= state.under_way,
        };
        let blocked = states.wait_for(only_waits).await;
        blocked.map_or_else(|_| PendingSnapshot::default(), |state| PendingSnapshot::new(&state.pending))
    }
}
