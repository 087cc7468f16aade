//! Several processes on one PostgreSQL database: which of them live, who takes over from those that do not, and what they
//! tell each other.

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

/// Between two beats, and between two looks at the others.
const BEAT: Duration = Duration::from_secs(1);
/// Between two attempts to hear what the others tell.
const RETRY: Duration = Duration::from_secs(1);
/// Seconds for which the log of a run that has ended can still be followed on other nodes, and for which long news wait
/// for them.
const KEEP_LOGS: i64 = 60;
/// Rounds after which old logs are removed.
const PURGE: u32 = 30;
/// Maximum number of page events that wait to be sent to the other nodes. Beyond it they are dropped, and the other nodes
/// have their pages load everything afresh.
const MAX_WAITING_EVENTS: usize = 1024;

/// What nodes tell each other beside what the store tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Told {
    /// News for the pages of a person.
    Event {
        /// Whose.
        user: UserId,
        /// As the pages read it.
        event: String,
    },
    /// A chat was deleted.
    Deleted {
        /// Whose.
        user: UserId,
        /// Which.
        chat: ChatId,
    },
    /// Events for pages were lost: every page loads afresh.
    Lost,
    /// A person has signed in to the server of a connection.
    SignedIn {
        /// Who.
        user: UserId,
        /// Where.
        server: ServerId,
    },
}

/// Where messages for the other nodes go in.
#[derive(Debug, Clone, Default)]
pub struct Post(Option<Outgoing>);

#[derive(Debug, Clone)]
struct Outgoing {
    sender: mpsc::UnboundedSender<Told>,
    backlog: Arc<Backlog>,
}

/// What is known of the messages that wait to be sent.
#[derive(Debug, Default)]
pub struct Backlog {
    events: AtomicUsize,
    /// Whether something was lost since the other nodes last heard that.
    has_lost: AtomicBool,
}

/// Messages for the other nodes, as they are taken to be sent.
#[derive(Debug)]
pub struct Outbox {
    receiver: mpsc::UnboundedReceiver<Told>,
    backlog: Arc<Backlog>,
}

impl Post {
    /// A way to the others, and its other end for [`start`].
    pub fn new() -> (Self, Outbox) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let backlog = Arc::<Backlog>::default();
        (Self(Some(Outgoing { sender, backlog: Arc::clone(&backlog) })), Outbox { receiver, backlog })
    }

    /// Tells them, if there can be any. Events for pages are dropped when too many wait, which the others are told; all else
    /// always waits.
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

/// Lives with the other nodes from now on. On a database that cannot be shared there are none.
pub fn start(app: &App, outbox: Outbox) {
    if app.store.is_shared() {
        app.tasks.spawn("nodes", keep(app.clone()));
        app.tasks.spawn("news", hear(app.clone()));
        app.tasks.spawn("post", deliver(app.clone(), outbox));
    }
}

/// Gives everything back that this node drives: the others need not wait until they have noticed.
pub async fn leave(app: &App) {
    let left = async {
        app.store.let_go_of_runs().await?;
        app.store.remove_node(app.store.node()).await
    };
    if let Err(error) = left.await {
        tracing::warn!(%error, "the other nodes have to notice by themselves that this one has ended");
    }
}

async fn keep(app: App) {
    let mut keeper = Keeper::default();
    while pause(app.tasks.shutdown_token(), BEAT).await {
        if let Err(error) = keeper.round(&app).await {
            tracing::warn!(%error, "the other nodes could not be looked after");
            // While nobody can write, nobody's beat stands still for a reason.
            keeper.others = Others::default();
        }
    }
}

#[derive(Default)]
struct Keeper {
    others: Others,
    /// Runs that are taken over and not looked at yet.
    claimed: Vec<UnfinishedRun>,
    rounds: u32,
}

impl Keeper {
    async fn round(&mut self, app: &App) -> Result<(), store::Error> {
        if !app.store.beat().await? {
            tracing::error!("the other nodes have taken this one for gone; its runs go on there");
            app.runs.lose_all();
            app.store.let_go_of_runs().await?;
            app.store.enter_nodes().await?;
        }
        for (node, beat) in self.others.still(app.store.list_other_nodes().await?) {
            tracing::warn!(%node, "a node is gone");
            app.store.remove_still_node(node, beat).await?;
        }
        self.claimed.extend(app.store.claim_runs().await?);
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

/// Hears what the others tell, over one connection after the other.
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

async fn listen(app: &App, mut listener: Listener) -> Result<(), store::Error> {
    look_afresh(app).await?;
    loop {
        match listener.next().await? {
            Some(News::Runs(runs)) => runs.into_iter().for_each(|run| app.runs.wake(run)),
            Some(News::Orders) => app.runs.follow_orders(app).await?,
            Some(News::Text(text)) => match serde_json::from_str(&text) {
                Ok(told) => take(app, told),
                // A node of another version.
                Err(error) => tracing::debug!(%error, "a piece of news could not be read"),
            },
            None => look_afresh(app).await?,
        }
    }
}

/// Something may have been missed.
async fn look_afresh(app: &App) -> Result<(), store::Error> {
    app.runs.wake_all();
    app.events.begin_anew();
    app.runs.follow_orders(app).await
}

fn take(app: &App, told: Told) {
    match told {
        Told::Event { user, event } => app.events.publish_here(user, &Arc::from(event)),
        Told::Lost => app.events.begin_anew(),
        Told::Deleted { user, chat } => app.runs.end_here(user, chat),
        Told::SignedIn { user, server } => app.tools.heard_of_sign_in(user, server),
    }
}

async fn deliver(app: App, mut outbox: Outbox) {
    let stopping = app.tasks.shutdown_token().clone();
    while let Some(Some(told)) = stopping.run_until_cancelled(outbox.receiver.recv()).await {
        if matches!(told, Told::Event { .. }) {
            outbox.backlog.events.fetch_sub(1, Ordering::Relaxed);
        }
        send(&app, &told, &outbox.backlog).await;
        // Once the backlog is sent, so that nothing older comes behind it.
        if outbox.receiver.is_empty() && outbox.backlog.has_lost.swap(false, Ordering::Relaxed) {
            send(&app, &Told::Lost, &outbox.backlog).await;
        }
    }
}

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

/// Waits; `false` when the program stops.
async fn pause(stopping: &CancellationToken, time: Duration) -> bool {
    stopping.run_until_cancelled(tokio::time::sleep(time)).await.is_some()
}
