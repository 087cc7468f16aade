//! Recovery of the turns that a previous process left unfinished. Turns that wait for their user or for a task at a
//! server are resumed; all others are closed as interrupted, with what was written.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use domain::json::to_json_text;
use domain::message::MessageStatus;
use domain::tool::ToolCall;
use domain::{Timestamp, TurnId};
use storage::Storage;
use storage::chats::Answer;
use storage::interactions::Interaction;
use storage::tool_tasks::ToolTask;
use storage::turns::UnfinishedTurn;
use storage::usage::OfAnswer;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::TurnService;
use super::background_calls::ActiveCalls;
use super::engine::{Resumed, TurnInput, run_turn};
use super::event::{StartMetadata, TurnEvent};
use super::event_log::SEQ_GAP;
use super::journal_codec::{DecodedJournal, decode_journal, encode_events};
use super::pending_interactions::PendingInteractions;
use super::transcript::Transcript;
use super::turn_commands::deliver_stored_responses;
use super::{EventLog, Turn, resumed_calls, turn_span};
use crate::models::ModelId;
use crate::tool_selection::ToolSelection;

/// Error of an answer that was cut off by the end of a process.
pub const INTERRUPTED_MESSAGE: &str = "The server stopped before the answer was complete.";

/// Error of an interrupted answer of which some events could not be read.
const INTERRUPTED_WITH_LOSS: &str =
    "The server stopped before the answer was complete, and parts of what was written could not be read.";

/// A turn that waits for its user or for a task at a server, read from the database and ready to
/// [resume](super::TurnService::resume).
#[derive(Debug)]
pub struct SuspendedTurn {
    row: UnfinishedTurn,
    model: ModelId,
    events: Vec<(u64, TurnEvent)>,
    transcript: Transcript,
    interactions: Vec<Interaction>,
    tasks: Vec<(ToolTask, ToolCall)>,
}

impl TurnService {
    /// Releases turns that are assigned to this node although it does not run them, so that a node claims and ends them.
    ///
    /// There are such turns after an outage: if the response to a commit is lost, a turn that was begun or claimed is stored
    /// and was reported as failed. It would block its chat until this process ends.
    ///
    /// # Errors
    ///
    /// Fails if the database is unreachable.
    pub async fn release_lost(&self) -> Result<(), storage::Error> {
        // In this order: a turn is registered before it is stored, and deregistered after its end is stored.
        let stored = self.storage.nodes().list_turns().await?;
        let lost: Vec<TurnId> = {
            let active = self.active();
            let running: HashSet<TurnId> = active.values().map(|turn| turn.id).collect();
            stored.into_iter().filter(|turn_id| !running.contains(turn_id)).collect()
        };
        for turn_id in lost {
            tracing::warn!(%turn_id, "releasing a turn that no node runs");
            self.storage.nodes().release_turn(turn_id).await?;
        }
        Ok(())
    }
}

/// Closes the turns of dead processes as interrupted, and returns those that wait for their user or for a task.
///
/// # Errors
///
/// Fails if the database is unreachable. A single turn that cannot be recovered is logged and skipped.
pub async fn close_unfinished(
    storage: &Storage,
    turns: &[UnfinishedTurn],
    now: Timestamp,
) -> Result<Vec<SuspendedTurn>, storage::Error> {
    let mut suspended = Vec::new();
    let mut closed = 0;
    for turn in turns {
        match close_or_suspend(storage, turn, now).await {
            Ok(Some(turn)) => suspended.push(turn),
            Ok(None) => closed += 1,
            Err(error) if error.is_outage() => return Err(error),
            // One unreadable turn must not prevent the start of the server and the recovery of all others.
            Err(error) => {
                tracing::error!(turn_id = %turn.id, chat_id = %turn.chat, %error, "an unfinished turn could not be recovered");
            }
        }
    }
    if closed > 0 {
        tracing::warn!(turns = closed, "unfinished turns were closed as interrupted");
    }
    Ok(suspended)
}

/// Returns a turn that waits for its user or for a task; any other is closed.
async fn close_or_suspend(
    storage: &Storage,
    turn: &UnfinishedTurn,
    now: Timestamp,
) -> Result<Option<SuspendedTurn>, storage::Error> {
    let DecodedJournal { events, unreadable } =
        decode_journal(turn.id, &storage.turns().list_chunks(turn.owner, turn.id).await?);
    let mut transcript = Transcript::default();
    for (_, event) in &events {
        transcript.apply(event);
    }
    let interactions = storage.interactions().list(turn.owner, turn.id).await?;
    let tasks = match_tasks(storage.tool_tasks().list(turn.owner, turn.id).await?, &transcript);
    let is_over = tasks.is_empty() && !awaits_user(&interactions, &transcript);
    // A turn whose model this version cannot name cannot continue, and is closed, too.
    if let (false, Some(model)) = (is_over, ModelId::parse(&turn.model)) {
        return Ok(Some(SuspendedTurn { row: turn.clone(), model, events, transcript, interactions, tasks }));
    }
    let reason = if unreadable > 0 { INTERRUPTED_WITH_LOSS } else { INTERRUPTED_MESSAGE };
    let answer = Answer {
        id: turn.answer,
        parts: transcript.into_parts(),
        status: MessageStatus::Interrupted,
        error: Some(reason.to_owned()),
        model: turn.model.clone(),
        costs: Vec::new(),
    };
    let mut rest = vec![TurnEvent::Error { error_text: reason.to_owned() }];
    if events.is_empty() {
        // The process ended before it wrote even the first event. Subscribers on other nodes have to learn which
        // answer failed.
        rest.insert(0, start_event(turn));
    }
    let rest: Vec<String> = rest.iter().map(to_json_text).collect();
    // Behind a gap, because the dead process may have published events that it did not write.
    let number = events.last().map_or(0, |(number, _)| *number) + SEQ_GAP;
    let chunk = encode_events(turn.id, number, &rest);
    storage.chats().finish_turn(turn.owner, turn.chat, turn.id, &answer, Some(&chunk), now).await?;
    Ok(None)
}

