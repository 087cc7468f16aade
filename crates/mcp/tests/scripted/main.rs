//! Servers that do exactly what a test says, good or hostile, over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod calls;
mod entrances;
mod eras;
mod hostile;
mod http;
mod news;
mod oauth;
mod questions;
mod refusals;
mod resource_news;
mod sessions;
mod tasks;
mod websocket;

use std::time::Duration;

use http::{Reply, Seen};
use mcp::net::{GuardedHttp, NetworkPolicy};
use mcp::{Client, Connection, ConnectionLimits, ConnectionTarget, Error};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Far more than any step needs, and short enough for a test that waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

fn client(limits: ConnectionLimits) -> Client {
    Client::new(GuardedHttp::new(NetworkPolicy::new(&[], true, vec![])).unwrap()).with_limits(limits)
}

async fn connect(url: url::Url) -> Result<Connection, Error> {
    connect_within(url, ConnectionLimits { connect_timeout: PATIENCE, ..ConnectionLimits::default() }).await
}

async fn connect_within(url: url::Url, limits: ConnectionLimits) -> Result<Connection, Error> {
    client(limits).connect(ConnectionTarget::new(url), &CancellationToken::new()).await
}

/// What connecting to `url` fails with, in words.
async fn refusal(url: url::Url) -> String {
    connect(url).await.unwrap_err().to_string()
}

/// The handshake of a server of 2026-07-28; `None` for everything after it.
fn modern(seen: &Seen, tools: &Value) -> Option<Reply> {
    (seen.rpc() == "server/discover").then(|| {
        seen.result(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": tools },
            "ttlMs": 0, "cacheScope": "private",
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "new", "version": "2" } },
        }))
    })
}

/// The handshake of a stateless server of 2025-11-25; `None` for everything after it.
fn legacy(seen: &Seen) -> Option<Reply> {
    match (seen.method.as_str(), seen.rpc()) {
        (_, "server/discover") => Some(seen.error(200, -32601, "Method not found")),
        (_, "initialize") => Some(seen.result(json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "old", "version": "1" }, "instructions": "Be kind.",
        }))),
        (_, "notifications/initialized") => Some(Reply::status(202)),
        ("GET", _) => Some(Reply::status(405)),
        ("DELETE", _) => Some(Reply::status(200)),
        _ => None,
    }
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}
