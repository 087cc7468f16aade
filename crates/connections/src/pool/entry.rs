//! One connection in the pool, and its state.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::text::without_nul;
use domain::tool::ToolDefinition;
use domain::{ServerId, Timestamp, UserId};
use mcp::ServerInfo;
use mcp::oauth::AuthChallenge;
use platform::secret_sealing::random_bytes;
use schemars::JsonSchema;
use serde::Serialize;
use storage::servers::{Server, SharedLink};
use tokio_util::sync::CancellationToken;

use super::backoff::Backoff;
use crate::connection_dto::ConnectionStatus;

/// Time for which the last answer of a server that needs a sign-in or has no tools is reused.
const RECHECK_AFTER: Duration = Duration::from_secs(5);

/// The side that runs the tools of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolSource {
    /// The server itself.
    Server,
    /// The built-in [`FallbackTools`](crate::FallbackTools), which replace those of the server.
    Fallback,
}

/// Reason why a connection cannot be used; continues a sentence that begins with the server's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnusableConnection(pub String);

/// The usable tools of a connection.
#[derive(Debug, Clone)]
pub struct OpenedConnection {
    /// The open connection. `None` for fallback tools, or if a sign-in is needed before a tool can be called.
    pub connection: Option<mcp::Connection>,
    /// Definitions of the tools.
    pub tools: Arc<Vec<ToolDefinition>>,
    /// The side that runs the tools.
    pub source: ToolSource,
    /// Reason for fallback tools; continues a sentence that begins with the server's name.
    pub reason: Option<String>,
    /// Information of the server about itself.
    pub info: Option<ServerInfo>,
}

impl OpenedConnection {
    /// Returns the tools of a connection as they were listed last, without an open connection.
    pub fn of_known_tools(tools: Arc<Vec<ToolDefinition>>) -> Self {
        Self { connection: None, tools, source: ToolSource::Server, reason: None, info: None }
    }

    /// Returns the instructions of the server; empty if there are none, and for fallback tools.
    pub fn instructions(&self) -> String {
        let info = self.info.as_ref().filter(|_| self.source == ToolSource::Server);
        without_nul(info.and_then(|info| info.instructions.clone()).unwrap_or_default())
    }
}

/// One connection of a user in the pool.
#[derive(Debug)]
pub struct ConnectionEntry {
    pub owner: UserId,
    pub server: ServerId,
    /// Configuration that the connection was opened with. A changed row gets a new entry.
    pub config_key: ConfigKey,
    /// Lock that is held while connecting, so that concurrent callers share one attempt.
    pub connect_lock: tokio::sync::Mutex<()>,
    state: Mutex<ConnectionState>,
    /// Token that is cancelled when the entry was removed from the pool.
    pub closed: CancellationToken,
    used_at: AtomicI64,
    probed_at: AtomicI64,
    uses: AtomicUsize,
}

/// The configuration of a connection: the masked URL, and the sealed secrets.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigKey {
    pub url: String,
    // The secrets stay sealed. Sealing the same value again gives other bytes, so that entering a header a second time
    // reconnects, which does no harm.
    url_query: Option<Vec<u8>>,
    headers: Option<Vec<u8>>,
    shared: Option<SharedLink>,
}

impl ConfigKey {
    /// Returns the configuration of a row.
    pub fn new(server: &Server) -> Self {
        Self {
            url: server.url.clone(),
            url_query: server.url_query.clone(),
            headers: server.headers.clone(),
            shared: server.shared,
        }
    }
}

/// The state of a connection.
#[derive(Debug, Clone, Default)]
pub struct ConnectionState {
    pub status: Option<ConnectionStatus>,
    /// Reason of the status; continues a sentence that begins with the server's name.
    pub reason: Option<String>,
    pub connection: Option<mcp::Connection>,
    /// Information of the server about itself, from the last successful attempt.
    pub info: Option<ServerInfo>,
    /// Tools from the last successful listing of the server, or the fallback tools.
    pub tools: Arc<Vec<ToolDefinition>>,
    /// Tools that were stored when the connection was created. They are used while there is no listing.
    pub initial_tools: Arc<Vec<ToolDefinition>>,
    /// Time of the listing; `None` for fallback tools.
    pub listed_at: Option<Timestamp>,
    /// `true` while [`tools`](Self::tools) are the fallback tools.
    pub is_fallback: bool,
    /// Requirements of the server for a sign-in.
    pub challenge: Option<AuthChallenge>,
    pub is_signed_in: bool,
    /// Duration of connecting and listing, in milliseconds.
    pub latency_ms: Option<u64>,
    /// Time of the last attempt or listing.
    pub checked_at: Option<Timestamp>,
    /// Start of the attempt that is in progress.
    pub connecting_since: Option<Timestamp>,
    pub backoff: Backoff,
    /// The last failure, also after a recovery.
    pub last_error: Option<(String, Timestamp)>,
    /// `true` once the stored listing was loaded.
    pub has_loaded_tools: bool,
}

