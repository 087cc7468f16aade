//! Subscriptions to the changes of a resource, in all protocol revisions.

#![expect(deprecated, reason = "the older revisions have requests of their own for it")]

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, ServerNotification, SubscribeRequest, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequest, UnsubscribeRequestParams,
};
use rmcp::service::{Peer, PeerRequestOptions, Subscription};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::Error;
use crate::library_errors::explain_request_error;
use crate::server_info::ProtocolFamily;
use crate::session::{NOTICE_TIMEOUT, RESUBSCRIBE_BACKOFF, Session};

/// Error for servers that do not report changes of resources.
const UPDATES_NOT_OFFERED: Error = Error::NotOffered("news of its resources");

/// Subscription to the changes of a resource; ends when it is dropped.
#[derive(Debug)]
pub struct ResourceSubscription {
    changes: watch::Receiver<u64>,
    _stop: DropGuard,
}

impl ResourceSubscription {
    /// Waits for the next change. Returns `false` if the connection has ended.
    pub async fn changed(&mut self) -> bool {
        self.changes.changed().await.is_ok()
    }
}

/// Subscribes to a resource.
///
/// # Errors
///
/// [`Error::NotOffered`] if the server does not report changes.
pub(crate) async fn subscribe(session: &Session, uri: &str) -> Result<ResourceSubscription, Error> {
    let resources = session.capabilities.resources.as_ref();
    if resources.is_none_or(|resources| resources.subscribe != Some(true)) {
        return Err(UPDATES_NOT_OFFERED);
    }
    let (sender, changes) = watch::channel(0);
    let stop = CancellationToken::new();
    let peer = session.peer.clone();
    match session.protocol {
        ProtocolFamily::Modern => {
            let first = open_stream(session, uri).await?;
            let uri = uri.to_owned();
            session.spawn_until(stop.clone(), async move { follow_streams(first, &peer, &uri, &sender).await });
        }
        ProtocolFamily::Legacy => {
            // Subscribe to the channel first: a change right after the server's answer has to be in it.
            let updates = session.routes.resource_updates.subscribe();
            let request = ClientRequest::SubscribeRequest(SubscribeRequest::new(SubscribeRequestParams::new(uri)));
            session.request(request).await?;
            let uri = uri.to_owned();
            let ends = [stop.clone(), session.stop.clone(), session.ended.clone()];
            session.background.spawn(async move {
                run_until_any(ends, forward_updates(updates, &uri, &sender)).await;
                // Outside of `run_until_any`, so that the server is informed when the connection closes, too.
                let _ = tokio::time::timeout(NOTICE_TIMEOUT, unsubscribe(&peer, uri)).await;
            });
        }
    }
    Ok(ResourceSubscription { changes, _stop: stop.drop_guard() })
}

async fn run_until_any(ends: [CancellationToken; 3], work: impl Future<Output = ()>) {
    let [first, second, third] = ends;
    tokio::select! {
        () = work => {}
        () = first.cancelled() => {}
        () = second.cancelled() => {}
        () = third.cancelled() => {}
    }
}

/// Counts the updates of one resource among those of the connection.
async fn forward_updates(mut updates: broadcast::Receiver<Arc<str>>, uri: &str, changes: &watch::Sender<u64>) {
    loop {
        match updates.recv().await {
            Ok(changed) if *changed != *uri => {}
            // Updates that were missed may have been of this resource.
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => changes.send_modify(|count| *count += 1),
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

async fn unsubscribe(peer: &Peer<RoleClient>, uri: String) {
    let request = ClientRequest::UnsubscribeRequest(UnsubscribeRequest::new(UnsubscribeRequestParams::new(uri)));
    if let Ok(handle) = peer.send_request_with_option(request, PeerRequestOptions::with_timeout(NOTICE_TIMEOUT)).await {
        // The subscription is over for this client, whatever the server answers.
        let _ = handle.await_response().await;
    }
}

/// Opens a stream of changes (2026-07-28, "Subscriptions").
///
/// # Errors
///
/// [`Error::NotOffered`] if the server grants the stream without this resource, which it may.
async fn open_stream(session: &Session, uri: &str) -> Result<Subscription, Error> {
    let limit = session.limits.request_timeout;
    let opened = tokio::time::timeout(limit, session.peer.listen(resource_filter(uri))).await;
    let stream = opened.map_err(|_| Error::Timeout(limit))?;
    let stream = stream.map_err(|error| explain_request_error(&error, &session.transport_errors))?;
    let granted = stream.acknowledged().resource_subscriptions.as_ref();
    if granted.is_some_and(|granted| granted.iter().any(|granted| granted == uri)) {
        Ok(stream)
    } else {
        Err(UPDATES_NOT_OFFERED)
    }
}

/// Counts the changes that a stream reports, and opens the next stream when it breaks.
async fn follow_streams(first: Subscription, peer: &Peer<RoleClient>, uri: &str, changes: &watch::Sender<u64>) {
    let (min_wait, max_wait) = RESUBSCRIBE_BACKOFF;
    let mut wait = min_wait;
    let mut stream = Some(first);
    loop {
        if let Some(mut stream) = stream.take() {
            wait = min_wait;
            while let Ok(Some(notification)) = stream.next().await {
                if matches!(&notification, ServerNotification::ResourceUpdatedNotification(_)) {
                    changes.send_modify(|count| *count += 1);
                }
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(max_wait);
        stream = peer.listen(resource_filter(uri)).await.ok();
        if stream.is_some() {
            // The resource may have changed while there was no stream.
            changes.send_modify(|count| *count += 1);
        }
    }
}

fn resource_filter(uri: &str) -> SubscriptionFilter {
    SubscriptionFilter::builder().resource_subscription(uri).build()
}
