//! Open connection to a server, composed of the requests over its [`Session`].

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use domain::resource::ResourceContents;
use domain::tool::{ToolDefinition, ToolResult};
use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, DiscoverRequest, DiscoverRequestParams, ErrorCode, PingRequest, ServerNotification,
    SubscriptionFilter,
};
use rmcp::service::{ClientCacheConfig, Peer, RunningService, ServiceError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use crate::limits::ConnectionLimits;
use crate::prompts_and_resources::completion::{self, CompletionTarget, Completions};
use crate::prompts_and_resources::listing::{self, Listing};
use crate::prompts_and_resources::prompts::{self, FilledPrompt, Prompt};
use crate::prompts_and_resources::resources::{self, Resource, ResourceTemplate};
use crate::prompts_and_resources::subscription::{self, ResourceSubscription};
use crate::server_info::{ProtocolFamily, ServerInfo};
use crate::server_messages::{MessageRoutes, ServerMessageHandler};
use crate::session::{RESUBSCRIBE_BACKOFF, Session, TaskToolNames};
use crate::tasks::Task;
use crate::tool_call::options::CallOptions;
use crate::transport::{TransportErrorSlot, TransportKind};
use crate::{CallError, Error, tool_call, tools};

/// Time limit for ending the session at the server and closing the transport.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(8);

/// Connection to one server with one set of credentials. Clones share it; it closes when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Connection(Arc<ConnectionState>);

#[derive(Debug)]
struct ConnectionState {
    info: ServerInfo,
    session: Session,
}

/// Parts of a connection in addition to the running protocol service.
pub(crate) struct ConnectionParts {
    pub(crate) url: Url,
    pub(crate) transport: TransportKind,
    pub(crate) transport_errors: TransportErrorSlot,
    pub(crate) routes: MessageRoutes,
    pub(crate) stop: CancellationToken,
    pub(crate) limits: ConnectionLimits,
}

impl Connection {
    /// Takes over a running service and starts to follow the changes of its tool list.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`] if the connection has ended already.
    pub(crate) async fn start(
        service: RunningService<RoleClient, ServerMessageHandler>,
        parts: ConnectionParts,
    ) -> Result<Self, Error> {
        let peer = service.peer().clone();
        // Callers that list the tools want the current list; caching is their business.
        peer.set_response_cache_config(ClientCacheConfig::disabled()).await;
        let peer_info = peer.peer_info().ok_or(Error::Closed)?;
        let info = ServerInfo::from_peer(&peer_info, parts.transport, &parts.url);
        let session = Session {
            peer,
            url: parts.url,
            protocol: info.protocol,
            capabilities: peer_info.capabilities.clone(),
            limits: parts.limits,
            routes: parts.routes,
            transport_errors: parts.transport_errors,
            background: TaskTracker::new(),
            _stop_on_drop: parts.stop.clone().drop_guard(),
            stop: parts.stop,
            ended: CancellationToken::new(),
            task_tools: TaskToolNames::default(),
        };
        // A guard instead of a call at the end: the connection counts as ended even if the task panics or is aborted.
        let ended = session.ended.clone().drop_guard();
        session.background.spawn(async move {
            let _ended = ended;
            // An error of the task means that it panicked, which ends the connection as well.
            let _ = service.waiting().await;
        });
        follow_tool_changes(&session);
        // Closing the tracker lets `close` wait for it; tasks can still be added.
        session.background.close();
        Ok(Self(Arc::new(ConnectionState { info, session })))
    }

    /// Returns the description of the server.
    pub fn info(&self) -> &ServerInfo {
        &self.0.info
    }

    /// Lists all tools of the server, without a cache. The list of a server without tools is empty.
    ///
    /// # Errors
    ///
    /// Any [`Error`] if the list cannot be read whole.
    pub async fn list_tools(&self) -> Result<Vec<ToolDefinition>, Error> {
        tools::list_tools(&self.0.session).await
    }

    /// Calls a tool. Dropping the future cancels the call as [`CallOptions::cancel`] does.
    ///
    /// # Errors
    ///
    /// A [`CallError`] that says whether the tool may have run. A tool that ran and failed is a result, not an error.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: serde_json::Map<String, serde_json::Value>,
        options: CallOptions,
    ) -> Result<ToolResult, CallError> {
        // Boxed, because this future is the largest of the crate and callers hold it inside others.
        Box::pin(tool_call::call_tool(&self.0.session, name, arguments, options)).await
    }

    /// Waits for a task that a call started `age` ago, over this or another connection. Does not repeat the call.
    ///
    /// # Errors
    ///
    /// As for [`call_tool`](Self::call_tool); [`Error::TaskGone`] if the server does not know the task any more.
    pub async fn resume_task(&self, task: Task, age: Duration, options: CallOptions) -> Result<ToolResult, CallError> {
        Box::pin(tool_call::resume_task(&self.0.session, task, age, options)).await
    }

    /// Lists the prompts of the server; empty if it offers none.
    pub async fn list_prompts(&self) -> Result<Listing<Prompt>, Error> {
        listing::list_all(&self.0.session).await
    }

    /// Fills a prompt with arguments.
    pub async fn get_prompt(&self, name: &str, arguments: &BTreeMap<String, String>) -> Result<FilledPrompt, Error> {
        prompts::get_prompt(&self.0.session, name, arguments).await
    }

    /// Lists the resources of the server; empty if it offers none.
    pub async fn list_resources(&self) -> Result<Listing<Resource>, Error> {
        listing::list_all(&self.0.session).await
    }

    /// Lists the resource templates of the server; empty if it offers none.
    pub async fn list_resource_templates(&self) -> Result<Listing<ResourceTemplate>, Error> {
        listing::list_all(&self.0.session).await
    }

    /// Reads a resource.
    pub async fn read_resource(&self, uri: &str) -> Result<Vec<ResourceContents>, Error> {
        resources::read_resource(&self.0.session, uri).await
    }

    /// Requests completions of `value` for the argument `name`, given the other `arguments` that are filled in. Returns
    /// none if the server does not support completion.
    pub async fn complete(
        &self,
        target: CompletionTarget,
        name: &str,
        value: &str,
        arguments: BTreeMap<String, String>,
    ) -> Result<Completions, Error> {
        completion::complete(&self.0.session, target, name, value, arguments).await
    }

    /// Subscribes to the changes of a resource.
    ///
    /// # Errors
    ///
    /// [`Error::NotOffered`] if the server does not report changes.
    pub async fn subscribe_resource(&self, uri: &str) -> Result<ResourceSubscription, Error> {
        subscription::subscribe(&self.0.session, uri).await
    }

    /// Returns whether both are clones of one connection.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Checks that the server can be reached, for transports that hold no connection. A server that answers with an
    /// error, or not in time, counts as reachable.
    ///
    /// # Errors
    ///
    /// The [`Error`] that shows that the server is gone.
    pub async fn probe(&self) -> Result<(), Error> {
        // Each family has one request that every server answers and that has no effect.
        let request = match self.0.session.protocol {
            ProtocolFamily::Modern => ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {})),
            ProtocolFamily::Legacy => ClientRequest::PingRequest(PingRequest::default()),
        };
        match self.0.session.request(request).await {
            Err(error) if error.is_unreachable() => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits until the connection has ended.
    ///
    /// Streamable HTTP holds no connection between requests: there it ends only by [`close`](Self::close), and a lost
    /// server shows at the next request or [`probe`](Self::probe). If its event stream cannot be restored, that counts
    /// as a change of the [tools](Self::tools_changed).
    pub async fn closed(&self) {
        self.0.session.ended.cancelled().await;
    }

    /// Returns a future that waits as [`closed`](Self::closed) does without keeping the connection open.
    pub fn closed_owned(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.session.ended.clone().cancelled_owned()
    }

    /// Returns whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.0.session.ended.is_cancelled()
    }

    /// Subscribes to a counter of the changes of the tool list. It also grows when the server cannot report changes any
    /// more.
    pub fn tools_changed(&self) -> watch::Receiver<u64> {
        self.0.session.routes.tools_changed.subscribe()
    }

    /// Ends the session at the server, closes the transport and waits for that, at most 8 seconds. Calls in flight end
    /// with an unknown outcome.
    pub async fn close(&self) {
        self.0.session.stop.cancel();
        // A server that does not answer in time keeps its session; it has to expire it by itself.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.0.session.background.wait()).await;
    }
}

