//! Subscriptions to changes of resources, for the open clients of users.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{ServerId, UserId};
use futures_util::FutureExt;
use mcp::ResourceSubscription;
use platform::UserEvent;
use storage::servers::Server;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{ConnectionService, ContextError};

/// Time after which a subscription ends that no client has renewed.
const LEASE_TIME: Duration = Duration::from_mins(15);
/// Pause before a server that closed its connection is subscribed to again.
const RECONNECT_PAUSE: Duration = Duration::from_secs(5);
/// Time after an event of a resource in which no other is published. Changes meanwhile lead to one more event.
const EVENT_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of subscriptions per user.
const MAX_SUBSCRIPTIONS_PER_USER: usize = 32;

/// User, connection and URI of a subscription.
type Key = (UserId, ServerId, String);

/// The subscriptions of all users. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ResourceSubscriptions(Arc<Mutex<HashMap<Key, Lease>>>);

#[derive(Debug, Clone)]
struct Lease {
    renewed: Arc<Notify>,
    cancelled: CancellationToken,
    /// Whether the server has granted the subscription. It is closed when the lease ends.
    granted: watch::Receiver<bool>,
}

impl Lease {
    /// Renews the lease, and waits until the server has granted the subscription. Returns `false` if it does not.
    async fn renew(mut self) -> bool {
        self.renewed.notify_one();
        self.granted.wait_for(|is_granted| *is_granted).await.is_ok()
    }
}

/// A [`Lease`] whose entry is removed on drop.
#[derive(Debug)]
struct LeaseEntry {
    subscriptions: ResourceSubscriptions,
    key: Key,
    lease: Lease,
    granted: watch::Sender<bool>,
}

impl Drop for LeaseEntry {
    fn drop(&mut self) {
        let mut leases = self.subscriptions.lock();
        // Another subscription may have replaced a cancelled one.
        if leases.get(&self.key).is_some_and(|current| Arc::ptr_eq(&current.renewed, &self.lease.renewed)) {
            leases.remove(&self.key);
        }
    }
}

/// Outcome of [`ResourceSubscriptions::enter`].
enum Entered {
    /// There was no lease; the caller subscribes.
    New(LeaseEntry),
    /// Another call has entered this lease.
    Known(Lease),
    /// The user has too many subscriptions.
    TooMany,
}

/// Reason for which following a subscription ended.
enum FollowEnd {
    /// No client has renewed the lease.
    LeaseExpired,
    /// The connection was lost.
    Disconnected,
}

impl ConnectionService {
    /// Publishes changes of a resource to the user's clients until the lease expires; a repeated call renews it. Returns
    /// whether the server announces changes of the resource.
    pub async fn subscribe_resource(&self, user: UserId, server: &Server, uri: &str) -> Result<bool, ContextError> {
        let key = (user, server.id, uri.to_owned());
        // The lease is entered before the request is sent, so that simultaneous calls share one subscription: a server
        // of an older revision ends both when one of them is unsubscribed.
        let entry = loop {
            match self.subscriptions.enter(&key) {
                Entered::New(entry) => break entry,
                // If the other call fails, this one tries itself.
                Entered::Known(lease) => {
                    if lease.renew().await {
                        return Ok(true);
                    }
                }
                Entered::TooMany => return Ok(false),
            }
        };
        let subscription = match self.request_subscription(user, server, uri).await {
            Ok(subscription) => subscription,
            Err(ContextError::NotOffered(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        entry.granted.send_replace(true);
        let (service, server) = (self.clone(), server.clone());
        self.tasks.spawn("follow resource", async move {
            tokio::select! {
                () = service.tasks.shutdown_token().cancelled() => {}
                () = entry.lease.cancelled.cancelled() => {}
                () = service.keep_subscription(&key, &server, subscription, &entry.lease) => {}
            }
        });
        Ok(true)
    }

    /// Ends a subscription before its lease expires.
    pub fn unsubscribe_resource(&self, user: UserId, server: ServerId, uri: &str) {
        if let Some(lease) = self.subscriptions.lock().remove(&(user, server, uri.to_owned())) {
            lease.cancelled.cancel();
        }
    }

    /// Follows a subscription until its lease expires, and subscribes again after a lost connection.
    async fn keep_subscription(&self, key: &Key, server: &Server, first: ResourceSubscription, lease: &Lease) {
        let (user, id, uri) = key;
        let _in_use = self.keep_open(*user, server);
        let mut subscription = first;
        while let FollowEnd::Disconnected = self.follow_subscription(key, &mut subscription, lease).await {
            tokio::time::sleep(RECONNECT_PAUSE).await;
            // A removed or changed connection is not opened again.
            match self.storage.connections().get(*user, *id).await {
                Ok(Some(current)) if current.has_same_target(server) => {}
                _ => return,
            }
            match self.request_subscription(*user, server, uri).await {
                Ok(next) => subscription = next,
                Err(_) => return,
            }
            // The resource may have changed while there was no subscription.
            self.publish_change(key);
        }
    }

    async fn request_subscription(
        &self,
        user: UserId,
        server: &Server,
        uri: &str,
    ) -> Result<ResourceSubscription, ContextError> {
        let subscribe = |connection: mcp::Connection| async move { connection.subscribe_resource(uri).await }.boxed();
        self.request(user, server, subscribe).await
    }

    /// Publishes the changes of a resource until the lease expires or the connection is lost.
    async fn follow_subscription(
        &self,
        key: &Key,
        subscription: &mut ResourceSubscription,
        lease: &Lease,
    ) -> FollowEnd {
        let mut published_at: Option<Instant> = None;
        loop {
            // The outer loop restarts the lease with each renewal, the inner one publishes changes during it.
            let expiry = tokio::time::sleep(LEASE_TIME);
            tokio::pin!(expiry);
            loop {
                tokio::select! {
                    () = &mut expiry => return FollowEnd::LeaseExpired,
                    () = lease.renewed.notified() => break,
                    is_open = next_change(subscription, published_at) => {
                        if !is_open {
                            return FollowEnd::Disconnected;
                        }
                        self.publish_change(key);
                        published_at = Some(Instant::now());
                    }
                }
            }
        }
    }

    fn publish_change(&self, (user, server, uri): &Key) {
        self.events.publish(*user, &UserEvent::ResourceChanged { connection_id: *server, uri: uri.clone() });
    }
}

impl ResourceSubscriptions {
    /// Returns the lease of a subscription, or enters a new one.
    fn enter(&self, key: &Key) -> Entered {
        let mut leases = self.lock();
        if let Some(lease) = leases.get(key) {
            return Entered::Known(lease.clone());
        }
        // A new lease counts against the limit; a repeated request for a known resource never does.
        if leases.keys().filter(|(user, ..)| *user == key.0).count() >= MAX_SUBSCRIPTIONS_PER_USER {
            return Entered::TooMany;
        }
        let (granted, is_granted) = watch::channel(false);
        let lease = Lease { renewed: Arc::default(), cancelled: CancellationToken::new(), granted: is_granted };
        leases.insert(key.clone(), lease.clone());
        Entered::New(LeaseEntry { subscriptions: self.clone(), key: key.clone(), lease, granted })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the next change, and for the end of [`EVENT_INTERVAL`]; the subscription holds changes until then. Returns
/// `false` if the connection was lost.
async fn next_change(subscription: &mut ResourceSubscription, published_at: Option<Instant>) -> bool {
    if let Some(published_at) = published_at {
        tokio::time::sleep_until(published_at + EVENT_INTERVAL).await;
    }
    subscription.changed().await
}