/// Creates the first event of a turn.
fn start_event(turn: &UnfinishedTurn) -> TurnEvent {
    let (turn_id, session_id, created_at) = (turn.id, turn.chat, turn.created_at);
    let message_metadata = StartMetadata { turn_id, session_id, created_at, model: turn.model.clone() };
    TurnEvent::Start { message_id: turn.answer, message_metadata }
}

/// Returns whether a turn waits for its user, according to both the stored interactions and the journal.
fn awaits_user(interactions: &[Interaction], transcript: &Transcript) -> bool {
    let is_eliciting = |call: &ToolCall| {
        interactions.iter().any(|interaction| interaction.approval().is_none() && interaction.tool_call == call.id)
    };
    !resumed_calls::match_approvals(interactions, transcript).is_empty()
        || transcript.calls_awaiting_elicitation().iter().any(is_eliciting)
}

/// Pairs each stored task with its call, if the journal shows no end of it.
fn match_tasks(tasks: Vec<ToolTask>, transcript: &Transcript) -> Vec<(ToolTask, ToolCall)> {
    let mut calls = transcript.unfinished_calls();
    let pair = |task: ToolTask| {
        let index = calls.iter().position(|call| call.id == task.tool_call)?;
        Some((task, calls.swap_remove(index)))
    };
    tasks.into_iter().filter_map(pair).collect()
}

/// Resumes a turn: it waits again, and its log continues with the sequence numbers that its subscribers know.
pub fn resume_turn(turns: &TurnService, suspended: SuspendedTurn) {
    let SuspendedTurn { row, model, events, transcript, interactions, tasks } = suspended;
    // Both sources have to agree. A row without its event was never shown; an event without its row cannot be answered.
    let approvals = resumed_calls::match_approvals(&interactions, &transcript);
    let elicitations = resumed_calls::match_elicitations(turns, &interactions, &transcript);
    // The limit of steps holds for the whole turn, however often it is resumed.
    let steps = events.iter().filter(|(_, event)| matches!(event, TurnEvent::StartStep)).count();
    let frames = events.iter().map(|(number, event)| (*number, to_json_text(event)));
    let turn = Arc::new(Turn {
        id: row.id,
        chat: row.chat,
        owner: row.owner,
        storage: turns.storage.clone(),
        message_id: row.answer,
        event_log: EventLog::restore(frames, &turns.log_bytes),
        transcript: Mutex::new(transcript),
        interactions: PendingInteractions::default(),
        calls: ActiveCalls::default(),
        usage: turns.models.usage.track_answer(row.owner, OfAnswer { chat: row.chat, message: row.answer }),
        stop: CancellationToken::new(),
        is_preempted: AtomicBool::new(false),
        ownership_lost: CancellationToken::new(),
        memory_exceeded: CancellationToken::new(),
        result: OnceLock::new(),
    });
    // Not subject to the limits of new turns, because it was accepted before.
    turns.active().insert((turn.owner, turn.chat), Arc::clone(&turn));
    let service = turns.clone();
    let span = turn_span::begin(&turn, true);
    let work = async move {
        // Decisions that were made while no process ran the turn, or since the rows were read.
        if let Err(error) = deliver_stored_responses(&service, &turn).await {
            tracing::error!(%error, turn_id = %turn.id, "the responses to a turn's interactions could not be read");
        }
        let selection = restore_selection(&service, &turn, &row.tools).await;
        let resumed = Some(Resumed { steps, approvals, tasks, elicitations });
        let started_at = row.created_at;
        let input = TurnInput {
            model,
            settings: None,
            selection,
            first_message: None,
            started_at,
            is_continuation: false,
            is_waiting: row.is_waiting,
            resumed,
        };
        run_turn(service, turn, input).await;
    };
    turns.tasks.spawn("turn", work.instrument(span));
}

/// Returns the tools that were selected for the turn, without those of removed connections.
async fn restore_selection(turns: &TurnService, turn: &Turn, tools: &serde_json::Value) -> ToolSelection {
    match turns.storage.connections().list(turn.owner).await {
        Ok(servers) => ToolSelection::restore(tools, &servers),
        Err(error) => {
            tracing::error!(%error, turn_id = %turn.id, "the connections of a turn could not be read");
            ToolSelection::default()
        }
    }
}
