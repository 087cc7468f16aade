//! One live connection per user and server: opened on demand, closed when idle, reopened after a failure.

mod backoff;
mod connect;
mod entry;
mod listing;
mod maintenance;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::tool::ToolDefinition;
use domain::{Clock, ServerId, Timestamp, UserId};
use futures_util::future::join_all;
use mcp::Client;
use mcp::oauth::{AuthChallenge, OAuthClient};
use platform::{BackgroundTasks, Limit, SecretSealer, UserEvent, UserEventBus};
use serde_json::value::to_raw_value;
use storage::Storage;
use storage::servers::Server;
use tokio::sync::mpsc;

use crate::connection_dto::{ConnectionDto, ConnectionStatus};
use crate::host::{ConnectionReady, FallbackTools, TokenIssuer};
use crate::self_urls::SelfUrls;
use backoff::Backoff;
use connect::{NEEDS_SCOPES, NEEDS_SIGN_IN};
use entry::{ConfigKey, ConnectPermit, ConnectionEntry};

pub(crate) use connect::NO_TOOLS;
pub use entry::{ConnectionInUse, ConnectionState, OpenedConnection, ToolSource, UnusableConnection};

/// Time for which a turn waits for a server to connect. A slower one is left out of the turn.
const CONNECT_TIMEOUT_OF_TURN: Duration = Duration::from_secs(10);
/// Time for which a turn waits for a server that failed the last time.
const CONNECT_TIMEOUT_AFTER_FAILURE: Duration = Duration::from_secs(2);

/// The users' live connections. Clones share them.
#[derive(Debug, Clone)]
pub struct ConnectionPool {
    pub(crate) storage: Storage,
    pub(crate) secrets: Arc<SecretSealer>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) events: UserEventBus,
    pub(crate) tasks: BackgroundTasks,
    pub(crate) client: Client,
    pub(crate) oauth: OAuthClient,
    pub(crate) self_urls: Arc<SelfUrls>,
    pub(crate) token_issuer: Arc<dyn TokenIssuer>,
    /// `None` if fallback tools are switched off.
    pub(crate) fallback: Option<Arc<dyn FallbackTools>>,
    /// Maximum number of open connections.
    pub(crate) limit: Limit,
    pub(crate) ready: mpsc::UnboundedSender<ConnectionReady>,
    /// Connections by the id of their row.
    pub(crate) entries: Arc<Mutex<HashMap<ServerId, Arc<ConnectionEntry>>>>,
}

impl ConnectionPool {
    /// Returns the connection of a row, connecting first where needed.
    pub async fn open(&self, user: UserId, server: &Server) -> Result<OpenedConnection, UnusableConnection> {
        let entry = self.entry(user, server);
        let now = self.clock.now();
        entry.mark_used(now);
        match entry.usable(now) {
            Some(usable) => usable,
            None => self.connect(server, entry, true).await,
        }
    }

    /// Returns the connection of a row for a turn, which does not wait long for slow servers, and even less for those that
    /// failed or were waited for already. A server that needs a sign-in offers its last tools: a call of one of them asks
    /// the user to sign in.
    pub async fn open_for_turn(&self, user: UserId, server: &Server) -> Result<OpenedConnection, UnusableConnection> {
        let state = self.entry(user, server).state();
        // An attempt in progress has used up part of the time: several turns that begin during one attempt do not each
        // wait for the whole of it.
        let waited_ms = state.connecting_since.map_or(0, |since| self.clock.now().millis_since(since));
        let timeout = match state.backoff.failures {
            0 => CONNECT_TIMEOUT_OF_TURN.saturating_sub(Duration::from_millis(waited_ms)),
            _ => CONNECT_TIMEOUT_AFTER_FAILURE,
        };
        let opened = tokio::time::timeout(timeout, self.open(user, server)).await;
        let late = |_| {
            let seconds = CONNECT_TIMEOUT_OF_TURN.max(timeout).as_secs();
            Err(UnusableConnection(format!("did not answer within {seconds} s")))
        };
        opened.unwrap_or_else(late).or_else(|reason| self.entry(user, server).tools_behind_sign_in().ok_or(reason))
    }

