//! One attempt to open a connection, and what is written down of it.

use std::sync::Arc;

use domain::tool::ToolDefinition;
use domain::{Timestamp, UserId};
use mcp::oauth::AuthChallenge;
use store::servers::Server;
use tokio_util::sync::CancellationToken;

use super::health::Health;
use super::slot::{Known, Slot};
use crate::app::App;
use crate::tools::view::ConnectionStatus;
use crate::tools::{Opened, Origin, ProbeError, has_authorization, headers, sign_in, url_query};
use platform::secret_sealing::random_bytes;

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
    challenge: Option<AuthChallenge>,
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
    let url = url_query::open(&app.secrets, user, server).map_err(|_| {
        "cannot be asked: the values in its URL cannot be opened with this master key; connect it again with the whole URL"
            .to_owned()
    })?;
    let target = app.tools.target(app, user, &url, &headers).map_err(|error| match error {
        ProbeError::Server(error) => error.to_string(),
        other => format!("cannot be asked: {other}"),
    })?;
    // A sign-in is for an origin and a path: it has no use for the secrets of the query.
    let mut resource = target.url().clone();
    resource.set_query(None);
    let session = sign_in::session(&app.tools.oauth, user, server.id, &resource);
    let refused = |error: mcp::Error| match error.challenge().filter(|_| may_sign_in(app, user, server)) {
        Some(challenge) => Unconnected { reason: WANTS_SIGN_IN.to_owned(), challenge: Some(challenge.clone()) },
        None => error.to_string().into(),
    };
    let connection =
        app.tools.client.connect(target.with_token_source(session.clone()), gone).await.map_err(refused)?;
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

/// Writes down what came of an attempt. Where a server never listed anything of its own, the fallback stands in, if there
/// is one.
pub fn settle(
    app: &App,
    slot: &Slot,
    outcome: Result<Connected, Unconnected>,
    latency_ms: u64,
    now: Timestamp,
) -> Result<Opened, String> {
    let random = random_byte();
    match outcome {
        Ok(Connected { connection, tools, signed_in }) => {
            slot.set(|known| {
                known.health.connected(now);
                known.about = Some(connection.info().clone());
                known.signed_in = signed_in;
                known.latency_ms = Some(latency_ms);
                known.challenge = None;
            });
            listed(app, slot, connection, tools, now)
        }
        Err(Unconnected { reason, challenge: Some(challenge) }) => {
            // Nothing stands in for a server that is there. What it offered before is still what it is known for.
            slot.set(|known| {
                if known.fallback {
                    (known.fallback, known.tools) = (false, Arc::default());
                }
                known.status = Some(ConnectionStatus::NeedsSignIn);
                known.reason = Some(reason.clone());
                known.connection = None;
                known.challenge = Some(challenge);
                known.signed_in = false;
                known.checked_at = Some(now);
                known.health = Health::default();
            });
            Err(reason)
        }
        Err(Unconnected { reason, challenge: None }) => slot.set(|known| {
            known.fail(reason.clone(), now);
            known.health.failed(now, random);
            known.signed_in = false;
            stand_in(app, known, reason)
        }),
    }
}

/// Writes down what a server listed.
pub fn listed(
    app: &App,
    slot: &Slot,
    connection: mcp::Connection,
    tools: Vec<ToolDefinition>,
    now: Timestamp,
) -> Result<Opened, String> {
    slot.set(|known| {
        known.checked_at = Some(now);
        known.connection = Some(connection.clone());
        if tools.is_empty() && app.tools.has_fallback() {
            let reason = "offers no tools".to_owned();
            known.status = Some(ConnectionStatus::Error);
            known.reason = Some(reason.clone());
            known.last_error = Some((reason.clone(), now));
            (known.tools, known.listed_at) = (Arc::default(), None);
            return stand_in(app, known, reason);
        }
        let tools = Arc::new(tools);
        known.status = Some(ConnectionStatus::Connected);
        known.reason = None;
        known.tools = Arc::clone(&tools);
        known.listed_at = Some(now);
        known.fallback = false;
        let about = Some(connection.info().clone());
        Ok(Opened { connection: Some(connection), tools, origin: Origin::Server, reason: None, about })
    })
}

/// Lets the fallback stand in for a server that has no listing of its own.
fn stand_in(app: &App, known: &mut Known, reason: String) -> Result<Opened, String> {
    if known.own_tools().is_some() || !app.tools.has_fallback() {
        return Err(reason);
    }
    known.tools = Arc::new(app.tools.fallback());
    known.fallback = true;
    let tools = Arc::clone(&known.tools);
    Ok(Opened { connection: None, tools, origin: Origin::Fallback, reason: Some(reason), about: None })
}

/// For spreading attempts; no attempt is worth an error when there is no randomness.
pub fn random_byte() -> u8 {
    random_bytes::<1>().map_or(u8::MAX, |[byte]| byte)
}
