//! An open connection to one server.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::icon::Icon;
use domain::resource::ResourceContents;
use domain::text::cut_to;
use domain::tool::{ToolDefinition, ToolResult};
use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, DiscoverRequest, DiscoverRequestParams, ErrorCode, PingRequest, ServerCapabilities,
    ServerNotification, ServerPeerInfo, SubscriptionFilter,
};
use rmcp::service::{ClientCacheConfig, Peer, RunningService, ServiceError};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use url::Url;

use crate::asking::Asking;
use crate::call::long::{self, Task, Told};
use crate::call::{self, CallOptions};
use crate::error::quote;
use crate::handler::{Handler, Routes, Updates};
use crate::offers::completion::{self, Blank, Proposals};
use crate::offers::prompts::{self, FilledPrompt, Prompt};
use crate::offers::resources::{self, Resource, ResourceTemplate};
use crate::offers::watch::{self as updates, ResourceWatch};
use crate::offers::{Listing, ask, pages};
use crate::transport::{Fault, Transport};
use crate::{CallError, Error, Limits, icons, tools};

/// For ending a session on the server and closing the wire.
const CLOSE: Duration = Duration::from_secs(8);
/// What is read of a server's instructions, in bytes: far more than a person would.
const INSTRUCTIONS: usize = 64 * 1024;
/// Waits between attempts to listen for changes again.
const RELISTEN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(5));

/// Which side of the protocol's great break a server stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// Since 2026-07-28: no handshake, every request stands alone.
    Modern,
    /// Up to 2025-11-25: begins with `initialize`.
    Legacy,
}

/// What is known of a server. Its name, version and instructions are its own words: to be shown, not relied on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// Its name; empty if it gave none.
    pub name: String,
    /// Its version; empty if it gave none.
    pub version: String,
    /// Pictures of it that may be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// How it wants to be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The revision both sides speak, as `2025-11-25`.
    pub protocol_version: String,
    /// How it is reached.
    pub transport: Transport,
    /// Before or after the break.
    pub era: Era,
}

/// A connection to one server with one set of credentials. Clones share it; when the last one goes, it closes.
#[derive(Debug, Clone)]
pub struct Connection(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) url: Url,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) updates: Updates,
    pub(crate) limits: Limits,
    pub(crate) fault: Fault,
    pub(crate) routes: Routes,
    pub(crate) asking: Asking,
    pub(crate) offers_tools: bool,
    /// Whether it takes calls as tasks (2025-11-25).
    pub(crate) offers_long_calls: bool,
    long_calls: Mutex<HashSet<String>>,
    pub(crate) told: Told,
    pub(crate) info: ServerInfo,
    tools_changed: Arc<watch::Sender<u64>>,
    pub(crate) stop: CancellationToken,
    pub(crate) ended: CancellationToken,
    pub(crate) tasks: TaskTracker,
    _stop_on_drop: DropGuard,
}

/// What a connection is made of besides the running protocol.
pub(crate) struct Parts {
    pub(crate) url: Url,
    pub(crate) transport: Transport,
    pub(crate) fault: Fault,
    pub(crate) routes: Routes,
    pub(crate) asking: Asking,
    pub(crate) told: Told,
    pub(crate) tools_changed: Arc<watch::Sender<u64>>,
    pub(crate) updates: Updates,
    pub(crate) stop: CancellationToken,
    pub(crate) limits: Limits,
}

