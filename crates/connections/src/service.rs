//! The service of this crate, and its operations on whole connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use domain::network_allowlist::AllowlistEntry;
use domain::server_url::has_masked_values;
use domain::tool::ToolDefinition;
use domain::{Clock, UserId};
use mcp::Client;
use mcp::net::{GuardedHttp, NetworkPolicy};
use mcp::oauth::OAuthClient;
use platform::{AuditLog, BackgroundTasks, ClusterBus, Limit, SecretSealer, UserEvent, UserEventBus};
use storage::Storage;
use storage::servers::Server;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::connection_dto::{ConnectionDto, ConnectionStatus};
use crate::headers::has_authorization;
use crate::host::{ConnectionReady, FallbackTools, TokenIssuer};
use crate::icon_cache::IconCache;
use crate::manual_runs::ManualRuns;
use crate::pool::{ConnectionInUse, ConnectionPool, OpenedConnection, ToolSource, UnusableConnection};
use crate::resource_subscriptions::ResourceSubscriptions;
use crate::self_urls::SelfUrls;
use crate::sign_in;
use crate::sign_in_prompt::CompletedSignIns;

/// Lifetime of the tokens with which this server calls its built-in servers. A connection that is older is opened again.
pub(crate) const BUILTIN_SERVER_TOKEN_LIFETIME: Duration = Duration::from_hours(24);

/// Settings of [`ConnectionService`].
#[derive(Debug)]
pub struct ConnectionSettings<'a> {
    /// Address that this server listens on. If it is on loopback, users may connect to loopback, too: they are on the
    /// same machine.
    pub address: SocketAddr,
    /// Public origin of this server.
    pub site_url: &'a Url,
    /// Private addresses that URLs of users may reach.
    pub network_allow: &'a [AllowlistEntry],
    /// Maximum number of open connections.
    pub limit: Limit,
}

/// Services that [`ConnectionService`] uses.
#[derive(Debug)]
pub struct ServiceDependencies {
    /// The database.
    pub storage: Storage,
    /// Seals the secrets of connections.
    pub secrets: Arc<SecretSealer>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// Events for the clients of users.
    pub events: UserEventBus,
    /// Background tasks.
    pub tasks: BackgroundTasks,
    /// Audit log.
    pub audit: AuditLog,
    /// Messages to other nodes.
    pub cluster: ClusterBus,
    /// Issues tokens for the built-in servers.
    pub token_issuer: Arc<dyn TokenIssuer>,
    /// Tools for servers without tools of their own, unless they are switched off.
    pub fallback: Option<Arc<dyn FallbackTools>>,
}

/// The users' connections to MCP servers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ConnectionService {
    pub(crate) storage: Storage,
    pub(crate) secrets: Arc<SecretSealer>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) events: UserEventBus,
    pub(crate) tasks: BackgroundTasks,
    pub(crate) audit: AuditLog,
    pub(crate) pool: ConnectionPool,
    pub(crate) client: Client,
    pub(crate) oauth: OAuthClient,
    pub(crate) self_urls: Arc<SelfUrls>,
    pub(crate) completed_sign_ins: CompletedSignIns,
    pub(crate) subscriptions: ResourceSubscriptions,
    pub(crate) icons: IconCache,
    manual_runs: ManualRuns,
    guard: GuardedHttp,
}

/// A tool that a turn may use.
#[derive(Debug, Clone)]
pub struct BoundTool {
    /// Name of the tool in requests to the model.
    pub model_name: String,
    /// Definition of the tool.
    pub definition: ToolDefinition,
    /// Instructions of the server; empty if it has none.
    pub instructions: Arc<str>,
    /// Connection of the tool.
    pub server: Arc<Server>,
    /// The side that runs the tool.
    pub source: ToolSource,
}

/// Error of listing the tools of a server.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ProbeError {
    /// The URL is invalid.
    #[error("{0}")]
    BadUrl(String),
    /// The server failed.
    #[error("The server {0}.")]
    Server(#[from] mcp::Error),
    /// The server needs a sign-in.
    #[error("The server wants you to sign in.")]
    NeedsSignIn,
    /// The server has no tools.
    #[error("The server has no tools.")]
    NoTools,
}

