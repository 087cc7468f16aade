//! How long a call may still take.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::CallOptions;

/// The deadlines of a call. They stand still while a person is being asked.
pub(super) struct Time {
    idle: Duration,
    total: Duration,
    silent_until: Instant,
    deadline: Instant,
    questions: watch::Receiver<usize>,
    asking_since: Option<Instant>,
}

impl Time {
    /// `questions` tells how many are open.
    pub(super) fn new(options: &CallOptions, questions: watch::Receiver<usize>) -> Self {
        let now = Instant::now();
        Self {
            idle: options.idle,
            total: options.total,
            silent_until: now + options.idle,
            deadline: now + options.total,
            questions,
            asking_since: None,
        }
    }

    /// The server said something.
    pub(super) fn heard(&mut self) {
        self.silent_until = Instant::now() + self.idle;
    }

    /// Waits for something that takes a person's time.
    pub(super) async fn stand_still<T>(&mut self, asked: impl Future<Output = T>) -> T {
        let since = Instant::now();
        let answer = asked.await;
        self.deadline += since.elapsed();
        answer
    }

    /// Returns when a deadline has passed, with the time that was given. May be dropped and called again.
    pub(super) async fn up(&mut self) -> Duration {
        loop {
            if self.asking_since.is_some() || *self.questions.borrow() > 0 {
                let since = *self.asking_since.get_or_insert_with(Instant::now);
                self.questions.wait_for(|open| *open == 0).await.ok();
                self.asking_since = None;
                self.deadline += since.elapsed();
                self.heard();
            }
            tokio::select! {
                Ok(_) = self.questions.wait_for(|open| *open > 0) => {}
                () = sleep_until(self.silent_until.min(self.deadline)) => {
                    return if self.deadline <= self.silent_until { self.total } else { self.idle };
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
    use crate::asking::Asking;
    use crate::call::Suspended;
    use crate::elicitation::{Answer, Asker, Question};

    const MINUTE: Duration = Duration::from_mins(1);

    /// Answers after an hour.
    #[derive(Debug)]
    struct Slow;

    impl Asker for Slow {
        fn ask(&self, _: Question, _: Option<Arc<Suspended>>) -> BoxFuture<'_, Answer> {
            tokio::time::sleep(60 * MINUTE).map(|()| Answer::Decline).boxed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_hurried_by_a_servers_deadline() {
        let asking = Asking::default();
        let _listed = asking.list(Arc::new(Slow));
        let options = CallOptions { idle: MINUTE, total: 2 * MINUTE, ..CallOptions::default() };
        let mut time = Time::new(&options, asking.open());
        let question = json!({ "message": "?", "requestedSchema": { "type": "object" } });
        let mut asked = std::pin::pin!(asking.answer(&question, None));
        loop {
            // What else happens meanwhile, such as progress, begins the wait anew.
            let other = tokio::time::sleep(7 * MINUTE);
            tokio::select! {
                waited = time.up() => panic!("{waited:?} were over while somebody was asked"),
                answer = &mut asked => break assert_eq!(answer, json!({ "action": "decline" })),
                () = other => time.heard(),
            }
        }
        let answered = Instant::now();
        assert_eq!((time.up().await, answered.elapsed()), (MINUTE, MINUTE));
        time.heard();
        assert_eq!((time.up().await, answered.elapsed()), (2 * MINUTE, 2 * MINUTE));
    }
}