impl Inner {
    /// Remembers which tools are to be called as tasks, as they were listed last.
    pub(crate) fn set_long_calls(&self, names: HashSet<String>) {
        *self.long_calls.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// Whether a tool is to be called as a task.
    pub(crate) fn is_long_call(&self, name: &str) -> bool {
        self.long_calls.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }
}

impl Connection {
    pub(crate) async fn start(service: RunningService<RoleClient, Handler>, parts: Parts) -> Result<Self, Error> {
        let peer = service.peer().clone();
        // Whoever asks for the tools wants to know what they are now; keeping a list is the caller's business.
        peer.set_response_cache_config(ClientCacheConfig::disabled()).await;
        let about = peer.peer_info().ok_or(Error::Closed)?;
        let info = describe(&about, parts.transport, &parts.url);
        let tasks = TaskTracker::new();
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        tasks.spawn(async move {
            let _end = end;
            service.waiting().await.ok();
        });
        let announces = about.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true));
        if announces && info.era == Era::Modern {
            let listening = listen(peer.clone(), parts.tools_changed.clone());
            let until = (parts.stop.clone(), ended.clone());
            tasks.spawn(async move {
                tokio::select! {
                    () = listening => {}
                    () = until.0.cancelled() => {}
                    () = until.1.cancelled() => {}
                }
            });
        }
        let (doubts, until) = (doubts(parts.fault.clone(), parts.tools_changed.clone()), parts.stop.clone());
        let over = ended.clone();
        tasks.spawn(async move {
            tokio::select! {
                () = doubts => {}
                () = until.cancelled() => {}
                () = over.cancelled() => {}
            }
        });
        tasks.close();
        Ok(Self(Arc::new(Inner {
            peer,
            url: parts.url,
            capabilities: about.capabilities.clone(),
            updates: parts.updates,
            limits: parts.limits,
            fault: parts.fault,
            routes: parts.routes,
            asking: parts.asking,
            offers_tools: about.capabilities.tools.is_some(),
            // Later revisions have the extension in its place.
            offers_long_calls: info.era == Era::Legacy && long::is_offered(&about.capabilities),
            long_calls: Mutex::default(),
            told: parts.told,
            info,
            tools_changed: parts.tools_changed,
            _stop_on_drop: parts.stop.clone().drop_guard(),
            stop: parts.stop,
            ended,
            tasks,
        })))
    }

    /// What is known of the server.
    pub fn info(&self) -> &ServerInfo {
        &self.0.info
    }

    /// All tools of the server, all pages, asked anew. A server that offers no tools at all has an empty list; a list
    /// that cannot be read is an error.
    pub async fn list_tools(&self) -> Result<Vec<ToolDefinition>, Error> {
        tools::list(&self.0).await
    }

    /// Calls a tool. A tool that ran and failed is a result; everything else that goes wrong is a [`CallError`], which
    /// tells whether the tool may have run. Dropping the future cancels the call like `options.cancel` does.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: serde_json::Map<String, serde_json::Value>,
        options: CallOptions,
    ) -> Result<ToolResult, CallError> {
        Box::pin(call::call(&self.0, name, arguments, options)).await
    }

    /// Goes on waiting for a call that runs as a task at the server and was begun over this or another connection, `age`
    /// ago. The call is not made again.
    pub async fn resume_task(&self, task: Task, age: Duration, options: CallOptions) -> Result<ToolResult, CallError> {
        Box::pin(call::resume(&self.0, task, age, options)).await
    }

    /// All prompts of the server; none if it offers no prompts.
    pub async fn list_prompts(&self) -> Result<Listing<Prompt>, Error> {
        pages::all(&self.0).await
    }

    /// A prompt, filled in.
    pub async fn get_prompt(&self, name: &str, arguments: &BTreeMap<String, String>) -> Result<FilledPrompt, Error> {
        prompts::get(&self.0, name, arguments).await
    }

    /// All resources of the server; none if it offers no resources.
    pub async fn list_resources(&self) -> Result<Listing<Resource>, Error> {
        pages::all(&self.0).await
    }

    /// All templates of the server's resources.
    pub async fn list_resource_templates(&self) -> Result<Listing<ResourceTemplate>, Error> {
        pages::all(&self.0).await
    }

    /// What a resource holds.
    pub async fn read_resource(&self, uri: &str) -> Result<Vec<ResourceContents>, Error> {
        resources::read(&self.0, uri).await
    }

    /// What the server proposes for a blank that begins with `value`, in view of what is `filled` in already. A server
    /// that proposes nothing has no proposals.
    pub async fn complete(
        &self,
        blank: Blank,
        name: &str,
        value: &str,
        filled: BTreeMap<String, String>,
    ) -> Result<Proposals, Error> {
        completion::complete(&self.0, blank, name, value, filled).await
    }

    /// Hears from now on when a resource changes.
    pub async fn watch_resource(&self, uri: &str) -> Result<ResourceWatch, Error> {
        updates::watch(&self.0, uri).await
    }

    /// Whether it is the same connection, not just one to the same server.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Asks whether the server is still there, for wires that would not tell. The error is that it is not: any answer of its
    /// own, and none in time, may come from one that is.
    pub async fn probe(&self) -> Result<(), Error> {
        let request = match self.0.info.era {
            Era::Modern => ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {})),
            Era::Legacy => ClientRequest::PingRequest(PingRequest::default()),
        };
        let asked = ask::once(&self.0, request).await;
        asked.map_or_else(|error| if error.is_absence() { Err(error) } else { Ok(()) }, |_| Ok(()))
    }

    /// Waits until the connection is gone. Streamable HTTP holds no connection between requests, so there it ends only
    /// by [`close`](Self::close), and a server that went away shows at the next request or [`probe`](Self::probe). Where it
    /// had a stream to speak on, that this cannot be had again counts as [news](Self::tools_changed).
    pub async fn closed(&self) {
        self.0.ended.cancelled().await;
    }

    /// The same for those who do not want to keep the connection open meanwhile.
    pub fn end(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.ended.clone().cancelled_owned()
    }

    /// Whether the connection is gone.
    pub fn is_closed(&self) -> bool {
        self.0.ended.is_cancelled()
    }

    /// Counts up each time the server says that its tools changed, and when it cannot say so any more.
    pub fn tools_changed(&self) -> watch::Receiver<u64> {
        self.0.tools_changed.subscribe()
    }

    /// Ends the session on the server where there is one, closes the wire and waits until that is done, at most a few
    /// seconds. Calls in progress end with an unknown outcome.
    pub async fn close(&self) {
        self.0.stop.cancel();
        tokio::time::timeout(CLOSE, self.0.tasks.wait()).await.ok();
    }
}

