//! Connecting to servers: finds out which transport and which protocol an address speaks.

use rmcp::RoleClient;
use rmcp::model::{ProtocolVersion, ServerResult};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle_and_ct};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::connection::ConnectionParts;
use crate::icons::{self, IconError, IconImage};
use crate::library_errors::explain_handshake_error;
use crate::net::GuardedHttp;
use crate::protocol_cache::ProtocolCache;
use crate::server_info::ProtocolFamily;
use crate::server_messages::{ClientFeatures, MessageRoutes, ServerMessageHandler};
use crate::transport::rate_gate::RateGate;
use crate::transport::{TransportErrorSlot, TransportKind, http_sse, streamable_http, websocket};
use crate::{Connection, ConnectionLimits, ConnectionTarget, Error};

/// Client for MCP servers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    http: GuardedHttp,
    limits: ConnectionLimits,
    features: ClientFeatures,
    protocols: ProtocolCache,
}

impl Client {
    /// Creates a client with the default [`ConnectionLimits`] that reaches only what `http` permits.
    pub fn new(http: GuardedHttp) -> Self {
        let (limits, features) = (ConnectionLimits::default(), ClientFeatures::default());
        Self { http, limits, features, protocols: ProtocolCache::default() }
    }

    /// Sets the limits of new connections.
    pub fn with_limits(self, limits: ConnectionLimits) -> Self {
        Self { limits, ..self }
    }

    /// Declares to servers that they may elicit input from the user. Elicitations of calls without an
    /// [`ElicitationHandler`](crate::ElicitationHandler) are cancelled.
    pub fn with_elicitation(self) -> Self {
        Self { features: ClientFeatures { elicitation: true, ..self.features }, ..self }
    }

    /// Declares to servers that the user interfaces of their tools are shown (MCP Apps).
    pub fn with_apps(self) -> Self {
        Self { features: ClientFeatures { apps: true, ..self.features }, ..self }
    }

    /// Connects to a server. Tries the modern protocol first, then `initialize`, then HTTP+SSE; WebSocket if the URL
    /// says so.
    ///
    /// The connection belongs to the credentials in `target`: never share it between users. Dropping the future or
    /// cancelling `cancel` leaves nothing behind.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`] after [`ConnectionLimits::connect_timeout`], [`Error::Cancelled`], or the error of the
    /// attempt that says most about the server.
    pub async fn connect(&self, target: ConnectionTarget, cancel: &CancellationToken) -> Result<Connection, Error> {
        // Checked before the first attempt, so that a forbidden address is reported as such and not as unreachable.
        self.http.policy().check_url(&target.url)?;
        let limit = self.limits.connect_timeout;
        tokio::select! {
            // A cancellation wins over a handshake that completes at the same moment: its caller does not want the
            // connection.
            biased;
            () = cancel.cancelled() => Err(Error::Cancelled),
            connection = tokio::time::timeout(limit, self.negotiate(&target)) => {
                connection.unwrap_or(Err(Error::Timeout(limit)))
            }
        }
    }

    /// Fetches an icon of the server at `server`, without credentials.
    ///
    /// # Errors
    ///
    /// [`IconError::Forbidden`] if the icon is not at the server's own origin.
    pub async fn fetch_icon(&self, server: &Url, src: &str) -> Result<IconImage, IconError> {
        icons::fetch_icon(&self.http, server, src).await
    }

    async fn negotiate(&self, target: &ConnectionTarget) -> Result<Connection, Error> {
        let known = self.protocols.get(&target.url);
        // For a known legacy server the discovery is skipped, because it would fail anyway.
        if known == Some(ProtocolFamily::Legacy) {
            match self.attempt(target, ClientLifecycleMode::Initialize).await {
                Err(AttemptError { error, .. }) if may_have_been_upgraded(&error) => {
                    self.protocols.remove(&target.url);
                }
                outcome => return outcome.map_err(|attempt| attempt.error),
            }
        }
        let connection = match self.attempt(target, modern_then_legacy()).await {
            // The library's own fallback misses such servers.
            Err(AttemptError { speaks_legacy: true, .. }) => {
                self.attempt(target, ClientLifecycleMode::Initialize).await
            }
            outcome => outcome,
        };
        let connection = connection.map_err(|attempt| attempt.error)?;
        // Only after success: the protocol of a failed attempt is a guess.
        self.protocols.insert(&target.url, connection.info().protocol);
        Ok(connection)
    }

