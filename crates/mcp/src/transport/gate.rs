//! Slows down servers that ask too much.
//!
//! The protocol library starts a task for each request of a server and keeps its answer until the server takes it.
//! A server that asks without end and never reads would fill the memory; behind the gate it fills its own socket.

use std::time::Duration;

use rmcp::model::JsonRpcMessage;
use rmcp::service::RoleClient;
use tokio::time::{Instant, sleep_until};

use super::{Incoming, Outgoing};

/// So many requests at once are let through, far more than any honest server has.
const BURST: u32 = 64;
/// After that, one per so much time.
const INTERVAL: Duration = Duration::from_millis(50);

/// A wire that delivers requests of the server no faster than [`INTERVAL`] after a [`BURST`]. Answers and
/// notifications pass.
pub(crate) struct Gate<W> {
    wire: W,
    held: Option<Incoming>,
    // When the bucket would be full again.
    due: Instant,
}

impl<W> Gate<W> {
    pub(crate) fn new(wire: W) -> Self {
        Self { wire, held: None, due: Instant::now() }
    }
}

impl<W: rmcp::transport::Transport<RoleClient>> rmcp::transport::Transport<RoleClient> for Gate<W> {
    type Error = W::Error;

    fn send(&mut self, message: Outgoing) -> impl Future<Output = Result<(), W::Error>> + Send + 'static {
        self.wire.send(message)
    }

    async fn receive(&mut self) -> Option<Incoming> {
        // The future may be dropped while it waits, so that the message waits in the gate itself.
        if self.held.is_none() {
            self.held = Some(self.wire.receive().await?);
        }
        if matches!(self.held, Some(JsonRpcMessage::Request(_))) {
            let allowance = INTERVAL * BURST;
            let due = self.due.max(Instant::now()) + INTERVAL;
            sleep_until(due.checked_sub(allowance).unwrap_or(due)).await;
            self.due = due;
        }
        self.held.take()
    }

    async fn close(&mut self) -> Result<(), W::Error> {
        self.wire.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use rmcp::transport::Transport;

    /// Brings the same message over and over.
    struct Flood(&'static str);

    impl Transport<RoleClient> for Flood {
        type Error = Error;

        fn send(&mut self, _: Outgoing) -> impl Future<Output = Result<(), Error>> + Send + 'static {
            std::future::ready(Ok(()))
        }

        async fn receive(&mut self) -> Option<Incoming> {
            super::super::parse(self.0).ok()
        }

        async fn close(&mut self) -> Result<(), Error> {
            Ok(())
        }
    }

    async fn time_for(count: u32, message: &'static str) -> Duration {
        let mut gate = Gate::new(Flood(message));
        let start = Instant::now();
        for _ in 0..count {
            gate.receive().await.unwrap();
        }
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn requests_are_slowed_down_after_a_burst() {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        assert_eq!(time_for(BURST, ping).await, Duration::ZERO);
        let slowed = time_for(BURST + 20, ping).await;
        assert!(slowed >= INTERVAL * 20 && slowed < INTERVAL * 22, "{slowed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn answers_and_notifications_pass() {
        let report = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        assert_eq!(time_for(10 * BURST, report).await, Duration::ZERO);
        assert_eq!(time_for(10 * BURST, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await, Duration::ZERO);
    }
}