    /// Connects in the background and waits for the result. The attempt continues if the caller is dropped, so that its
    /// result is known to the next one. `is_shown` publishes that it is in progress.
    async fn connect(
        &self,
        server: &Server,
        entry: Arc<ConnectionEntry>,
        is_shown: bool,
    ) -> Result<OpenedConnection, UnusableConnection> {
        let (pool, server) = (self.clone(), server.clone());
        let attempt = async move {
            let shutdown = pool.tasks.shutdown_token().clone();
            shutdown.run_until_cancelled_owned(pool.connect_once(&server, &entry, is_shown)).await
        };
        let stopped = || Err(UnusableConnection("cannot be used: the server is shutting down".to_owned()));
        // The library's task holds the span in which it begins as long as the connection is open.
        self.tasks.spawn_untraced_and_wait("connect", attempt).await.flatten().unwrap_or_else(stopped)
    }

    /// Connects, unless another caller has connected meanwhile.
    async fn connect_once(
        &self,
        server: &Server,
        entry: &Arc<ConnectionEntry>,
        is_shown: bool,
    ) -> Result<OpenedConnection, UnusableConnection> {
        let user = entry.owner;
        // Checked again under the lock: the caller that held it before may have connected, or failed, on behalf of this
        // one.
        let _attempt = entry.connect_lock.lock().await;
        if let Some(usable) = entry.usable(self.clock.now()) {
            return usable;
        }
        // Before the attempt, because its failure is judged by them: a server with a stored listing keeps it, and only
        // one without gets the fallback tools.
        self.load_stored_tools_of(server, entry).await;
        let started = self.clock.now();
        let permit = match self.reserve(entry, started) {
            Ok(permit) => permit,
            Err(error) => {
                entry.update(|state| state.record_failure(error.to_string(), started));
                if is_shown {
                    self.publish(user, server);
                }
                return Err(error);
            }
        };
        entry.update(|state| {
            // A user who is about to sign in keeps seeing that a sign-in is needed.
            if is_shown && state.status != Some(ConnectionStatus::NeedsSignIn) {
                state.status = Some(ConnectionStatus::Connecting);
            }
        });
        if is_shown {
            self.publish(user, server);
        }
        let attempt = self.try_connect(user, server, &entry.closed).await;
        let now = self.clock.now();
        let result = self.record_attempt(entry, attempt, now.millis_since(started), now);
        // From here on the open connection itself counts towards the limit.
        drop(permit);
        self.publish_current(entry).await;
        if let Some(connection) = entry.state().connection {
            self.store_listing(entry).await;
            self.follow(Arc::clone(entry), &connection);
            // Fails only at shutdown, when nothing follows the event any more.
            let _ = self.ready.send(ConnectionReady { user });
        }
        result
    }

