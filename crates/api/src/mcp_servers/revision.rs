//! Detection of the protocol version of a request, and checks of the headers that it demands.

use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::message::JsonRpcRequest;
use super::refusal::RpcError;

/// The version of the modern protocol family, which needs no handshake.
pub const MODERN_VERSION: &str = "2026-07-28";
/// Versions with an `initialize` handshake, newest first. The first one is offered to clients that request an unknown
/// version.
pub const LEGACY_VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
/// All supported versions, newest first.
pub const SUPPORTED_VERSIONS: [&str; 4] = [MODERN_VERSION, LEGACY_VERSIONS[0], LEGACY_VERSIONS[1], LEGACY_VERSIONS[2]];

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// A protocol family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Stateless requests, since 2026-07-28.
    Modern,
    /// With an `initialize` handshake, up to 2025-11-25.
    Legacy,
}

/// Determines the protocol family of a request and checks what that family demands of headers and metadata.
pub fn era(headers: &HeaderMap, request: &JsonRpcRequest) -> Result<Era, RpcError> {
    // Only the older family has `initialize`, whatever version it asks for.
    if request.method == "initialize" {
        return Ok(Era::Legacy);
    }
    let header = header(headers, "mcp-protocol-version")?;
    let meta = request.params.get("_meta");
    let stated = meta.and_then(|meta| meta.get(VERSION_KEY));
    let stated = match stated {
        None => None,
        Some(Value::String(version)) => Some(version.as_str()),
        Some(_) => return Err(RpcError::missing_meta(VERSION_KEY)),
    };
    let version = match (stated, header.as_deref()) {
        (Some(stated), Some(header)) if stated == header => stated,
        (Some(stated), Some(header)) => {
            return Err(RpcError::header_mismatch(&format!(
                "MCP-Protocol-Version is {header}, and {VERSION_KEY} in _meta is {stated}"
            )));
        }
        // Older clients may send the metadata without the header.
        (Some(stated), None) if LEGACY_VERSIONS.contains(&stated) => stated,
        (Some(_), None) => return Err(RpcError::header_mismatch("MCP-Protocol-Version is missing")),
        // The method exists in the modern family only, so the metadata is missing.
        (None, _) if request.method == "server/discover" => return Err(RpcError::missing_meta(VERSION_KEY)),
        (None, Some(header)) => header,
        // The header was introduced with 2025-06-18, so its absence means the version before.
        (None, None) => LEGACY_VERSIONS[2],
    };
    if LEGACY_VERSIONS.contains(&version) {
        return Ok(Era::Legacy);
    }
    if version != MODERN_VERSION {
        return Err(RpcError::unsupported_version(version));
    }
    if stated.is_none() {
        return Err(RpcError::missing_meta(VERSION_KEY));
    }
    check_mirrors(headers, request)?;
    if !meta.and_then(|meta| meta.get(CAPABILITIES_KEY)).is_some_and(Value::is_object) {
        return Err(RpcError::missing_meta(CAPABILITIES_KEY));
    }
    Ok(Era::Modern)
}

/// Checks the headers that repeat method and name of the body for proxies. A difference could make a proxy's decision
/// about one request apply to another.
fn check_mirrors(headers: &HeaderMap, request: &JsonRpcRequest) -> Result<(), RpcError> {
    mirror(headers, "Mcp-Method", Some(&request.method))?;
    if request.method == "tools/call" {
        mirror(headers, "Mcp-Name", request.params.get("name").and_then(Value::as_str))?;
    }
    Ok(())
}

/// Checks one header against the value in the body.
fn mirror(headers: &HeaderMap, name: &str, body: Option<&str>) -> Result<(), RpcError> {
    let Some(value) = header(headers, name)? else {
        return Err(RpcError::header_mismatch(&format!("{name} is missing")));
    };
    let decoded = if name == "Mcp-Name" { decoded(&value) } else { Some(value) };
    match (decoded, body) {
        (Some(value), Some(body)) if value == body => Ok(()),
        // A name that the body lacks is reported by the method itself.
        (Some(_), None) => Ok(()),
        _ => Err(RpcError::header_mismatch(&format!("{name} does not say what the body says"))),
    }
}

/// Returns a header as text.
fn header(headers: &HeaderMap, name: &str) -> Result<Option<String>, RpcError> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    match value.to_str() {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(_) => Err(RpcError::header_mismatch(&format!("{name} has characters that a header cannot have"))),
    }
}

/// Decodes a header value. Values that are not plain ASCII are sent as `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}
