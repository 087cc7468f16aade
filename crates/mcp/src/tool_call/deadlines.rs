//! Deadlines of a tool call.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::options::CallOptions;

/// Deadlines of a call: since the last message of the server, and in all. Both pause while a user is asked for input.
pub(super) struct CallDeadlines {
    idle_timeout: Duration,
    total_timeout: Duration,
    idle_deadline: Instant,
    total_deadline: Instant,
    /// Number of open elicitations on the connection.
    open_elicitations: watch::Receiver<usize>,
    paused_since: Option<Instant>,
}

impl CallDeadlines {
    /// Starts both deadlines. `open_elicitations` is the number of open elicitations that may belong to the call.
    pub(super) fn new(options: &CallOptions, open_elicitations: watch::Receiver<usize>) -> Self {
        let now = Instant::now();
        Self {
            idle_timeout: options.idle_timeout,
            total_timeout: options.total_timeout,
            idle_deadline: now + options.idle_timeout,
            total_deadline: now + options.total_timeout,
            open_elicitations,
            paused_since: None,
        }
    }

    /// Restarts the idle deadline, because the server sent something.
    pub(super) fn restart_idle(&mut self) {
        self.idle_deadline = Instant::now() + self.idle_timeout;
    }

    /// Waits for a user's input, whose time does not count.
    pub(super) async fn pause_during<T>(&mut self, input: impl Future<Output = T>) -> T {
        let since = Instant::now();
        let output = input.await;
        // The idle deadline restarts with the next request, so only the total one is moved.
        self.total_deadline += since.elapsed();
        output
    }

    /// Waits until a deadline has passed and returns the timeout that it had. Cancel safe.
    pub(super) async fn expired(&mut self) -> Duration {
        loop {
            // `paused_since` is a field, not a local variable: the future may be dropped while an elicitation is open, and
            // the next one has to count the pause from its beginning.
            if self.paused_since.is_some() || *self.open_elicitations.borrow() > 0 {
                let since = *self.paused_since.get_or_insert_with(Instant::now);
                // Fails only if the connection is gone, and then the response says so.
                let _ = self.open_elicitations.wait_for(|open| *open == 0).await;
                self.paused_since = None;
                self.total_deadline += since.elapsed();
                self.restart_idle();
            }
            tokio::select! {
                Ok(_) = self.open_elicitations.wait_for(|open| *open > 0) => {}
                () = sleep_until(self.idle_deadline.min(self.total_deadline)) => {
                    let is_total = self.total_deadline <= self.idle_deadline;
                    return if is_total { self.total_timeout } else { self.idle_timeout };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use serde_json::json;

    use super::*;
    use crate::elicitation::{Elicitation, ElicitationHandler, ElicitationResponse};
    use crate::elicitation_routing::ElicitationRouter;
    use crate::suspended_call::SuspendedCall;

    const ONE_MINUTE: Duration = Duration::from_mins(1);

    /// Declines after an hour.
    #[derive(Debug)]
    struct SlowHandler;

    impl ElicitationHandler for SlowHandler {
        fn elicit(&self, _: Elicitation, _: Option<Arc<SuspendedCall>>) -> BoxFuture<'_, ElicitationResponse> {
            tokio::time::sleep(60 * ONE_MINUTE).map(|()| ElicitationResponse::Decline).boxed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn deadlines_pause_while_an_elicitation_is_open() {
        let router = ElicitationRouter::default();
        let _call = router.register(Arc::new(SlowHandler));
        let options = CallOptions { idle_timeout: ONE_MINUTE, total_timeout: 2 * ONE_MINUTE, ..CallOptions::default() };
        let mut deadlines = CallDeadlines::new(&options, router.subscribe_open());
        let params = json!({ "message": "?", "requestedSchema": { "type": "object" } });
        let mut response = std::pin::pin!(router.respond(&params, None));
        loop {
            // Progress in between drops the future of the deadlines, which starts again.
            let progress = tokio::time::sleep(7 * ONE_MINUTE);
            tokio::select! {
                timeout = deadlines.expired() => panic!("{timeout:?} expired while the user was asked"),
                response = &mut response => break assert_eq!(response, json!({ "action": "decline" })),
                () = progress => deadlines.restart_idle(),
            }
        }
        let answered = Instant::now();
        assert_eq!((deadlines.expired().await, answered.elapsed()), (ONE_MINUTE, ONE_MINUTE));
        deadlines.restart_idle();
        assert_eq!((deadlines.expired().await, answered.elapsed()), (2 * ONE_MINUTE, 2 * ONE_MINUTE));
    }
}