impl ConnectionState {
    /// Returns the last successful listing of the server itself.
    pub fn server_tools(&self) -> Option<&Arc<Vec<ToolDefinition>>> {
        (!self.is_fallback && !self.tools.is_empty()).then_some(&self.tools)
    }

    /// Returns whether the tools of the server are unknown, because it was never listed.
    pub fn is_unlisted(&self) -> bool {
        self.listed_at.is_none() && !self.is_fallback && self.tools.is_empty()
    }

    /// Returns the known tools, or [`initial_tools`](Self::initial_tools) if the server was never listed.
    pub fn known_tools(&self) -> &Arc<Vec<ToolDefinition>> {
        if self.is_unlisted() { &self.initial_tools } else { &self.tools }
    }

    /// Records a failure and drops the connection.
    pub fn record_failure(&mut self, reason: String, now: Timestamp) {
        self.status = Some(ConnectionStatus::Error);
        self.last_error = Some((reason.clone(), now));
        self.reason = Some(reason);
        self.connection = None;
        self.checked_at = Some(now);
    }
}

/// Marks a connection as connecting until it is dropped.
#[derive(Debug)]
pub struct ConnectPermit<'a>(&'a ConnectionEntry);

impl<'a> ConnectPermit<'a> {
    /// Marks the connection of an entry as connecting since `now`.
    pub fn new(entry: &'a ConnectionEntry, now: Timestamp) -> Self {
        entry.update(|state| state.connecting_since = Some(now));
        Self(entry)
    }
}

impl Drop for ConnectPermit<'_> {
    fn drop(&mut self) {
        self.0.update(|state| state.connecting_since = None);
    }
}

/// Prevents that a connection is closed as idle, until it is dropped.
#[derive(Debug)]
pub struct ConnectionInUse(Arc<ConnectionEntry>);

impl ConnectionInUse {
    pub(super) fn new(entry: Arc<ConnectionEntry>) -> Self {
        entry.uses.fetch_add(1, Ordering::SeqCst);
        Self(entry)
    }
}

