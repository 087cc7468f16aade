//! One connection of a person, and what is known of it.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::tool::ToolDefinition;
use domain::{ServerId, Timestamp, UserId};
use mcp::ServerInfo;
use mcp::oauth::AuthChallenge;
use serde_json::Value;
use store::listings::Listing;
use store::servers::Server;
use tokio_util::sync::CancellationToken;

use super::health::Health;
use crate::tools::view::ConnectionStatus;
use crate::tools::{Opened, Origin, Tools};

/// A server that wants a sign-in or offers no tools is asked again after this time.
const REST: Duration = Duration::from_secs(5);

/// One connection.
#[derive(Debug)]
pub struct Slot {
    pub owner: UserId,
    pub server: ServerId,
    /// What it was opened with; a row that changed gets a new connection.
    pub made_from: MadeFrom,
    /// Held while it is being opened: several who need it wait for one attempt.
    pub opening: tokio::sync::Mutex<()>,
    known: Mutex<Known>,
    /// Cancelled when the connection is not wanted any more.
    pub gone: CancellationToken,
    used_at: AtomicI64,
    probed_at: AtomicI64,
    calls: AtomicUsize,
}

/// What a connection is opened with: the masked URL, and the sealed secrets.
#[derive(Debug, PartialEq, Eq)]
pub struct MadeFrom {
    pub url: String,
    url_query: Option<Vec<u8>>,
    headers: Option<Vec<u8>>,
}

impl MadeFrom {
    /// Returns what the connection of a row is opened with.
    pub fn new(server: &Server) -> Self {
        Self { url: server.url.clone(), url_query: server.url_query.clone(), headers: server.headers.clone() }
    }
}

/// What is known of a connection.
#[derive(Debug, Clone, Default)]
pub struct Known {
    pub status: Option<ConnectionStatus>,
    pub reason: Option<String>,
    pub connection: Option<mcp::Connection>,
    /// What the server said of itself when it last could.
    pub about: Option<ServerInfo>,
    /// What is offered: the server's last good listing, or what stands in for it.
    pub tools: Arc<Vec<ToolDefinition>>,
    /// What was found when the connection was made, as long as there is nothing better.
    pub found: Arc<Vec<ToolDefinition>>,
    /// When the server listed them; nothing for those that stand in.
    pub listed_at: Option<Timestamp>,
    pub fallback: bool,
    /// What the server wants before it goes on.
    pub challenge: Option<AuthChallenge>,
    pub signed_in: bool,
    pub latency_ms: Option<u64>,
    pub checked_at: Option<Timestamp>,
    /// When the attempt began that is under way.
    pub connecting_since: Option<Timestamp>,
    pub health: Health,
    /// What went wrong last, also when it is over.
    pub last_error: Option<(String, Timestamp)>,
    /// Whether the stored listing was looked up.
    pub recalled: bool,
}

impl Known {
    /// The last good listing of the server's own.
    pub fn own_tools(&self) -> Option<&Arc<Vec<ToolDefinition>>> {
        (!self.fallback && !self.tools.is_empty()).then_some(&self.tools)
    }

    /// Whether nothing is known of what the server offers.
    pub fn is_unasked(&self) -> bool {
        self.listed_at.is_none() && !self.fallback && self.tools.is_empty()
    }

    /// What is known to be offered; as long as that is nothing, what was found when the connection was made.
    pub fn offered(&self) -> &Arc<Vec<ToolDefinition>> {
        if self.is_unasked() { &self.found } else { &self.tools }
    }

    /// Writes down that something went wrong.
    pub fn fail(&mut self, reason: String, now: Timestamp) {
        self.status = Some(ConnectionStatus::Error);
        self.last_error = Some((reason.clone(), now));
        self.reason = Some(reason);
        self.connection = None;
        self.checked_at = Some(now);
    }

    /// Takes over what was stored, where nothing newer is known: what the server listed last, else what was found when
    /// the connection was made.
    pub fn recall(&mut self, server: &Server, listing: Option<&Listing>, found: Value, tools: &Tools) {
        if std::mem::replace(&mut self.recalled, true) || self.listed_at.is_some() {
            return;
        }
        let stored = listing.map_or(found, |listing| listing.tools.clone());
        let listed: Vec<ToolDefinition> = serde_json::from_value(stored).unwrap_or_default();
        if tools.is_fallback(&listed) {
            self.found = Arc::new(listed);
        } else if !listed.is_empty() {
            self.tools = Arc::new(listed);
            self.about = listing.and_then(|listing| serde_json::from_value(listing.about.clone()?).ok());
            self.listed_at = Some(listing.map_or(server.created_at, |listing| listing.listed_at));
        }
    }
}

/// Marks a connection as being opened for as long as it lives.
#[derive(Debug)]
pub struct OpeningPermit<'a>(&'a Slot);

