//! What happens to chats by itself: deleted ones go for good, files that nothing names go with them, and words of texts are read so that they can be searched.

use std::time::Duration;

use crate::app::App;
use crate::files::WAITS;

/// Seconds for which a deleted chat can come back.
pub const UNDO: i64 = 600;
/// Between two rounds. A search reads its person's own new texts itself; the round is for everything else.
const PACE: Duration = Duration::from_secs(5);
/// Texts that are read as one, and the pause after them, in which others write: few, because a turn that begins waits for
/// them.
const BATCH: i64 = 64;
const PAUSE: Duration = Duration::from_millis(4);

/// Does a round again and again until the app stops.
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

/// One round.
pub async fn round(app: &App) -> Result<(), store::Error> {
    app.temporary.sweep(app);
    app.store.purge_deleted_chats(app.clock.now().plus_seconds(-UNDO)).await?;
    app.store.purge_files(app.clock.now().plus_seconds(-WAITS)).await?;
    while !app.tasks.shutdown_token().is_cancelled() {
        let read = app.store.index_pending(None, BATCH).await?;
        if (read as i64) < BATCH {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}
