//! Resources whose changes an open page wants to hear of.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{ServerId, UserId};
use futures_util::FutureExt;
use store::servers::Server;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Tools;
use super::offers::OfferError;
use crate::app::App;
use platform::UserEvent;

/// How long a page is listened for after it last said that it wants to hear.
const LEASE: Duration = Duration::from_mins(15);
/// Before a server that closed its connection is asked again.
const PAUSE: Duration = Duration::from_secs(5);
/// Time after an event about a resource in which pages are not told of it again. What happens meanwhile is one more event.
const TELL_INTERVAL: Duration = Duration::from_secs(1);
/// Resources that one person is listened for at a time.
const PER_PERSON: usize = 32;

/// Everybody's watches.
#[derive(Debug, Default)]
pub struct Watches(Mutex<HashMap<Key, Lease>>);

type Key = (UserId, ServerId, String);

#[derive(Debug, Clone)]
struct Lease {
    extended: Arc<Notify>,
    end: CancellationToken,
}

/// Why a watch is not kept any longer.
enum Over {
    /// Nobody wants it any more.
    Unwanted,
    /// The connection is gone.
    Disconnected,
}

impl Tools {
    /// Tells the person's pages for a while when a resource changes. Says whether its server tells that at all.
    pub async fn watch(&self, app: &App, user: UserId, server: &Server, uri: &str) -> Result<bool, OfferError> {
        let key = (user, server.id, uri.to_owned());
        if let Some(lease) = self.watches.list().get(&key) {
            lease.extended.notify_one();
            return Ok(true);
        }
        let first = match begin(app, user, server, uri).await {
            Ok(watch) => watch,
            Err(OfferError::NotOffered(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        let lease = Lease { extended: Arc::default(), end: CancellationToken::new() };
        if !self.watches.begin(&key, &lease) {
            return Ok(false);
        }
        let (inner, server) = (app.clone(), server.clone());
        app.tasks.spawn("watch resource", async move {
            tokio::select! {
                () = inner.tasks.shutdown_token().cancelled() => {}
                () = lease.end.cancelled() => {}
                () = keep(&inner, &key, &server, first, &lease) => {}
            }
            inner.tools.watches.forget(&key, &lease);
        });
        Ok(true)
    }

    /// Ends a watch before its time.
    pub fn unwatch(&self, user: UserId, server: ServerId, uri: &str) {
        if let Some(lease) = self.watches.list().remove(&(user, server, uri.to_owned())) {
            lease.end.cancel();
        }
    }
}

impl Watches {
    /// Enters a watch, unless there is one or the person has too many.
    fn begin(&self, key: &Key, lease: &Lease) -> bool {
        let mut list = self.list();
        let own = list.keys().filter(|(user, ..)| *user == key.0).count();
        if own >= PER_PERSON || list.contains_key(key) {
            return list.contains_key(key);
        }
        list.insert(key.clone(), lease.clone());
        true
    }

    fn forget(&self, key: &Key, lease: &Lease) {
        let mut list = self.list();
        if list.get(key).is_some_and(|kept| Arc::ptr_eq(&kept.extended, &lease.extended)) {
            list.remove(key);
        }
    }

    fn list(&self) -> MutexGuard<'_, HashMap<Key, Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens until the lease is over, over a new connection when the old one goes.
async fn keep(app: &App, key: &Key, server: &Server, first: mcp::ResourceSubscription, lease: &Lease) {
    let (user, id, uri) = key;
    let _in_use = app.tools.pool.in_use(*user, server);
    let mut watch = first;
    while let Over::Disconnected = listen(app, key, &mut watch, lease).await {
        tokio::time::sleep(PAUSE).await;
        // A connection that was removed or changed is not opened again.
        match app.store.get_server(*user, *id).await {
            Ok(Some(now)) if now.has_same_target(server) => {}
            _ => return,
        }
        match begin(app, *user, server, uri).await {
            Ok(next) => watch = next,
            Err(_) => return,
        }
        // It may have changed while nobody listened.
        tell(app, key);
    }
}

async fn begin(app: &App, user: UserId, server: &Server, uri: &str) -> Result<mcp::ResourceSubscription, OfferError> {
    let watch = |connection: mcp::Connection| async move { connection.subscribe_resource(uri).await }.boxed();
    app.tools.ask(app, user, server, watch).await
}

async fn listen(app: &App, key: &Key, watch: &mut mcp::ResourceSubscription, lease: &Lease) -> Over {
    let mut told_at: Option<Instant> = None;
    loop {
        let until = tokio::time::sleep(LEASE);
        tokio::pin!(until);
        loop {
            tokio::select! {
                () = &mut until => return Over::Unwanted,
                () = lease.extended.notified() => break,
                changed = changed_after(watch, told_at) => {
                    if !changed {
                        return Over::Disconnected;
                    }
                    tell(app, key);
                    told_at = Some(Instant::now());
                }
            }
        }
    }
}

/// Waits for the next change, and for the end of [`TELL_INTERVAL`]: the watch holds what changes until then.
async fn changed_after(watch: &mut mcp::ResourceSubscription, told_at: Option<Instant>) -> bool {
    if let Some(told_at) = told_at {
        tokio::time::sleep_until(told_at + TELL_INTERVAL).await;
    }
    watch.changed().await
}

fn tell(app: &App, (user, server, uri): &Key) {
    app.events.publish(*user, &UserEvent::ResourceChanged { connection_id: *server, uri: uri.clone() });
}
