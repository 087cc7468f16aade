//! An attempt to connect, and its effect on the state of a connection.

use std::sync::Arc;

use domain::tool::ToolDefinition;
use domain::{Timestamp, UserId};
use mcp::ConnectionTarget;
use mcp::oauth::AuthChallenge;
use storage::servers::Server;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::ConnectionPool;
use super::backoff::Backoff;
use super::entry::{ConnectionEntry, ConnectionState, OpenedConnection, ToolSource, UnusableConnection, random_jitter};
use crate::connection_dto::ConnectionStatus;
use crate::headers::has_authorization;
use crate::service::{BUILTIN_SERVER_TOKEN_LIFETIME, ProbeError};
use crate::{headers, sign_in, url_query};

/// Reason of a server that needs a sign-in; continues a sentence that begins with its name.
pub const NEEDS_SIGN_IN: &str = "wants you to sign in; you can do that in the MCP Servers tab";
/// Reason of a server that needs additional scopes.
pub const NEEDS_SCOPES: &str = "wants you to allow it more; sign in to it again in the MCP Servers tab";
/// Reason of a shared server that the operator has withdrawn from the user.
pub const NOT_OFFERED: &str = "is no longer offered to you; ask the operator of this site, or disconnect it";
/// Reason of a server without tools.
pub const NO_TOOLS: &str = "has no tools";

/// Result of a successful attempt.
pub struct Connected {
    connection: mcp::Connection,
    tools: Vec<ToolDefinition>,
    is_signed_in: bool,
}

/// Error of a failed attempt.
pub struct ConnectFailure {
    /// Continues a sentence that begins with the server's name.
    reason: String,
    /// Requirements of the server for a sign-in, if the user can sign in.
    challenge: Option<AuthChallenge>,
}

impl From<String> for ConnectFailure {
    fn from(reason: String) -> Self {
        Self { reason, challenge: None }
    }
}

impl ConnectionPool {
    /// Returns whether the user can sign in to the server of a row: it is not this server, and the connection has no
    /// credentials in its headers.
    pub fn can_sign_in(&self, user: UserId, server: &Server) -> bool {
        let headers = headers::open(&self.secrets, user, server).unwrap_or_default();
        // The header would be sent in place of the token, so that a sign-in had no effect.
        let is_self = Url::parse(server.url.trim()).is_ok_and(|url| self.self_urls.contains(&url));
        !is_self && !has_authorization(&headers)
    }

    /// Validates a URL with its headers. The built-in servers additionally get a token that identifies the user.
    pub fn target(
        &self,
        user: UserId,
        url: &str,
        headers: &[(String, String)],
    ) -> Result<ConnectionTarget, ProbeError> {
        let url = Url::parse(url.trim()).map_err(|_| {
            ProbeError::BadUrl(
                "This is not an address. It should begin with http://, https://, ws:// or wss://.".into(),
            )
        })?;
        let is_self = self.self_urls.contains(&url);
        let mut target = ConnectionTarget::new(url);
        for (name, value) in headers {
            target = target.with_header(name, value)?;
        }
        // Only to this server: the token acts for the user at the built-in servers. A header of the user's own is not
        // replaced.
        if is_self
            && !has_authorization(headers)
            && let Some(token) = self.token_issuer.issue_token(user, BUILTIN_SERVER_TOKEN_LIFETIME)
        {
            target = target.with_header("authorization", &format!("Bearer {token}"))?;
        }
        Ok(target)
    }

    /// Connects to a server and lists its tools.
    pub(super) async fn try_connect(
        &self,
        user: UserId,
        server: &Server,
        closed: &CancellationToken,
    ) -> Result<Connected, ConnectFailure> {
        if server.shared.is_some_and(|shared| !shared.is_offered) {
            return Err(NOT_OFFERED.to_owned().into());
        }
        let headers = headers::open(&self.secrets, user, server)
            .map_err(|_| "cannot be used: its stored headers cannot be opened with this master key".to_owned())?;
        let url = url_query::open(&self.secrets, user, server).map_err(|_| {
            "cannot be used: the values in its URL cannot be opened with this master key; connect it again with the whole URL"
                .to_owned()
        })?;
        let target = self.target(user, &url, &headers).map_err(|error| match error {
            ProbeError::Server(error) => error.to_string(),
            other => format!("cannot be used: {other}"),
        })?;
        // Tokens are issued for an origin and a path, so the secrets of the query are not needed.
        let mut resource = target.url().clone();
        resource.set_query(None);
        let tokens = sign_in::token_source(&self.oauth, user, server.id, &resource);
        // A challenge that the user cannot meet, because the connection has credentials in its headers, is an error
        // like any other.
        let failure = |error: mcp::Error| match error.challenge().filter(|_| self.can_sign_in(user, server)) {
            Some(challenge) => ConnectFailure { reason: NEEDS_SIGN_IN.to_owned(), challenge: Some(challenge.clone()) },
            None => error.to_string().into(),
        };
        let target = target.with_token_source(tokens.clone());
        let connection = self.client.connect(target, closed).await.map_err(failure)?;
        match connection.list_tools().await {
            Ok(tools) => {
                let is_signed_in = tokens.token().await.is_ok_and(|token| token.is_some());
                Ok(Connected { connection, tools, is_signed_in })
            }
            Err(error) => {
                connection.close().await;
                Err(failure(error))
            }
        }
    }