impl Drop for ConnectionInUse {
    fn drop(&mut self) {
        self.0.uses.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ConnectionEntry {
    pub fn new(owner: UserId, server: &Server) -> Self {
        Self {
            owner,
            server: server.id,
            config_key: ConfigKey::new(server),
            connect_lock: tokio::sync::Mutex::default(),
            state: Mutex::default(),
            closed: CancellationToken::new(),
            used_at: AtomicI64::new(0),
            probed_at: AtomicI64::new(0),
            uses: AtomicUsize::new(0),
        }
    }

    /// Returns a copy of the state.
    pub fn state(&self) -> ConnectionState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads or changes the state under its lock.
    pub fn update<T>(&self, change: impl FnOnce(&mut ConnectionState) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records that the connection was lost.
    pub fn record_disconnected(&self, reason: &str, now: Timestamp) {
        self.update(|state| {
            state.record_failure(reason.to_owned(), now);
            state.backoff.record_disconnected(now, random_jitter());
        });
    }

    /// Removes the entry from use and closes its connection.
    pub async fn close(&self) {
        self.closed.cancel();
        // `state` returns a copy, so that no lock is held while the connection closes.
        if let Some(connection) = self.state().connection {
            connection.close().await;
        }
    }

    /// Returns whether the connection is open or connecting.
    pub fn is_open_or_connecting(&self) -> bool {
        self.update(|state| {
            state.connecting_since.is_some()
                || state.connection.as_ref().is_some_and(|connection| !connection.is_closed())
        })
    }

    /// Records that the connection is used.
    pub fn mark_used(&self, now: Timestamp) {
        // The maximum, because requests run concurrently and the clock of the operating system can be set back.
        self.used_at.fetch_max(now.0, Ordering::SeqCst);
    }

    /// Returns the time of the last use, or `None` while the connection is in use.
    pub fn idle_since(&self) -> Option<Timestamp> {
        (self.uses.load(Ordering::SeqCst) == 0).then(|| Timestamp(self.used_at.load(Ordering::SeqCst)))
    }

    /// Returns whether an open connection was quiet for a number of milliseconds. A `true` counts as a probe, so that the
    /// next one follows after the same time.
    pub fn should_probe(&self, now: Timestamp, quiet_ms: u64) -> bool {
        let Some(used) = self.idle_since() else { return false };
        let state = self.state();
        let is_open = state.connection.is_some() && state.status == Some(ConnectionStatus::Connected);
        let probed = Timestamp(self.probed_at.load(Ordering::SeqCst));
        // Uses, listings and earlier probes all restart the time.
        let last_sign = [Some(used), state.checked_at, Some(probed)].into_iter().flatten().max().unwrap_or(probed);
        if !is_open || now.millis_since(last_sign) < quiet_ms {
            return false;
        }
        // Recorded before the probe is sent, so that the next tick does not send a second one while the server is slow.
        self.probed_at.store(now.0, Ordering::SeqCst);
        true
    }

    /// Returns the connection if it can be used without an attempt, or the reason if none may be made now. Returns `None`
    /// if an attempt is due.
    pub fn usable(&self, now: Timestamp) -> Option<Result<OpenedConnection, UnusableConnection>> {
        let state = self.state();
        let is_checked =
            state.checked_at.is_some_and(|at| u128::from(now.millis_since(at)) <= RECHECK_AFTER.as_millis());
        let is_open = state.connection.as_ref().is_some_and(|connection| !connection.is_closed());
        let (tools, reason, info) = (state.tools, state.reason, state.info);
        match state.status? {
            // A server that requires more scopes for one tool may have others that can be used.
            ConnectionStatus::Connected | ConnectionStatus::NeedsSignIn if is_open => {
                let (connection, source) = (state.connection, ToolSource::Server);
                Some(Ok(OpenedConnection { connection, tools, source, reason: None, info }))
            }
            // The fallback tools are offered while the server may not be asked again: during the backoff, and for a few
            // seconds after a server that is connected has listed no tools.
            ConnectionStatus::Error
                if state.is_fallback && (state.backoff.is_active(now) || (is_checked && is_open)) =>
            {
                let source = ToolSource::Fallback;
                Some(Ok(OpenedConnection { connection: None, tools, source, reason, info: None }))
            }
            ConnectionStatus::Error if state.backoff.is_active(now) => {
                let reason = reason.unwrap_or_default();
                let backoff = state.backoff.describe(now);
                Some(Err(UnusableConnection(
                    backoff.map_or_else(|| reason.clone(), |backoff| format!("{reason}; {backoff}")),
                )))
            }
            // For a few seconds only: the user may have signed in on another node, of which this entry learns by the
            // next attempt.
            ConnectionStatus::NeedsSignIn if is_checked => Some(Err(UnusableConnection(reason.unwrap_or_default()))),
            _ => None,
        }
    }

    /// Returns the tools that a server offered while its user was signed in, if it needs a sign-in now. A call of one of
    /// them asks the user to sign in.
    pub fn tools_behind_sign_in(&self) -> Option<OpenedConnection> {
        let state = self.state();
        let needs_sign_in = state.status == Some(ConnectionStatus::NeedsSignIn) && state.challenge.is_some();
        let tools = Arc::clone(state.server_tools().filter(|_| needs_sign_in)?);
        Some(OpenedConnection { info: state.info, ..OpenedConnection::of_known_tools(tools) })
    }

    /// Returns whether the connection is open or connecting, so that no attempt is needed.
    pub fn is_settled(&self) -> bool {
        let state = self.state();
        match state.status {
            Some(ConnectionStatus::Connecting) => true,
            Some(ConnectionStatus::Connected | ConnectionStatus::NeedsSignIn) => {
                state.connection.is_some_and(|open| !open.is_closed())
            }
            _ => false,
        }
    }
}

/// Returns a random byte that spreads attempts. Without randomness, the backoff is at its maximum.
pub fn random_jitter() -> u8 {
    random_bytes::<1>().map_or(u8::MAX, |[byte]| byte)
}
