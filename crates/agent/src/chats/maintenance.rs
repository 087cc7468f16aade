//! Maintenance of chats: deleted chats are removed for good, files without references are deleted, and texts are
//! added to the search index.

use std::sync::Arc;
use std::time::Duration;

use domain::Clock;
use storage::Storage;
use tokio_util::sync::CancellationToken;

use crate::files::UNUSED_UPLOAD_TTL_SECONDS;
use crate::turns::TurnService;

/// Time in seconds for which a deleted chat can be restored.
pub const UNDO_TTL_SECONDS: i64 = 600;
/// Interval between two runs. A search indexes its own user's new texts first; this covers everything else.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(5);
/// Number of texts that are indexed in one transaction. It is small because a turn that begins has to wait for that
/// transaction.
const TEXTS_PER_BATCH: i64 = 64;
/// Pause after each transaction, for other writers.
const BATCH_PAUSE: Duration = Duration::from_millis(4);

/// Maintenance of chats, files and the search index.
#[derive(Debug)]
pub struct ChatMaintenance {
    storage: Storage,
    clock: Arc<dyn Clock>,
    turns: TurnService,
    shutdown: CancellationToken,
}

impl ChatMaintenance {
    /// Creates the maintenance, which ends when `shutdown` is cancelled.
    pub fn new(storage: Storage, clock: Arc<dyn Clock>, turns: TurnService, shutdown: CancellationToken) -> Self {
        Self { storage, clock, turns, shutdown }
    }

    /// Runs the [maintenance](Self::run_once) at regular intervals until shutdown.
    pub async fn run(self: Arc<Self>) {
        loop {
            if let Err(error) = self.run_once().await {
                tracing::error!(%error, "maintenance of chats failed");
            }
            tokio::select! {
                () = self.shutdown.cancelled() => return,
                () = tokio::time::sleep(MAINTENANCE_INTERVAL) => {}
            }
        }
    }

    /// Runs the maintenance once.
    ///
    /// # Errors
    ///
    /// Fails if the database fails.
    pub async fn run_once(&self) -> Result<(), storage::Error> {
        self.turns.close_unused_temporary_chats();
        let now = self.clock.now();
        self.storage.chats().purge_deleted(now.plus_seconds(-UNDO_TTL_SECONDS)).await?;
        self.storage.files().purge(now.plus_seconds(-UNUSED_UPLOAD_TTL_SECONDS)).await?;
        while !self.shutdown.is_cancelled() {
            let read = self.storage.search().index_pending(None, TEXTS_PER_BATCH).await?;
            // Fewer than a full batch: nothing is left to index.
            if (read as i64) < TEXTS_PER_BATCH {
                break;
            }
            tokio::time::sleep(BATCH_PAUSE).await;
        }
        Ok(())
    }
}
