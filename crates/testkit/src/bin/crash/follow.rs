//! Follows the streams of a chat until it is idle: no turn runs and no message is queued.

use std::time::{Duration, Instant};

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::client::{OUTAGE_DELAY, TestClient};
use crate::observed::{ObservedEvents, follow_as_second_subscriber};
use crate::scenario::Scenario;
use crate::stream_log::StreamEnd;

/// Maximum time without an event while the server is not killed.
const EVENT_TIMEOUT: Duration = Duration::from_secs(30);
/// Time after which a queued message that was not sent automatically is sent manually.
const QUEUE_TIMEOUT: Duration = Duration::from_millis(150);
/// Interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl TestClient<'_> {
    /// Follows one turn after the other, beginning with `stream` if there is one.
    pub async fn follow_until_idle(&mut self, mut stream: Option<Response>, scenario: &mut Scenario) {
        let mut quiet_since = Instant::now();
        loop {
            if let Some(response) = stream.take() {
                // A second subscriber follows from the beginning: both must receive the same.
                let mut second = ObservedEvents::default();
                second.begin_stream(self.kill_count() - scenario.kills_before_start);
                let path = format!("/api/sessions/{}/stream", self.chat.id);
                let second_subscriber = follow_as_second_subscriber(self.user.request(Method::GET, &path), &mut second);
                tokio::select! {
                    biased;
                    () = self.follow_stream(response, scenario) => {}
                    never = second_subscriber => match never {},
                }
                scenario.observed.compare(second);
                quiet_since = Instant::now();
            }
            self.wait_until_up().await;
            let kills = self.kill_count();
            scenario.observed.begin_stream(kills - scenario.kills_before_start);
            let base = format!("/api/sessions/{}/stream", self.chat.id);
            let path = match scenario.observed.open_stream() {
                Some(log) => format!("{base}?after={}&turn={}", log.last_event_id, log.turn_id),
                None => base,
            };
            // The server was killed again.
            let Ok(response) = self.user.request(Method::GET, &path).send().await else {
                quiet_since = Instant::now();
                continue;
            };
            match response.status() {
                StatusCode::OK => {
                    if kills > scenario.kills_before_start {
                        self.results.resumed += 1;
                    }
                    stream = Some(response);
                }
                // The followed turn has ended; another one may have started.
                StatusCode::NO_CONTENT if scenario.observed.open_stream().is_some() => {
                    scenario.observed.forget_current();
                }
                StatusCode::NO_CONTENT => {
                    if self.is_idle(quiet_since, scenario).await {
                        return;
                    }
                }
                status if self.is_outage(status) => {
                    tokio::time::sleep(OUTAGE_DELAY).await;
                    quiet_since = Instant::now();
                }
                status => {
                    scenario.violations.push(format!("the chat cannot be followed: {status}"));
                    return;
                }
            }
        }
    }

    /// Returns whether no turn runs and no message is queued. A queued message that is not sent automatically is sent
    /// manually.
    async fn is_idle(&mut self, quiet_since: Instant, scenario: &mut Scenario) -> bool {
        // Responses and stops are useless without a running turn.
        scenario.planned_actions.retain(|(_, action)| !action.needs_running_turn());
        if let Some((_, action)) = scenario.planned_actions.pop() {
            self.perform(action, scenario).await;
            return false;
        }
        if scenario.queued.is_empty() {
            return true;
        }
        let Some((StatusCode::OK, queue)) = self.send_chat_request(Method::GET, "queue", &json!({})).await else {
            return false;
        };
        let Some(next) = queue["messages"][0]["id"].as_str() else {
            // The message that left the queue in the meantime is being answered now.
            let path = format!("/api/sessions/{}/stream", self.chat.id);
            let stream = self.user.request(Method::GET, &path).send().await;
            return stream.is_ok_and(|response| response.status() == StatusCode::NO_CONTENT);
        };
        // The server sends the next message automatically only after a regular end without a kill.
        let is_sent_automatically = scenario.observed.last_end() == Some(&StreamEnd::Done)
            && self.kill_count() == scenario.kills_before_last_event;
        let quiet = quiet_since.elapsed();
        if quiet < QUEUE_TIMEOUT || is_sent_automatically && quiet < EVENT_TIMEOUT {
            tokio::time::sleep(POLL_INTERVAL).await;
            return false;
        }
        // A turn that started automatically can be stopped before the client receives any event of it. Then the
        // message is rightly still queued.
        if is_sent_automatically && self.last_message_status().await.as_deref() == Some("done") {
            scenario
                .violations
                .push(format!("lost: {next} is still queued, although the answer before it is complete"));
        }
        // A turn that started automatically in the meantime is interrupted by it.
        scenario.requested_stops += 1;
        self.send_chat_request(Method::POST, &format!("queue/{next}/send"), &json!({})).await;
        false
    }

    /// Returns the stored status of the newest message of the chat.
    async fn last_message_status(&mut self) -> Option<String> {
        let id = &self.chat.id;
        let path = format!("/rest/v1/ai_chat_messages?select=status&session_id=eq.{id}&order=created_at.desc&limit=1");
        let rows = self.send_until_answered(|user| user.request(Method::GET, &path)).await?;
        let rows: Value = serde_json::from_str(&rows).ok()?;
        rows[0]["status"].as_str().map(str::to_owned)
    }

    /// Reads a stream to its end, and runs planned actions meanwhile.
    async fn follow_stream(&mut self, mut response: Response, scenario: &mut Scenario) {
        for interaction in scenario.observed.pending_interactions() {
            self.plan_response(interaction, scenario);
        }
        let (mut event_count, mut quiet_since) = (scenario.observed.events, Instant::now());
        loop {
            let due = scenario.planned_actions.first().map(|(at, _)| *at);
            let until = tokio::time::Instant::from_std(due.unwrap_or(quiet_since + EVENT_TIMEOUT));
            tokio::select! {
                chunk = response.chunk() => {
                    let Ok(Some(chunk)) = chunk else { return };
                    for interaction in scenario.observed.apply_chunk(&chunk) {
                        self.plan_response(interaction, scenario);
                    }
                    scenario.kills_before_last_event = self.kill_count();
                    // Keep-alive comments do not count as events.
                    if scenario.observed.events > event_count {
                        (event_count, quiet_since) = (scenario.observed.events, Instant::now());
                    }
                }
                () = tokio::time::sleep_until(until) => {
                    if due.is_none() {
                        let last = scenario.observed.open_stream().map(|log| (&log.turn_id, log.last_event_id));
                        scenario.violations.push(format!("no event was received for a long time after {last:?}"));
                        return;
                    }
                    let (_, action) = scenario.planned_actions.remove(0);
                    self.perform(action, scenario).await;
                    quiet_since = Instant::now();
                }
            }
        }
    }
}
