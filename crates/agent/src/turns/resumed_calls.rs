//! Tool calls that waited for their user when the previous process stopped: for an approval, an elicitation or a sign-in.

use std::sync::Arc;

use connections::CallOutcome;
use domain::InteractionId;
use domain::tool::{Outcome, ToolCall};
use storage::interactions::{ApprovalRequest, Interaction};

use super::TurnService;
use super::elicitation_handler::{ResumeState, TurnInteractionHandler, WaitState};
use super::event::{ElicitationData, ElicitationState, TurnEvent};
use super::tool_call::{FinishedCall, ToolRunner};
use super::transcript::Transcript;

/// A tool call that waits for an approval, resumed by [`ToolRunner::resume_waiting_call`].
#[derive(Debug)]
pub struct WaitingCall {
    /// Id of the approval.
    pub id: InteractionId,
    /// Tool that the user was asked to approve.
    pub approval: ApprovalRequest,
    /// The call.
    pub call: ToolCall,
}

/// A tool call that waits for one or more elicitations, resumed by [`ToolRunner::resume_eliciting_call`].
#[derive(Debug)]
pub struct ElicitingCall {
    /// The call.
    pub call: ToolCall,
    /// State to resume the call from.
    pub state: ResumeState,
    /// Elicitations of its last round, in the order in which they were shown.
    pub elicitations: Vec<Interaction>,
}

/// Returns the calls that wait for an approval, according to both the database and the journal.
pub fn match_approvals(interactions: &[Interaction], transcript: &Transcript) -> Vec<WaitingCall> {
    let calls = transcript.calls_awaiting_approval();
    let wait = |interaction: &Interaction| {
        let (_, call) = calls.iter().find(|(id, _)| *id == interaction.id)?;
        Some(WaitingCall { id: interaction.id, approval: interaction.approval()?.clone(), call: call.clone() })
    };
    interactions.iter().filter_map(wait).collect()
}

/// Returns the calls whose elicitations can still be answered, according to both the database and the journal.
pub fn match_elicitations(
    turns: &TurnService,
    interactions: &[Interaction],
    transcript: &Transcript,
) -> Vec<ElicitingCall> {
    let resume = |call: ToolCall| {
        let of_call = interactions.iter().filter(|row| row.approval().is_none() && row.tool_call == call.id);
        let opened: Vec<(ResumeState, &Interaction)> =
            of_call.filter_map(|row| Some((ResumeState::open(turns, row)?, row))).collect();
        // The newest elicitation decides where the call continues; those of earlier rounds were answered and sent.
        let (state, _) = opened.last()?.clone();
        let (_, newest) = opened.last()?;
        let is_of_round = |other: &ResumeState| match (&other.waits, &state.waits) {
            (WaitState::Suspended { round: one, .. }, WaitState::Suspended { round: other, .. }) => one == other,
            _ => false,
        };
        let of_round = opened.iter().filter(|(other, row)| is_of_round(other) || row.id == newest.id);
        let elicitations = of_round.map(|(_, row)| (*row).clone()).collect();
        Some(ElicitingCall { call, state, elicitations })
    };
    transcript.calls_awaiting_elicitation().into_iter().filter_map(resume).collect()
}

impl ToolRunner<'_> {
    /// Withdraws the elicitations whose servers held a request open: they were lost with the connection.
    pub fn withdraw_lost_elicitations(&self) {
        let lost = self.turn.transcript().lost_elicitations();
        for (id, call) in lost {
            let (tool_call_id, server_name) = (call.id, call.server_name);
            let data = ElicitationData { tool_call_id, server_name, state: ElicitationState::Withdrawn, request: None };
            self.recorder.emit(&TurnEvent::DataElicitation { id, data });
        }
    }

    /// Resumes a call that waited for an elicitation or a sign-in.
    pub async fn resume_eliciting_call(&self, eliciting: &ElicitingCall) {
        let ElicitingCall { call, state, elicitations } = eliciting;
        let handler = TurnInteractionHandler::new(
            self.turns,
            self.recorder,
            call,
            state.fingerprint.clone(),
            elicitations.clone(),
        );
        let ended = self.continue_call(eliciting, &handler).await;
        self.finish_call(call.clone(), ended).await;
    }

    /// Shows the elicitations of a call again, and continues the call with their answers.
    async fn continue_call(
        &self,
        ElicitingCall { call, state, .. }: &ElicitingCall,
        handler: &TurnInteractionHandler,
    ) -> FinishedCall {
        let fingerprint = &state.fingerprint;
        let resume = match &state.waits {
            WaitState::Suspended { from, round } => {
                let from = Arc::new(from.clone());
                handler.continue_round(&from, *round);
                match from.collect_input(handler).await {
                    Ok(resumed) => Some(resumed),
                    Err(error) => return FinishedCall::not_made(CallOutcome::from_error(&call.server_name, &error)),
                }
            }
            WaitState::SignIn { additional_scopes } => {
                match self.turns.storage.connections().get(self.turn.owner, fingerprint.server).await {
                    Ok(Some(server)) => {
                        let (connections, owner) = (&self.turns.connections, self.turn.owner);
                        if !connections.request_sign_in(owner, &server, Some(handler), *additional_scopes).await {
                            return FinishedCall::rejected(format!(
                                "The person did not sign in to {}.",
                                call.server_name
                            ));
                        }
                        None
                    }
                    _ => return FinishedCall::rejected(format!("{} can no longer be used.", fingerprint.tool)),
                }
            }
            WaitState::InFlight => {
                let end = CallOutcome::Failed {
                    reason: super::tool_call::OUTCOME_UNKNOWN.to_owned(),
                    outcome: Outcome::Unknown,
                };
                return FinishedCall::not_made(end);
            }
        };
        let serde_json::Value::Object(arguments) = call.arguments.clone() else {
            return FinishedCall::rejected("The arguments are not a JSON object.");
        };
        self.call_if_unchanged(call, fingerprint, arguments, resume).await
    }
}
