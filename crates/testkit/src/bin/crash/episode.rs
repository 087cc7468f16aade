//! What a person does from one rest of a chat to the next: something is asked, and meanwhile questions are answered and
//! other messages wait for their turns.

use std::collections::HashMap;
use std::time::Instant;

use crate::heard::Heard;
use crate::plan::Plan;
use crate::verdict::Said;
use crate::witness::{Asked, Waiting};

/// What a person begins with.
#[derive(Debug, Clone)]
pub enum Wish {
    /// Something new, at the end.
    Ask(Plan),
    /// Other words in the place of a message.
    Edit(String, Plan),
    /// Another answer in the place of one; the number of the attempt.
    Again(String, Plan, u64),
    /// The rest of the last answer, which broke off; the number of its attempt.
    GoOn(String, Plan, u64),
}

impl Wish {
    /// The plan that is to be answered, and the number of the attempt.
    pub fn plan(&self) -> (&Plan, u64) {
        match self {
            Self::Ask(plan) | Self::Edit(_, plan) => (plan, 0),
            Self::Again(_, plan, attempt) | Self::GoOn(_, plan, attempt) => (plan, *attempt),
        }
    }
}

/// Something that the person is going to do.
#[derive(Debug, Clone)]
pub enum Deed {
    /// Answers a question.
    Answer(Waiting, Said),
    /// Ends what is being written.
    Stop,
    /// Says something that waits.
    Queue(Plan),
    /// Changes the words of what waits; its place in [`Episode::queued`].
    Reword(usize, Plan),
    /// Takes back what waits.
    Remove(usize),
    /// Sends what waits before all others, and ends what is being written.
    SendNow(usize),
}

impl Deed {
    /// Whether it makes no sense when nothing is being written any more.
    pub fn needs_answer(&self) -> bool {
        matches!(self, Self::Answer(..) | Self::Stop)
    }
}

/// A message that waited, or may have.
#[derive(Debug)]
pub struct Queued {
    /// Its words.
    pub plan: Plan,
    /// Its id, if the server has told it.
    pub id: Option<String>,
    /// Other words that were to stand in the place of the first ones.
    pub reworded: Option<(Plan, Asked)>,
    /// Whether it was taken back.
    pub removed: Option<Asked>,
}

impl Queued {
    /// Something in the queue was changed, unless it had been sent before.
    pub fn describe(&self) -> String {
        let words = |plan: &Plan| format!("turn {}", plan.turn);
        let reworded = self.reworded.as_ref().map(|(plan, asked)| (words(plan), *asked));
        format!(
            "{} (known: {}, reworded: {reworded:?}, removed: {:?})",
            words(&self.plan),
            self.id.is_some(),
            self.removed
        )
    }
}

/// Everything between two rests.
#[derive(Debug)]
pub struct Episode {
    /// What it began with.
    pub wish: Wish,
    /// Whether that was taken.
    pub taken: Option<Asked>,
    /// So many kills were over when it began.
    pub kills: usize,
    /// So many were over when something was told last.
    pub ended_after: usize,
    /// What was told.
    pub heard: Heard,
    /// By token: what the person said to its question.
    pub said: HashMap<String, Said>,
    /// By token: the id of its question.
    pub asked: HashMap<String, String>,
    /// How often an answer was to be stopped.
    pub stops: usize,
    /// What waited.
    pub queued: Vec<Queued>,
    /// Whether something was sent out of its order.
    pub is_out_of_order: bool,
    /// What the person is going to do, and when.
    pub deeds: Vec<(Instant, Deed)>,
    /// What was wrong.
    pub faults: Vec<String>,
}

impl Episode {
    /// One that begins after so many kills.
    pub fn new(wish: Wish, kills: usize) -> Self {
        Self {
            wish,
            taken: None,
            kills,
            ended_after: kills,
            heard: Heard::default(),
            said: HashMap::new(),
            asked: HashMap::new(),
            stops: 0,
            queued: Vec::new(),
            is_out_of_order: false,
            deeds: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Does something at a time.
    pub fn plan(&mut self, at: Instant, deed: Deed) {
        self.deeds.push((at, deed));
        self.deeds.sort_by_key(|(at, _)| *at);
    }
}
