//! Methods of the built-in MCP servers.

use axum::Json;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use builtin_servers::{BuiltinServer, BuiltinServers};
use domain::UserId;
use serde_json::{Map, Value, json};

use super::message::JsonRpcRequest;
use super::refusal::RpcError;
use super::revision::{Era, LEGACY_VERSIONS, SUPPORTED_VERSIONS, era};

/// Time for which a client may cache a result, in milliseconds. The tools change only with the version of the server.
const TIME_TO_LIVE: u64 = 3_600_000;

/// Runs the method of a [`JsonRpcRequest`] and returns its result as a JSON-RPC response.
pub async fn run(
    server: BuiltinServer,
    servers: &BuiltinServers,
    caller: Option<UserId>,
    parts: &Parts,
    request: JsonRpcRequest,
) -> Result<Response, RpcError> {
    let JsonRpcRequest { id, method, params } = &request;
    let era = era(&parts.headers, &request)?;
    let result = match (era, method.as_str()) {
        (Era::Modern, "server/discover") => discover(server),
        (Era::Legacy, "initialize") => initialize(server, params)?,
        (Era::Legacy, "ping") => json!({}),
        (_, "tools/list") => list(server, era, params)?,
        (_, "tools/call") => call(server, servers, caller, params).await?,
        _ => return Err(RpcError::method_not_found(era, method)),
    };
    // Only the modern family has a result type and metadata in results.
    let result = if era == Era::Modern { completed(server, result) } else { result };
    Ok(Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })).into_response())
}

/// Returns supported versions, capabilities and instructions: the modern replacement of [`initialize`].
fn discover(server: BuiltinServer) -> Value {
    cacheable(json!({
        "supportedVersions": SUPPORTED_VERSIONS,
        "capabilities": { "tools": {} },
        "instructions": server.instructions(),
    }))
}

/// Returns the negotiated version and server information for older clients.
fn initialize(server: BuiltinServer, params: &Map<String, Value>) -> Result<Value, RpcError> {
    let Some(asked) = params.get("protocolVersion").and_then(Value::as_str) else {
        return Err(RpcError::invalid_params("initialize says which protocolVersion it wants"));
    };
    // As the protocol demands, an unknown version is answered with the newest known one.
    let version = LEGACY_VERSIONS.into_iter().find(|known| *known == asked).unwrap_or(LEGACY_VERSIONS[0]);
    Ok(json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": implementation(server),
        "instructions": server.instructions(),
    }))
}

/// Lists the tools of a server on one page.
fn list(server: BuiltinServer, era: Era, params: &Map<String, Value>) -> Result<Value, RpcError> {
    if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
        return Err(RpcError::invalid_params("the list has one page, and no cursor leads into it"));
    }
    let list = json!({ "tools": server.tools() });
    Ok(if era == Era::Modern { cacheable(list) } else { list })
}

/// Calls a tool. An error of the tool is part of the result, as the protocol demands.
async fn call(
    server: BuiltinServer,
    servers: &BuiltinServers,
    caller: Option<UserId>,
    params: &Map<String, Value>,
) -> Result<Value, RpcError> {
    let Some(name) = params.get("name").and_then(Value::as_str) else {
        return Err(RpcError::invalid_params("a call names its tool"));
    };
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(_) => return Err(RpcError::invalid_params("arguments must be an object")),
    };
    let result = servers.call_tool(server, caller, name, arguments).await;
    // As in the specification, an unknown tool is an error of the protocol, unlike one that a tool reports.
    let result = result.ok_or_else(|| RpcError::invalid_params(format!("Unknown tool: {name}")))?;
    Ok(json!(result))
}

/// Returns name, title and version of a server.
fn implementation(server: BuiltinServer) -> Value {
    json!({ "name": server.name(), "title": server.title(), "version": env!("CARGO_PKG_VERSION") })
}

/// Marks a result as cacheable by all users, since it does not depend on the caller.
fn cacheable(mut result: Value) -> Value {
    result["ttlMs"] = TIME_TO_LIVE.into();
    result["cacheScope"] = "public".into();
    result
}

/// Adds the fields that the modern family demands of each result.
fn completed(server: BuiltinServer, mut result: Value) -> Value {
    result["resultType"] = "complete".into();
    result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": implementation(server) });
    result
}
