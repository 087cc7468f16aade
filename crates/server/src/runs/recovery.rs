//! What a process that was killed left open is closed when the next one starts: the answer is what had been written.

use domain::Timestamp;
use domain::message::MessageStatus;
use store::Store;
use store::chats::Answer;

use super::event::RunEvent;
use super::transcript::Transcript;

/// What the person reads under an answer that the end of a process cut off.
pub const INTERRUPTED: &str = "The server stopped before the answer was complete.";

/// Folds every run without an end into its answer, marked as interrupted.
pub async fn close_unfinished(store: &Store, now: Timestamp) -> Result<(), store::Error> {
    let runs = store.list_unfinished_runs().await?;
    for run in &runs {
        let mut transcript = Transcript::default();
        for chunk in store.list_chunks(run.owner, run.id).await? {
            // A line that cannot be read (of another version) costs itself, not the answer.
            for event in chunk.lines().filter_map(|line| serde_json::from_str::<RunEvent>(line).ok()) {
                transcript.apply(&event);
            }
        }
        let answer = Answer {
            id: run.answer,
            parts: transcript.into_parts(),
            status: MessageStatus::Interrupted,
            error: Some(INTERRUPTED.to_owned()),
            model: run.model.clone(),
        };
        store.finish_turn(run.owner, run.chat, run.id, &answer, now).await?;
    }
    if !runs.is_empty() {
        tracing::warn!(runs = runs.len(), "answers that the last process left open are marked as interrupted");
    }
    Ok(())
}
