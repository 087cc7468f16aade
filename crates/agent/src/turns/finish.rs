//! End of a turn: the answer is stored, then subscribers and clients are notified.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use domain::message::MessageStatus;
use domain::model::FinishReason;
use storage::chats::Answer;
use storage::runs::Chunk;

use super::TurnService;
use super::chunks::with_end;
use super::engine::{Break, Done, Turn, let_go};
use super::event::{FinishMetadata, NoticeData, RunEvent};
use super::recorder::Recorder;
use super::recovery::INTERRUPTED;
use super::{End, Run, queue};
use platform::{RunState, UserEvent};

/// Longest wait for the journal to hand over the last events of a turn.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// Pause between attempts to store the answer.
const WRITE_AGAIN: Duration = Duration::from_secs(1);
/// Notice for subscribers while the answer cannot be stored.
const UNSTORED: &str = "The database does not answer. The answer is complete and is stored as soon as it does.";

/// Ends a turn: stores the answer and its cost, and then publishes the last event. A client that loads the chat after
/// the end of the stream finds both stored.
pub async fn finish(
    turns: &TurnService,
    run: &Arc<Run>,
    turn: &Turn,
    recorder: &Recorder,
    outcome: Result<Done, Break>,
) {
    let (status, error, last) = match outcome {
        Ok(Done { reason, usage }) => match cut_off(&reason) {
            None => {
                let finish_reason = finish_word(&reason).to_owned();
                let message_metadata = FinishMetadata { usage };
                (MessageStatus::Done, None, RunEvent::Finish { finish_reason, message_metadata })
            }
            Some(why) => (MessageStatus::Failed, Some(why.to_owned()), RunEvent::Error { error_text: why.to_owned() }),
        },
        Err(Break::Stopped) => (MessageStatus::Stopped, None, RunEvent::Abort { reason: "stopped".to_owned() }),
        Err(Break::Interrupted) => {
            let text = INTERRUPTED.to_owned();
            (MessageStatus::Interrupted, Some(text.clone()), RunEvent::Error { error_text: text })
        }
        Err(Break::Failed(text)) => (MessageStatus::Failed, Some(text.clone()), RunEvent::Error { error_text: text }),
    };
    let end = End { status, error: error.clone(), parts: recorder.take_parts() };
    if !run.home.is_lasting() {
        // A temporary chat's answer is in memory, so its usage is recorded in the database separately.
        run.usage.flush();
    }
    let (pieces, ()) = tokio::join!(last_pieces(turns, run), run.usage.flushed());
    let (model, costs) = (turn.model.to_string(), run.usage.unrecorded());
    let answer = Answer { id: run.answer, parts: end.parts.clone(), status, error, model, costs };
    if !write(turns, run, &answer, &last, pieces).await {
        // This node lost the turn, or shuts down before the answer could be stored: recovery ends the turn.
        return let_go(turns, run);
    }
    drop(run.end.set(end));
    // Deregistered before the log is closed: a client that sees the end can begin the next turn at once.
    turns.leave(run);
    if status == MessageStatus::Interrupted {
        // The process stops. Subscribers reconnect and find an answer that can be continued, instead of being shown a
        // failure.
        run.log.leave();
    } else {
        run.log.close();
    }
    turns.events.publish(run.owner, &UserEvent::Run { session_id: run.chat, run_id: run.id, state: RunState::Ended });
    turns.events.publish(run.owner, &UserEvent::of_chat(run.chat));
    // A turn that was stopped or failed does not send the next queued message: the user decides when to continue.
    if status == MessageStatus::Done || run.gives_way.load(Ordering::Acquire) {
        turns.tasks.spawn("queue", queue::next_turn(turns.clone(), run.owner, run.chat));
    }
}

/// Events of a turn that were not written when it ended.
type LastPieces = Option<Chunk>;

/// Takes from the [journal](super::Journal) the events to store before the end of the log, for subscribers on other
/// nodes.
///
/// Returns `None` if there are no other nodes, or if the events are incomplete. Without the end of the log, those
/// subscribers load the stored answer.
async fn last_pieces(turns: &TurnService, run: &Run) -> Option<LastPieces> {
    if !run.home.is_shared() {
        return None;
    }
    let journal = turns.journal();
    let pieces = tokio::time::timeout(LONGEST_WAIT, journal.take(run.id)).await.ok()?;
    (!journal.has_gaps(run.id)).then_some(pieces)
}

/// Stores the answer, and the end of the log for subscribers on other nodes, and retries while the database is
/// unreachable. Subscribers get a notice meanwhile.
///
/// Returns `false` if another node has taken over the turn, or if the process shuts down first; the turn is then
/// found unfinished by recovery.
async fn write(turns: &TurnService, run: &Run, answer: &Answer, last: &RunEvent, pieces: Option<LastPieces>) -> bool {
    let mut tries = 0_u32;
    loop {
        // Withheld until the answer is stored; `close` publishes it.
        let (number, json) = run.log.hold(last);
        let chunk = pieces.as_ref().map(|pieces| with_end(pieces.as_ref(), run.id, number, json));
        let finished =
            run.home.chats().finish_turn(run.owner, run.chat, run.id, answer, chunk.as_ref(), turns.clock.now()).await;
        match finished {
            Ok(written) => {
                if written {
                    run.usage.mark_recorded(&answer.costs);
                }
                // A commit that was reported as failed may have succeeded, and a deleted chat has no place for the
                // answer: in neither case was the turn lost to another node.
                return written || tries > 0 || run.stop.is_cancelled() || !run.home.is_shared();
            }
            // A temporary chat is full or was deleted. Waiting would not help.
            Err(_) if !run.home.is_lasting() => return true,
            Err(error) => tracing::warn!(%error, run = %run.id, tries, "the answer could not be written"),
        }
        run.log.take_back(number);
        if tries == 0 {
            run.log.append(&RunEvent::DataNotice { data: NoticeData { text: UNSTORED.to_owned() } });
        }
        tries += 1;
        tokio::select! {
            () = tokio::time::sleep(WRITE_AGAIN) => {}
            () = run.lost.cancelled() => return false,
            () = turns.tasks.shutdown_token().cancelled() => {
                tracing::error!(run = %run.id, "the answer could not be written; it is recovered at the next start");
                if let Some(pieces) = pieces.flatten() {
                    turns.journal().give_back(pieces);
                }
                return false;
            }
        }
    }
}

/// Returns the error text of a finish reason that leaves the answer incomplete.
fn cut_off(reason: &FinishReason) -> Option<&'static str> {
    match reason {
        FinishReason::Truncated => Some("the model's answer broke off"),
        FinishReason::ContentFilter => Some("the model provider's filter cut the answer"),
        FinishReason::Length => Some("the answer reached the model's limit on length"),
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other(_) => None,
    }
}

/// Returns the name of a finish reason in the UI message stream.
fn finish_word(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::ToolCalls => "tool-calls",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content-filter",
        FinishReason::Truncated | FinishReason::Other(_) => "other",
    }
}
