//! State of a connection that every kind of request needs: sending, limits, capabilities and message routes.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, ServerCapabilities, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use tokio::runtime::Handle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use url::Url;

use crate::error::Error;
use crate::library_errors::explain_request_error;
use crate::limits::ConnectionLimits;
use crate::server_info::ProtocolFamily;
use crate::server_messages::MessageRoutes;
use crate::transport::TransportErrorSlot;

/// Time limit for messages that only inform the server: cancellations and unsubscriptions.
pub(crate) const NOTICE_TIMEOUT: Duration = Duration::from_secs(5);

/// Shortest and longest wait before the client subscribes to changes again.
pub(crate) const RESUBSCRIBE_BACKOFF: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(5));

/// Running protocol session with one server. The requests are functions over it; [`Connection`](crate::Connection)
/// composes them.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) url: Url,
    pub(crate) protocol: ProtocolFamily,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) limits: ConnectionLimits,
    pub(crate) routes: MessageRoutes,
    pub(crate) transport_errors: TransportErrorSlot,
    /// Background work, which ends soon after `stop` or `ended` is cancelled.
    pub(crate) background: TaskTracker,
    /// Cancelled to close the connection.
    pub(crate) stop: CancellationToken,
    /// Cancelled when the connection has ended.
    pub(crate) ended: CancellationToken,
    pub(crate) task_tools: TaskToolNames,
    pub(crate) _stop_on_drop: DropGuard,
}

/// Names of the tools that are called as tasks (2025-11-25), as of the latest list.
#[derive(Debug, Default)]
pub(crate) struct TaskToolNames(Mutex<HashSet<String>>);

impl TaskToolNames {
    pub(crate) fn replace(&self, names: HashSet<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }
}

impl Session {
    /// Sends a request and waits for the result, at most for [`ConnectionLimits::request_timeout`].
    pub(crate) async fn request(&self, request: ClientRequest) -> Result<ServerResult, Error> {
        let options = PeerRequestOptions::with_timeout(self.limits.request_timeout);
        let handle = self.send_request(request, options).await?;
        let transport_errors = self.transport_errors.for_request(&handle.id);
        match handle.await_response().await {
            Ok(result) => Ok(result),
            Err(ServiceError::Timeout { timeout }) => Err(Error::Timeout(timeout)),
            Err(error) => Err(explain_request_error(&error, &transport_errors)),
        }
    }

    /// Sends a request without waiting for its result.
    pub(crate) async fn send_request(
        &self,
        request: ClientRequest,
        options: PeerRequestOptions,
    ) -> Result<RequestHandle<RoleClient>, Error> {
        let handle = self.peer.send_request_with_option(request, options).await;
        handle.map_err(|error| explain_request_error(&error, &self.transport_errors))
    }

    /// Runs `work` in the background until it completes, `stop` is cancelled or the connection ends.
    pub(crate) fn spawn_until(&self, stop: CancellationToken, work: impl Future<Output = ()> + Send + 'static) {
        let (closing, ended) = (self.stop.clone(), self.ended.clone());
        self.background.spawn(async move {
            tokio::select! {
                () = work => {}
                () = stop.cancelled() => {}
                () = closing.cancelled() => {}
                () = ended.cancelled() => {}
            }
        });
    }
}

/// Request that the server has not answered yet. Dropping it cancels the request at the server: with a notification in
/// the legacy protocol, by closing the response stream in the modern one.
pub(crate) struct PendingRequest {
    handle: Option<RequestHandle<RoleClient>>,
    cancel_reason: &'static str,
    background: TaskTracker,
}

impl PendingRequest {
    pub(crate) fn new(session: &Session, handle: RequestHandle<RoleClient>) -> Self {
        Self {
            handle: Some(handle),
            cancel_reason: "nobody waits for it any more",
            background: session.background.clone(),
        }
    }

    /// Sets the reason that is sent to the server if the request is dropped from now on.
    pub(crate) fn set_cancel_reason(&mut self, reason: &'static str) {
        self.cancel_reason = reason;
    }

    /// Waits for the answer. Cancel safe; waits forever once the answer was taken.
    ///
    /// Returns the library's error and the slot in which the transport leaves its reason for this request.
    pub(crate) async fn response(
        &mut self,
        session: &Session,
    ) -> Result<ServerResult, (ServiceError, TransportErrorSlot)> {
        let Some(handle) = self.handle.as_mut() else { return std::future::pending().await };
        let answer = (&mut handle.rx).await.unwrap_or(Err(ServiceError::TransportClosed));
        let transport_errors = session.transport_errors.for_request(&handle.id);
        // Taken only now: a future that is dropped while it waits must leave the handle for the next call, or for
        // `drop`.
        self.handle = None;
        answer.map_err(|error| (error, transport_errors))
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        let (Some(handle), Ok(runtime)) = (self.handle.take(), Handle::try_current()) else { return };
        let reason = self.cancel_reason.to_owned();
        // The timeout keeps a dead connection from holding the task forever.
        let notice = async move { drop(tokio::time::timeout(NOTICE_TIMEOUT, handle.cancel(Some(reason))).await) };
        self.background.spawn_on(notice, &runtime);
    }
}