    /// Marks a connection as connecting, which counts towards the limits as an open one does. Counting and marking are one
    /// step, so that concurrent attempts cannot exceed the limits together.
    fn reserve<'a>(&self, entry: &'a ConnectionEntry, now: Timestamp) -> Result<ConnectPermit<'a>, UnusableConnection> {
        let entries = self.entries();
        // Without the entry itself: this attempt replaces whatever connection it still has.
        let counted = entries.values().filter(|other| other.server != entry.server && other.is_open_or_connecting());
        let owners: Vec<UserId> = counted.map(|other| other.owner).collect();
        // The user's own limit first: its message says what the user can do.
        let per_user = self.limit.per_user;
        if owners.iter().filter(|owner| **owner == entry.owner).count() >= per_user {
            let plural = if per_user == 1 { "" } else { "s" };
            return Err(UnusableConnection(format!(
                "was not contacted, because you already have {per_user} open connection{plural}; unused ones are \
                 closed after 15 minutes"
            )));
        }
        if owners.len() >= self.limit.total {
            let reason = "was not contacted, because the limit of open connections is reached; try again soon";
            return Err(UnusableConnection(reason.to_owned()));
        }
        Ok(ConnectPermit::new(entry, now))
    }

    /// Returns the open connection of a row, also to a server without tools, for what it offers beside them.
    pub async fn open_connection(&self, user: UserId, server: &Server) -> Result<mcp::Connection, UnusableConnection> {
        let (connection, error) = match self.open(user, server).await {
            Ok(OpenedConnection { connection, reason, .. }) => {
                (connection, UnusableConnection(reason.unwrap_or_default()))
            }
            Err(error) => (None, error),
        };
        let without_tools = || self.entry(user, server).state().connection.filter(|open| !open.is_closed());
        connection.or_else(without_tools).ok_or(error)
    }

    /// Returns whether the connection of a row is open or connecting.
    pub fn is_settled(&self, server: &Server) -> bool {
        self.known_entry(server).is_some_and(|entry| entry.is_settled())
    }

    /// Prevents that the connection of a row is closed as idle while the result lives.
    pub fn keep_open(&self, user: UserId, server: &Server) -> ConnectionInUse {
        ConnectionInUse::new(self.entry(user, server))
    }

    /// Returns the known tools of a row's server.
    pub fn known_tools(&self, server: &Server) -> Arc<Vec<ToolDefinition>> {
        let state = self.known_entry(server).map(|entry| entry.state()).unwrap_or_default();
        Arc::clone(state.known_tools())
    }

    /// Returns a row with the state of its connection.
    pub fn to_dto(&self, server: &Server) -> ConnectionDto {
        let state = self.known_entry(server).map(|entry| entry.state()).unwrap_or_default();
        let is_fallback = state.is_fallback || (state.is_unlisted() && self.is_fallback(state.known_tools()));
        ConnectionDto::new(server, &state, if is_fallback { ToolSource::Fallback } else { ToolSource::Server })
    }

    /// Counts the connections by state.
    pub fn count_by_status(&self) -> Vec<(ConnectionStatus, usize)> {
        let statuses: Vec<ConnectionStatus> =
            self.entries().values().map(|entry| entry.state().status.unwrap_or(ConnectionStatus::Idle)).collect();
        ConnectionStatus::ALL.map(|status| (status, statuses.iter().filter(|found| **found == status).count())).to_vec()
    }

    /// Returns the instructions of a row's server, empty if it has none, or `None` if it was never connected.
    pub fn instructions(&self, server: &Server) -> Option<String> {
        let info = self.known_entry(server)?.state().info?;
        Some(info.instructions.unwrap_or_default())
    }

    /// Closes a connection and clears its backoff, so that the next use connects. The listing is kept.
    pub async fn disconnect(&self, user: UserId, server: &Server) {
        let entry = self.entry(user, server);
        // Waits for an attempt in progress, which may be older than what the caller wants to see.
        let _attempt = entry.connect_lock.lock().await;
        let connection = entry.update(|state| {
            state.backoff = Backoff::default();
            state.checked_at = None;
            if state.status == Some(ConnectionStatus::Connected) {
                state.status = Some(ConnectionStatus::Idle);
            }
            state.connection.take()
        });
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// Records that a user has signed out of a server.
    pub fn mark_signed_out(&self, user: UserId, server: &Server) {
        self.entry(user, server).update(|state| state.is_signed_in = false);
    }

    /// Clears the backoff of a server, unless it failed repeatedly or has fallback tools.
    pub fn clear_backoff(&self, user: UserId, server: &Server) {
        self.entry(user, server).update(|state| {
            if !state.is_fallback {
                state.backoff.clear();
            }
        });
    }

    /// Records that a connection was lost. The next use connects again.
    pub async fn mark_disconnected(&self, user: UserId, server: &Server, reason: &str) {
        let Some(entry) = self.known_entry(server) else { return };
        let connection = entry.state().connection;
        entry.record_disconnected(reason, self.clock.now());
        self.publish(user, server);
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// Lists the tools of a server again, connecting first where needed.
    pub async fn relist_tools(&self, user: UserId, server: &Server) {
        let entry = self.entry(user, server);
        entry.mark_used(self.clock.now());
        match entry.state().connection.filter(|connection| !connection.is_closed()) {
            Some(connection) => self.relist(&entry, &connection).await,
            None => drop(self.open(user, server).await),
        }
    }

    /// Returns what the server of a row requires for a sign-in.
    pub fn challenge(&self, server: &Server) -> Option<AuthChallenge> {
        self.known_entry(server)?.state().challenge
    }

    /// Records that a server needs a sign-in, or additional scopes; then its connection stays open. Returns the reason, or
    /// `None` if the user cannot sign in to the server.
    pub fn require_sign_in(
        &self,
        user: UserId,
        server: &Server,
        challenge: &AuthChallenge,
        for_additional_scopes: bool,
    ) -> Option<String> {
        let entry = self.known_entry(server)?;
        if !self.can_sign_in(user, server) {
            return None;
        }
        let reason = if for_additional_scopes { NEEDS_SCOPES } else { NEEDS_SIGN_IN }.to_owned();
        entry.update(|state| {
            state.status = Some(ConnectionStatus::NeedsSignIn);
            state.reason = Some(reason.clone());
            state.challenge = Some(challenge.clone());
        });
        self.publish(user, server);
        Some(reason)
    }

    /// Closes the connections of a user that are not among `servers`, and returns their ids.
    pub async fn retain(&self, user: UserId, servers: &[Server]) -> Vec<ServerId> {
        // Removed under the lock and closed after it: closing waits for the servers, and every user's requests need the
        // lock.
        let removed: Vec<(ServerId, Arc<ConnectionEntry>)> = {
            let mut entries = self.entries();
            let is_removed = |id: &ServerId, entry: &Arc<ConnectionEntry>| {
                entry.owner == user && !servers.iter().any(|server| server.id == *id)
            };
            entries.extract_if(|id, entry| is_removed(id, entry)).collect()
        };
        for (_, entry) in &removed {
            entry.close().await;
        }
        removed.into_iter().map(|(id, _)| id).collect()
    }

    /// Closes all connections.
    pub async fn close(&self) {
        let entries: Vec<Arc<ConnectionEntry>> = self.entries().drain().map(|(_, entry)| entry).collect();
        join_all(entries.iter().map(|entry| entry.close())).await;
    }

    /// Publishes the state of a connection to the clients of its user.
    pub fn publish(&self, user: UserId, server: &Server) {
        // Encoded once here, because the event bus below knows JSON but not the types of this crate.
        match to_raw_value(&self.to_dto(server)) {
            Ok(connection) => self.events.publish(user, &UserEvent::Connection { connection }),
            Err(error) => tracing::error!(%error, "could not encode a connection"),
        }
    }

    /// Publishes the state of a connection with the current row, which may have another name than at the beginning of an
    /// attempt.
    async fn publish_current(&self, entry: &ConnectionEntry) {
        match self.storage.connections().get(entry.owner, entry.server).await {
            Ok(Some(server)) => self.publish(entry.owner, &server),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "could not read a connection to publish it"),
        }
    }

    /// Returns the fallback tools; empty if they are switched off.
    pub fn fallback_tools(&self) -> Vec<ToolDefinition> {
        self.fallback.as_ref().map(|fallback| fallback.definitions()).unwrap_or_default()
    }

    /// Returns whether these are the fallback tools.
    fn is_fallback(&self, tools: &[ToolDefinition]) -> bool {
        self.has_fallback() && tools == self.fallback_tools()
    }

    /// Returns whether fallback tools are switched on.
    fn has_fallback(&self) -> bool {
        self.fallback.is_some()
    }

    /// Returns the entry of a row. A new one replaces that of an earlier configuration.
    fn entry(&self, user: UserId, server: &Server) -> Arc<ConnectionEntry> {
        let mut entries = self.entries();
        if let Some(entry) = entries.get(&server.id)
            // A changed URL or header means another server or another account, of which nothing in the old state is
            // true.
            && entry.config_key == ConfigKey::new(server)
        {
            return Arc::clone(entry);
        }
        let entry = Arc::new(ConnectionEntry::new(user, server));
        if let Some(old) = entries.insert(server.id, Arc::clone(&entry)) {
            // Ends an attempt in progress. The connection itself stays open for the calls that use it, and closes when
            // the last of them releases it.
            old.closed.cancel();
        }
        entry
    }

    /// Returns the entry of a row with its current configuration, if there is one.
    fn known_entry(&self, server: &Server) -> Option<Arc<ConnectionEntry>> {
        self.entries().get(&server.id).filter(|entry| entry.config_key == ConfigKey::new(server)).cloned()
    }

    /// Locks the map of entries.
    fn entries(&self) -> MutexGuard<'_, HashMap<ServerId, Arc<ConnectionEntry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
