//! A scenario of the crash test. It begins when a chat is idle: the user sends a message, and while its turn runs,
//! responds to interactions and queues further messages. It ends when the chat is idle again, and is then checked.

use std::collections::HashMap;
use std::time::Instant;

use crate::invariants::UserResponse;
use crate::observed::ObservedEvents;
use crate::plan::Plan;
use crate::stream_log::{Acceptance, ObservedInteraction};

/// The action that begins a scenario.
#[derive(Debug, Clone)]
pub enum InitialAction {
    /// Sends a new message at the end.
    Send(Plan),
    /// Replaces the user message with this id.
    Edit(String, Plan),
    /// Regenerates the answer with this id, as the attempt with this number.
    Regenerate(String, Plan, u64),
    /// Continues the last, interrupted answer with this id, whose attempt has this number.
    Continue(String, Plan, u64),
}

impl InitialAction {
    /// Returns the [`Plan`] to be answered, and the number of the attempt.
    pub fn plan(&self) -> (&Plan, u64) {
        match self {
            Self::Send(plan) | Self::Edit(_, plan) => (plan, 0),
            Self::Regenerate(_, plan, attempt) | Self::Continue(_, plan, attempt) => (plan, *attempt),
        }
    }
}

/// An action during a scenario.
#[derive(Debug, Clone)]
pub enum Action {
    /// Responds to an interaction.
    Respond(ObservedInteraction, UserResponse),
    /// Stops the turn.
    Stop,
    /// Queues a message.
    Queue(Plan),
    /// Changes the text of a queued message, given by its index in [`Scenario::queued`].
    EditQueued(usize, Plan),
    /// Removes a queued message.
    RemoveQueued(usize),
    /// Interrupts the turn and sends a queued message before all others.
    SendNow(usize),
}

impl Action {
    /// Returns whether the action is useless when no turn runs.
    pub fn needs_running_turn(&self) -> bool {
        matches!(self, Self::Respond(..) | Self::Stop)
    }
}

/// A message that was queued, or may have been.
#[derive(Debug)]
pub struct QueuedMessage {
    /// Plan of the original text.
    pub plan: Plan,
    /// Id of the message, if the server's response arrived.
    pub id: Option<String>,
    /// Plan of the changed text.
    pub edited: Option<(Plan, Acceptance)>,
    /// Whether removal was requested, and whether it was confirmed.
    pub removed: Option<Acceptance>,
}

impl QueuedMessage {
    /// Describes the message in reports of violations.
    pub fn describe(&self) -> String {
        let turn = |plan: &Plan| format!("turn {}", plan.turn);
        let edited = self.edited.as_ref().map(|(plan, acceptance)| (turn(plan), *acceptance));
        format!("{} (known: {}, edited: {edited:?}, removed: {:?})", turn(&self.plan), self.id.is_some(), self.removed)
    }
}

/// A running scenario, with everything that the user did and received.
#[derive(Debug)]
pub struct Scenario {
    /// The first action.
    pub initial_action: InitialAction,
    /// Whether the first action was accepted.
    pub accepted: Option<Acceptance>,
    /// Number of kills before the scenario.
    pub kills_before_start: usize,
    /// Number of kills before the last event arrived.
    pub kills_before_last_event: usize,
    /// Received events.
    pub observed: ObservedEvents,
    /// The user's responses to interactions, by token.
    pub responses: HashMap<String, UserResponse>,
    /// Ids of the interactions, by token.
    pub interaction_ids: HashMap<String, String>,
    /// Number of requested stops.
    pub requested_stops: usize,
    /// Queued messages.
    pub queued: Vec<QueuedMessage>,
    /// Whether a queued message was sent before its predecessors.
    pub is_out_of_order: bool,
    /// Planned actions with their times, the next one first.
    pub planned_actions: Vec<(Instant, Action)>,
    /// Violations found so far.
    pub violations: Vec<String>,
}

impl Scenario {
    /// Creates a scenario that begins after this number of kills.
    pub fn new(initial_action: InitialAction, kills_before_start: usize) -> Self {
        Self {
            initial_action,
            accepted: None,
            kills_before_start,
            kills_before_last_event: kills_before_start,
            observed: ObservedEvents::default(),
            responses: HashMap::new(),
            interaction_ids: HashMap::new(),
            requested_stops: 0,
            queued: Vec::new(),
            is_out_of_order: false,
            planned_actions: Vec::new(),
            violations: Vec::new(),
        }
    }

    /// Schedules an [`Action`] for a time.
    pub fn schedule(&mut self, at: Instant, action: Action) {
        self.planned_actions.push((at, action));
        self.planned_actions.sort_by_key(|(at, _)| *at);
    }
}
