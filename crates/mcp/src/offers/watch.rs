//! Hearing when a resource changes, whatever the revision.

#![expect(deprecated, reason = "the older revisions have requests of their own for it")]

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, ServerNotification, SubscribeRequest, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequest, UnsubscribeRequestParams,
};
use rmcp::service::{Peer, PeerRequestOptions, Subscription};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::ask;
use crate::Error;
use crate::client::explain_request;
use crate::connection::{Era, Inner};

/// For telling the server that nobody listens any more.
const NOTICE: Duration = Duration::from_secs(5);
/// Waits between attempts to listen again.
const RELISTEN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(5));
/// What is said of a server that tells no changes.
const NO_UPDATES: Error = Error::NotOffered("news of its resources");

/// Hears when a resource changes, until it is dropped.
#[derive(Debug)]
pub struct ResourceWatch {
    changes: watch::Receiver<u64>,
    _stop: DropGuard,
}

impl ResourceWatch {
    /// Waits for the next change. Says `false` when the connection has ended and nothing more will be heard.
    pub async fn changed(&mut self) -> bool {
        self.changes.changed().await.is_ok()
    }
}

/// Begins to listen. Fails where the server tells no changes.
pub(crate) async fn watch(connection: &Inner, uri: &str) -> Result<ResourceWatch, Error> {
    let offered = connection.capabilities.resources.as_ref().is_some_and(|offered| offered.subscribe == Some(true));
    if !offered {
        return Err(NO_UPDATES);
    }
    let (sender, changes) = watch::channel(0);
    let stop = CancellationToken::new();
    let until = [stop.clone(), connection.stop.clone(), connection.ended.clone()];
    let peer = connection.peer.clone();
    match connection.info.era {
        Era::Modern => {
            let first = listen(connection, uri).await?;
            let uri = uri.to_owned();
            connection.tasks.spawn(unless(until, async move { follow(first, &peer, &uri, &sender).await }));
        }
        Era::Legacy => {
            // What changes between the answer and the first look at the channel has to be in the channel.
            let updates = connection.updates.subscribe();
            let request = ClientRequest::SubscribeRequest(SubscribeRequest::new(SubscribeRequestParams::new(uri)));
            ask::once(connection, request).await?;
            let uri = uri.to_owned();
            connection.tasks.spawn(async move {
                unless(until, hear(updates, &uri, &sender)).await;
                tokio::time::timeout(NOTICE, unsubscribe(&peer, uri)).await.ok();
            });
        }
    }
    Ok(ResourceWatch { changes, _stop: stop.drop_guard() })
}

async fn unless(ends: [CancellationToken; 3], work: impl Future<Output = ()>) {
    let [first, second, third] = ends;
    tokio::select! {
        () = work => {}
        () = first.cancelled() => {}
        () = second.cancelled() => {}
        () = third.cancelled() => {}
    }
}

/// The older revisions tell all changes of a connection in one place.
async fn hear(mut updates: broadcast::Receiver<Arc<str>>, uri: &str, changes: &watch::Sender<u64>) {
    loop {
        match updates.recv().await {
            Ok(changed) if *changed != *uri => {}
            // What was missed may have been the one.
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => changes.send_modify(|count| *count += 1),
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

async fn unsubscribe(peer: &Peer<RoleClient>, uri: String) {
    let request = ClientRequest::UnsubscribeRequest(UnsubscribeRequest::new(UnsubscribeRequestParams::new(uri)));
    if let Ok(handle) = peer.send_request_with_option(request, PeerRequestOptions::with_timeout(NOTICE)).await {
        // Whether the server minds is its own affair.
        handle.await_response().await.ok();
    }
}

/// Asks a modern server for a stream of changes. A server may grant less than was asked for.
async fn listen(connection: &Inner, uri: &str) -> Result<Subscription, Error> {
    let asked = tokio::time::timeout(connection.limits.page, connection.peer.listen(filter(uri)));
    let stream = asked.await.map_err(|_| Error::Timeout(connection.limits.page))?;
    let stream = stream.map_err(|error| explain_request(&error, &connection.fault))?;
    let granted = stream.acknowledged().resource_subscriptions.as_ref();
    if granted.is_some_and(|granted| granted.iter().any(|granted| granted == uri)) {
        Ok(stream)
    } else {
        Err(NO_UPDATES)
    }
}

/// Follows the stream, and the next one when it breaks.
async fn follow(first: Subscription, peer: &Peer<RoleClient>, uri: &str, changes: &watch::Sender<u64>) {
    let (least, most) = RELISTEN;
    let mut wait = least;
    let mut stream = Some(first);
    loop {
        if let Some(mut stream) = stream.take() {
            wait = least;
            while let Ok(Some(notification)) = stream.next().await {
                if matches!(&notification, ServerNotification::ResourceUpdatedNotification(_)) {
                    changes.send_modify(|count| *count += 1);
                }
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(most);
        stream = peer.listen(filter(uri)).await.ok();
        if stream.is_some() {
            // It may have changed while nobody listened.
            changes.send_modify(|count| *count += 1);
        }
    }
}

fn filter(uri: &str) -> SubscriptionFilter {
    SubscriptionFilter::builder().resource_subscription(uri).build()
}