    async fn attempt(&self, target: &ConnectionTarget, mode: ClientLifecycleMode) -> Result<Connection, AttemptError> {
        let url = &target.url;
        if matches!(url.scheme(), "ws" | "wss") {
            let errors = TransportErrorSlot::default();
            let transport =
                websocket::WebSocketTransport::open(&self.http, target, self.limits, errors.clone()).await?;
            // No fallback to HTTP+SSE: the scheme of the address decides.
            return self.handshake(transport, mode, url, TransportKind::WebSocket, errors).await;
        }
        let errors = TransportErrorSlot::default();
        let abandon = CancellationToken::new();
        // Also when this future is dropped: the library would otherwise keep waiting for the handshake.
        let abandon_unless_connected = abandon.clone().drop_guard();
        let transport = streamable_http::new_transport(&self.http, target, self.limits, errors.clone(), abandon)?;
        let first = match self.handshake(transport, mode, url, TransportKind::StreamableHttp, errors).await {
            Ok(connection) => {
                abandon_unless_connected.disarm();
                return Ok(connection);
            }
            Err(attempt) if !attempt.speaks_legacy && may_be_http_sse(&attempt.error) => attempt,
            Err(attempt) => return Err(attempt),
        };
        let errors = TransportErrorSlot::default();
        match http_sse::HttpSseTransport::open(&self.http, target, self.limits, errors.clone()).await {
            Ok(transport) => {
                self.handshake(transport, ClientLifecycleMode::Initialize, url, TransportKind::Sse, errors).await
            }
            Err(error) if is_informative(&error) => Err(error.into()),
            // It is neither, and its answer to the current transport explains more.
            Err(_) => Err(first),
        }
    }

    async fn handshake<T>(
        &self,
        transport: T,
        mode: ClientLifecycleMode,
        url: &Url,
        kind: TransportKind,
        transport_errors: TransportErrorSlot,
    ) -> Result<Connection, AttemptError>
    where
        T: rmcp::transport::Transport<RoleClient> + 'static,
    {
        let routes = MessageRoutes::default();
        let handler = ServerMessageHandler::new(routes.clone(), self.features);
        let stop = CancellationToken::new();
        let transport = RateGate::new(transport);
        // Boxed to keep the future of `connect` small: each attempt holds one.
        let handshake = Box::pin(serve_client_with_lifecycle_and_ct(handler, transport, mode, stop.clone()));
        let service: RunningService<RoleClient, ServerMessageHandler> =
            handshake.await.map_err(|error| AttemptError {
                speaks_legacy: speaks_legacy(&error),
                error: explain_handshake_error(&error, &transport_errors),
            })?;
        let (url, limits) = (url.clone(), self.limits);
        let parts = ConnectionParts { url, transport: kind, transport_errors, routes, stop, limits };
        Ok(Connection::start(service, parts).await?)
    }
}

/// Failure of an attempt to connect.
struct AttemptError {
    error: Error,
    /// The server answered like one that knows `initialize` only.
    speaks_legacy: bool,
}

impl From<Error> for AttemptError {
    fn from(error: Error) -> Self {
        Self { error, speaks_legacy: false }
    }
}

/// Returns whether a failed discovery shows a legacy server. Some answer unknown requests with an empty result, and
/// some that know discovery name legacy revisions only.
fn speaks_legacy(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::ExpectedInitResult(Some(result)) => !matches!(result, ServerResult::InitializeResult(_)),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            server_supported.iter().any(ProtocolVersion::has_initialize)
        }
        _ => false,
    }
}

/// Returns whether a server that was legacy may have become a modern one: it answers, but rejects `initialize`.
fn may_have_been_upgraded(error: &Error) -> bool {
    matches!(
        error,
        Error::NotMcp(_) | Error::Server { .. } | Error::Status { .. } | Error::Protocol(_) | Error::Version
    )
}

fn modern_then_legacy() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

/// Returns whether the answer to streamable HTTP may be that of an HTTP+SSE server, which accepts no POST at this
/// address (2025-03-26, "Backwards Compatibility").
fn may_be_http_sse(error: &Error) -> bool {
    match error {
        Error::NotMcp(_) | Error::Server { .. } => true,
        Error::Status { status } => matches!(status, 400..=499 | 501) && *status != 429,
        _ => false,
    }
}

/// Returns whether the error of the HTTP+SSE attempt says more than that the server does not speak HTTP+SSE either.
fn is_informative(error: &Error) -> bool {
    matches!(
        error,
        Error::Unauthorized { .. }
            | Error::InsufficientScope { .. }
            | Error::Forbidden
            | Error::Protocol(_)
            | Error::TooLarge(_)
            | Error::TooComplex
            | Error::Server { .. }
    )
}
