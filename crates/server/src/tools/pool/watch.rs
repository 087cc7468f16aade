//! What an open connection brings: tools that change, and its end.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use store::listings::Listing;
use tokio::time::Sleep;

use super::attempt::{listed, random_byte};
use super::lost;
use super::slot::Slot;
use crate::app::App;

/// Time after a listing in which a server's tools are not listed again. What it tells meanwhile is one more listing after it.
const RELIST_INTERVAL: Duration = Duration::from_secs(2);

/// Lists again when the server says that its tools changed, and says so when the connection is gone. This does not keep
/// the connection open.
pub fn follow(app: &App, slot: Arc<Slot>, connection: &mcp::Connection) {
    let inner = app.clone();
    let mut changed = connection.tools_changed();
    let end = connection.closed_owned();
    app.tasks.spawn("watch connection", async move {
        let mut end = std::pin::pin!(end);
        let mut quiet: Option<Pin<Box<Sleep>>> = None;
        loop {
            let is_over = tokio::select! {
                () = inner.tasks.shutdown_token().cancelled() => return,
                () = slot.gone.cancelled() => return,
                () = &mut end => true,
                // The channel holds the last of the changes that are told during the pause.
                Ok(()) = async {
                    if let Some(quiet) = &mut quiet {
                        quiet.as_mut().await;
                    }
                    changed.changed().await
                } => false,
            };
            // Who closed it on our side, or opened another one, has said why already.
            let current = slot.known().connection.filter(|open| open.tools_changed().same_channel(&changed));
            let Some(connection) = current else { return };
            if is_over {
                lost(&slot, "closed the connection; it is opened again when it is needed", inner.clock.now());
                inner.tools.pool.tell_anew(&inner, &slot).await;
                return;
            }
            list_again(&inner, &slot, &connection).await;
            quiet = Some(Box::pin(tokio::time::sleep(RELIST_INTERVAL)));
        }
    });
}

/// Lists a server's tools again. When that fails, what it listed before is kept, as what it is: old.
pub async fn list_again(app: &App, slot: &Slot, connection: &mcp::Connection) {
    let outcome = connection.list_tools().await;
    let now = app.clock.now();
    match outcome {
        Ok(tools) => {
            drop(listed(app, slot, connection.clone(), tools, now));
            keep_listing(app, slot).await;
        }
        Err(error) => slot.set(|known| {
            // Calls that are under way go on: the connection ends with the last one who holds it.
            known.fail(format!("could not be asked for its tools again: it {error}"), now);
            known.health.failed(now, random_byte());
        }),
    }
    app.tools.pool.tell_anew(app, slot).await;
}

/// Stores what a server listed, for the next start and for when it is away.
pub async fn keep_listing(app: &App, slot: &Slot) {
    let known = slot.known();
    let Some(listed_at) = known.listed_at.filter(|_| !known.fallback) else { return };
    let listing = Listing {
        server: slot.server,
        url: slot.made_from.url.clone(),
        tools: serde_json::to_value(&*known.tools).unwrap_or_default(),
        about: known.about.as_ref().and_then(|about| serde_json::to_value(about).ok()),
        listed_at,
    };
    if let Err(error) = app.store.set_listing(slot.owner, &listing).await {
        tracing::error!(%error, "what a server lists could not be stored");
    }
}