fn describe(about: &ServerPeerInfo, transport: Transport, url: &Url) -> ServerInfo {
    let server = about.server_info.as_ref();
    let icons = server.and_then(|server| serde_json::to_value(&server.icons).ok()).unwrap_or_default();
    let mut icons: Vec<Icon> = serde_json::from_value(icons).unwrap_or_default();
    icons::keep_usable(&mut icons, url);
    ServerInfo {
        icons,
        name: server.map(|server| quote(&server.name)).unwrap_or_default(),
        version: server.map(|server| quote(&server.version)).unwrap_or_default(),
        instructions: about
            .instructions
            .as_deref()
            .map(|text| cut_to(text, INSTRUCTIONS).to_owned())
            .filter(|text| !text.trim().is_empty()),
        protocol_version: about.protocol_version.to_string(),
        transport,
        era: if about.protocol_version.has_initialize() { Era::Legacy } else { Era::Modern },
    }
}

/// A server that may be gone may as well have changed: whoever asks for its tools learns which.
async fn doubts(fault: Fault, tools_changed: Arc<watch::Sender<u64>>) {
    loop {
        fault.doubted().await;
        tools_changed.send_modify(|count| *count += 1);
    }
}

/// Hears of changed tools as modern servers tell them: on a stream that the client asks for.
async fn listen(peer: Peer<RoleClient>, tools_changed: Arc<watch::Sender<u64>>) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let (least, most) = RELISTEN;
    let mut wait = least;
    let (mut heard, mut missed) = (false, false);
    loop {
        match peer.listen(filter.clone()).await {
            Ok(mut subscription) => {
                (wait, heard) = (least, true);
                if missed {
                    tools_changed.send_modify(|count| *count += 1);
                }
                while let Ok(Some(notification)) = subscription.next().await {
                    if matches!(notification, ServerNotification::ToolListChangedNotification(_)) {
                        tools_changed.send_modify(|count| *count += 1);
                    }
                }
            }
            Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => return,
            // It was there before and is not now. Whoever asks for its tools learns why.
            Err(_) if std::mem::take(&mut heard) => tools_changed.send_modify(|count| *count += 1),
            Err(_) => {}
        }
        missed = true;
        // Those who heard a server go do not all come back at once.
        tokio::time::sleep(wait / 2 + wait.mul_f64(fraction() / 2.0)).await;
        wait = (wait * 2).min(most);
    }
}

/// Between 0 and 1, differently each time.
fn fraction() -> f64 {
    let random = u32::try_from(RandomState::new().hash_one(()) >> 32).unwrap_or_default();
    f64::from(random) / f64::from(u32::MAX)
}
