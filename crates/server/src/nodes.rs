//! Several nodes on one PostgreSQL database: heartbeats, takeover of dead nodes' turns, and the cluster bus.

mod identity;
mod others;

use std::sync::Arc;
use std::time::Duration;

use store::news::{Listener, News};
use store::runs::UnfinishedRun;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::runs::Runs;
use others::Others;
use platform::{ClusterMessage, ClusterOutbox};

pub use identity::Identity;

/// Interval of heartbeats, and of checks of the other nodes.
const BEAT: Duration = Duration::from_secs(1);
/// Pause before the node listens again after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// Time in seconds for which the journal of a completed turn can be followed on other nodes, and for which large
/// messages of the cluster bus are stored.
const KEEP_LOGS: i64 = 60;
/// Number of heartbeats after which old journals and messages are deleted.
const PURGE: u32 = 30;
/// Starts heartbeats and cluster bus, if the database can be shared.
pub fn start(app: &App, outbox: ClusterOutbox) {
    if app.store.is_shared() {
        app.tasks.spawn("nodes", keep(app.clone()));
        app.tasks.spawn("news", hear(app.clone()));
        let shutdown = app.tasks.shutdown_token().clone();
        app.tasks.spawn("cluster bus", outbox.publish_loop(app.store.clone(), Arc::clone(&app.clock), shutdown));
    }
}

/// Deregisters this node and releases its turns, so that the other nodes need not wait for missed heartbeats.
pub async fn leave(app: &App) {
    let left = async {
        app.store.let_go_of_runs().await?;
        app.store.remove_node(app.store.node()).await
    };
    if let Err(error) = left.await {
        tracing::warn!(%error, "the other nodes have to notice by themselves that this one has ended");
    }
}

/// Sends heartbeats and checks the other nodes until shutdown.
async fn keep(app: App) {
    let mut keeper = Keeper::default();
    while pause(app.tasks.shutdown_token(), BEAT).await {
        if let Err(error) = keeper.round(&app).await {
            tracing::warn!(%error, "the other nodes could not be looked after");
            // While the database is unreachable, no node can write its heartbeat. The observations are discarded, so
            // that the outage is not mistaken for dead nodes.
            keeper.others = Others::default();
        }
    }
}

#[derive(Default)]
/// State of the heartbeat task.
struct Keeper {
    others: Others,
    /// Turns of dead nodes that this node has claimed and not recovered yet.
    claimed: Vec<UnfinishedRun>,
    rounds: u32,
}

impl Keeper {
    /// Writes a heartbeat, removes dead nodes, and takes over their turns.
    async fn round(&mut self, app: &App) -> Result<(), store::Error> {
        // The row is gone: this node did not write its heartbeat for too long, for example because it was suspended.
        if !app.store.beat().await? {
            tracing::error!("the other nodes have taken this one for gone; its runs go on there");
            // The order matters: the turns are detached before the node registers again, or it would appear to own
            // them.
            app.runs.lose_all();
            app.store.let_go_of_runs().await?;
            app.store.enter_nodes().await?;
        }
        for (node, beat) in self.others.still(app.store.list_other_nodes().await?) {
            tracing::warn!(%node, "a node is gone");
            app.store.remove_still_node(node, beat).await?;
        }
        self.claimed.extend(app.store.claim_runs().await?);
        // A turn is removed from the list only after it was recovered, so that a failure is repeated in the next
        // round.
        while let Some(run) = self.claimed.last() {
            Runs::take_over(app, run).await?;
            self.claimed.pop();
        }
        app.runs.follow_orders(app).await?;
        self.rounds += 1;
        if self.rounds.is_multiple_of(PURGE) {
            let before = app.clock.now().plus_seconds(-KEEP_LOGS);
            app.store.purge_ended(before).await?;
            app.store.purge_news(before).await?;
        }
        Ok(())
    }
}

/// Receives messages of the other nodes, and reconnects after failures.
async fn hear(app: App) {
    let stopping = app.tasks.shutdown_token().clone();
    loop {
        let heard = async {
            if let Some(listener) = app.store.listen().await? {
                listen(&app, listener).await?;
            }
            Ok::<_, store::Error>(())
        };
        match stopping.run_until_cancelled(heard).await {
            None => return,
            Some(Ok(())) => {}
            Some(Err(error)) => tracing::warn!(%error, "the other nodes cannot be heard"),
        }
        if !pause(&stopping, RETRY).await {
            return;
        }
    }
}

/// Handles messages until the connection fails.
async fn listen(app: &App, mut listener: Listener) -> Result<(), store::Error> {
    // Messages that were sent before the connection was established are lost, so everything is read once.
    look_afresh(app).await?;
    loop {
        match listener.next().await? {
            Some(News::Runs(runs)) => runs.into_iter().for_each(|run| app.runs.wake(run)),
            Some(News::Orders) => app.runs.follow_orders(app).await?,
            Some(News::Text(text)) => match serde_json::from_str(&text) {
                Ok(told) => take(app, told),
                // The sender has another version.
                Err(error) => tracing::debug!(%error, "a piece of news could not be read"),
            },
            None => look_afresh(app).await?,
        }
    }
}

/// Lets everything be read again from the database, after messages may have been missed.
async fn look_afresh(app: &App) -> Result<(), store::Error> {
    app.runs.wake_all();
    app.events.disconnect_all();
    app.runs.follow_orders(app).await
}

/// Handles one message.
fn take(app: &App, message: ClusterMessage) {
    match message {
        ClusterMessage::UserEvent { user, event } => app.events.publish_local(user, &Arc::from(event)),
        ClusterMessage::EventsLost => app.events.disconnect_all(),
        ClusterMessage::ChatDeleted { user, chat } => app.runs.end_here(user, chat),
        ClusterMessage::SignedIn { user, server } => app.tools.heard_of_sign_in(user, server),
    }
}

/// Waits, and returns `false` on shutdown.
async fn pause(stopping: &CancellationToken, time: Duration) -> bool {
    stopping.run_until_cancelled(tokio::time::sleep(time)).await.is_some()
}
