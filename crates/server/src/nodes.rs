//! Several nodes on one PostgreSQL database: heartbeats, takeover of dead nodes' turns, and the cluster bus.

mod identity;
mod others;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use domain::{ChatId, ServerId, UserId};
use serde::{Deserialize, Serialize};
use store::news::{Listener, News};
use store::runs::UnfinishedRun;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::runs::Runs;
use others::Others;

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
/// Maximum number of user events that wait for the cluster bus. Further ones are dropped, and the other nodes let
/// their clients reload.
const MAX_WAITING_EVENTS: usize = 1024;

/// Message on the cluster bus, in addition to those of the store. [`Post`] sends it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Told {
    /// An event for a user's clients.
    Event {
        /// User who receives it.
        user: UserId,
        /// Event as JSON.
        event: String,
    },
    /// A chat was deleted.
    Deleted {
        /// User who owned it.
        user: UserId,
        /// Deleted chat.
        chat: ChatId,
    },
    /// Events were lost, so every client has to reload.
    Lost,
    /// A user has signed in to the server of a connection.
    SignedIn {
        /// User.
        user: UserId,
        /// Connection.
        server: ServerId,
    },
}

/// Sender of the cluster bus; without effect if the node is alone.
#[derive(Debug, Clone, Default)]
pub struct Post(Option<Outgoing>);

#[derive(Debug, Clone)]
/// Queue of the cluster bus.
struct Outgoing {
    sender: mpsc::UnboundedSender<Told>,
    backlog: Arc<Backlog>,
}

/// State of the messages that wait to be sent.
#[derive(Debug, Default)]
pub struct Backlog {
    /// Number of waiting user events.
    events: AtomicUsize,
    /// Whether a message was lost since the other nodes were last notified of that.
    has_lost: AtomicBool,
}

/// Receiving end of the queue, for the task that sends the messages.
#[derive(Debug)]
pub struct Outbox {
    receiver: mpsc::UnboundedReceiver<Told>,
    backlog: Arc<Backlog>,
}

impl Post {
    /// Creates a sender, and its receiving end for [`start`].
    pub fn new() -> (Self, Outbox) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let backlog = Arc::<Backlog>::default();
        (Self(Some(Outgoing { sender, backlog: Arc::clone(&backlog) })), Outbox { receiver, backlog })
    }

    /// Sends a message to the other nodes, if there can be any; it is only created then. User events are dropped if
    /// too many wait, of which the other nodes are notified. All other messages always wait.
    pub fn tell(&self, told: impl FnOnce() -> Told) {
        let Some(Outgoing { sender, backlog }) = self.0.as_ref().filter(|outgoing| !outgoing.sender.is_closed()) else {
            return;
        };
        let told = told();
        if matches!(told, Told::Event { .. }) {
            if backlog.events.load(Ordering::Relaxed) >= MAX_WAITING_EVENTS {
                if !backlog.has_lost.swap(true, Ordering::Relaxed) {
                    tracing::error!(
                        limit = MAX_WAITING_EVENTS,
                        "too many events wait for the other nodes; their pages will load afresh"
                    );
                }
                return;
            }
            backlog.events.fetch_add(1, Ordering::Relaxed);
        }
        drop(sender.send(told));
    }
}

/// Starts heartbeats and cluster bus, if the database can be shared.
pub fn start(app: &App, outbox: Outbox) {
    if app.store.is_shared() {
        app.tasks.spawn("nodes", keep(app.clone()));
        app.tasks.spawn("news", hear(app.clone()));
        app.tasks.spawn("post", deliver(app.clone(), outbox));
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
    app.events.begin_anew();
    app.runs.follow_orders(app).await
}

/// Handles one message.
fn take(app: &App, told: Told) {
    match told {
        Told::Event { user, event } => app.events.publish_here(user, &Arc::from(event)),
        Told::Lost => app.events.begin_anew(),
        Told::Deleted { user, chat } => app.runs.end_here(user, chat),
        Told::SignedIn { user, server } => app.tools.heard_of_sign_in(user, server),
    }
}

/// Sends the messages of the queue until shutdown.
async fn deliver(app: App, mut outbox: Outbox) {
    let stopping = app.tasks.shutdown_token().clone();
    while let Some(Some(told)) = stopping.run_until_cancelled(outbox.receiver.recv()).await {
        if matches!(told, Told::Event { .. }) {
            outbox.backlog.events.fetch_sub(1, Ordering::Relaxed);
        }
        send(&app, &told, &outbox.backlog).await;
        // Sent only when the queue is empty, so that no older event arrives after it.
        if outbox.receiver.is_empty() && outbox.backlog.has_lost.swap(false, Ordering::Relaxed) {
            send(&app, &Told::Lost, &outbox.backlog).await;
        }
    }
}

/// Sends one message. A failure is logged, and the other nodes are notified of it later.
async fn send(app: &App, told: &Told, backlog: &Backlog) {
    let sent = match serde_json::to_string(told) {
        Ok(text) => app.store.tell_nodes(&text, app.clock.now()).await.map_err(anyhow::Error::from),
        Err(error) => Err(error.into()),
    };
    if let Err(error) = sent {
        tracing::error!(error = format!("{error:#}"), "a message for the other nodes was lost");
        backlog.has_lost.store(true, Ordering::Relaxed);
    }
}

/// Waits, and returns `false` on shutdown.
async fn pause(stopping: &CancellationToken, time: Duration) -> bool {
    stopping.run_until_cancelled(tokio::time::sleep(time)).await.is_some()
}
