//! Maintenance of chats: deleted chats are removed for good, files without references are deleted, and texts are
//! added to the search index.

use std::time::Duration;

use crate::app::App;
use crate::files::UNUSED_UPLOAD_TTL_SECONDS;

/// Time in seconds for which a deleted chat can be restored.
pub const UNDO: i64 = 600;
/// Interval between two runs. A search indexes its own user's new texts first; this covers everything else.
const PACE: Duration = Duration::from_secs(5);
/// Number of texts that are indexed in one transaction. It is small because a turn that begins has to wait for that
/// transaction.
const BATCH: i64 = 64;
/// Pause after each transaction, for other writers.
const PAUSE: Duration = Duration::from_millis(4);

/// Runs the [maintenance](round) at regular intervals until shutdown.
pub async fn run(app: App) {
    let stopping = app.tasks.shutdown_token().clone();
    loop {
        if let Err(error) = round(&app).await {
            tracing::error!(%error, "chats could not be looked after");
        }
        tokio::select! {
            () = stopping.cancelled() => return,
            () = tokio::time::sleep(PACE) => {}
        }
    }
}

/// Runs the maintenance once.
///
/// # Errors
///
/// Fails if the database fails.
pub async fn round(app: &App) -> Result<(), store::Error> {
    app.runs.close_unused_temporary_chats();
    app.store.purge_deleted_chats(app.clock.now().plus_seconds(-UNDO)).await?;
    app.store.purge_files(app.clock.now().plus_seconds(-UNUSED_UPLOAD_TTL_SECONDS)).await?;
    while !app.tasks.shutdown_token().is_cancelled() {
        let read = app.store.index_pending(None, BATCH).await?;
        // Fewer than a full batch: nothing is left to index.
        if (read as i64) < BATCH {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}
