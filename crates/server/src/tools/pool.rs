//! One connection per person and server: opened when it is needed, kept while it is used, closed when it is idle, opened
//! anew when it broke.

mod attempt;
mod health;
mod keeper;
mod slot;
mod watch;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::tool::ToolDefinition;
use domain::{ServerId, Timestamp, UserId};
use mcp::oauth::AuthChallenge;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::to_raw_value;
use store::listings::Listing;
use store::servers::Server;

use super::view::{ConnectionStatus, ConnectionView};
use super::{Opened, Tools};
use crate::app::App;
use crate::runs::readiness;
use attempt::{WANTS_MORE, WANTS_SIGN_IN, connect, may_sign_in, random_byte, settle};
use platform::Limit;
use platform::UserEvent;
use slot::{MadeFrom, OpeningPermit, Slot};

pub use slot::InUse;
pub(super) use slot::Known;

/// How long a turn waits for a server that is not connected yet. One that takes longer is left out of the turn.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same for a server that failed the last time.
const LITTLE_PATIENCE: Duration = Duration::from_secs(2);

/// Who runs the tools of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The server itself.
    Server,
    /// Our own Google Drive tools stand in for it.
    Fallback,
}

/// The connections of everybody, by the id of their row.
#[derive(Debug, Default)]
pub struct Pool {
    slots: Mutex<HashMap<ServerId, Arc<Slot>>>,
}

impl Pool {
    /// The connection of a row, opened if need be. The error reads on from the server's name.
    pub async fn open(&self, app: &App, user: UserId, server: &Server) -> Result<Opened, String> {
        let slot = self.slot(user, server);
        let now = app.clock.now();
        slot.touch(now);
        match slot.usable(now) {
            Some(usable) => usable,
            None => self.attempt(app, server, slot, true).await,
        }
    }

    /// The same for a turn, which goes on without servers that take long. A server that has failed lately, or has been
    /// waited for already, is waited for less. One that wants a sign-in offers what it offered before: whoever calls that
    /// is asked.
    pub async fn open_in_time(&self, app: &App, user: UserId, server: &Server) -> Result<Opened, String> {
        let known = self.slot(user, server).known();
        let waited = known.connecting_since.map_or(0, |since| app.clock.now().millis_since(since));
        let patience = match known.health.failures {
            0 => PATIENCE.saturating_sub(Duration::from_millis(waited)),
            _ => LITTLE_PATIENCE,
        };
        let opened = tokio::time::timeout(patience, self.open(app, user, server)).await;
        let late = |_| Err(format!("did not answer within {} s", PATIENCE.max(patience).as_secs()));
        opened.unwrap_or_else(late).or_else(|reason| self.slot(user, server).behind_sign_in().ok_or(reason))
    }

    /// Connects. The attempt goes on when nobody waits for it any more, so that what comes of it is known.
    async fn attempt(&self, app: &App, server: &Server, slot: Arc<Slot>, is_told: bool) -> Result<Opened, String> {
        let (inner, server) = (app.clone(), server.clone());
        let attempt = async move {
            let stopping = inner.tasks.shutdown_token().clone();
            stopping.run_until_cancelled_owned(inner.tools.pool.attempt_once(&inner, &server, &slot, is_told)).await
        };
        let stopped = || Err("is not asked: the program is being stopped".to_owned());
        app.tasks.spawn_and_wait("connect", attempt).await.flatten().unwrap_or_else(stopped)
    }

    async fn attempt_once(
        &self,
        app: &App,
        server: &Server,
        slot: &Arc<Slot>,
        is_told: bool,
    ) -> Result<Opened, String> {
        let user = slot.owner;
        let _one_at_a_time = slot.opening.lock().await;
        if let Some(usable) = slot.usable(app.clock.now()) {
            return usable;
        }
        self.recall_one(app, server, slot).await;
        let began = app.clock.now();
        let permit = match self.reserve(app.config.limits.connections, slot, began) {
            Ok(permit) => permit,
            Err(reason) => {
                slot.set(|known| known.fail(reason.clone(), began));
                if is_told {
                    self.tell(app, user, server);
                }
                return Err(reason);
            }
        };
        slot.set(|known| {
            // Whoever is about to sign in is not disturbed by another look.
            if is_told && known.status != Some(ConnectionStatus::NeedsSignIn) {
                known.status = Some(ConnectionStatus::Connecting);
            }
        });
        if is_told {
            self.tell(app, user, server);
        }
        let outcome = connect(app, user, server, &slot.gone).await;
        let now = app.clock.now();
        let result = settle(app, slot, outcome, now.millis_since(began), now);
        // An open connection counts by itself.
        drop(permit);
        self.tell_anew(app, slot).await;
        if let Some(connection) = slot.known().connection {
            watch::keep_listing(app, slot).await;
            watch::follow(app, Arc::clone(slot), &connection);
            let inner = app.clone();
            app.tasks.spawn("prepare", async move { readiness::prepare(&inner, user).await });
        }
        result
    }

