//! A connection as clients see it.

use domain::icon::Icon;
use domain::json::to_json;
use domain::tool::ToolDefinition;
use domain::{ServerId, Timestamp};
use mcp::ProtocolFamily;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use storage::servers::Server;

use crate::pool::{ConnectionState, ToolSource};

/// Status of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionStatus {
    /// The server is connected and its tools are known.
    Connected,
    /// An attempt to connect is in progress.
    Connecting,
    /// The server cannot be used; `reason` says why.
    Error,
    /// The server needs a sign-in, or additional scopes; `reason` says which.
    NeedsSignIn,
    /// The server is not connected, and nothing has failed.
    Idle,
}

impl ConnectionStatus {
    /// All statuses.
    pub const ALL: [Self; 5] = [Self::Connected, Self::Connecting, Self::Error, Self::NeedsSignIn, Self::Idle];

    /// Returns the word that the wire format uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Connecting => "connecting",
            Self::Error => "error",
            Self::NeedsSignIn => "needs-sign-in",
            Self::Idle => "idle",
        }
    }
}

/// A connection as clients see it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Connection")]
pub struct ConnectionDto {
    /// Id of the connection.
    pub id: ServerId,
    /// Name that the owner chose.
    pub name: String,
    /// URL of the server, with masked values.
    pub url: String,
    /// Status of the connection.
    pub status: ConnectionStatus,
    /// Whether it leads to a shared server, whose URL and headers are the operator's.
    #[serde(rename = "shared")]
    pub is_shared: bool,
    /// Reason of a status other than [`ConnectionStatus::Connected`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Time of the next attempt, after a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_try_at: Option<Timestamp>,
    /// Number of consecutive failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub failures: Option<u32>,
    /// The last failure, also after a recovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    /// Known tools of the server.
    pub tools: Vec<ToolDefinition>,
    /// Time of the listing; absent for fallback tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed_at: Option<Timestamp>,
    /// Names of the tools that the owner has switched off.
    pub disabled_tools: Vec<String>,
    /// The side that runs the tools.
    #[serde(rename = "toolsFrom")]
    pub tool_source: ToolSource,
    /// Whether the owner is signed in to the server, and can sign out.
    pub signed_in: bool,
    /// Protocol family of the server.
    #[serde(rename = "era", skip_serializing_if = "Option::is_none")]
    pub protocol_family: Option<ProtocolFamily>,
    /// Transport of the connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Version of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// Name and version of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// Icons of the server that may be shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Duration of connecting and listing, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Time of the last attempt or listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
}

impl ConnectionDto {
    /// Combines a row with the state of its connection.
    pub(crate) fn new(server: &Server, state: &ConnectionState, tool_source: ToolSource) -> Self {
        let info = state.info.as_ref();
        Self {
            id: server.id,
            name: server.name.clone(),
            url: server.url.clone(),
            status: state.status.unwrap_or(ConnectionStatus::Idle),
            is_shared: server.shared.is_some(),
            reason: state.reason.clone(),
            // Only a failed connection is retried in the background.
            next_try_at: state.backoff.next_attempt.filter(|_| state.status == Some(ConnectionStatus::Error)),
            failures: Some(state.backoff.failures).filter(|failures| *failures > 0),
            last_error: state.last_error.clone().map(|(reason, at)| LastError { reason, at }),
            tools: state.known_tools().to_vec(),
            listed_at: state.listed_at,
            disabled_tools: server.disabled_tools.clone(),
            tool_source,
            signed_in: state.is_signed_in,
            protocol_family: info.map(|info| info.protocol),
            transport: info.map(|info| info.transport.to_string()),
            protocol_version: info.map(|info| info.protocol_version.clone()),
            server: info
                .filter(|info| !info.name.is_empty())
                .map(|info| ServerName { name: info.name.clone(), version: info.version.clone() }),
            icons: info.map(|info| info.icons.clone()).unwrap_or_default(),
            latency_ms: state.latency_ms,
            checked_at: state.checked_at,
        }
    }

    /// Returns the tools as the row of the connection stores them.
    pub(crate) fn tools_to_store(&self) -> Value {
        let tools = self.tools.iter().map(|tool| {
            let mut tool = to_json(tool);
            // The specification's shape of a stored tool, which clients of the data API read.
            tool["serverName"] = self.name.as_str().into();
            tool
        });
        tools.collect()
    }
}

/// Parses stored tools. The user can write the column `tools` of a connection, so other content counts as no tools.
pub(crate) fn parse_stored_tools(stored: Value) -> Vec<ToolDefinition> {
    serde_json::from_value(stored).unwrap_or_else(|error| {
        tracing::debug!(%error, "stored tools cannot be parsed");
        Vec::new()
    })
}

/// A failure of a connection and its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LastError {
    /// Continues a sentence that begins with the server's name.
    pub reason: String,
    /// Time of the failure.
    pub at: Timestamp,
}

/// Name and version that a server states. They are shown, and not relied on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServerName {
    /// Name of the server.
    pub name: String,
    /// Version of the server.
    pub version: String,
}
