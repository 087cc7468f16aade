//! One connection per person and server: opened when it is needed, kept while it is good, opened anew when it broke.

mod attempt;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::tool::ToolDefinition;
use domain::{ServerId, Timestamp, UserId};
use mcp::oauth::Challenge;
use serde::Serialize;
use store::servers::Server;
use tokio_util::sync::CancellationToken;

use super::view::{ConnectionStatus, ConnectionView, ServerName};
use super::{Opened, Tools};
use crate::app::App;
use crate::events::Event;
use attempt::{WANTS_MORE, WANTS_SIGN_IN, connect, may_sign_in, settle};

/// A server that failed is left alone for this long, so that a dead one does not cost every turn its patience.
const REST: Duration = Duration::from_secs(5);

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

/// One connection.
#[derive(Debug)]
struct Slot {
    owner: UserId,
    /// What it was opened with; a row that changed gets a new connection.
    made_from: (String, Option<Vec<u8>>),
    /// Held while it is being opened: several who need it wait for one attempt.
    opening: tokio::sync::Mutex<()>,
    known: Mutex<Known>,
    gone: CancellationToken,
}

/// What is known of a connection.
#[derive(Debug, Clone, Default)]
struct Known {
    status: Option<ConnectionStatus>,
    reason: Option<String>,
    connection: Option<mcp::Connection>,
    tools: Arc<Vec<ToolDefinition>>,
    fallback: bool,
    /// What the server wants before it goes on.
    challenge: Option<Challenge>,
    signed_in: bool,
    latency_ms: Option<u64>,
    checked_at: Option<Timestamp>,
}

impl Slot {
    fn known(&self) -> Known {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What can be used as it is, or why nothing can for the moment.
    fn usable(&self, now: Timestamp) -> Option<Result<Opened, String>> {
        let known = self.known();
        let rested = known.checked_at.is_none_or(|at| now.millis_since(at) > REST.as_millis() as u64);
        match (known.status?, known.connection) {
            // One that wants more rights for a tool may have others that can be used.
            (ConnectionStatus::Connected | ConnectionStatus::NeedsSignIn, Some(connection))
                if !connection.is_closed() =>
            {
                let (tools, origin) = (known.tools, Origin::Server);
                Some(Ok(Opened { connection: Some(connection), tools, origin, reason: None }))
            }
            (ConnectionStatus::Error, _) if known.fallback && !rested => {
                let (tools, origin) = (known.tools, Origin::Fallback);
                Some(Ok(Opened { connection: None, tools, origin, reason: known.reason }))
            }
            (ConnectionStatus::Error | ConnectionStatus::NeedsSignIn, _) if !rested => {
                Some(Err(known.reason.unwrap_or_default()))
            }
            _ => None,
        }
    }
}

impl Pool {
    /// The connection of a row, opened if need be. The error reads on from the server's name.
    pub async fn open(&self, app: &App, user: UserId, server: &Server) -> Result<Opened, String> {
        let slot = self.slot(user, server);
        if let Some(usable) = slot.usable(app.clock.now()) {
            return usable;
        }
        let _one_at_a_time = slot.opening.lock().await;
        if let Some(usable) = slot.usable(app.clock.now()) {
            return usable;
        }
        // Whoever is about to sign in is not disturbed by another look.
        if slot.known().status != Some(ConnectionStatus::NeedsSignIn) {
            slot.set(|known| known.status = Some(ConnectionStatus::Connecting));
            self.tell(app, user, server);
        }
        let began = app.clock.now();
        let outcome = connect(app, user, server, &slot.gone).await;
        let now = app.clock.now();
        let result = settle(app, &slot, outcome, now.millis_since(began), now);
        self.tell(app, user, server);
        if let Ok(Opened { connection: Some(connection), .. }) = &result {
            watch(app, user, server.clone(), Arc::clone(&slot), connection.clone());
        }
        result
    }

    /// Whether a row needs no asking: it is connected, or being connected.
    pub fn is_settled(&self, server: &Server) -> bool {
        let slots = self.slots();
        let slot = slots.get(&server.id).filter(|slot| slot.made_from == made_from(server));
        slot.is_some_and(|slot| match slot.known().status {
            Some(ConnectionStatus::Connecting) => true,
            Some(ConnectionStatus::Connected | ConnectionStatus::NeedsSignIn) => {
                slot.known().connection.is_some_and(|open| !open.is_closed())
            }
            _ => false,
        })
    }

    /// What a row's server is known to offer; as long as nobody has asked, what was found when the connection was made.
    pub fn tools(&self, server: &Server) -> Arc<Vec<ToolDefinition>> {
        let slot = self.slots().get(&server.id).filter(|slot| slot.made_from == made_from(server)).cloned();
        match slot.map(|slot| slot.known()) {
            Some(Known { status: Some(_), tools, .. }) => tools,
            _ => Arc::new(serde_json::from_value(server.tools.clone()).unwrap_or_default()),
        }
    }