impl ConnectionService {
    /// Creates the service and the receiver of its events.
    ///
    /// # Errors
    ///
    /// Fails if no HTTP client can be created.
    pub fn new(
        settings: &ConnectionSettings<'_>,
        dependencies: ServiceDependencies,
    ) -> anyhow::Result<(Self, mpsc::UnboundedReceiver<ConnectionReady>)> {
        let ServiceDependencies { storage, secrets, clock, events, tasks, audit, cluster, token_issuer, fallback } =
            dependencies;
        let self_urls = Arc::new(SelfUrls::new(settings.address, settings.site_url));
        // A user who reaches a server on loopback is on this machine, and could connect to its other ports as well.
        let is_loopback = settings.address.ip().is_loopback();
        let policy = NetworkPolicy::new(settings.network_allow, is_loopback, self_urls.hosts().to_vec());
        let guard = GuardedHttp::new(policy)?;
        let oauth = sign_in::oauth_client(guard.clone(), settings.site_url, &storage, &secrets, &clock, &tasks)?;
        let client = Client::new(guard.clone()).with_apps().with_elicitation();
        let (ready, receiver) = mpsc::unbounded_channel();
        let pool = ConnectionPool {
            storage: storage.clone(),
            secrets: Arc::clone(&secrets),
            clock: Arc::clone(&clock),
            events: events.clone(),
            tasks: tasks.clone(),
            client: client.clone(),
            oauth: oauth.clone(),
            self_urls: Arc::clone(&self_urls),
            token_issuer,
            fallback,
            limit: settings.limit,
            ready,
            entries: Arc::default(),
        };
        let service = Self {
            storage,
            secrets,
            clock,
            events,
            tasks,
            audit,
            pool,
            client,
            oauth,
            self_urls,
            completed_sign_ins: CompletedSignIns::new(cluster),
            subscriptions: ResourceSubscriptions::default(),
            icons: IconCache::default(),
            manual_runs: ManualRuns::default(),
            guard,
        };
        Ok((service, receiver))
    }

    /// Starts the maintenance of connections, which runs until shutdown.
    pub fn start_maintenance(&self) {
        self.pool.spawn_maintenance();
    }

    /// Returns the factory of HTTP clients for URLs that users give.
    pub fn guarded_http(&self) -> &GuardedHttp {
        &self.guard
    }

    /// Returns the interactions of manual tool calls.
    pub fn manual_runs(&self) -> &ManualRuns {
        &self.manual_runs
    }

    /// Returns the [`FallbackTools`]; empty if they are switched off.
    pub fn fallback_tools(&self) -> Vec<ToolDefinition> {
        self.pool.fallback_tools()
    }

    /// Connects to a server once and lists its tools. The connection is not kept.
    pub async fn probe(
        &self,
        user: UserId,
        url: &str,
        headers: &[(String, String)],
    ) -> Result<Vec<ToolDefinition>, ProbeError> {
        if has_masked_values(url) {
            // The page shows masked URLs. One that is pasted back would be sent with the asterisks as its secret.
            let problem = "*** stands for a value that is not shown. Enter the URL with all of its values.";
            return Err(ProbeError::BadUrl(problem.into()));
        }
        let target = self.pool.target(user, url, headers)?;
        let can_sign_in = !has_authorization(headers) && !self.self_urls.contains(target.url());
        let to_probe_error = |error: mcp::Error| match error.challenge() {
            Some(_) if can_sign_in => ProbeError::NeedsSignIn,
            _ => error.into(),
        };
        // Outside the pool: the user is trying an address, and may never add it.
        let connection = self.client.connect(target, &CancellationToken::new()).await.map_err(to_probe_error)?;
        let tools = connection.list_tools().await;
        connection.close().await;
        let tools = tools.map_err(to_probe_error)?;
        if tools.is_empty() { Err(ProbeError::NoTools) } else { Ok(tools) }
    }

    /// Returns the rows of a user's connections, and loads the stored tools of each.
    pub async fn list_servers(&self, user: UserId) -> Result<Vec<Server>, storage::Error> {
        let servers = self.storage.connections().list(user).await?;
        self.pool.load_stored_tools(user, &servers).await?;
        Ok(servers)
    }

