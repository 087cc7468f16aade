//! Repetition of messages with a user's answer that cannot be sent for the moment.

use std::time::Duration;

use tokio::time::Instant;

use crate::Error;

/// Longest time in which the sending of an answer is repeated. A call that the server holds open for it has timed out by
/// then: [`CallOptions::idle_timeout`](crate::CallOptions) is as long.
pub(crate) const MAX_ANSWER_DELAY: Duration = Duration::from_mins(1);
/// Pause between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Limit on the attempts to send one message.
pub(crate) struct AnswerRetry {
    is_answer: bool,
    until: Instant,
}

impl AnswerRetry {
    /// Begins the attempts. Only a message that is an answer is sent more than once: if it is lost, the server waits for it
    /// in vain, or the user has to answer again.
    pub(crate) fn new(is_answer: bool) -> Self {
        Self { is_answer, until: Instant::now() + MAX_ANSWER_DELAY }
    }

    /// Returns whether to send the message again, after a pause. That is so if it was not sent because the access token
    /// could not be read or renewed, for example while the database fails over.
    pub(crate) async fn wait_to_repeat(&self, error: &Error) -> bool {
        let repeats = self.is_answer && matches!(error, Error::Renewal(_)) && Instant::now() < self.until;
        if repeats {
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
        repeats
    }
}
