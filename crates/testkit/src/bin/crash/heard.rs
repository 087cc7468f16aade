//! What a viewer of a chat hears: one answer after the other.

use std::collections::HashMap;
use std::convert::Infallible;

use reqwest::{RequestBuilder, Response};
use testkit::events_of;

use crate::witness::{Waiting, Witness};

/// By the id of the answer: what was told of it.
#[derive(Debug, Default)]
pub struct Heard {
    /// All of them.
    pub answers: HashMap<String, Witness>,
    /// The one that is being told.
    present: Option<String>,
    /// What was wrong with the streams.
    pub faults: Vec<String>,
    /// So many kills were over when the stream was asked for that is being read.
    pub kills_before: usize,
    /// How many events were told.
    pub events: usize,
    rest: String,
}

impl Heard {
    /// What is being told and has not ended.
    pub fn open(&self) -> Option<&Witness> {
        self.answers.get(self.present.as_ref()?).filter(|witness| witness.ended.is_none())
    }

    /// How the answer ended that was told last.
    pub fn last_end(&self) -> Option<&str> {
        self.answers.get(self.present.as_ref()?)?.ended.as_deref()
    }

    /// What is being told goes on no more: it is over, or it is somewhere else.
    pub fn let_go(&mut self) {
        self.present = None;
    }

    /// A new stream begins.
    pub fn begin_stream(&mut self, kills: usize) {
        self.rest.clear();
        self.kills_before = kills;
        if let Some(witness) = self.present.as_ref().and_then(|id| self.answers.get_mut(id)) {
            witness.kills_before = kills;
        }
    }

    /// Takes in a piece of a stream; the questions in it.
    pub fn take(&mut self, piece: &[u8]) -> Vec<Waiting> {
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

    /// What waits for the person in the answer that is being told.
    pub fn waiting(&self) -> Vec<Waiting> {
        self.open().map(|witness| witness.waiting.values().cloned().collect()).unwrap_or_default()
    }

    /// Holds what a second viewer was told against this.
    pub fn compare(&mut self, second: Self) {
        for (id, theirs) in second.answers {
            if let Some(ours) = self.answers.get_mut(&id) {
                ours.compare(theirs);
            }
        }
        self.faults.extend(second.faults);
    }
}

/// Looks at a chat from a second place, from the start of what is being told, and stays there.
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
