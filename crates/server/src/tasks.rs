//! Background work: every task has a name, is tracked, is cancelled at shutdown and is awaited.

use std::future::Future;
use std::time::Duration;

use tokio::sync::oneshot;
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

    /// The same for work whose result is waited for: it goes on when the waiting ends, because the caller has gone away.
    /// No result when the work panicked.
    pub async fn complete<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (give, take) = oneshot::channel();
        self.spawn(name, async move { drop(give.send(work.await)) });
        take.await.ok()
    }

    /// How many there are; each connection and each run is one.
    pub fn count(&self) -> usize {
        self.tracker.len()
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
