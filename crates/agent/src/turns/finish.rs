//! End of a turn: the answer is stored, then subscribers and clients are notified.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use domain::message::MessageStatus;
use domain::model::FinishReason;
use storage::chats::Answer;
use storage::turns::Chunk;
use tracing::Instrument;

use super::TurnService;
use super::engine::{TurnError, TurnInput, detach};
use super::event::{FinishMetadata, NoticeData, TurnEvent};
use super::event_recorder::EventRecorder;
use super::journal_codec::append_final_event;
use super::recovery::INTERRUPTED_MESSAGE;
use super::{Turn, TurnResult, message_queue, title_proposal, turn_span};
use crate::agent_loop::AgentOutcome;
use crate::push::TurnNews;
use platform::{UserEvent, metrics};

/// Longest wait for the journal to hand over the last events of a turn.
const MAX_JOURNAL_WAIT: Duration = Duration::from_secs(2);
/// Pause between attempts to store the answer.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Notice for subscribers while the answer cannot be stored.
const ANSWER_NOT_STORED_NOTICE: &str =
    "The database does not answer. The answer is complete and is stored as soon as it does.";

/// Ends a turn: stores the answer and its cost, and then publishes the last event. A client that loads the chat after
/// the end of the stream finds both stored.
pub async fn finish(
    turns: &TurnService,
    turn: &Arc<Turn>,
    input: &TurnInput,
    recorder: &EventRecorder,
    outcome: Result<AgentOutcome, TurnError>,
) {
    let (status, error, last) = match outcome {
        Ok(AgentOutcome { reason, usage }) => match incomplete_reason(&reason) {
            None => {
                let finish_reason = finish_reason_name(&reason).to_owned();
                let message_metadata = FinishMetadata { usage };
                // Not a failure: what was written is worth keeping, and the user can have it continued.
                let is_cut = reason == FinishReason::Length;
                let status = if is_cut { MessageStatus::Length } else { MessageStatus::Done };
                (status, None, TurnEvent::Finish { finish_reason, message_metadata })
            }
            Some(why) => (MessageStatus::Failed, Some(why.to_owned()), TurnEvent::Error { error_text: why.to_owned() }),
        },
        Err(TurnError::Stopped) => (MessageStatus::Stopped, None, TurnEvent::Abort { reason: "stopped".to_owned() }),
        Err(TurnError::Interrupted) => {
            let text = INTERRUPTED_MESSAGE.to_owned();
            (MessageStatus::Interrupted, Some(text.clone()), TurnEvent::Error { error_text: text })
        }
        Err(TurnError::Failed(text)) => {
            (MessageStatus::Failed, Some(text.clone()), TurnEvent::Error { error_text: text })
        }
    };
    // Taken after the last event of the answer and before it is stored. Events that follow, such as the notice of a
    // failed write, are for subscribers only.
    let end = TurnResult { status, error: error.clone(), parts: recorder.take_parts() };
    if !turn.storage.is_lasting() {
        // A temporary chat's answer is in memory, so its usage is recorded in the database separately.
        turn.usage.flush();
    }
    // Waits for the costs that a task is recording, so that a client which loads the chat at the end finds all of them.
    let (unwritten, ()) = tokio::join!(take_unwritten(turns, turn), turn.usage.flushed());
    let (model, costs) = (input.model.to_string(), turn.usage.unrecorded());
    let answer = Answer { id: turn.message_id, parts: end.parts.clone(), status, error, model, costs };
    if !write(turns, turn, &answer, &last, unwritten).await {
        // This node lost the turn, or shuts down before the answer could be stored: recovery ends the turn.
        return detach(turns, turn);
    }
    drop(turn.result.set(end));
    let duration = Duration::from_millis(turns.clock.now().millis_since(input.started_at));
    metrics::record_turn(status.as_str(), duration);
    turn_span::record_end(status);
    // Deregistered before the log is closed: a client that sees the end can begin the next turn at once.
    turns.deregister(turn);
    if status == MessageStatus::Interrupted {
        // The process stops. Subscribers reconnect and find an answer that can be continued, instead of being shown a
        // failure.
        turn.event_log.disconnect();
    } else {
        turn.event_log.close();
    }
    turns.events.publish(turn.owner, &UserEvent::of_ended(turn.chat, turn.id, status));
    turns.events.publish(turn.owner, &UserEvent::of_chat(turn.chat));
    // Who stopped a turn knows that it has ended, and a process that stops sends nothing.
    if turn.storage.is_lasting()
        && matches!(status, MessageStatus::Done | MessageStatus::Length | MessageStatus::Failed)
    {
        turns.push.notify(turn.owner, turn.chat, turn.id, TurnNews::Ended { outcome: status });
    }
    if let Some(first) = input.first_message.clone().filter(|_| status == MessageStatus::Done) {
        let proposal = title_proposal::propose_title(turns.clone(), Arc::clone(turn), input.model.clone(), first);
        turns.tasks.spawn("title", proposal.instrument(turn_span::of_title(turn)));
    }
    // A turn that was stopped or failed does not send the next queued message: the user decides when to continue.
    if matches!(status, MessageStatus::Done | MessageStatus::Length) || turn.is_preempted.load(Ordering::Acquire) {
        turns.tasks.spawn("queue", message_queue::begin_next_turn(turns.clone(), turn.owner, turn.chat, None));
    }
}

