//! One attempt to open a connection, and what is written down of it.

use std::sync::Arc;

use domain::tool::ToolDefinition;
use domain::{Timestamp, UserId};
use mcp::oauth::Challenge;
use store::servers::Server;
use tokio_util::sync::CancellationToken;

use super::{Known, Slot};
use crate::app::App;
use crate::tools::view::ConnectionStatus;
use crate::tools::{Opened, Origin, ProbeError, has_authorization, headers, sign_in};

/// What is said of a server that turns everybody away who is not signed in; reads on from its name.
pub const WANTS_SIGN_IN: &str = "wants you to sign in; you can do that in the MCP Servers tab";
/// What is said of a server that wants to be allowed more.
pub const WANTS_MORE: &str = "wants you to allow it more; sign in to it again in the MCP Servers tab";

/// Whether signing in is a way to the server of a row: it is not ours, and its owner did not enter who they are.
pub fn may_sign_in(app: &App, user: UserId, server: &Server) -> bool {
    let headers = headers::open(&app.secrets, user, server.headers.as_deref()).unwrap_or_default();
    let is_own = url::Url::parse(server.url.trim()).is_ok_and(|url| app.tools.is_own(&url));
    !is_own && !has_authorization(&headers)
}

/// A connection that came about.
pub struct Connected {
    connection: mcp::Connection,
    tools: Vec<ToolDefinition>,
    /// Whether there was a token for it.
    signed_in: bool,
}

/// Why none came about.
pub struct Unconnected {
    /// Reads on from the server's name.
    reason: String,
    /// What the server wants first, where the person can sign in.
    challenge: Option<Challenge>,
}

impl From<String> for Unconnected {
    fn from(reason: String) -> Self {
        Self { reason, challenge: None }
    }
}

pub async fn connect(
    app: &App,
    user: UserId,
    server: &Server,
    gone: &CancellationToken,
) -> Result<Connected, Unconnected> {
    let headers = headers::open(&app.secrets, user, server.headers.as_deref())
        .map_err(|_| "cannot be asked: its stored headers cannot be opened with this master key".to_owned())?;
    let target = app.tools.target(app, user, &server.url, &headers).map_err(|error| match error {
        ProbeError::Server(error) => error.to_string(),
        other => format!("cannot be asked: {other}"),
    })?;
    let session = sign_in::session(&app.tools.oauth, user, server.id, target.url());
    let refused = |error: mcp::Error| match error.challenge().filter(|_| may_sign_in(app, user, server)) {
        Some(challenge) => Unconnected { reason: WANTS_SIGN_IN.to_owned(), challenge: Some(challenge.clone()) },
        None => error.to_string().into(),
    };
    let connection = app.tools.client.connect(target.with_session(session.clone()), gone).await.map_err(refused)?;
    match connection.list_tools().await {
        Ok(tools) => {
            let signed_in = session.token().await.is_ok_and(|token| token.is_some());
            Ok(Connected { connection, tools, signed_in })
        }
        Err(error) => {
            connection.close().await;
            Err(refused(error))
        }
    }
}

/// Writes down what came of an attempt. Where nothing usable came, the fallback stands in, if there is one.
pub fn settle(
    app: &App,
    slot: &Slot,
    outcome: Result<Connected, Unconnected>,
    latency_ms: u64,
    now: Timestamp,
) -> Result<Opened, String> {
    let fallback = Arc::new(app.tools.fallback());
    let (reason, connection) = match outcome {
        Ok(Connected { connection, tools, signed_in }) if !tools.is_empty() || fallback.is_empty() => {
            let tools = Arc::new(tools);
            slot.set(|known| {
                *known = Known {
                    status: Some(ConnectionStatus::Connected),
                    connection: Some(connection.clone()),
                    tools: Arc::clone(&tools),
                    signed_in,
                    latency_ms: Some(latency_ms),
                    checked_at: Some(now),
                    ..Known::default()
                };
            });
            return Ok(Opened { connection: Some(connection), tools, origin: Origin::Server, reason: None });
        }
        Ok(Connected { connection, .. }) => ("offers no tools".to_owned(), Some(connection)),
        Err(Unconnected { reason, challenge: Some(challenge) }) => {
            // Nothing stands in for a server that is there. What it offered before is still what it is known for.
            slot.set(|known| {
                let tools = if known.fallback { Arc::default() } else { Arc::clone(&known.tools) };
                *known = Known {
                    status: Some(ConnectionStatus::NeedsSignIn),
                    reason: Some(reason.clone()),
                    tools,
                    challenge: Some(challenge),
                    checked_at: Some(now),
                    ..Known::default()
                };
            });
            return Err(reason);
        }
        Err(Unconnected { reason, challenge: None }) => (reason, None),
    };
    slot.set(|known| {
        *known = Known {
            status: Some(ConnectionStatus::Error),
            reason: Some(reason.clone()),
            connection,
            tools: Arc::clone(&fallback),
            fallback: !fallback.is_empty(),
            checked_at: Some(now),
            ..Known::default()
        };
    });
    if fallback.is_empty() {
        Err(reason)
    } else {
        Ok(Opened { connection: None, tools: fallback, origin: Origin::Fallback, reason: Some(reason) })
    }
}
