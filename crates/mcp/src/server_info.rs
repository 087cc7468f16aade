//! Description of a connected server.

use domain::icon::Icon;
use domain::json::to_json;
use domain::text::cut_to;
use rmcp::model::ServerPeerInfo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::error::sanitize_text;
use crate::icons;
use crate::transport::TransportKind;

/// Server instructions are cut to this size.
const MAX_INSTRUCTIONS_BYTES: usize = 64 * 1024;

/// Family of protocol revisions that a server speaks. Revision 2026-07-28 is not compatible with the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolFamily {
    /// Since 2026-07-28: stateless, without a handshake.
    Modern,
    /// Up to 2025-11-25: stateful, begins with `initialize`.
    Legacy,
}

/// Description of a server. Name, version and instructions are untrusted: show them, never rely on them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// Name; empty if the server sent none.
    pub name: String,
    /// Version; empty if the server sent none.
    pub version: String,
    /// Icons that pass the rules of the [`icons`](crate::Client::fetch_icon) module.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Usage instructions for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Negotiated protocol revision, for example `2025-11-25`.
    pub protocol_version: String,
    /// Transport of the connection.
    pub transport: TransportKind,
    /// Family of the negotiated revision.
    #[serde(rename = "era")]
    pub protocol: ProtocolFamily,
}

impl ServerInfo {
    /// Builds the description from the result of the handshake or of `server/discover`.
    pub(crate) fn from_peer(peer: &ServerPeerInfo, transport: TransportKind, url: &Url) -> Self {
        let server = peer.server_info.as_ref();
        // Through JSON, because the library's type of an icon is not the domain's.
        let icons = server.map(|server| to_json(&server.icons)).unwrap_or_default();
        let mut icons: Vec<Icon> = serde_json::from_value(icons).unwrap_or_default();
        icons::retain_usable(&mut icons, url);
        Self {
            icons,
            name: server.map(|server| sanitize_text(&server.name)).unwrap_or_default(),
            version: server.map(|server| sanitize_text(&server.version)).unwrap_or_default(),
            instructions: peer
                .instructions
                .as_deref()
                .map(|text| cut_to(text, MAX_INSTRUCTIONS_BYTES).to_owned())
                .filter(|text| !text.trim().is_empty()),
            protocol_version: peer.protocol_version.to_string(),
            transport,
            protocol: if peer.protocol_version.has_initialize() {
                ProtocolFamily::Legacy
            } else {
                ProtocolFamily::Modern
            },
        }
    }
}
