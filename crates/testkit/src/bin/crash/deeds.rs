//! Actions of a user during a turn.

use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::actor::Actor;
use crate::episode::{Deed, Episode, Queued};
use crate::plan::Plan;
use crate::verdict::Said;
use crate::witness::{Asked, Kind, Waiting};

/// Maximum usual delay before a user responds to an interaction, in milliseconds.
const MAX_RESPONSE_DELAY_MS: u64 = 600;
/// Maximum delay when the interaction is left open, in milliseconds. It is mostly longer than the server lives.
const LEFT_OPEN: u64 = 2_500;
/// Delay before an action whose response was lost is repeated.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Status and body of a response; `None` if it was lost.
type Answered = Option<(StatusCode, Value)>;

impl Actor<'_> {
    /// Plans the user's actions during the turn.
    pub fn make_plans(&mut self, episode: &mut Episode) {
        if self.dice.u8(0..8) == 0 {
            episode.plan(self.in_time(400), Deed::Stop);
        }
        if self.dice.u8(0..3) == 0 {
            for _ in 0..self.dice.u8(1..4) {
                let plan = self.fresh_plan();
                episode.plan(self.in_time(MAX_RESPONSE_DELAY_MS), Deed::Queue(plan));
            }
        }
    }

    /// Returns a random time within the next milliseconds.
    fn in_time(&mut self, most: u64) -> Instant {
        Instant::now() + Duration::from_millis(self.dice.u64(0..most))
    }

    /// Plans the response to an interaction ([`Waiting`]), unless there is one already.
    pub fn think_about(&mut self, waiting: Waiting, episode: &mut Episode) {
        // An interaction keeps its id across restarts, so a second id for the same call is a repetition.
        let first = episode.asked.entry(waiting.token.clone()).or_insert_with(|| waiting.id.clone());
        if *first != waiting.id {
            episode.faults.push(format!("repeated: {waiting:?} was asked before as {first}"));
        }
        let is_known = |(_, deed): &(Instant, Deed)| matches!(deed, Deed::Answer(other, _) if other.id == waiting.id);
        let is_answered = episode.said.get(&waiting.token).is_some_and(|said| said.asked == Asked::Surely);
        if is_answered || episode.deeds.iter().any(is_known) {
            return;
        }
        let most = if self.dice.u8(0..4) == 0 { LEFT_OPEN } else { MAX_RESPONSE_DELAY_MS };
        let said = Said { yes: self.dice.u8(0..3) > 0, number: self.dice.u64(0..1_000), asked: Asked::Perhaps };
        episode.plan(self.in_time(most), Deed::Answer(waiting, said));
    }

    /// Runs a [`Deed`]. It is repeated if its response was lost and a repetition is safe.
    pub async fn act(&mut self, deed: Deed, episode: &mut Episode) {
        let again = match &deed {
            Deed::Stop => {
                // Counted before the request, which can take effect although its response is lost.
                episode.stops += 1;
                self.send(Method::POST, "stop", &json!({})).await.is_none()
            }
            Deed::Answer(waiting, said) => self.answer(waiting, *said, episode).await,
            Deed::Queue(plan) => {
                self.queue(plan.clone(), episode).await;
                false
            }
            Deed::Reword(index, plan) => self.reword(*index, plan, episode).await,
            Deed::Remove(index) => self.remove(*index, episode).await,
            Deed::SendNow(index) => {
                episode.stops += 1;
                episode.is_out_of_order = true;
                let path = queue_path(&episode.queued[*index]);
                self.send(Method::POST, &format!("{path}/send"), &json!({})).await.is_none()
            }
        };
        if again {
            episode.plan(Instant::now() + RETRY_DELAY, deed);
        }
    }

    /// Responds to an interaction. Returns whether the response was lost.
    async fn answer(&mut self, waiting: &Waiting, said: Said, episode: &mut Episode) -> bool {
        // An earlier response can have been accepted although the reply was lost.
        let Waiting { id, token, kind } = waiting;
        let before = episode.said.insert(token.clone(), said);
        let (path, body, field) = match kind {
            Kind::Approval => {
                let body = json!({ "decision": if said.yes { "once" } else { "deny" } });
                (format!("approvals/{id}"), body, "decision")
            }
            Kind::Form { .. } if said.yes => {
                let body = json!({ "action": "accept", "content": { "number": said.number } });
                (format!("elicitations/{id}"), body, "action")
            }
            Kind::Form { .. } => (format!("elicitations/{id}"), json!({ "action": "decline" }), "action"),
        };
        let Some((status, held)) = self.send(Method::POST, &path, &body).await else { return true };
        match held[field].as_str() {
            Some(word) => {
                // The response has the decision that was accepted, which may be an earlier one.
                let yes = word == "once" || word == "accept";
                if before.is_none() && yes != said.yes {
                    episode.faults.push(format!("{token} was answered by nobody: {held}"));
                }
                episode.said.insert(token.clone(), Said { yes, asked: Asked::Surely, ..said });
            }
            // The turn has ended, or the MCP server has closed the call.
            None if status == StatusCode::CONFLICT || status == StatusCode::NOT_FOUND => {}
            None => episode.faults.push(format!("the answer to {waiting:?} was refused: {status} {held}")),
        }
        false
    }

    /// Queues a message, and perhaps plans a change of it.
    async fn queue(&mut self, plan: Plan, episode: &mut Episode) {
        let body = json!({ "message": plan.question(), "sessionId": self.chat.id, "tools": self.tools });
        let answered = self.send(Method::POST, "queue", &body).await;
        let id = match answered {
            Some((StatusCode::CREATED, answer)) => answer["id"].as_str().map(str::to_owned),
            Some((status, answer)) => {
                episode.faults.push(format!("what was to wait was refused: {status} {answer}"));
                None
            }
            None => None,
        };
        let index = episode.queued.len();
        // Without its id a message cannot be changed.
        if id.is_some() {
            let deed = match self.dice.u8(0..6) {
                0 => Some(Deed::Reword(index, self.fresh_plan())),
                1 => Some(Deed::Remove(index)),
                2 => Some(Deed::SendNow(index)),
                _ => None,
            };
            if let Some(deed) = deed {
                episode.plan(self.in_time(MAX_RESPONSE_DELAY_MS), deed);
            }
        }
        episode.queued.push(Queued { plan, id, reworded: None, removed: None });
    }

    /// Changes a queued message. Returns whether the response was lost.
    async fn reword(&mut self, index: usize, plan: &Plan, episode: &mut Episode) -> bool {
        let queued = &mut episode.queued[index];
        let has_tried = queued.reworded.is_some();
        queued.reworded = Some((plan.clone(), Asked::Perhaps));
        let path = queue_path(queued);
        match self.send(Method::PATCH, &path, &json!({ "message": plan.question() })).await {
            None => return true,
            Some((StatusCode::NO_CONTENT, _)) => queued.reworded = Some((plan.clone(), Asked::Surely)),
            // The message was sent before, perhaps with the new text.
            Some((StatusCode::NOT_FOUND, _)) if has_tried => {}
            Some((StatusCode::NOT_FOUND, _)) => queued.reworded = None,
            Some((status, answer)) => episode.faults.push(format!("other words were refused: {status} {answer}")),
        }
        false
    }

    /// Removes a queued message. Returns whether the response was lost.
    async fn remove(&mut self, index: usize, episode: &mut Episode) -> bool {
        let queued = &mut episode.queued[index];
        let has_tried = queued.removed.is_some();
        queued.removed = Some(Asked::Perhaps);
        let path = queue_path(queued);
        match self.send(Method::DELETE, &path, &json!({})).await {
            None => return true,
            Some((StatusCode::NO_CONTENT, _)) => queued.removed = Some(Asked::Surely),
            Some((StatusCode::NOT_FOUND, _)) if has_tried => {}
            Some((StatusCode::NOT_FOUND, _)) => queued.removed = None,
            Some((status, answer)) => episode.faults.push(format!("a removal was refused: {status} {answer}")),
        }
        false
    }

    /// Sends a request about the current chat.
    pub async fn send(&self, method: Method, path: &str, body: &Value) -> Answered {
        let path = format!("/api/sessions/{}/{path}", self.chat.id);
        let answer = self.person.request(method, &path).json(body).send().await.ok()?;
        let status = answer.status();
        let text = answer.text().await.ok()?;
        Some((status, serde_json::from_str(&text).unwrap_or_default()))
    }
}

fn queue_path(queued: &Queued) -> String {
    format!("queue/{}", queued.id.as_deref().unwrap_or_default())
}
