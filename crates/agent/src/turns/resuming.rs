//! Tool calls that waited for an elicitation or a sign-in when the previous process stopped.

use std::sync::Arc;

use connections::CallOutcome;
use domain::tool::{Outcome, ToolCall};
use storage::elicitations::Elicitation;

use super::TurnService;
use super::asker::{About, CallAsker, Waits};
use super::call::{Caller, Ended};
use super::event::{ElicitationData, ElicitationState, RunEvent};
use super::transcript::Transcript;

/// A tool call that waits for one or more elicitations, resumed by [`Caller::make_asking`].
#[derive(Debug)]
pub struct Asking {
    /// The call.
    pub call: ToolCall,
    /// State to resume the call from.
    pub about: About,
    /// Elicitations of its last round, in the order in which they were shown.
    pub asked: Vec<Elicitation>,
}

/// Returns the calls whose elicitations can still be answered, according to both the database and the journal.
pub fn asking(turns: &TurnService, asked: &[Elicitation], transcript: &Transcript) -> Vec<Asking> {
    let resume = |call: ToolCall| {
        let of_call = asked.iter().filter(|asked| asked.tool_call == call.id);
        let opened: Vec<(About, &Elicitation)> =
            of_call.filter_map(|asked| Some((About::open(turns, asked)?, asked))).collect();
        let (about, _) = opened.last()?.clone();
        let (_, newest) = opened.last()?;
        let is_of_round = |other: &About| match (&other.waits, &about.waits) {
            (Waits::Suspended { round: one, .. }, Waits::Suspended { round: other, .. }) => one == other,
            _ => false,
        };
        let of_round = opened.iter().filter(|(other, asked)| is_of_round(other) || asked.id == newest.id);
        let asked = of_round.map(|(_, asked)| (*asked).clone()).collect();
        Some(Asking { call, about, asked })
    };
    transcript.asking().into_iter().filter_map(resume).collect()
}

impl Caller<'_> {
    /// Withdraws the elicitations whose servers held a request open: they were lost with the connection.
    pub fn withdraw_lost_questions(&self) {
        let lost = self.run.transcript().lost_questions();
        for (id, call) in lost {
            let (tool_call_id, server_name) = (call.id, call.server_name);
            let data = ElicitationData { tool_call_id, server_name, state: ElicitationState::Withdrawn, request: None };
            self.recorder.emit(&RunEvent::DataElicitation { id, data });
        }
    }

    /// Resumes a call that waited for an elicitation or a sign-in.
    pub async fn make_asking(&self, asking: &Asking) {
        let Asking { call, about, asked } = asking;
        let asker = CallAsker::new(self.turns, self.recorder, call, about.bound.clone(), asked.clone());
        let ended = self.ask_again(asking, &asker).await;
        self.tell(call.clone(), ended).await;
    }

    /// Shows the elicitations of a call again, and continues the call with their answers.
    async fn ask_again(&self, Asking { call, about, .. }: &Asking, asker: &CallAsker) -> Ended {
        let bound = &about.bound;
        let resume = match &about.waits {
            Waits::Suspended { from, round } => {
                let from = Arc::new(from.clone());
                asker.go_on_with(&from, *round);
                match from.collect_input(asker).await {
                    Ok(resumed) => Some(resumed),
                    Err(error) => return Ended::unmade(CallOutcome::from_error(&call.server_name, &error)),
                }
            }
            Waits::SignIn { additional_scopes } => {
                match self.turns.storage.connections().get(self.run.owner, bound.server).await {
                    Ok(Some(server)) => {
                        let (connections, owner) = (&self.turns.connections, self.run.owner);
                        if !connections.request_sign_in(owner, &server, Some(asker), *additional_scopes).await {
                            return Ended::refused(format!("The person did not sign in to {}.", call.server_name));
                        }
                        None
                    }
                    _ => return Ended::refused(format!("{} cannot be used any more.", bound.tool)),
                }
            }
            Waits::InFlight => {
                let end = CallOutcome::Failed { reason: super::call::LOST.to_owned(), outcome: Outcome::Unknown };
                return Ended::unmade(end);
            }
        };
        let serde_json::Value::Object(arguments) = call.arguments.clone() else {
            return Ended::refused("The arguments are not a JSON object.");
        };
        self.call_if_same(call, bound, arguments, resume).await
    }
}
