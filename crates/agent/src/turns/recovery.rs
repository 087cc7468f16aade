//! Recovery of the turns that a previous process left unfinished. Turns that wait for their user or for a task at a
//! server are resumed; all others are closed as interrupted, with what was written.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use domain::message::MessageStatus;
use domain::tool::ToolCall;
use domain::{ApprovalId, Timestamp};
use storage::Storage;
use storage::approvals::Approval;
use storage::chats::Answer;
use storage::elicitations::Elicitation;
use storage::runs::UnfinishedRun;
use storage::tool_tasks::ToolTask;
use storage::usage::OfAnswer;
use tokio_util::sync::CancellationToken;

use super::TurnService;
use super::chunks::{Journal, chunk_of, events_of};
use super::engine::{Resumed, Turn, drive};
use super::event::{RunEvent, StartMetadata, encode_event};
use super::log::GAP;
use super::long_calls::LiveCalls;
use super::questions::Questions;
use super::transcript::Transcript;
use super::{Run, RunLog, resuming};
use crate::models::ModelId;
use crate::tool_selection::Selection;

/// Error of an answer that was cut off by the end of a process.
pub const INTERRUPTED: &str = "The server stopped before the answer was complete.";

/// Error of an interrupted answer of which some events could not be read.
const INTERRUPTED_WITH_LOSS: &str =
    "The server stopped before the answer was complete, and parts of what was written could not be read.";

/// A turn that waits for its user or for a task at a server, read from the database and ready to
/// [resume](super::TurnService::resume).
#[derive(Debug)]
pub struct Suspended {
    run: UnfinishedRun,
    model: ModelId,
    events: Vec<(u64, RunEvent)>,
    transcript: Transcript,
    waiting: Vec<(Approval, ToolCall)>,
    tasks: Vec<(ToolTask, ToolCall)>,
    asked: Vec<Elicitation>,
}

/// Closes the turns of dead processes as interrupted, and returns those that wait for their user or for a task.
///
/// # Errors
///
/// Fails if the database is unreachable. A single turn that cannot be recovered is logged and skipped.
pub async fn close_unfinished(
    storage: &Storage,
    runs: &[UnfinishedRun],
    now: Timestamp,
) -> Result<Vec<Suspended>, storage::Error> {
    let mut suspended = Vec::new();
    let mut closed = 0;
    for run in runs {
        match close_or_suspend(storage, run, now).await {
            Ok(Some(turn)) => suspended.push(turn),
            Ok(None) => closed += 1,
            Err(error) if error.is_outage() => return Err(error),
            // One unreadable turn must not prevent the start of the server and the recovery of all others.
            Err(error) => {
                tracing::error!(turn_id = %run.id, chat_id = %run.chat, %error, "an unfinished turn could not be recovered");
            }
        }
    }
    if closed > 0 {
        tracing::warn!(runs = closed, "answers that another process left open are marked as interrupted");
    }
    Ok(suspended)
}

/// Returns a turn that waits for its user or for a task; any other is closed.
async fn close_or_suspend(
    storage: &Storage,
    run: &UnfinishedRun,
    now: Timestamp,
) -> Result<Option<Suspended>, storage::Error> {
    let Journal { events, unreadable } = events_of(run.id, &storage.turns().list_chunks(run.owner, run.id).await?);
    let mut transcript = Transcript::default();
    for (_, event) in &events {
        transcript.apply(event);
    }
    let waiting = waiting(storage.approvals().list(run.owner, run.id).await?, &transcript);
    let tasks = tasks(storage.tool_tasks().list(run.owner, run.id).await?, &transcript);
    let asked = storage.elicitations().list(run.owner, run.id).await?;
    let asks = transcript.asking().iter().any(|call| asked.iter().any(|asked| asked.tool_call == call.id));
    let is_over = waiting.is_empty() && tasks.is_empty() && !asks;
    if let (false, Some(model)) = (is_over, ModelId::parse(&run.model)) {
        return Ok(Some(Suspended { run: run.clone(), model, events, transcript, waiting, tasks, asked }));
    }
    let reason = if unreadable > 0 { INTERRUPTED_WITH_LOSS } else { INTERRUPTED };
    let answer = Answer {
        id: run.answer,
        parts: transcript.into_parts(),
        status: MessageStatus::Interrupted,
        error: Some(reason.to_owned()),
        model: run.model.clone(),
        costs: Vec::new(),
    };
    let mut rest = vec![RunEvent::Error { error_text: reason.to_owned() }];
    if events.is_empty() {
        // The process ended before it wrote even the first event. Subscribers on other nodes have to learn which
        // answer failed.
        rest.insert(0, start_of(run));
    }
    let rest: Vec<String> = rest.iter().map(encode_event).collect();
    // Behind a gap, because the dead process may have published events that it did not write.
    let number = events.last().map_or(0, |(number, _)| *number) + GAP;
    let chunk = chunk_of(run.id, number, &rest);
    storage.chats().finish_turn(run.owner, run.chat, run.id, &answer, Some(&chunk), now).await?;
    Ok(None)
}

