//! Looks after all connections: closes those that nobody needs, and for owners who are watching tries those again that
//! failed and sees whether the others are still there.

use std::sync::Arc;
use std::time::Duration;

use domain::Timestamp;
use tokio::time::{MissedTickBehavior, interval};

use super::slot::Slot;
use super::{Pool, lost};
use crate::app::App;
use crate::tools::view::ConnectionStatus;

/// A connection that nobody needed for this long is closed.
const IDLE: Duration = Duration::from_mins(15);
/// An open connection of which nothing was heard for this long is asked whether its server is there, in milliseconds.
const QUIET: u64 = 30_000;
/// How often it looks. It compares a few numbers for each connection.
const EVERY: Duration = Duration::from_secs(1);

impl Pool {
    /// Looks after all connections until the program stops.
    pub fn look_after(app: &App) {
        let inner = app.clone();
        app.tasks.spawn("look after connections", async move {
            let mut ticks = interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = inner.tasks.shutdown_token().cancelled() => return,
                    _ = ticks.tick() => inner.tools.pool.look(&inner),
                }
            }
        });
    }

    fn look(&self, app: &App) {
        let now = app.clock.now();
        let slots: Vec<Arc<Slot>> = self.slots().values().cloned().collect();
        for slot in slots {
            if is_idle(&slot, now) {
                let inner = app.clone();
                app.tasks.spawn("close idle connection", async move { close(&inner, &slot).await });
            } else if app.events.has_subscribers(slot.owner) {
                look_for_page(app, slot, now);
            }
        }
    }
}

/// What is done so that an open page shows what is so.
fn look_for_page(app: &App, slot: Arc<Slot>, now: Timestamp) {
    let inner = app.clone();
    if is_due(&slot, now) {
        app.tasks.spawn("try connection again", async move { try_again(&inner, slot).await });
    } else if slot.is_quiet(now, QUIET) {
        app.tasks.spawn("probe connection", async move { probe(&inner, &slot).await });
    }
}

fn is_idle(slot: &Slot, now: Timestamp) -> bool {
    let unneeded = slot.idle_since().is_some_and(|since| u128::from(now.millis_since(since)) > IDLE.as_millis());
    unneeded && slot.known().connection.is_some()
}

/// Whether a server that failed is to be tried again, and nobody is at it.
fn is_due(slot: &Slot, now: Timestamp) -> bool {
    let known = slot.known();
    known.status == Some(ConnectionStatus::Error)
        && known.connection.is_none()
        && !known.health.is_resting(now)
        && slot.opening.try_lock().is_ok()
}

async fn close(app: &App, slot: &Slot) {
    let connection = slot.set(|known| {
        if known.status == Some(ConnectionStatus::Connected) {
            known.status = Some(ConnectionStatus::Idle);
        }
        known.connection.take()
    });
    let Some(connection) = connection else { return };
    app.tools.pool.tell_anew(app, slot).await;
    connection.close().await;
}

/// A server that speaks only when it is asked would not be missed until somebody needs it.
async fn probe(app: &App, slot: &Slot) {
    let Some(connection) = slot.known().connection else { return };
    let Err(error) = connection.probe().await else { return };
    let is_current = slot.known().connection.is_some_and(|open| open.is_same(&connection));
    if is_current {
        lost(slot, &error.to_string(), app.clock.now());
        app.tools.pool.tell_anew(app, slot).await;
    }
}

async fn try_again(app: &App, slot: Arc<Slot>) {
    match app.store.get_server(slot.owner, slot.server).await {
        Ok(Some(server)) if super::MadeFrom::new(&server) == slot.made_from => {
            drop(app.tools.pool.attempt(app, &server, slot, false).await);
        }
        Ok(_) => {}
        Err(error) => tracing::error!(%error, "a connection could not be read"),
    }
}
