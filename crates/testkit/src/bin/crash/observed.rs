//! Events that a subscriber of a chat received, with one log per answer.

use std::collections::HashMap;
use std::convert::Infallible;

use reqwest::{RequestBuilder, Response};
use testkit::events_of;

use crate::stream_log::{ObservedInteraction, StreamEnd, StreamLog};

/// The events that a subscriber of a chat received.
#[derive(Debug, Default)]
pub struct ObservedEvents {
    /// All logs, by the id of the answer.
    pub logs: HashMap<String, StreamLog>,
    /// Id of the answer that is being streamed.
    current: Option<String>,
    /// Violations in the streams.
    pub violations: Vec<String>,
    /// Number of kills before the current stream was requested.
    pub kills_before: usize,
    /// Number of received events.
    pub events: usize,
    /// Start of an event whose rest is in the next chunk.
    incomplete_event: String,
}

impl ObservedEvents {
    /// Returns the log of the answer that is being streamed and has not ended.
    pub fn open_stream(&self) -> Option<&StreamLog> {
        self.logs.get(self.current.as_ref()?).filter(|log| log.end.is_none())
    }

    /// Returns how the last streamed answer ended.
    pub fn last_end(&self) -> Option<&StreamEnd> {
        self.logs.get(self.current.as_ref()?)?.end.as_ref()
    }

    /// Forgets the current answer, because its turn has ended or runs elsewhere.
    pub fn forget_current(&mut self) {
        self.current = None;
    }

    /// Prepares for a new stream.
    pub fn begin_stream(&mut self, kills: usize) {
        self.incomplete_event.clear();
        self.kills_before = kills;
        if let Some(log) = self.current.as_ref().and_then(|id| self.logs.get_mut(id)) {
            log.kills_before = kills;
        }
    }

    /// Applies a chunk of a stream and returns each new interaction ([`ObservedInteraction`]) in it.
    pub fn apply_chunk(&mut self, chunk: &[u8]) -> Vec<ObservedInteraction> {
        // Only complete events are parsed; the rest waits for the next chunk.
        self.incomplete_event.push_str(&String::from_utf8_lossy(chunk));
        let Some(end) = self.incomplete_event.rfind("\n\n") else { return Vec::new() };
        let complete_events: String = self.incomplete_event.drain(..end + 2).collect();
        let mut interactions = Vec::new();
        for event in events_of(&complete_events) {
            self.events += 1;
            if event.kind() == "start" {
                let answer = event.data["messageId"].as_str().unwrap_or_default().to_owned();
                let log = self.logs.entry(answer.clone()).or_default();
                log.kills_before = self.kills_before;
                self.current = Some(answer);
            }
            match self.current.as_ref().and_then(|id| self.logs.get_mut(id)) {
                Some(log) => interactions.extend(log.apply(event.id, &event.data)),
                None => self.violations.push(format!("a stream began without a start event: {}", event.data)),
            }
        }
        interactions
    }

    /// Returns each pending interaction ([`ObservedInteraction`]) of the current answer.
    pub fn pending_interactions(&self) -> Vec<ObservedInteraction> {
        self.open_stream().map(|log| log.pending.values().cloned().collect()).unwrap_or_default()
    }

    /// Compares with the events of a second subscriber.
    pub fn compare(&mut self, second: Self) {
        for (id, other) in second.logs {
            if let Some(log) = self.logs.get_mut(&id) {
                log.compare(other);
            }
        }
        self.violations.extend(second.violations);
    }
}

/// Follows a chat as a second subscriber, from the start of the turn. Never returns.
pub async fn follow_as_second_subscriber(request: RequestBuilder, observed: &mut ObservedEvents) -> Infallible {
    if let Ok(response) = request.send().await {
        read_stream(response, observed).await;
    }
    std::future::pending().await
}

async fn read_stream(mut response: Response, observed: &mut ObservedEvents) {
    while let Ok(Some(chunk)) = response.chunk().await {
        observed.apply_chunk(&chunk);
    }
}
