//! Looks after all connections: closes those that nobody needs, and tries those again whose owner is watching.

use std::sync::Arc;
use std::time::Duration;

use domain::Timestamp;
use tokio::time::{MissedTickBehavior, interval};

use super::Pool;
use super::slot::Slot;
use crate::app::App;
use crate::tools::view::ConnectionStatus;

/// A connection that nobody needed for this long is closed.
const IDLE: Duration = Duration::from_mins(15);
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
                    () = inner.tasks.stopping().cancelled() => return,
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
            } else if is_due(&slot, now) && app.events.is_followed(slot.owner) {
                let inner = app.clone();
                app.tasks.spawn("try connection again", async move { try_again(&inner, slot).await });
            }
        }
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

async fn try_again(app: &App, slot: Arc<Slot>) {
    match app.store.get_server(slot.owner, slot.server).await {
        Ok(Some(server)) if super::made_from(&server) == slot.made_from => {
            drop(app.tools.pool.attempt(app, &server, slot, false).await);
        }
        Ok(_) => {}
        Err(error) => tracing::error!(%error, "a connection could not be read"),
    }
}
