//! A connection as the page shows it.

use domain::icon::Icon;
use domain::tool::ToolDefinition;
use domain::{ServerId, Timestamp};
use mcp::ProtocolFamily;
use serde::Serialize;
use serde_json::Value;
use store::servers::Server;

use super::pool::Known;
use super::{Origin, Tools};

/// Whether a connection can be used (specification 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionStatus {
    /// The server answered, and its tools are known.
    Connected,
    /// The server is being asked.
    Connecting,
    /// The server could not be used; `reason` says why.
    Error,
    /// The server wants the person to sign in, or again; `reason` says why.
    NeedsSignIn,
    /// Nobody has asked the server since the program started.
    Idle,
}

/// A connection as the page shows it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionView {
    /// Its id.
    pub id: ServerId,
    /// What its owner calls it.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// Whether it can be used.
    pub status: ConnectionStatus,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it is tried again by itself, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_try_at: Option<Timestamp>,
    /// How often in a row it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<u32>,
    /// What went wrong last, also when it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    /// What it offers: what it listed last, as far as is known.
    pub tools: Vec<ToolDefinition>,
    /// When the server listed them; absent for tools that stand in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed_at: Option<Timestamp>,
    /// The names of the tools that the person has switched off.
    pub disabled_tools: Vec<String>,
    /// Who runs the tools.
    pub tools_from: Origin,
    /// Whether the person is signed in at the server, so that they can sign out of it.
    pub signed_in: bool,
    /// Which side of the protocol's break it stands on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub era: Option<ProtocolFamily>,
    /// How it is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// The revision of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// What the server calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// Pictures of the server that may be shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Milliseconds it took to connect and list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// When it was asked last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
}

impl ConnectionView {
    /// A row with what is known of its connection.
    pub fn new(server: &Server, known: &Known, tools: &Tools) -> Self {
        let about = known.about.as_ref();
        // Where the server could not be asked yet, there is what was found when the connection was made.
        let is_unasked = known.is_unasked();
        let offered = known.offered().to_vec();
        let stands_in = known.fallback || (is_unasked && tools.is_fallback(&offered));
        Self {
            id: server.id,
            name: server.name.clone(),
            url: server.url.clone(),
            status: known.status.unwrap_or(ConnectionStatus::Idle),
            reason: known.reason.clone(),
            next_try_at: known.health.next_try.filter(|_| known.status == Some(ConnectionStatus::Error)),
            failures: Some(known.health.failures).filter(|failures| *failures > 0),
            last_error: known.last_error.clone().map(|(reason, at)| LastError { reason, at }),
            tools: offered,
            listed_at: known.listed_at,
            disabled_tools: server.disabled_tools.clone(),
            tools_from: if stands_in { Origin::Fallback } else { Origin::Server },
            signed_in: known.signed_in,
            era: about.map(|about| about.protocol),
            transport: about.map(|about| about.transport.to_string()),
            protocol_version: about.map(|about| about.protocol_version.clone()),
            server: about
                .filter(|about| !about.name.is_empty())
                .map(|about| ServerName { name: about.name.clone(), version: about.version.clone() }),
            icons: about.map(|about| about.icons.clone()).unwrap_or_default(),
            latency_ms: known.latency_ms,
            checked_at: known.checked_at,
        }
    }
}

/// What went wrong, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastError {
    /// Reads on from the server's name.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// What is stored of a connection's tools when it was made.
pub fn stored(view: &ConnectionView) -> Value {
    let tools = view.tools.iter().map(|tool| {
        let mut tool = serde_json::to_value(tool).unwrap_or_default();
        tool["serverName"] = view.name.as_str().into();
        tool
    });
    tools.collect()
}

/// What a server calls itself: to be shown, not relied on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerName {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}