impl<'a> OpeningPermit<'a> {
    /// Marks the connection of `slot` as being opened since `now`.
    pub fn new(slot: &'a Slot, now: Timestamp) -> Self {
        slot.set(|known| known.connecting_since = Some(now));
        Self(slot)
    }
}

impl Drop for OpeningPermit<'_> {
    fn drop(&mut self) {
        self.0.set(|known| known.connecting_since = None);
    }
}

/// Keeps a connection from being closed as idle.
#[derive(Debug)]
pub struct InUse(Arc<Slot>);

impl InUse {
    pub fn new(slot: Arc<Slot>) -> Self {
        slot.calls.fetch_add(1, Ordering::SeqCst);
        Self(slot)
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Slot {
    pub fn new(owner: UserId, server: &Server) -> Self {
        Self {
            owner,
            server: server.id,
            made_from: MadeFrom::new(server),
            opening: tokio::sync::Mutex::default(),
            known: Mutex::default(),
            gone: CancellationToken::new(),
            used_at: AtomicI64::new(0),
            probed_at: AtomicI64::new(0),
            calls: AtomicUsize::new(0),
        }
    }

    pub fn known(&self) -> Known {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        change(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a connection is open, or is being opened.
    pub fn is_open_or_opening(&self) -> bool {
        self.set(|known| {
            known.connecting_since.is_some()
                || known.connection.as_ref().is_some_and(|connection| !connection.is_closed())
        })
    }

    /// Somebody needs it.
    pub fn touch(&self, now: Timestamp) {
        self.used_at.fetch_max(now.0, Ordering::SeqCst);
    }

    /// Since when nobody needed it; nothing while a call is under way.
    pub fn idle_since(&self) -> Option<Timestamp> {
        (self.calls.load(Ordering::SeqCst) == 0).then(|| Timestamp(self.used_at.load(Ordering::SeqCst)))
    }

    /// Whether nothing was heard of an open connection for so many milliseconds. Says so once in that time.
    pub fn is_quiet(&self, now: Timestamp, millis: u64) -> bool {
        let Some(used) = self.idle_since() else { return false };
        let known = self.known();
        let is_open = known.connection.is_some() && known.status == Some(ConnectionStatus::Connected);
        let probed = Timestamp(self.probed_at.load(Ordering::SeqCst));
        let heard = [Some(used), known.checked_at, Some(probed)].into_iter().flatten().max().unwrap_or(probed);
        if !is_open || now.millis_since(heard) < millis {
            return false;
        }
        self.probed_at.store(now.0, Ordering::SeqCst);
        true
    }

    /// What can be used as it is, or why nothing can for the moment.
    pub fn usable(&self, now: Timestamp) -> Option<Result<Opened, String>> {
        let known = self.known();
        let checked = known.checked_at.is_some_and(|at| u128::from(now.millis_since(at)) <= REST.as_millis());
        let is_open = known.connection.as_ref().is_some_and(|connection| !connection.is_closed());
        let (tools, reason, about) = (known.tools, known.reason, known.about);
        match known.status? {
            // One that wants more rights for a tool may have others that can be used.
            ConnectionStatus::Connected | ConnectionStatus::NeedsSignIn if is_open => {
                Some(Ok(Opened { connection: known.connection, tools, origin: Origin::Server, reason: None, about }))
            }
            ConnectionStatus::Error if known.fallback && (known.health.is_resting(now) || (checked && is_open)) => {
                Some(Ok(Opened { connection: None, tools, origin: Origin::Fallback, reason, about: None }))
            }
            ConnectionStatus::Error if known.health.is_resting(now) => {
                let reason = reason.unwrap_or_default();
                let repeated = known.health.in_words(now);
                Some(Err(repeated.map_or_else(|| reason.clone(), |repeated| format!("{reason}; {repeated}"))))
            }
            ConnectionStatus::NeedsSignIn if checked => Some(Err(reason.unwrap_or_default())),
            _ => None,
        }
    }

    /// What a server offered when its person was signed in. They are asked to sign in again once one of its tools is
    /// called.
    pub fn behind_sign_in(&self) -> Option<Opened> {
        let known = self.known();
        let is_behind = known.status == Some(ConnectionStatus::NeedsSignIn) && known.challenge.is_some();
        let tools = Arc::clone(known.own_tools().filter(|_| is_behind)?);
        Some(Opened { connection: None, tools, origin: Origin::Server, reason: None, about: known.about })
    }

    /// Whether it needs no asking: it is connected, or being connected.
    pub fn is_settled(&self) -> bool {
        let known = self.known();
        match known.status {
            Some(ConnectionStatus::Connecting) => true,
            Some(ConnectionStatus::Connected | ConnectionStatus::NeedsSignIn) => {
                known.connection.is_some_and(|open| !open.is_closed())
            }
            _ => false,
        }
    }
}
