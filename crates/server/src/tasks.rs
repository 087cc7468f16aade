//! Background work: every task has a name, is tracked, is cancelled at shutdown and is awaited.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long shutdown waits for tasks that were told to stop.
const DRAIN: Duration = Duration::from_secs(4);

/// The tasks of one app.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stopping: CancellationToken,
}

impl Tasks {
    /// Runs `work` in the background. It must end soon after [`Tasks::stopping`] is cancelled.
    pub fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let tracked = self.tracker.track_future(work);
        #[expect(clippy::disallowed_methods, reason = "this is the one place that spawns")]
        drop(tokio::spawn(async move {
            tracked.await;
            tracing::trace!(task = name, "task ended");
        }));
    }

    /// Cancelled when the app shuts down.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Tells every task to stop and waits for them, for at most four seconds.
    pub async fn stop(&self) {
        self.stopping.cancel();
        self.tracker.close();
        if tokio::time::timeout(DRAIN, self.tracker.wait()).await.is_err() {
            tracing::warn!(tasks = self.tracker.len(), "tasks did not stop in time");
        }
    }
}
