//! Deletion of objects that no file needs any more, in the background.

use std::sync::Arc;
use std::time::Duration;

use domain::Clock;
use storage::Storage;
use tokio_util::sync::CancellationToken;

/// Interval at which objects of deleted files are deleted.
const INTERVAL: Duration = Duration::from_secs(10);
/// Pause after a failure.
const RETRY_INTERVAL: Duration = Duration::from_mins(1);
/// Interval at which objects without a file are looked for, in seconds. That lists the whole bucket.
const ORPHAN_INTERVAL_SECONDS: i64 = 24 * 3600;

/// The background job that deletes objects; see [`storage::file_sweep`].
#[derive(Debug)]
pub struct ObjectDeletion {
    storage: Storage,
    clock: Arc<dyn Clock>,
    shutdown: CancellationToken,
}

impl ObjectDeletion {
    /// Creates the job, which ends when `shutdown` is cancelled.
    pub fn new(storage: Storage, clock: Arc<dyn Clock>, shutdown: CancellationToken) -> Self {
        Self { storage, clock, shutdown }
    }

    /// Runs until shutdown, or ends at once without object storage.
    pub async fn run(self) {
        if !self.storage.has_object_storage() {
            return;
        }
        let shutdown = self.shutdown.clone();
        shutdown.run_until_cancelled(self.repeat()).await;
    }

    async fn repeat(self) {
        let mut next_orphans = self.clock.now();
        loop {
            let now = self.clock.now();
            let is_due = now >= next_orphans;
            let pause = match self.delete(is_due).await {
                Ok(()) if is_due => {
                    next_orphans = now.plus_seconds(ORPHAN_INTERVAL_SECONDS);
                    INTERVAL
                }
                Ok(()) => INTERVAL,
                Err(error) => {
                    tracing::error!(%error, "objects of deleted files could not be deleted; it is tried again");
                    RETRY_INTERVAL
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn delete(&self, with_orphans: bool) -> Result<(), storage::Error> {
        let files = self.storage.files();
        while files.delete_unused_objects(self.clock.now()).await? {}
        if with_orphans {
            let count = files.delete_orphaned_objects(self.clock.now()).await?;
            if count > 0 {
                tracing::info!(count, "deleted objects without a file");
            }
        }
        Ok(())
    }
}
