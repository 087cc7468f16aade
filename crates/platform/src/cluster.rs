//! Several nodes on one PostgreSQL database: heartbeats, takeover of dead nodes' turns, and messages of other nodes.

mod failure_detector;
mod instance_lock;

use std::sync::Arc;
use std::time::Duration;

use domain::{ChatId, Clock, ServerId, TurnId, UserId};
use futures_util::future::BoxFuture;
use storage::Storage;
use storage::notify::{NodeMessage, NodeMessageListener};
use storage::turns::UnfinishedTurn;
use tokio_util::sync::CancellationToken;

use crate::{BackgroundTasks, ClusterMessage, ClusterOutbox, UserEventBus};
use failure_detector::FailureDetector;

pub use instance_lock::InstanceLock;

/// Interval of heartbeats, and of checks of the other nodes.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// Pause before the node listens again after a failure.
const LISTEN_RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Number of heartbeats after which turns that no node runs are released.
const HEARTBEATS_PER_RELEASE: u32 = 5;
/// Time in seconds for which the journal of a completed turn can be followed on other nodes, and for which large
/// messages of the cluster bus are stored.
const LOG_TTL_SECONDS: i64 = 60;
/// Number of heartbeats after which old journals and messages are deleted.
const HEARTBEATS_PER_PURGE: u32 = 30;

/// Reactions of the services above to changes of the cluster and to messages of other nodes.
pub trait ClusterHandler: Send + Sync + 'static {
    /// Abandons all turns of this node, because other nodes have taken them over.
    fn abandon_turns(&self);

    /// Takes over a turn of a dead node.
    ///
    /// # Errors
    ///
    /// Fails if the database is unreachable; it is called again then.
    fn take_over<'a>(&'a self, turn: &'a UnfinishedTurn) -> BoxFuture<'a, Result<(), storage::Error>>;

    /// Releases turns that are assigned to this node although it does not run them.
    ///
    /// # Errors
    ///
    /// Fails if the database is unreachable; it is called again then.
    fn release_lost_turns(&self) -> BoxFuture<'_, Result<(), storage::Error>>;

    /// Carries out the stored commands for turns of this node.
    ///
    /// # Errors
    ///
    /// Fails if the database is unreachable.
    fn follow_commands(&self) -> BoxFuture<'_, Result<(), storage::Error>>;

    /// Reads new events of a turn that runs on another node.
    fn wake_follower(&self, turn: TurnId);

    /// Does so for all followed turns, after messages may have been missed.
    fn wake_all_followers(&self);

    /// Stops the turn of a chat that was deleted on another node.
    fn chat_deleted(&self, user: UserId, chat: ChatId);

    /// Connects a connection whose user has signed in to its server on another node.
    fn signed_in(&self, user: UserId, server: ServerId);
}

/// Membership of this node in the cluster.
#[derive(Debug, Clone)]
pub struct Cluster {
    storage: Storage,
    clock: Arc<dyn Clock>,
    tasks: BackgroundTasks,
    events: UserEventBus,
}

impl Cluster {
    /// Creates the membership; [`start`](Self::start) makes it take part.
    pub fn new(storage: Storage, clock: Arc<dyn Clock>, tasks: BackgroundTasks, events: UserEventBus) -> Self {
        Self { storage, clock, tasks, events }
    }

    /// Starts heartbeats, and sending and receiving of messages, if the database can be shared.
    pub fn start(&self, outbox: ClusterOutbox, handler: Arc<dyn ClusterHandler>) {
        if !self.storage.is_shared() {
            return;
        }
        let heartbeats = Heartbeats {
            cluster: self.clone(),
            handler: Arc::clone(&handler),
            detector: FailureDetector::default(),
            claimed: Vec::new(),
            count: 0,
        };
        self.tasks.spawn("heartbeats", heartbeats.run());
        self.tasks.spawn("cluster listener", self.clone().listen_loop(handler));
        let shutdown = self.tasks.shutdown_token().clone();
        self.tasks.spawn("cluster bus", outbox.publish_loop(self.storage.clone(), Arc::clone(&self.clock), shutdown));
    }

    /// Deregisters this node and releases its turns, so that the other nodes need not wait for missed heartbeats.
    pub async fn leave(&self) {
        let left = async {
            // The turns first: a failure in between leaves them to be claimed, and the other nodes notice the missing
            // heartbeat.
            self.storage.nodes().release_turns().await?;
            self.storage.nodes().remove(self.storage.node()).await
        };
        if let Err(error) = left.await {
            tracing::warn!(%error, "failed to deregister this node; the other nodes will detect its end");
        }
    }

    /// Receives messages of the other nodes until shutdown, and reconnects after failures.
    async fn listen_loop(self, handler: Arc<dyn ClusterHandler>) {
        let shutdown = self.tasks.shutdown_token().clone();
        loop {
            let listening = async {
                if let Some(listener) = self.storage.nodes().listen().await? {
                    self.listen(listener, handler.as_ref()).await?;
                }
                Ok::<_, storage::Error>(())
            };
            match shutdown.run_until_cancelled(listening).await {
                None => return,
                Some(Ok(())) => {}
                Some(Err(error)) => tracing::warn!(%error, "failed to listen to the other nodes; retrying"),
            }
            if !pause(&shutdown, LISTEN_RETRY_INTERVAL).await {
                return;
            }
        }
    }

