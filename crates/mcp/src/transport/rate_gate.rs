//! Rate limit on the requests of a server.
//!
//! The protocol library starts a task for each request of a server and keeps the response until the server reads it.
//! A server that sends requests without end and never reads would fill the memory; behind the gate it fills its own
//! socket.

use std::time::Duration;

use rmcp::model::JsonRpcMessage;
use rmcp::service::RoleClient;
use tokio::time::{Instant, sleep_until};

use super::{Incoming, Outgoing};

/// Number of requests that pass at once, far more than an honest server sends.
const BURST_REQUESTS: u32 = 64;
/// Interval between requests after the burst.
const REQUEST_INTERVAL: Duration = Duration::from_millis(50);

/// Transport that delivers requests of the server at most every [`REQUEST_INTERVAL`] after [`BURST_REQUESTS`] at once.
/// Responses and notifications pass unlimited.
pub(crate) struct RateGate<T> {
    transport: T,
    /// Message that waits for its turn.
    held: Option<Incoming>,
    /// Time at which the token bucket is full again.
    full_at: Instant,
}

impl<T> RateGate<T> {
    pub(crate) fn new(transport: T) -> Self {
        Self { transport, held: None, full_at: Instant::now() }
    }
}

impl<T: rmcp::transport::Transport<RoleClient>> rmcp::transport::Transport<RoleClient> for RateGate<T> {
    type Error = T::Error;

    fn send(&mut self, message: Outgoing) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<Incoming> {
        // The library may drop this future while it waits: the message is held in the gate, so that it is not lost.
        if self.held.is_none() {
            self.held = Some(self.transport.receive().await?);
        }
        if matches!(self.held, Some(JsonRpcMessage::Request(_))) {
            let burst = REQUEST_INTERVAL * BURST_REQUESTS;
            // A token bucket without a counter: the time at which it would be full again says how many tokens are
            // missing.
            let full_at = self.full_at.max(Instant::now()) + REQUEST_INTERVAL;
            sleep_until(full_at.checked_sub(burst).unwrap_or(full_at)).await;
            self.full_at = full_at;
        }
        self.held.take()
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.transport.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use rmcp::transport::Transport;

    /// Transport that delivers one message over and over.
    struct Flood(&'static str);

    impl Transport<RoleClient> for Flood {
        type Error = Error;

        fn send(&mut self, _: Outgoing) -> impl Future<Output = Result<(), Error>> + Send + 'static {
            std::future::ready(Ok(()))
        }

        async fn receive(&mut self) -> Option<Incoming> {
            super::super::parse_message(self.0).ok()
        }

        async fn close(&mut self) -> Result<(), Error> {
            Ok(())
        }
    }

    async fn time_for(count: u32, message: &'static str) -> Duration {
        let mut gate = RateGate::new(Flood(message));
        let start = Instant::now();
        for _ in 0..count {
            gate.receive().await.unwrap();
        }
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn delays_requests_after_a_burst() {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        assert_eq!(time_for(BURST_REQUESTS, ping).await, Duration::ZERO);
        let slowed = time_for(BURST_REQUESTS + 20, ping).await;
        assert!(slowed >= REQUEST_INTERVAL * 20 && slowed < REQUEST_INTERVAL * 22, "{slowed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn passes_responses_and_notifications() {
        let report = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        assert_eq!(time_for(10 * BURST_REQUESTS, report).await, Duration::ZERO);
        assert_eq!(time_for(10 * BURST_REQUESTS, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await, Duration::ZERO);
    }
}