    /// Marks a connection as being opened, which counts towards the limits as an open one does. Counting and marking are one
    /// step, so that attempts at the same moment cannot exceed the limits together.
    ///
    /// # Errors
    ///
    /// The reason why the connection may not be opened; continues a sentence that begins with the server's name.
    fn reserve<'a>(&self, limit: Limit, slot: &'a Slot, now: Timestamp) -> Result<OpeningPermit<'a>, String> {
        let slots = self.slots();
        let counted = slots.values().filter(|other| other.server != slot.server && other.is_open_or_opening());
        let owners: Vec<UserId> = counted.map(|other| other.owner).collect();
        let each = limit.per_user;
        if owners.iter().filter(|owner| **owner == slot.owner).count() >= each {
            return Err(format!(
                "is not asked: {each} of your connections are open, which is as many as may be; those that nobody uses \
                 are closed after 15 minutes"
            ));
        }
        if owners.len() >= limit.total {
            return Err("is not asked: the server keeps as many connections open as it can; try again soon".to_owned());
        }
        Ok(OpeningPermit::new(slot, now))
    }

    /// The open connection of a row, also to a server without tools, for what it offers beside them. The error reads on
    /// from the server's name.
    pub async fn connection(&self, app: &App, user: UserId, server: &Server) -> Result<mcp::Connection, String> {
        let opened = self.open(app, user, server).await;
        let (own, reason) = match opened {
            Ok(Opened { connection, reason, .. }) => (connection, reason.unwrap_or_default()),
            Err(reason) => (None, reason),
        };
        let known = || self.slot(user, server).known().connection.filter(|open| !open.is_closed());
        own.or_else(known).ok_or(reason)
    }

    /// Whether a row needs no asking: it is connected, or being connected.
    pub fn is_settled(&self, server: &Server) -> bool {
        self.known_slot(server).is_some_and(|slot| slot.is_settled())
    }

    /// Keeps a row's connection from being closed as idle for as long as the result lives.
    pub fn in_use(&self, user: UserId, server: &Server) -> InUse {
        InUse::new(self.slot(user, server))
    }

    /// What a row's server is known to offer; as long as that is nothing, what was found when the connection was made.
    pub fn tools(&self, server: &Server) -> Arc<Vec<ToolDefinition>> {
        let known = self.known_slot(server).map(|slot| slot.known()).unwrap_or_default();
        Arc::clone(known.offered())
    }

    /// What is known of a row's connection.
    pub fn view(&self, server: &Server, tools: &Tools) -> ConnectionView {
        let known = self.known_slot(server).map(|slot| slot.known()).unwrap_or_default();
        ConnectionView::new(server, &known, tools)
    }

    /// Looks up what the servers of a person's connections listed last, or what was found when the connections were made,
    /// where nothing is known of them yet.
    pub async fn recall(&self, app: &App, user: UserId, servers: &[Server]) -> Result<(), store::Error> {
        let slots: Vec<_> = servers.iter().map(|server| self.slot(user, server)).collect();
        if slots.iter().all(|slot| slot.known().recalled) {
            return Ok(());
        }
        let listings = app.store.list_listings(user).await?;
        for (slot, server) in slots.iter().zip(servers) {
            if !slot.known().recalled {
                let listing = listings.iter().find(|one| one.server == server.id);
                recall_from(app, server, slot, listing).await?;
            }
        }
        Ok(())
    }

    async fn recall_one(&self, app: &App, server: &Server, slot: &Slot) {
        if slot.known().recalled {
            return;
        }
        let recalled = async {
            let listing = app.store.get_listing(slot.owner, slot.server).await?;
            recall_from(app, server, slot, listing.as_ref()).await
        };
        if let Err(error) = recalled.await {
            tracing::error!(%error, "what a server listed last could not be read");
        }
    }

    /// The instructions of a row's server, empty where it gave none; `None` as long as it has never been asked.
    pub fn instructions(&self, server: &Server) -> Option<String> {
        let about = self.known_slot(server)?.known().about?;
        Some(about.instructions.unwrap_or_default())
    }

    /// Forgets what is known of a connection and closes it.
    pub async fn forget(&self, id: ServerId) {
        let slot = self.slots().remove(&id);
        if let Some(slot) = slot {
            end(&slot).await;
        }
    }

    /// Closes a connection and lets it be opened at once, whatever failed before. What was listed is kept.
    pub async fn reset(&self, user: UserId, server: &Server) {
        let slot = self.slot(user, server);
        // What is being opened right now may be older than what made somebody ask.
        let _one_at_a_time = slot.opening.lock().await;
        let connection = slot.set(|known| {
            known.health = health::Health::default();
            known.checked_at = None;
            if known.status == Some(ConnectionStatus::Connected) {
                known.status = Some(ConnectionStatus::Idle);
            }
            known.connection.take()
        });
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// Writes down that a person has signed out of a server.
    pub fn signed_out(&self, user: UserId, server: &Server) {
        self.slot(user, server).set(|known| known.signed_in = false);
    }

    /// Ends the rest of a server that failed, unless it fails again and again or others stand in for it.
    pub fn rouse(&self, user: UserId, server: &Server) {
        self.slot(user, server).set(|known| {
            if !known.fallback {
                known.health.rouse();
            }
        });
    }

    /// Says that a connection is lost, and why. The next one who needs it opens it anew.
    pub async fn lose(&self, app: &App, user: UserId, server: &Server, reason: &str) {
        let Some(slot) = self.known_slot(server) else { return };
        let connection = slot.known().connection;
        lost(&slot, reason, app.clock.now());
        self.tell(app, user, server);
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// Lists a server's tools again over its connection, or connects where there is none.
    pub async fn list_again(&self, app: &App, user: UserId, server: &Server) {
        let slot = self.slot(user, server);
        slot.touch(app.clock.now());
        match slot.known().connection.filter(|connection| !connection.is_closed()) {
            Some(connection) => watch::list_again(app, &slot, &connection).await,
            None => drop(self.open(app, user, server).await),
        }
    }

    /// What the server of a row said that it wants before it goes on.
    pub fn challenge(&self, server: &Server) -> Option<AuthChallenge> {
        self.known_slot(server)?.known().challenge
    }

    /// Says that a server wants the person to sign in, or again with more rights; then its connection stays. Returns
    /// why, or nothing where the person entered who they are and there is nothing to sign in to.
    pub fn demand_sign_in(
        &self,
        app: &App,
        user: UserId,
        server: &Server,
        challenge: &AuthChallenge,
        for_additional_scopes: bool,
    ) -> Option<String> {
        let slot = self.known_slot(server)?;
        if !may_sign_in(app, user, server) {
            return None;
        }
        let reason = if for_additional_scopes { WANTS_MORE } else { WANTS_SIGN_IN }.to_owned();
        slot.set(|known| {
            known.status = Some(ConnectionStatus::NeedsSignIn);
            known.reason = Some(reason.clone());
            known.challenge = Some(challenge.clone());
        });
        self.tell(app, user, server);
        Some(reason)
    }

    /// Keeps a person's connections that are still among `servers`, closes the others and names them.
    pub async fn retain(&self, user: UserId, servers: &[Server]) -> Vec<ServerId> {
        let lost: Vec<(ServerId, Arc<Slot>)> = {
            let mut slots = self.slots();
            slots.extract_if(|id, slot| slot.owner == user && !servers.iter().any(|server| server.id == *id)).collect()
        };
        for (_, slot) in &lost {
            end(slot).await;
        }
        lost.into_iter().map(|(id, _)| id).collect()
    }

    /// Closes everything.
    pub async fn close(&self) {
        let slots: Vec<Arc<Slot>> = self.slots().drain().map(|(_, slot)| slot).collect();
        futures_util::future::join_all(slots.iter().map(|slot| end(slot))).await;
    }

    /// Tells a person's pages what a connection is like.
    pub fn tell(&self, app: &App, user: UserId, server: &Server) {
        match to_raw_value(&self.view(server, &app.tools)) {
            Ok(connection) => app.events.publish(user, &UserEvent::Connection { connection }),
            Err(error) => tracing::error!(%error, "a connection could not be encoded"),
        }
    }

    /// The same with the row as it is now: it may have another name by then.
    async fn tell_anew(&self, app: &App, slot: &Slot) {
        match app.store.get_server(slot.owner, slot.server).await {
            Ok(Some(server)) => self.tell(app, slot.owner, &server),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "a connection could not be read"),
        }
    }

    fn slot(&self, user: UserId, server: &Server) -> Arc<Slot> {
        let mut slots = self.slots();
        if let Some(slot) = slots.get(&server.id)
            && slot.made_from == MadeFrom::new(server)
        {
            return Arc::clone(slot);
        }
        let slot = Arc::new(Slot::new(user, server));
        if let Some(old) = slots.insert(server.id, Arc::clone(&slot)) {
            old.gone.cancel();
        }
        slot
    }

    fn known_slot(&self, server: &Server) -> Option<Arc<Slot>> {
        self.slots().get(&server.id).filter(|slot| slot.made_from == MadeFrom::new(server)).cloned()
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<ServerId, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn end(slot: &Slot) {
    slot.gone.cancel();
    if let Some(connection) = slot.known().connection {
        connection.close().await;
    }
}

fn lost(slot: &Slot, reason: &str, now: Timestamp) {
    slot.set(|known| {
        known.fail(reason.to_owned(), now);
        known.health.lost(now, random_byte());
    });
}

/// A listing counts as long as the server is where it was.
async fn recall_from(app: &App, server: &Server, slot: &Slot, listing: Option<&Listing>) -> Result<(), store::Error> {
    let listing = listing.filter(|listing| listing.url == server.url);
    let found = match listing {
        Some(_) => Value::Null,
        None => app.store.get_found_tools(slot.owner, slot.server).await?,
    };
    slot.set(|known| known.recall(server, listing, found, &app.tools));
    Ok(())
}
