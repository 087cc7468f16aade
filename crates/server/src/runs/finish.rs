//! The end of a turn: the answer is written, and everybody is told.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use domain::message::MessageStatus;
use domain::model::FinishReason;
use store::chats::Answer;
use store::runs::Chunk;

use super::chunks::with_end;
use super::engine::{Break, Done, Turn, let_go};
use super::event::{FinishMetadata, NoticeData, RunEvent};
use super::recorder::Recorder;
use super::recovery::INTERRUPTED;
use super::{End, Run, queue};
use crate::app::App;
use crate::events::{Event, RunState};

/// How long the end of a turn waits for the pieces before it.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// Between two attempts to write the end of a turn.
const WRITE_AGAIN: Duration = Duration::from_secs(1);
/// What is said meanwhile.
const UNSTORED: &str = "The database does not answer. The answer is complete and is stored as soon as it does.";

/// Writes the answer, then tells the viewers: who loads the chat after the end finds the answer there, and its cost.
pub async fn finish(app: &App, run: &Arc<Run>, turn: &Turn, recorder: &Recorder, outcome: Result<Done, Break>) {
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
        // The answer goes nowhere that it could take them along.
        run.bill.settle(app);
    }
    let (pieces, ()) = tokio::join!(last_pieces(app, run), run.bill.settled());
    let (model, costs) = (turn.model.to_string(), run.bill.owed());
    let answer = Answer { id: run.answer, parts: end.parts.clone(), status, error, model, costs };
    if !write(app, run, &answer, &last, pieces).await {
        return let_go(app, run);
    }
    drop(run.end.set(end));
    app.runs.leave(run);
    if status == MessageStatus::Interrupted {
        // The program stops. Viewers come back for what can be gone on with, rather than hear of a failure.
        run.log.leave();
    } else {
        run.log.close();
    }
    app.events.publish(run.owner, &Event::Run { session_id: run.chat, run_id: run.id, state: RunState::Ended });
    app.events.publish(run.owner, &Event::of_chat(run.chat));
    // Who stops an answer, or sees it fail, says when it goes on.
    if status == MessageStatus::Done || run.gives_way.load(Ordering::Acquire) {
        app.tasks.spawn("queue", queue::next_turn(app.clone(), run.owner, run.chat));
    }
}

/// What of a run was not written yet when it ended.
type LastPieces = Option<Chunk>;

/// What is to stand before the end of the log, for those who follow it on other nodes. `None` where nobody can, or where
/// they cannot be told: without the end they load the answer.
async fn last_pieces(app: &App, run: &Run) -> Option<LastPieces> {
    if !run.home.is_shared() {
        return None;
    }
    let journal = app.runs.journal();
    let pieces = tokio::time::timeout(LONGEST_WAIT, journal.take(run.id)).await.ok()?;
    (!journal.has_gaps(run.id)).then_some(pieces)
}

/// Writes the answer, with the end of the log if other nodes are to be told of it, for as long as the database is away; the
/// viewers are told that it is. `false` when another node has taken the run over, or the program stops before: then the run
/// is found unfinished.
async fn write(app: &App, run: &Run, answer: &Answer, last: &RunEvent, pieces: Option<LastPieces>) -> bool {
    let mut tries = 0_u32;
    loop {
        let (number, json) = run.log.hold(last);
        let chunk = pieces.as_ref().map(|pieces| with_end(pieces.as_ref(), run.id, number, json));
        let finished = run.home.finish_turn(run.owner, run.chat, run.id, answer, chunk.as_ref(), app.clock.now()).await;
        match finished {
            Ok(written) => {
                if written {
                    run.bill.paid(&answer.costs);
                }
                // What was said to have failed may have been done, and a chat that was deleted has no place for an answer.
                return written || tries > 0 || run.stop.is_cancelled() || !run.home.is_shared();
            }
            // There is no room for it, or the chat was dropped: nothing would change by waiting.
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
            () = app.tasks.shutdown_token().cancelled() => {
                tracing::error!(run = %run.id, "the answer could not be written; it is recovered at the next start");
                if let Some(pieces) = pieces.flatten() {
                    app.runs.journal().give_back(pieces);
                }
                return false;
            }
        }
    }
}

/// Ends that leave the answer incomplete, in words.
fn cut_off(reason: &FinishReason) -> Option<&'static str> {
    match reason {
        FinishReason::Truncated => Some("the model's answer broke off"),
        FinishReason::ContentFilter => Some("the model provider's filter cut the answer"),
        FinishReason::Length => Some("the answer reached the model's limit on length"),
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other(_) => None,
    }
}

fn finish_word(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::ToolCalls => "tool-calls",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content-filter",
        FinishReason::Truncated | FinishReason::Other(_) => "other",
    }
}