/// Starts the background tasks that count changes of the tool list beyond the notifications of legacy servers.
fn follow_tool_changes(session: &Session) {
    let tools = session.capabilities.tools.as_ref();
    let reports_changes = tools.is_some_and(|tools| tools.list_changed == Some(true));
    if reports_changes && session.protocol == ProtocolFamily::Modern {
        let following = follow_tool_list_stream(session.peer.clone(), session.routes.tools_changed.clone());
        session.spawn_until(session.stop.clone(), following);
    }
    let doubts = count_doubts(session.transport_errors.clone(), session.routes.tools_changed.clone());
    session.spawn_until(session.stop.clone(), doubts);
}

/// Counts each doubt about the server's presence as a change: a server that was restarted may have other tools, which
/// a new listing shows.
async fn count_doubts(transport_errors: TransportErrorSlot, tools_changed: Arc<watch::Sender<u64>>) {
    loop {
        transport_errors.doubted().await;
        tools_changed.send_modify(|count| *count += 1);
    }
}

/// Follows the changes that a modern server reports on a subscription stream (2026-07-28, "Subscriptions"), and
/// subscribes again when the stream breaks.
async fn follow_tool_list_stream(peer: Peer<RoleClient>, tools_changed: Arc<watch::Sender<u64>>) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let (min_wait, max_wait) = RESUBSCRIBE_BACKOFF;
    let mut wait = min_wait;
    let (mut was_subscribed, mut may_have_missed) = (false, false);
    loop {
        match peer.listen(filter.clone()).await {
            Ok(mut subscription) => {
                (wait, was_subscribed) = (min_wait, true);
                // Changes during the interruption were not reported.
                if may_have_missed {
                    tools_changed.send_modify(|count| *count += 1);
                }
                while let Ok(Some(notification)) = subscription.next().await {
                    if matches!(notification, ServerNotification::ToolListChangedNotification(_)) {
                        tools_changed.send_modify(|count| *count += 1);
                    }
                }
            }
            // Repeating would not help: the server declares list changes without knowing the request.
            Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => return,
            // The stream was there and cannot be had again. Whoever lists the tools now learns why.
            Err(_) if std::mem::take(&mut was_subscribed) => tools_changed.send_modify(|count| *count += 1),
            Err(_) => {}
        }
        may_have_missed = true;
        // Jitter keeps the clients of a restarted server from coming back all at once.
        tokio::time::sleep(wait / 2 + wait.mul_f64(random_fraction() / 2.0)).await;
        wait = (wait * 2).min(max_wait);
    }
}

/// Returns a random number from 0 to 1.
fn random_fraction() -> f64 {
    // The standard library's source of random keys is good enough for jitter.
    let random = u32::try_from(RandomState::new().hash_one(()) >> 32).unwrap_or_default();
    f64::from(random) / f64::from(u32::MAX)
}
