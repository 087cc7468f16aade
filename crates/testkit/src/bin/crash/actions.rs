//! Actions of a user during a turn: responses to interactions, stops, and changes of the message queue.

use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::client::TestClient;
use crate::invariants::UserResponse;
use crate::plan::Plan;
use crate::scenario::{Action, QueuedMessage, Scenario};
use crate::stream_log::{Acceptance, ObservedInteraction, ObservedInteractionKind};

/// Maximum delay of most actions, in milliseconds.
const MAX_DELAY_MS: u64 = 600;
/// Maximum delay of late responses, in milliseconds. Most of them come after the next kill.
const MAX_LATE_DELAY_MS: u64 = 2_500;
/// Maximum delay before a turn is stopped, in milliseconds.
const MAX_STOP_DELAY_MS: u64 = 400;
/// Delay before an action is retried whose response was lost.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Status and body of a response; `None` if it was lost.
type ChatResponse = Option<(StatusCode, Value)>;

impl TestClient<'_> {
    /// Plans the user's actions during the turn.
    pub fn plan_actions(&mut self, scenario: &mut Scenario) {
        if self.rng.u8(0..8) == 0 {
            scenario.schedule(self.random_time_within(MAX_STOP_DELAY_MS), Action::Stop);
        }
        if self.rng.u8(0..3) == 0 {
            for _ in 0..self.rng.u8(1..4) {
                let plan = self.new_plan();
                scenario.schedule(self.random_time_within(MAX_DELAY_MS), Action::Queue(plan));
            }
        }
    }

    /// Returns a random time within the next milliseconds.
    fn random_time_within(&mut self, max_delay_ms: u64) -> Instant {
        Instant::now() + Duration::from_millis(self.rng.u64(0..max_delay_ms))
    }

    /// Plans the response to an interaction ([`ObservedInteraction`]), unless there is one already.
    pub fn plan_response(&mut self, interaction: ObservedInteraction, scenario: &mut Scenario) {
        // An interaction keeps its id across restarts, so a second id for the same call is a repetition.
        let first = scenario.interaction_ids.entry(interaction.token.clone()).or_insert_with(|| interaction.id.clone());
        if *first != interaction.id {
            scenario.violations.push(format!("repeated: {interaction:?} was requested before as {first}"));
        }
        let is_planned =
            |(_, action): &(Instant, Action)| matches!(action, Action::Respond(other, _) if other.id == interaction.id);
        let is_answered = scenario
            .responses
            .get(&interaction.token)
            .is_some_and(|response| response.acceptance == Acceptance::Confirmed);
        if is_answered || scenario.planned_actions.iter().any(is_planned) {
            return;
        }
        let max_delay_ms = if self.rng.u8(0..4) == 0 { MAX_LATE_DELAY_MS } else { MAX_DELAY_MS };
        let response = UserResponse {
            accepts: self.rng.u8(0..3) > 0,
            number: self.rng.u64(0..1_000),
            acceptance: Acceptance::Unknown,
        };
        scenario.schedule(self.random_time_within(max_delay_ms), Action::Respond(interaction, response));
    }

    /// Runs an [`Action`]. It is repeated if its response was lost and a repetition is safe.
    pub async fn perform(&mut self, action: Action, scenario: &mut Scenario) {
        let is_lost = match &action {
            Action::Stop => {
                // Counted before the request, which can take effect although its response is lost.
                scenario.requested_stops += 1;
                self.send_chat_request(Method::POST, "stop", &json!({})).await.is_none()
            }
            Action::Respond(interaction, response) => self.respond(interaction, *response, scenario).await,
            Action::Queue(plan) => {
                self.queue_message(plan.clone(), scenario).await;
                false
            }
            Action::EditQueued(index, plan) => self.edit_queued(*index, plan, scenario).await,
            Action::RemoveQueued(index) => self.remove_queued(*index, scenario).await,
            Action::SendNow(index) => {
                scenario.requested_stops += 1;
                scenario.is_out_of_order = true;
                let path = queue_path(&scenario.queued[*index]);
                self.send_chat_request(Method::POST, &format!("{path}/send"), &json!({})).await.is_none()
            }
        };
        if is_lost {
            scenario.schedule(Instant::now() + RETRY_DELAY, action);
        }
    }

    /// Responds to an interaction. Returns whether the response was lost.
    async fn respond(
        &mut self,
        interaction: &ObservedInteraction,
        response: UserResponse,
        scenario: &mut Scenario,
    ) -> bool {
        // An earlier response can have been accepted although the reply was lost.
        let ObservedInteraction { id, token, kind } = interaction;
        let earlier = scenario.responses.insert(token.clone(), response);
        let (path, body, field) = match kind {
            ObservedInteractionKind::Approval => {
                let body = json!({ "decision": if response.accepts { "once" } else { "deny" } });
                (format!("approvals/{id}"), body, "decision")
            }
            ObservedInteractionKind::Elicitation { .. } if response.accepts => {
                let body = json!({ "action": "accept", "content": { "number": response.number } });
                (format!("elicitations/{id}"), body, "action")
            }
            ObservedInteractionKind::Elicitation { .. } => {
                (format!("elicitations/{id}"), json!({ "action": "decline" }), "action")
            }
        };
        let Some((status, body)) = self.send_chat_request(Method::POST, &path, &body).await else { return true };
        match body[field].as_str() {
            Some(decision) => {
                // The response has the decision that was accepted, which may be an earlier one.
                let accepts = decision == "once" || decision == "accept";
                if earlier.is_none() && accepts != response.accepts {
                    scenario.violations.push(format!("{token} has a response that the user did not send: {body}"));
                }
                scenario
                    .responses
                    .insert(token.clone(), UserResponse { accepts, acceptance: Acceptance::Confirmed, ..response });
            }
            // The turn has ended, or the MCP server has closed the call.
            None if status == StatusCode::CONFLICT || status == StatusCode::NOT_FOUND => {}
            None => scenario.violations.push(format!("the response to {interaction:?} was rejected: {status} {body}")),
        }
        false
    }

    /// Queues a message, and perhaps plans a change of it.
    async fn queue_message(&mut self, plan: Plan, scenario: &mut Scenario) {
        let body = json!({ "message": plan.message_text(), "sessionId": self.chat.id, "tools": self.tools });
        let response = self.send_chat_request(Method::POST, "queue", &body).await;
        let id = match response {
            Some((StatusCode::CREATED, answer)) => answer["id"].as_str().map(str::to_owned),
            Some((status, answer)) => {
                scenario.violations.push(format!("a queued message was rejected: {status} {answer}"));
                None
            }
            None => None,
        };
        let index = scenario.queued.len();
        // Without its id a message cannot be changed.
        if id.is_some() {
            let action = match self.rng.u8(0..6) {
                0 => Some(Action::EditQueued(index, self.new_plan())),
                1 => Some(Action::RemoveQueued(index)),
                2 => Some(Action::SendNow(index)),
                _ => None,
            };
            if let Some(action) = action {
                scenario.schedule(self.random_time_within(MAX_DELAY_MS), action);
            }
        }
        scenario.queued.push(QueuedMessage { plan, id, edited: None, removed: None });
    }

    /// Changes a queued message. Returns whether the response was lost.
    async fn edit_queued(&mut self, index: usize, plan: &Plan, scenario: &mut Scenario) -> bool {
        let queued = &mut scenario.queued[index];
        let has_tried = queued.edited.is_some();
        queued.edited = Some((plan.clone(), Acceptance::Unknown));
        let path = queue_path(queued);
        match self.send_chat_request(Method::PATCH, &path, &json!({ "message": plan.message_text() })).await {
            None => return true,
            Some((StatusCode::NO_CONTENT, _)) => queued.edited = Some((plan.clone(), Acceptance::Confirmed)),
            // The message was sent before, perhaps with the new text.
            Some((StatusCode::NOT_FOUND, _)) if has_tried => {}
            Some((StatusCode::NOT_FOUND, _)) => queued.edited = None,
            Some((status, answer)) => {
                scenario.violations.push(format!("the change of a queued message was rejected: {status} {answer}"));
            }
        }
        false
    }

    /// Removes a queued message. Returns whether the response was lost.
    async fn remove_queued(&mut self, index: usize, scenario: &mut Scenario) -> bool {
        let queued = &mut scenario.queued[index];
        let has_tried = queued.removed.is_some();
        queued.removed = Some(Acceptance::Unknown);
        let path = queue_path(queued);
        match self.send_chat_request(Method::DELETE, &path, &json!({})).await {
            None => return true,
            Some((StatusCode::NO_CONTENT, _)) => queued.removed = Some(Acceptance::Confirmed),
            Some((StatusCode::NOT_FOUND, _)) if has_tried => {}
            Some((StatusCode::NOT_FOUND, _)) => queued.removed = None,
            Some((status, answer)) => {
                scenario.violations.push(format!("the removal of a queued message was rejected: {status} {answer}"));
            }
        }
        false
    }

    /// Sends a request about the current chat.
    pub async fn send_chat_request(&self, method: Method, path: &str, body: &Value) -> ChatResponse {
        let path = format!("/api/sessions/{}/{path}", self.chat.id);
        let response = self.user.request(method, &path).json(body).send().await.ok()?;
        let status = response.status();
        let text = response.text().await.ok().filter(|_| !self.is_outage(status))?;
        Some((status, serde_json::from_str(&text).unwrap_or_default()))
    }
}

fn queue_path(queued: &QueuedMessage) -> String {
    format!("queue/{}", queued.id.as_deref().unwrap_or_default())
}
