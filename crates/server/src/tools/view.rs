//! A connection as the page shows it.

use domain::tool::ToolDefinition;
use domain::{ServerId, Timestamp};
use serde::Serialize;
use serde_json::Value;

use super::Origin;

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
    /// What it offers, as far as is known.
    pub tools: Vec<ToolDefinition>,
    /// Who runs the tools.
    pub tools_from: Origin,
    /// Whether the person is signed in at the server, so that they can sign out of it.
    pub signed_in: bool,
    /// How it is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// The revision of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// What the server calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// Milliseconds it took to connect and list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// When it was asked last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
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
