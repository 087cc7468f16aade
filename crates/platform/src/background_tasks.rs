//! Background tasks. Each has a name, is tracked, is cancelled at shutdown and is awaited.

use std::future::Future;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// Maximum time that [`BackgroundTasks::stop`] waits for cancelled tasks.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(4);

/// The background tasks of one app.
#[derive(Debug, Clone, Default)]
pub struct BackgroundTasks {
    tracker: TaskTracker,
    shutdown: CancellationToken,
}

impl BackgroundTasks {
    /// Runs `work` in the background. It must end soon after [`Self::shutdown_token`] is cancelled.
    pub fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        // Tracked before it is spawned, so that `stop` also waits for a task that has not begun.
        let tracked = self.tracker.track_future(work);
        #[expect(clippy::disallowed_methods, reason = "this is the one place that spawns")]
        drop(tokio::spawn(async move {
            tracked.await;
            tracing::trace!(task = name, "task ended");
        }));
    }

    /// Runs `work` in the background and waits for its result. The work continues if the caller is dropped, which
    /// happens when a client disconnects.
    ///
    /// Returns `None` if the work panicked. The work belongs to the span of the caller.
    pub async fn spawn_and_wait<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        self.spawn_untraced_and_wait(name, work.in_current_span()).await
    }

    /// Runs `work` as [`spawn_and_wait`](Self::spawn_and_wait) does, but outside the span of the caller: what it leaves
    /// behind, such as an open connection, would keep that span from ending.
    pub async fn spawn_untraced_and_wait<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = oneshot::channel();
        self.spawn(name, async move { drop(sender.send(work.await)) });
        // The sender is dropped without a value only if the work panicked.
        receiver.await.ok()
    }

    /// Returns the number of running tasks. Each client connection and each turn is one.
    pub fn count(&self) -> usize {
        self.tracker.len()
    }

    /// Returns the token that is cancelled when the app shuts down.
    pub fn shutdown_token(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// Cancels [`Self::shutdown_token`] and waits until all tasks have ended, for at most four seconds.
    pub async fn stop(&self) {
        self.shutdown.cancel();
        // `wait` returns only once the tracker is closed and empty.
        self.tracker.close();
        if tokio::time::timeout(SHUTDOWN_GRACE, self.tracker.wait()).await.is_err() {
            tracing::warn!(tasks = self.tracker.len(), "tasks did not stop in time");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_outlives_a_caller_that_is_dropped() {
        let tasks = BackgroundTasks::default();
        let (go, gate) = oneshot::channel::<()>();
        let (sender, done) = oneshot::channel();
        let mut waiting = Box::pin(tasks.spawn_and_wait("test", async move {
            let _ = gate.await;
            let _ = sender.send("done");
        }));
        assert!(futures_poll(&mut waiting).await.is_none(), "the work waits for the gate");
        drop(waiting);
        let _ = go.send(());
        assert_eq!(done.await, Ok("done"));
    }

    /// Polls a future once.
    async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        tokio::select! {
            biased;
            output = future => Some(output),
            () = std::future::ready(()) => None,
        }
    }

    #[tokio::test]
    async fn stop_cancels_tasks_and_waits_for_them() {
        let tasks = BackgroundTasks::default();
        let token = tasks.shutdown_token().clone();
        tasks.spawn("test", async move { token.cancelled().await });
        assert_eq!(tasks.count(), 1);
        tasks.stop().await;
        assert_eq!(tasks.count(), 0);
    }

    #[tokio::test]
    async fn returns_none_if_the_work_panicked() {
        let work = async { panic!("on purpose") };
        assert_eq!(BackgroundTasks::default().spawn_and_wait::<()>("test", work).await, None);
    }
}
