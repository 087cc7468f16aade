//! Finding out what answers at an address.

use std::sync::Arc;

use rmcp::model::{ErrorCode, ProtocolVersion, ServerResult};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, ServiceError, serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::{RoleClient, transport::DynamicTransportError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::asking::Asking;
use crate::call::long::Told;
use crate::connection::{Era, Parts};
use crate::eras::Eras;
use crate::handler::{Handler, Offers, Routes, Updates};
use crate::icons::{self, IconError, Picture};
use crate::net::GuardedHttp;
use crate::transport::gate::Gate;
use crate::transport::{Fault, Transport, http, sse, websocket};
use crate::{Connection, Error, Limits, Target};

/// Changed resources that a slow listener may be behind; one that is further behind takes its resource for changed.
const UPDATES: usize = 64;

/// Connects to MCP servers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    guard: GuardedHttp,
    limits: Limits,
    asks: bool,
    shows_apps: bool,
    eras: Eras,
}

impl Client {
    /// A client that reaches what `guard` permits, with the default [`Limits`].
    pub fn new(guard: GuardedHttp) -> Self {
        Self { guard, limits: Limits::default(), asks: false, shows_apps: false, eras: Eras::default() }
    }

    /// The same client with other limits.
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same client, telling servers that they may ask the person. Calls then need an
    /// [`Asker`](crate::Asker); a question to a call without one is cancelled.
    pub fn with_questions(self) -> Self {
        Self { asks: true, ..self }
    }

    /// The same client, telling servers that it shows the pages that they bring for their tools (MCP Apps).
    pub fn with_apps(self) -> Self {
        Self { shows_apps: true, ..self }
    }

    /// Connects: the modern revision first, then the older handshake, then HTTP+SSE; or WebSocket, if the address says
    /// so. One call opens one connection, which belongs to the credentials in `target`; never share it between users.
    ///
    /// Dropping the future or cancelling `cancel` leaves nothing behind.
    pub async fn connect(&self, target: Target, cancel: &CancellationToken) -> Result<Connection, Error> {
        self.guard.policy().check_url(&target.url)?;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::Cancelled),
            connection = tokio::time::timeout(self.limits.connect, self.open(&target)) => {
                connection.unwrap_or(Err(Error::Timeout(self.limits.connect)))
            }
        }
    }

    /// Fetches a picture that the server at `server` names, without credentials, if the protocol's rules let it be shown.
    pub async fn icon(&self, server: &Url, src: &str) -> Result<Picture, IconError> {
        icons::fetch(&self.guard, server, src).await
    }

    async fn open(&self, target: &Target) -> Result<Connection, Error> {
        let known = self.eras.get(&target.url);
        if known == Some(Era::Legacy) {
            match self.attempt(target, ClientLifecycleMode::Initialize).await {
                Err(Unserved { error, .. }) if may_have_changed(&error) => self.eras.forget(&target.url),
                outcome => return outcome.map_err(|unserved| unserved.error),
            }
        }
        let connection = match self.attempt(target, any_era()).await {
            Err(Unserved { is_legacy: true, .. }) => self.attempt(target, ClientLifecycleMode::Initialize).await,
            outcome => outcome,
        };
        let connection = connection.map_err(|unserved| unserved.error)?;
        self.eras.set(&target.url, connection.info().era);
        Ok(connection)
    }

    async fn attempt(&self, target: &Target, mode: ClientLifecycleMode) -> Result<Connection, Unserved> {
        if matches!(target.url.scheme(), "ws" | "wss") {
            let fault = Fault::default();
            let wire = websocket::Wire::open(&self.guard, target, self.limits, fault.clone()).await?;
            return self.serve(wire, mode, &target.url, Transport::WebSocket, fault).await;
        }
        let fault = Fault::default();
        let abandon = CancellationToken::new();
        let unless_connected = abandon.clone().drop_guard();
        let wire = http::wire(&self.guard, target, self.limits, fault.clone(), abandon)?;
        let first = match self.serve(wire, mode, &target.url, Transport::StreamableHttp, fault).await {
            Ok(connection) => {
                unless_connected.disarm();
                return Ok(connection);
            }
            Err(unserved) if !unserved.is_legacy && may_be_sse(&unserved.error) => unserved,
            Err(unserved) => return Err(unserved),
        };
        let fault = Fault::default();
        match sse::Wire::open(&self.guard, target, self.limits, fault.clone()).await {
            Ok(wire) => self.serve(wire, ClientLifecycleMode::Initialize, &target.url, Transport::Sse, fault).await,
            Err(error) if says_more(&error) => Err(error.into()),
            // It is neither, and what it said to the current transport is the better explanation.
            Err(_) => Err(first),
        }
    }

    async fn serve<W>(
        &self,
        wire: W,
        mode: ClientLifecycleMode,
        url: &Url,
        transport: Transport,
        fault: Fault,
    ) -> Result<Connection, Unserved>
    where
        W: rmcp::transport::Transport<RoleClient> + 'static,
    {
        let routes = Routes::default();
        let asking = Asking::default();
        let tools_changed = Arc::new(watch::Sender::new(0));
        let told = Told::default();
        let updates = Updates::new(UPDATES);
        let asks = self.asks.then(|| asking.clone());
        let offers = Offers { asking: asks, shows_apps: self.shows_apps };
        let handler = Handler::new(routes.clone(), tools_changed.clone(), updates.clone(), offers, told.clone());
        let stop = CancellationToken::new();
        let serving = Box::pin(serve_client_with_lifecycle_and_ct(handler, Gate::new(wire), mode, stop.clone()));
        let service: RunningService<RoleClient, Handler> = serving
            .await
            .map_err(|error| Unserved { is_legacy: speaks_as_legacy(&error), error: explain_start(&error, &fault) })?;
        let (url, limits) = (url.clone(), self.limits);
        let parts = Parts { url, transport, fault, routes, asking, told, tools_changed, updates, stop, limits };
        Ok(Connection::start(service, parts).await?)
    }
}

