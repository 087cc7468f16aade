//! Messages to the other nodes on the same database, beside those that `storage` sends itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use domain::{ChatId, Clock, ServerId, UserId};
use serde::{Deserialize, Serialize};
use storage::Storage;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Maximum number of user events that wait to be sent to the other nodes. More are dropped, and the other nodes have
/// their clients reload everything.
const MAX_WAITING_EVENTS: usize = 1024;

/// A message to the other nodes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum ClusterMessage {
    /// An event for the clients of a user.
    #[serde(rename = "event")]
    UserEvent {
        /// Recipient of the event.
        user: UserId,
        /// A [`UserEvent`](crate::UserEvent) as JSON.
        event: String,
    },
    /// A chat was deleted.
    #[serde(rename = "deleted")]
    ChatDeleted {
        /// Owner of the chat.
        user: UserId,
        /// The chat.
        chat: ChatId,
    },
    /// User events were lost: all clients have to reload.
    #[serde(rename = "lost")]
    EventsLost,
    /// A user has signed in to the server of a connection.
    SignedIn {
        /// The user.
        user: UserId,
        /// The connection.
        server: ServerId,
    },
}

/// The sending side of the messages to other nodes. The default has no other nodes.
#[derive(Debug, Clone, Default)]
pub struct ClusterBus(Option<Sender>);

#[derive(Debug, Clone)]
struct Sender {
    queue: mpsc::UnboundedSender<ClusterMessage>,
    backlog: Arc<Backlog>,
}

/// State of the queue between [`ClusterBus`] and [`ClusterOutbox`].
#[derive(Debug, Default)]
struct Backlog {
    events: AtomicUsize,
    /// Whether an event was dropped since the last [`ClusterMessage::EventsLost`].
    has_lost: AtomicBool,
}

/// The queue of messages that a [`ClusterBus`] has published and that are not sent yet.
#[derive(Debug)]
pub struct ClusterOutbox {
    queue: mpsc::UnboundedReceiver<ClusterMessage>,
    backlog: Arc<Backlog>,
}

impl ClusterBus {
    /// Creates a bus and its queue, which [`ClusterOutbox::publish_loop`] sends.
    pub fn new() -> (Self, ClusterOutbox) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let backlog = Arc::<Backlog>::default();
        let outbox = ClusterOutbox { queue: receiver, backlog: Arc::clone(&backlog) };
        (Self(Some(Sender { queue: sender, backlog })), outbox)
    }

    /// Queues a message for the other nodes; `message` is called only if there can be any. User events are dropped while
    /// too many wait, and the other nodes learn that. All other messages are always queued.
    pub fn publish(&self, message: impl FnOnce() -> ClusterMessage) {
        // A single node drops the receiving end, so that nothing is encoded or queued for nobody.
        let Some(Sender { queue, backlog }) = self.0.as_ref().filter(|sender| !sender.queue.is_closed()) else {
            return;
        };
        let message = message();
        if matches!(message, ClusterMessage::UserEvent { .. }) {
            // Dropped rather than waited for: the publisher is a turn or a request, which must not depend on the other
            // nodes.
            if backlog.events.load(Ordering::Relaxed) >= MAX_WAITING_EVENTS {
                if !backlog.has_lost.swap(true, Ordering::Relaxed) {
                    tracing::error!(
                        limit = MAX_WAITING_EVENTS,
                        "too many events wait for the other nodes; their pages will load afresh"
                    );
                }
                return;
            }
            // Counted apart from the check: concurrent callers may exceed the limit by their number, which does not
            // matter.
            backlog.events.fetch_add(1, Ordering::Relaxed);
        }
        drop(queue.send(message));
    }
}

impl ClusterOutbox {
    /// Sends the queued messages through the database until `shutdown` is cancelled.
    pub async fn publish_loop(mut self, storage: Storage, clock: Arc<dyn Clock>, shutdown: CancellationToken) {
        while let Some(Some(message)) = shutdown.run_until_cancelled(self.queue.recv()).await {
            if matches!(message, ClusterMessage::UserEvent { .. }) {
                self.backlog.events.fetch_sub(1, Ordering::Relaxed);
            }
            self.send(&storage, clock.as_ref(), &message).await;
            // Only after the backlog is sent, so that no older event arrives after the clients have reloaded.
            if self.queue.is_empty() && self.backlog.has_lost.swap(false, Ordering::Relaxed) {
                self.send(&storage, clock.as_ref(), &ClusterMessage::EventsLost).await;
            }
        }
    }

    async fn send(&self, storage: &Storage, clock: &dyn Clock, message: &ClusterMessage) {
        let sent = match serde_json::to_string(message) {
            Ok(text) => storage.nodes().notify(&text, clock.now()).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = sent {
            tracing::error!(error, "a message for the other nodes was lost");
            self.backlog.has_lost.store(true, Ordering::Relaxed);
        }
    }
}