/// Creates the first event of a turn.
fn start_of(run: &UnfinishedRun) -> RunEvent {
    let (run_id, session_id, created_at) = (run.id, run.chat, run.created_at);
    let message_metadata = StartMetadata { run_id, session_id, created_at, model: run.model.clone() };
    RunEvent::Start { message_id: run.answer, message_metadata }
}

/// Pairs each stored approval with its call, if the journal ([`Transcript::waiting`]) shows that it waits.
fn waiting(approvals: Vec<Approval>, transcript: &Transcript) -> Vec<(Approval, ToolCall)> {
    let mut calls: Vec<(ApprovalId, ToolCall)> = transcript.waiting();
    let pair = |approval: Approval| {
        let index = calls.iter().position(|(id, _)| *id == approval.id)?;
        Some((approval, calls.swap_remove(index).1))
    };
    approvals.into_iter().filter_map(pair).collect()
}

/// Pairs each stored task with its call, if the journal shows no end of it.
fn tasks(tasks: Vec<ToolTask>, transcript: &Transcript) -> Vec<(ToolTask, ToolCall)> {
    let mut calls = transcript.unsettled();
    let pair = |task: ToolTask| {
        let index = calls.iter().position(|call| call.id == task.tool_call)?;
        Some((task, calls.swap_remove(index)))
    };
    tasks.into_iter().filter_map(pair).collect()
}

/// Resumes a turn: it waits again, and its log continues with the sequence numbers that its subscribers know.
pub fn resume(turns: &TurnService, suspended: Suspended) {
    let Suspended { run: row, model, events, transcript, waiting, tasks, asked } = suspended;
    let asking = resuming::asking(turns, &asked, &transcript);
    let rounds = events.iter().filter(|(_, event)| matches!(event, RunEvent::StartStep)).count();
    let frames = events.iter().map(|(number, event)| (*number, encode_event(event)));
    let run = Arc::new(Run {
        id: row.id,
        chat: row.chat,
        owner: row.owner,
        home: turns.storage.clone(),
        answer: row.answer,
        log: RunLog::restore(frames, &turns.held),
        said: Mutex::new(transcript),
        questions: Questions::default(),
        calls: LiveCalls::default(),
        usage: turns.models.usage.track_answer(row.owner, OfAnswer { chat: row.chat, message: row.answer }),
        stop: CancellationToken::new(),
        gives_way: AtomicBool::new(false),
        lost: CancellationToken::new(),
        overfull: CancellationToken::new(),
        end: OnceLock::new(),
    });
    // Not subject to the limits of new turns, because it was accepted before.
    turns.active().insert((run.owner, run.chat), Arc::clone(&run));
    let inner = turns.clone();
    turns.tasks.spawn("run", async move {
        // Decisions that were made while no process ran the turn, or since the rows were read.
        match inner.storage.approvals().list(run.owner, run.id).await {
            Ok(approvals) => {
                for approval in approvals {
                    if let Some(decided) = approval.decided {
                        run.questions.decide(approval.id, decided);
                    }
                }
            }
            Err(error) => tracing::error!(%error, run = %run.id, "the decisions about a run could not be read"),
        }
        let selection = selection(&inner, &run, &row.tools).await;
        let resumed = Some(Resumed { rounds, waiting, tasks, asking });
        let began = row.created_at;
        let turn = Turn {
            model,
            settings: None,
            selection,
            title: None,
            began,
            goes_on: false,
            is_waiting: row.is_waiting,
            resumed,
        };
        drive(inner, run, turn).await;
    });
}

/// Returns the tools that were selected for the turn, without those of removed connections.
async fn selection(turns: &TurnService, run: &Run, tools: &serde_json::Value) -> Selection {
    match turns.storage.connections().list(run.owner).await {
        Ok(servers) => Selection::restore(tools, &servers),
        Err(error) => {
            tracing::error!(%error, run = %run.id, "the connections of a run could not be read");
            Selection::default()
        }
    }
}
