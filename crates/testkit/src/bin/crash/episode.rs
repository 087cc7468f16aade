//! Actions of a user between two states of rest of a chat: a message is sent, and while its turn runs, interactions
//! are answered and further messages are queued.

use std::collections::HashMap;
use std::time::Instant;

use crate::heard::Heard;
use crate::plan::Plan;
use crate::verdict::Said;
use crate::witness::{Asked, Waiting};

/// Action that begins an episode.
#[derive(Debug, Clone)]
pub enum Wish {
    /// A new message at the end.
    Ask(Plan),
    /// Another text in place of a message.
    Edit(String, Plan),
    /// Another answer in place of one, with the number of the attempt.
    Again(String, Plan, u64),
    /// The rest of the last, interrupted answer, with the number of its attempt.
    GoOn(String, Plan, u64),
}

impl Wish {
    /// Returns the [`Plan`] to be answered, and the number of the attempt.
    pub fn plan(&self) -> (&Plan, u64) {
        match self {
            Self::Ask(plan) | Self::Edit(_, plan) => (plan, 0),
            Self::Again(_, plan, attempt) | Self::GoOn(_, plan, attempt) => (plan, *attempt),
        }
    }
}

/// An action during an episode.
#[derive(Debug, Clone)]
pub enum Deed {
    /// Responds to an interaction.
    Answer(Waiting, Said),
    /// Stops the turn.
    Stop,
    /// Queues a message.
    Queue(Plan),
    /// Changes the text of a queued message, given by its index in [`Episode::queued`].
    Reword(usize, Plan),
    /// Removes a queued message.
    Remove(usize),
    /// Interrupts the turn and sends a queued message before all others.
    SendNow(usize),
}

impl Deed {
    /// Returns whether the action is useless when no turn runs.
    pub fn needs_answer(&self) -> bool {
        matches!(self, Self::Answer(..) | Self::Stop)
    }
}

/// A message that was queued, or may have been.
#[derive(Debug)]
pub struct Queued {
    /// Plan of the original text.
    pub plan: Plan,
    /// Id of the message, if the server's response arrived.
    pub id: Option<String>,
    /// Plan of the changed text.
    pub reworded: Option<(Plan, Asked)>,
    /// Whether removal was requested, and whether it was confirmed.
    pub removed: Option<Asked>,
}

impl Queued {
    /// Describes the message in reports of violations.
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

/// Everything that happened between two states of rest.
#[derive(Debug)]
pub struct Episode {
    /// The first action.
    pub wish: Wish,
    /// Whether the first action was accepted.
    pub taken: Option<Asked>,
    /// Number of kills before it began.
    pub kills: usize,
    /// Number of kills before the last event arrived.
    pub ended_after: usize,
    /// Received events.
    pub heard: Heard,
    /// The user's responses to interactions, by token.
    pub said: HashMap<String, Said>,
    /// Ids of the interactions, by token.
    pub asked: HashMap<String, String>,
    /// Number of requested stops.
    pub stops: usize,
    /// Queued messages.
    pub queued: Vec<Queued>,
    /// Whether a queued message was sent before its predecessors.
    pub is_out_of_order: bool,
    /// Planned actions with their times, the next one first.
    pub deeds: Vec<(Instant, Deed)>,
    /// Violations found so far.
    pub faults: Vec<String>,
}

impl Episode {
    /// Creates an episode that begins after this number of kills.
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

    /// Plans a [`Deed`] for a time.
    pub fn plan(&mut self, at: Instant, deed: Deed) {
        self.deeds.push((at, deed));
        self.deeds.sort_by_key(|(at, _)| *at);
    }
}