    /// Records the result of an attempt. A server that has never listed tools gets the fallback tools.
    pub(super) fn record_attempt(
        &self,
        entry: &ConnectionEntry,
        attempt: Result<Connected, ConnectFailure>,
        latency_ms: u64,
        now: Timestamp,
    ) -> Result<OpenedConnection, UnusableConnection> {
        match attempt {
            Ok(Connected { connection, tools, is_signed_in }) => {
                entry.update(|state| {
                    state.backoff.record_connected(now);
                    state.info = Some(connection.info().clone());
                    state.is_signed_in = is_signed_in;
                    state.latency_ms = Some(latency_ms);
                    state.challenge = None;
                });
                self.record_tools(entry, connection, tools, now)
            }
            Err(ConnectFailure { reason, challenge: Some(challenge) }) => {
                // The server is reachable, so fallback tools would mislead. Its last listing is kept.
                // No backoff either: the next attempt is due as soon as the user has signed in.
                entry.update(|state| {
                    if state.is_fallback {
                        (state.is_fallback, state.tools) = (false, Arc::default());
                    }
                    state.status = Some(ConnectionStatus::NeedsSignIn);
                    state.reason = Some(reason.clone());
                    state.connection = None;
                    state.challenge = Some(challenge);
                    state.is_signed_in = false;
                    state.checked_at = Some(now);
                    state.backoff = Backoff::default();
                });
                Err(UnusableConnection(reason))
            }
            Err(ConnectFailure { reason, challenge: None }) => entry.update(|state| {
                state.record_failure(reason.clone(), now);
                state.backoff.record_failure(now, random_jitter());
                state.is_signed_in = false;
                self.use_fallback(state, reason)
            }),
        }
    }

    /// Records a listing of a server.
    pub(super) fn record_tools(
        &self,
        entry: &ConnectionEntry,
        connection: mcp::Connection,
        tools: Vec<ToolDefinition>,
        now: Timestamp,
    ) -> Result<OpenedConnection, UnusableConnection> {
        entry.update(|state| {
            state.checked_at = Some(now);
            // Kept also if there are no tools: the server may offer prompts and resources.
            state.connection = Some(connection.clone());
            if tools.is_empty() && self.has_fallback() {
                let reason = NO_TOOLS.to_owned();
                state.status = Some(ConnectionStatus::Error);
                state.reason = Some(reason.clone());
                state.last_error = Some((reason.clone(), now));
                (state.tools, state.listed_at) = (Arc::default(), None);
                return self.use_fallback(state, reason);
            }
            let tools = Arc::new(tools);
            state.status = Some(ConnectionStatus::Connected);
            state.reason = None;
            state.tools = Arc::clone(&tools);
            state.listed_at = Some(now);
            state.is_fallback = false;
            let info = Some(connection.info().clone());
            Ok(OpenedConnection { connection: Some(connection), info, ..OpenedConnection::of_known_tools(tools) })
        })
    }

    /// Uses the fallback tools for a server that has no listing of its own.
    fn use_fallback(
        &self,
        state: &mut ConnectionState,
        reason: String,
    ) -> Result<OpenedConnection, UnusableConnection> {
        // A server that has listed tools keeps them while it is unreachable.
        if state.server_tools().is_some() || !self.has_fallback() {
            return Err(UnusableConnection(reason));
        }
        state.tools = Arc::new(self.fallback_tools());
        state.is_fallback = true;
        let (tools, source) = (Arc::clone(&state.tools), ToolSource::Fallback);
        Ok(OpenedConnection { connection: None, tools, source, reason: Some(reason), info: None })
    }
}