    /// What is known of a row's connection.
    pub fn view(&self, server: &Server, tools: &Tools) -> ConnectionView {
        let slot = self.slots().get(&server.id).filter(|slot| slot.made_from == made_from(server)).cloned();
        let known = slot.map(|slot| slot.known()).unwrap_or_default();
        let info = known.connection.as_ref().map(mcp::Connection::info);
        let mut offered = known.tools.to_vec();
        if known.status.is_none() {
            // Nobody has asked yet: show what was found when the connection was made.
            offered = serde_json::from_value(server.tools.clone()).unwrap_or_default();
        }
        let stands_in =
            known.fallback || (known.status.is_none() && !offered.is_empty() && offered == tools.fallback());
        ConnectionView {
            id: server.id,
            name: server.name.clone(),
            url: server.url.clone(),
            status: known.status.unwrap_or(ConnectionStatus::Idle),
            reason: known.reason,
            tools: offered,
            tools_from: if stands_in { Origin::Fallback } else { Origin::Server },
            signed_in: known.signed_in,
            transport: info.map(|info| info.transport.to_string()),
            protocol_version: info.map(|info| info.protocol_version.clone()),
            server: info
                .filter(|info| !info.name.is_empty())
                .map(|info| ServerName { name: info.name.clone(), version: info.version.clone() }),
            latency_ms: known.latency_ms,
            checked_at: known.checked_at,
        }
    }

    /// The instructions of a row's server, empty where it gave none; `None` as long as it has not been asked.
    pub fn instructions(&self, server: &Server) -> Option<String> {
        let slot = self.slots().get(&server.id).filter(|slot| slot.made_from == made_from(server)).cloned()?;
        let connection = slot.known().connection?;
        Some(connection.info().instructions.clone().unwrap_or_default())
    }

    /// Forgets what is known of a connection and closes it.
    pub async fn forget(&self, id: ServerId) {
        let slot = self.slots().remove(&id);
        if let Some(slot) = slot {
            end(&slot).await;
        }
    }

    /// Says that a connection is lost, and why. The next one who needs it opens it anew.
    pub async fn lose(&self, app: &App, user: UserId, server: &Server, reason: &str) {
        let Some(slot) = self.slots().get(&server.id).cloned() else { return };
        let connection = slot.known().connection;
        slot.set(|known| lost(known, reason));
        self.tell(app, user, server);
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// What the server of a row said that it wants before it goes on.
    pub fn challenge(&self, server: &Server) -> Option<Challenge> {
        self.slots().get(&server.id).filter(|slot| slot.made_from == made_from(server))?.known().challenge
    }

    /// Says that a server wants the person to sign in, or again with more rights; then its connection stays. Returns
    /// why, or nothing where the person entered who they are and there is nothing to sign in to.
    pub fn demand_sign_in(
        &self,
        app: &App,
        user: UserId,
        server: &Server,
        challenge: &Challenge,
        for_more_rights: bool,
    ) -> Option<String> {
        let slot = self.slots().get(&server.id).cloned()?;
        if !may_sign_in(app, user, server) {
            return None;
        }
        let reason = if for_more_rights { WANTS_MORE } else { WANTS_SIGN_IN }.to_owned();
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

    fn slot(&self, user: UserId, server: &Server) -> Arc<Slot> {
        let made_from = made_from(server);
        let mut slots = self.slots();
        if let Some(slot) = slots.get(&server.id)
            && slot.made_from == made_from
        {
            return Arc::clone(slot);
        }
        let slot = Arc::new(Slot {
            owner: user,
            made_from,
            opening: tokio::sync::Mutex::default(),
            known: Mutex::default(),
            gone: CancellationToken::new(),
        });
        if let Some(old) = slots.insert(server.id, Arc::clone(&slot)) {
            old.gone.cancel();
        }
        slot
    }

    fn tell(&self, app: &App, user: UserId, server: &Server) {
        let connection = Box::new(self.view(server, &app.tools));
        app.events.publish(user, &Event::Connection { connection });
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<ServerId, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn made_from(server: &Server) -> (String, Option<Vec<u8>>) {
    (server.url.clone(), server.headers.clone())
}

async fn end(slot: &Slot) {
    slot.gone.cancel();
    if let Some(connection) = slot.known().connection {
        connection.close().await;
    }
}

/// Lists again when the server says that its tools changed, and says so when the connection is gone.
fn watch(app: &App, user: UserId, server: Server, slot: Arc<Slot>, connection: mcp::Connection) {
    let inner = app.clone();
    app.tasks.spawn("watch connection", async move {
        let mut changed = connection.tools_changed();
        loop {
            tokio::select! {
                () = inner.tasks.stopping().cancelled() => return,
                () = slot.gone.cancelled() => return,
                () = connection.closed() => {
                    // Who closed it on our side has said why already.
                    if slot.known().status == Some(ConnectionStatus::Connected) {
                        slot.set(|known| lost(known, "closed the connection; it is opened again when it is needed"));
                    }
                    inner.tools.pool.tell(&inner, user, &server);
                    return;
                }
                Ok(()) = changed.changed() => {
                    let listed = connection.list_tools().await;
                    let now = inner.clock.now();
                    slot.set(|known| {
                        known.checked_at = Some(now);
                        match listed {
                            Ok(tools) => known.tools = Arc::new(tools),
                            Err(error) => tracing::debug!(kind = error.kind(), "tools could not be listed again"),
                        }
                    });
                    inner.tools.pool.tell(&inner, user, &server);
                }
            }
        }
    });
}

fn lost(known: &mut Known, reason: &str) {
    known.status = Some(ConnectionStatus::Error);
    known.reason = Some(reason.to_owned());
    known.connection = None;
    known.checked_at = None;
}