    /// Returns a user's connections with their current state, without connecting.
    pub async fn list_connections(&self, user: UserId) -> Result<Vec<ConnectionDto>, storage::Error> {
        let servers = self.list_servers(user).await?;
        Ok(servers.iter().map(|server| self.pool.to_dto(server)).collect())
    }

    /// Counts the connections of all users on this node, by status.
    pub fn count_by_status(&self) -> Vec<(ConnectionStatus, usize)> {
        self.pool.count_by_status()
    }

    /// Returns the known tools of a connection.
    pub fn known_tools(&self, server: &Server) -> Arc<Vec<ToolDefinition>> {
        self.pool.known_tools(server)
    }

    /// Returns the names of the known tools of a connection, without those that are switched off.
    pub fn enabled_tool_names(&self, server: &Server) -> Vec<String> {
        let tools = self.pool.known_tools(server);
        let names = tools.iter().map(|tool| tool.name.clone());
        names.filter(|name| !server.disabled_tools.contains(name)).collect()
    }

    /// Opens a connection for a turn, which does not wait long for slow servers.
    pub async fn open_for_turn(&self, user: UserId, server: &Server) -> Result<OpenedConnection, UnusableConnection> {
        self.pool.open_for_turn(user, server).await
    }

    /// Clears the backoff of a server, unless it failed repeatedly. For users who call a tool manually, and may know that
    /// the server is available again.
    pub fn clear_backoff(&self, user: UserId, server: &Server) {
        self.pool.clear_backoff(user, server);
    }

    /// Connects all of a user's connections in the background. Their states are published as they change.
    pub async fn connect_all(&self, user: UserId) -> Result<(), storage::Error> {
        for server in self.list_servers(user).await? {
            // Most are: this runs with each request for the list of connections.
            if self.pool.is_settled(&server) {
                continue;
            }
            let pool = self.pool.clone();
            self.tasks.spawn("connect", async move {
                tokio::select! {
                    () = pool.tasks.shutdown_token().cancelled() => {}
                    _ = pool.open(user, &server) => {}
                }
            });
        }
        Ok(())
    }

    /// Closes a connection, connects again and lists the tools.
    pub async fn reconnect(&self, user: UserId, server: &Server) -> ConnectionDto {
        self.pool.disconnect(user, server).await;
        drop(self.pool.open(user, server).await);
        self.pool.to_dto(server)
    }

    /// Lists the tools of a connection again, without reconnecting.
    pub async fn relist_tools(&self, user: UserId, server: &Server) -> ConnectionDto {
        self.pool.relist_tools(user, server).await;
        self.pool.to_dto(server)
    }

    /// Applies changes of a user's rows: closes the connections of removed ones, ends their sign-ins, and connects the
    /// others.
    pub async fn reconcile(&self, user: UserId) -> Result<(), storage::Error> {
        let servers = self.storage.connections().list(user).await?;
        // In this order: what was removed is closed and signed out before anything new is connected.
        for id in self.pool.retain(user, &servers).await {
            self.events.publish(user, &UserEvent::ConnectionRemoved { id });
        }
        self.end_orphaned_sign_ins(user).await?;
        self.connect_all(user).await
    }

    /// Closes all connections, after token renewals in progress are stored.
    pub async fn close(&self) {
        // Renewals first: a refresh token that was spent without its successor being stored would end the sign-in.
        self.oauth.close().await;
        self.pool.close().await;
    }

    /// Prevents that a connection is closed as idle while the result lives.
    pub(crate) fn keep_open(&self, user: UserId, server: &Server) -> ConnectionInUse {
        self.pool.keep_open(user, server)
    }

    /// Returns whether an app may name a URL, or with `and_subdomains` all hosts below its host. Apps may name the same
    /// addresses as URLs of users, but never this server.
    pub(crate) fn is_allowed_for_apps(&self, url: &Url, and_subdomains: bool) -> bool {
        // A page of a server could otherwise send requests to this one from inside the user's browser.
        let is_self = self.self_urls.contains(url) || and_subdomains && self.self_urls.has_host_below(url);
        !is_self && self.guard.policy().check_url(url).is_ok()
    }
}