    /// Handles messages until the connection fails.
    async fn listen(
        &self,
        mut listener: NodeMessageListener,
        handler: &dyn ClusterHandler,
    ) -> Result<(), storage::Error> {
        // Messages that were sent before the connection was established are lost, so everything is read once.
        self.refresh(handler).await?;
        loop {
            match listener.next().await? {
                Some(NodeMessage::Turns(turns)) => turns.into_iter().for_each(|turn| handler.wake_follower(turn)),
                Some(NodeMessage::Commands) => handler.follow_commands().await?,
                Some(NodeMessage::Text(text)) => match serde_json::from_str(&text) {
                    Ok(message) => self.handle(message, handler),
                    // The sender has another version.
                    Err(error) => tracing::debug!(%error, "ignored an unknown message of another node"),
                },
                None => self.refresh(handler).await?,
            }
        }
    }

    /// Lets everything be read again from the database, after messages may have been missed.
    async fn refresh(&self, handler: &dyn ClusterHandler) -> Result<(), storage::Error> {
        handler.wake_all_followers();
        // Clients that reconnect reload, which replaces the missed events.
        self.events.disconnect_all();
        handler.follow_commands().await
    }

    /// Handles one message.
    fn handle(&self, message: ClusterMessage, handler: &dyn ClusterHandler) {
        match message {
            ClusterMessage::UserEvent { user, event } => self.events.publish_local(user, &Arc::from(event)),
            ClusterMessage::EventsLost => self.events.disconnect_all(),
            ClusterMessage::ChatDeleted { user, chat } => handler.chat_deleted(user, chat),
            ClusterMessage::SignedIn { user, server } => handler.signed_in(user, server),
        }
    }
}

/// The heartbeat task and its state.
struct Heartbeats {
    cluster: Cluster,
    handler: Arc<dyn ClusterHandler>,
    detector: FailureDetector,
    /// Turns of dead nodes that this node has claimed and not recovered yet.
    claimed: Vec<UnfinishedTurn>,
    count: u32,
}

impl Heartbeats {
    /// Sends heartbeats and checks the other nodes until shutdown.
    async fn run(mut self) {
        let shutdown = self.cluster.tasks.shutdown_token().clone();
        // A pause after each tick, not a fixed rate: a slow database is not asked more often than it can answer.
        while pause(&shutdown, HEARTBEAT_INTERVAL).await {
            if let Err(error) = self.tick().await {
                tracing::warn!(%error, "failed to write a heartbeat or to check the other nodes");
                // While the database is unreachable, no node can write its heartbeat. The observations are discarded,
                // so that the outage is not mistaken for dead nodes.
                self.detector = FailureDetector::default();
            }
        }
    }

    /// Writes a heartbeat, removes dead nodes, and takes over their turns.
    async fn tick(&mut self) -> Result<(), storage::Error> {
        let storage = &self.cluster.storage;
        // The row is gone: this node did not write its heartbeat for too long, for example because it was suspended.
        if !storage.nodes().record_heartbeat().await? {
            tracing::error!("this node was declared dead; its turns were reassigned");
            // The order matters: the turns are detached before the node registers again, or it would appear to own
            // them.
            self.handler.abandon_turns();
            storage.nodes().release_turns().await?;
            storage.nodes().register().await?;
        }
        for (node, heartbeat) in self.detector.observe(storage.nodes().list_others().await?) {
            tracing::warn!(node_id = %node, "removing a dead node");
            // With the heartbeat that was observed: a node that has written another one since then is alive and stays.
            storage.nodes().remove_dead(node, heartbeat).await?;
        }
        // Not while claimed turns wait for their recovery: these are assigned to this node already.
        if self.claimed.is_empty() && self.count.is_multiple_of(HEARTBEATS_PER_RELEASE) {
            self.handler.release_lost_turns().await?;
        }
        self.claimed.extend(storage.nodes().claim_turns().await?);
        // A turn is removed from the list only after it was recovered, so that a failure is repeated with the next
        // heartbeat.
        while let Some(turn) = self.claimed.last() {
            self.handler.take_over(turn).await?;
            self.claimed.pop();
        }
        // Also without a notification, which can be lost: see `storage::notify`.
        self.handler.follow_commands().await?;
        self.count += 1;
        if self.count.is_multiple_of(HEARTBEATS_PER_PURGE) {
            let before = self.cluster.clock.now().plus_seconds(-LOG_TTL_SECONDS);
            storage.turns().purge_ended(before).await?;
            storage.nodes().purge_messages(before).await?;
        }
        Ok(())
    }
}

/// Waits, and returns `false` on shutdown.
async fn pause(shutdown: &CancellationToken, time: Duration) -> bool {
    shutdown.run_until_cancelled(tokio::time::sleep(time)).await.is_some()
}