/// Why there is no connection, and whether the older handshake would bring one.
struct Unserved {
    error: Error,
    is_legacy: bool,
}

impl From<Error> for Unserved {
    fn from(error: Error) -> Self {
        Self { error, is_legacy: false }
    }
}

/// Some old servers answer what they do not know with an empty result, and some new ones name old revisions only.
fn speaks_as_legacy(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::ExpectedInitResult(Some(result)) => !matches!(result, ServerResult::InitializeResult(_)),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            server_supported.iter().any(ProtocolVersion::has_initialize)
        }
        _ => false,
    }
}

/// Whether a server that was known as legacy may have become a modern one: it answers, but not to the old handshake.
fn may_have_changed(error: &Error) -> bool {
    matches!(
        error,
        Error::NotMcp(_) | Error::Server { .. } | Error::Status { .. } | Error::Protocol(_) | Error::Version
    )
}

fn any_era() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

/// Whether what streamable HTTP met could be a server of 2024-11-05, which knows no POST at this address.
fn may_be_sse(error: &Error) -> bool {
    match error {
        Error::NotMcp(_) | Error::Server { .. } => true,
        Error::Status { status } => matches!(status, 400..=499 | 501) && *status != 429,
        _ => false,
    }
}

/// Whether the second question brought out more than that the server is no such server either.
fn says_more(error: &Error) -> bool {
    matches!(
        error,
        Error::Unauthorized { .. }
            | Error::InsufficientScope { .. }
            | Error::Forbidden
            | Error::Protocol(_)
            | Error::TooLarge(_)
            | Error::Server { .. }
    )
}

fn explain_start(error: &ClientInitializeError, fault: &Fault) -> Error {
    match error {
        ClientInitializeError::TransportError { error, .. } => explain_transport(error, fault),
        ClientInitializeError::JsonRpcError(error) => Error::server(error.code.0, &error.message),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => Error::Version,
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => explain_start(fallback, fault),
        ClientInitializeError::ConnectionClosed(_) => fault.take().unwrap_or(Error::Closed),
        ClientInitializeError::ConflictInitResponseId(..) | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            Error::Protocol("it answered a request that was not made".to_owned())
        }
        ClientInitializeError::Cancelled => Error::Cancelled,
        _ => Error::Protocol("it answered the handshake with something else".to_owned()),
    }
}

/// The error behind a failure to send.
fn explain_transport(error: &DynamicTransportError, fault: &Fault) -> Error {
    if let Some(error) = error.error.downcast_ref::<Error>() {
        return error.clone();
    }
    match error.error.downcast_ref::<StreamableHttpError<Error>>().map(http::explain) {
        Some(Error::Closed) | None => fault.take().unwrap_or(Error::Closed),
        Some(error) => error,
    }
}

/// The error behind a request that failed after the handshake.
pub(crate) fn explain_request(error: &ServiceError, fault: &Fault) -> Error {
    match error {
        // The library reports a lost answer as an error of the server.
        ServiceError::McpError(error) if error.code == ErrorCode::INTERNAL_ERROR && is_lost_answer(&error.message) => {
            fault.take().unwrap_or(Error::Closed)
        }
        ServiceError::McpError(error) => Error::server(error.code.0, &error.message),
        ServiceError::TransportSend(error) => explain_transport(error, fault),
        ServiceError::Cancelled { .. } => Error::Cancelled,
        ServiceError::UnexpectedResponse => Error::Protocol("it answered with something else".to_owned()),
        _ => fault.take().unwrap_or(Error::Closed),
    }
}

fn is_lost_answer(message: &str) -> bool {
    message.starts_with("streamable HTTP response stream closed")
        || message.starts_with("streamable HTTP session was re-initialized")
}
