//! Events that a subscriber of a chat receives: one answer after the other.

use std::collections::HashMap;
use std::convert::Infallible;

use reqwest::{RequestBuilder, Response};
use testkit::events_of;

use crate::witness::{Waiting, Witness};

/// Received events, by the id of the answer.
#[derive(Debug, Default)]
pub struct Heard {
    /// All answers.
    pub answers: HashMap<String, Witness>,
    /// Id of the answer that is being streamed.
    present: Option<String>,
    /// Violations in the streams.
    pub faults: Vec<String>,
    /// Number of kills before the current stream was requested.
    pub kills_before: usize,
    /// Number of received events.
    pub events: usize,
    rest: String,
}

impl Heard {
    /// Returns the answer that is being streamed and has not ended.
    pub fn open(&self) -> Option<&Witness> {
        self.answers.get(self.present.as_ref()?).filter(|witness| witness.ended.is_none())
    }

    /// Returns how the last streamed answer ended.
    pub fn last_end(&self) -> Option<&str> {
        self.answers.get(self.present.as_ref()?)?.ended.as_deref()
    }

    /// Forgets the current answer, because its turn has ended or runs elsewhere.
    pub fn let_go(&mut self) {
        self.present = None;
    }

    /// Prepares for a new stream.
    pub fn begin_stream(&mut self, kills: usize) {
        self.rest.clear();
        self.kills_before = kills;
        if let Some(witness) = self.present.as_ref().and_then(|id| self.answers.get_mut(id)) {
            witness.kills_before = kills;
        }
    }

    /// Applies a chunk of a stream and returns each new interaction ([`Waiting`]) in it.
    pub fn take(&mut self, piece: &[u8]) -> Vec<Waiting> {
        // Only complete events are parsed; the rest waits for the next chunk.
        self.rest.push_str(&String::from_utf8_lossy(piece));
        let Some(end) = self.rest.rfind("\n\n") else { return Vec::new() };
        let whole: String = self.rest.drain(..end + 2).collect();
        let mut asked = Vec::new();
        for event in events_of(&whole) {
            self.events += 1;
            if event.kind() == "start" {
                let answer = event.data["messageId"].as_str().unwrap_or_default().to_owned();
                let witness = self.answers.entry(answer.clone()).or_default();
                witness.kills_before = self.kills_before;
                self.present = Some(answer);
            }
            match self.present.as_ref().and_then(|id| self.answers.get_mut(id)) {
                Some(witness) => asked.extend(witness.hear(event.id, &event.data)),
                None => self.faults.push(format!("a stream began in the middle, with {}", event.data)),
            }
        }
        asked
    }

    /// Returns each pending interaction ([`Waiting`]) of the current answer.
    pub fn waiting(&self) -> Vec<Waiting> {
        self.open().map(|witness| witness.waiting.values().cloned().collect()).unwrap_or_default()
    }

    /// Compares with the events of a second subscriber.
    pub fn compare(&mut self, second: Self) {
        for (id, theirs) in second.answers {
            if let Some(ours) = self.answers.get_mut(&id) {
                ours.compare(theirs);
            }
        }
        self.faults.extend(second.faults);
    }
}

/// Follows a chat as a second subscriber, from the start of the turn. Never returns.
pub async fn look_too(request: RequestBuilder, heard: &mut Heard) -> Infallible {
    if let Ok(answer) = request.send().await {
        read(answer, heard).await;
    }
    std::future::pending().await
}

async fn read(mut answer: Response, heard: &mut Heard) {
    while let Ok(Some(piece)) = answer.chunk().await {
        heard.take(&piece);
    }
}