/// Events of a turn that were not written when it ended.
type UnwrittenEvents = Option<Chunk>;

/// Takes from the [journal](super::Journal) the events to store before the end of the log, for subscribers on other
/// nodes.
///
/// Returns `None` if there are no other nodes, or if the events are incomplete. Without the end of the log, those
/// subscribers load the stored answer.
async fn take_unwritten(turns: &TurnService, turn: &Turn) -> Option<UnwrittenEvents> {
    if !turn.storage.is_shared() {
        return None;
    }
    // The journal takes these for written from now on, and they are not yet.
    turn.event_log.freeze_withheld();
    let journal = turns.journal();
    let unwritten = tokio::time::timeout(MAX_JOURNAL_WAIT, journal.take(turn.id)).await.ok()?;
    (!journal.is_lossy(turn.id)).then_some(unwritten)
}

/// Stores the answer, and the end of the log for subscribers on other nodes, and retries while the database is
/// unreachable. Subscribers get a notice meanwhile.
///
/// Returns `false` if another node has taken over the turn, or if the process shuts down first; the turn is then
/// found unfinished by recovery.
async fn write(
    turns: &TurnService,
    turn: &Turn,
    answer: &Answer,
    last: &TurnEvent,
    unwritten: Option<UnwrittenEvents>,
) -> bool {
    let mut tries = 0_u32;
    loop {
        // Withheld until the answer is stored; `close` publishes it.
        // Appended again in each attempt, because the notice of the first failure takes a number in between.
        let (number, json) = turn.event_log.append_uncommitted(last);
        let chunk = unwritten.as_ref().map(|unwritten| append_final_event(unwritten.as_ref(), turn.id, number, json));
        let finished = turn
            .storage
            .chats()
            .finish_turn(turn.owner, turn.chat, turn.id, answer, chunk.as_ref(), turns.clock.now())
            .await;
        match finished {
            Ok(written) => {
                if written {
                    turn.usage.mark_recorded(&answer.costs);
                }
                // A commit that was reported as failed may have succeeded, and a deleted chat has no place for the
                // answer: in neither case was the turn lost to another node.
                return written || tries > 0 || turn.stop.is_cancelled() || !turn.storage.is_shared();
            }
            // A temporary chat is full or was deleted. Waiting would not help.
            Err(_) if !turn.storage.is_lasting() => return true,
            Err(error) => tracing::warn!(%error, turn_id = %turn.id, tries, "the answer could not be stored"),
        }
        turn.event_log.rollback(number);
        if tries == 0 {
            turn.event_log
                .append(&TurnEvent::DataNotice { data: NoticeData { text: ANSWER_NOT_STORED_NOTICE.to_owned() } });
        }
        tries += 1;
        tokio::select! {
            () = tokio::time::sleep(RETRY_INTERVAL) => {}
            () = turn.ownership_lost.cancelled() => return false,
            () = turns.tasks.shutdown_token().cancelled() => {
                tracing::error!(turn_id = %turn.id, "the answer could not be stored; it is recovered at the next start");
                if let Some(unwritten) = unwritten.flatten() {
                    turns.journal().return_unwritten(unwritten);
                }
                return false;
            }
        }
    }
}

/// Returns the error text of a finish reason that leaves the answer incomplete.
fn incomplete_reason(reason: &FinishReason) -> Option<&'static str> {
    match reason {
        FinishReason::Truncated => Some("the model's answer broke off"),
        FinishReason::ContentFilter => Some("the model provider's filter cut the answer"),
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Length | FinishReason::Other(_) => None,
    }
}

/// Returns the name of a finish reason in the UI message stream.
fn finish_reason_name(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::ToolCalls => "tool-calls",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content-filter",
        FinishReason::Truncated | FinishReason::Other(_) => "other",
    }
}
