//! People's connections to MCP servers, and the tools behind them.

pub mod apps;

mod by_hand;
mod call;
pub mod discovery;
mod edit;
pub mod headers;
mod inquiry;
mod news;
mod nobody;
mod offers;
mod origin;
mod output;
pub mod permission;
mod pool;
pub mod schema;
mod selection;
pub mod sign_in;
pub mod url_query;
mod view;
mod watcher;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use domain::UserId;
use domain::server_url::has_masked_values;
use domain::text::without_nul;
use domain::tool::ToolDefinition;
use futures_util::future::join_all;
use mcp::net::{GuardedHttp, NetworkPolicy};
use mcp::oauth::OAuthClient;
use mcp::{Client, ConnectionTarget};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::app::App;
use crate::auth::Audience;
use platform::ClusterBus;
use platform::config::Config;

use inquiry::SignIns;
use origin::{host_and_port, own_origins};

pub use by_hand::{ByHand, HandAsker, Told};
pub use call::CallEnd;
pub use edit::{ConnectionDetails, Edit, EditError};
pub use inquiry::{Inquirer, SignInWish, answer};
pub use nobody::Nobody;
pub use offers::{OfferError, Wish};
pub use pool::{Origin, Pool};
pub use selection::{Selection, SelectionError, Toolset, Wanted};
pub use view::{ConnectionStatus, ConnectionView};
pub use watcher::Watcher;

/// How long our own servers know a connection's owner. The connection is opened anew after that.
const IDENTITY: Duration = Duration::from_hours(24);

/// The connections of everybody.
#[derive(Debug)]
pub struct Tools {
    client: Client,
    pool: Pool,
    oauth: OAuthClient,
    guard: GuardedHttp,
    sign_ins: SignIns,
    /// The questions of calls that people make by hand.
    pub by_hand: ByHand,
    pictures: offers::Pictures,
    watches: news::Watches,
    /// Where this server is, by every name it has.
    own: Vec<String>,
    fallback: bool,
}

/// A tool that a turn may use.
#[derive(Debug, Clone)]
pub struct BoundTool {
    /// Its name in the model's request.
    pub model_name: String,
    /// What the server says about it.
    pub definition: ToolDefinition,
    /// What the server says about itself; empty where it says nothing.
    pub instructions: Arc<str>,
    /// The connection it belongs to.
    pub server: Arc<store::servers::Server>,
    /// Who runs it.
    pub origin: Origin,
}

/// Why a server could not be asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ProbeError {
    /// The address is no address.
    #[error("{0}")]
    BadUrl(String),
    /// The server failed; reads on from its name.
    #[error("The server {0}.")]
    Server(#[from] mcp::Error),
    /// The server wants the person to sign in first.
    #[error("The server wants you to sign in.")]
    NeedsSignIn,
    /// The server answered, and has nothing to offer.
    #[error("The server offers no tools.")]
    NoTools,
}

impl Tools {
    /// `address` is where this server listens, `site` its public origin. When it listens on loopback only, people may
    /// connect to loopback: whoever can reach the page is on the machine already.
    /// `oauth` makes what signs people in over the guarded client.
    pub fn new(
        config: &Config,
        address: SocketAddr,
        site: &Url,
        cluster: ClusterBus,
        oauth: impl FnOnce(GuardedHttp) -> anyhow::Result<OAuthClient>,
    ) -> anyhow::Result<Self> {
        let own = own_origins(address, site);
        let policy = NetworkPolicy::new(&config.network_allow, address.ip().is_loopback(), own.clone());
        let guard = GuardedHttp::new(policy)?;
        let oauth = oauth(guard.clone())?;
        let client = Client::new(guard.clone()).with_apps().with_elicitation();
        Ok(Self {
            client,
            pool: Pool::default(),
            oauth,
            sign_ins: SignIns::new(cluster),
            by_hand: ByHand::default(),
            pictures: offers::Pictures::default(),
            watches: news::Watches::default(),
            guard,
            own,
            fallback: config.fallback_tools,
        })
    }

    /// What reaches addresses that people give.
    pub fn guard(&self) -> &GuardedHttp {
        &self.guard
    }

    /// The tools that stand in for a server that offers none; empty when that is switched off.
    pub fn fallback(&self) -> Vec<ToolDefinition> {
        if self.fallback { builtin_servers::google_drive::definitions() } else { Vec::new() }
    }

    /// Whether these are the tools that stand in.
    fn is_fallback(&self, tools: &[ToolDefinition]) -> bool {
        self.fallback && tools == self.fallback()
    }

    /// Whether anything stands in for a server that offers no tools.
    fn has_fallback(&self) -> bool {
        self.fallback
    }

    /// Looks after the connections of everybody until the program stops: closes those that nobody needs, and tries those
    /// again that failed.
    pub fn look_after(app: &App) {
        Pool::look_after(app);
    }

    /// Asks a server once for its tools, without keeping the connection.
    pub async fn probe(
        &self,
        app: &App,
        user: UserId,
        url: &str,
        headers: &[(String, String)],
    ) -> Result<Vec<ToolDefinition>, ProbeError> {
        if has_masked_values(url) {
            let problem = "*** stands for a value that is not shown. Enter the URL with all of its values.";
            return Err(ProbeError::BadUrl(problem.into()));
        }
        let target = self.target(app, user, url, headers)?;
        let may_sign_in = !has_authorization(headers) && !self.is_own(target.url());
        let in_words = |error: mcp::Error| match error.challenge() {
            Some(_) if may_sign_in => ProbeError::NeedsSignIn,
            _ => error.into(),
        };
        let connection = self.client.connect(target, &CancellationToken::new()).await.map_err(in_words)?;
        let tools = connection.list_tools().await;
        connection.close().await;
        let tools = tools.map_err(in_words)?;
        if tools.is_empty() { Err(ProbeError::NoTools) } else { Ok(tools) }
    }

    /// A person's connections, with what is stored of their tools at hand.
    pub async fn servers(&self, app: &App, user: UserId) -> Result<Vec<store::servers::Server>, store::Error> {
        let servers = app.store.list_servers(user).await?;
        self.pool.recall(app, user, &servers).await?;
        Ok(servers)
    }

    /// What a person's connections are like, without asking the servers.
    pub async fn list(&self, app: &App, user: UserId) -> Result<Vec<ConnectionView>, store::Error> {
        let servers = self.servers(app, user).await?;
        Ok(servers.iter().map(|server| self.pool.view(server, self)).collect())
    }

    /// The names of the tools that a connection is known to offer, without those that are switched off.
    pub fn offered(&self, server: &store::servers::Server) -> Vec<String> {
        let tools = self.pool.tools(server);
        let names = tools.iter().map(|tool| tool.name.clone());
        names.filter(|name| !server.disabled_tools.contains(name)).collect()
    }

    /// Opens what is not open of a person's connections, in the background; their pages are told as it goes.
    pub async fn wake(&self, app: &App, user: UserId) -> Result<(), store::Error> {
        for server in self.servers(app, user).await? {
            if self.pool.is_settled(&server) {
                continue;
            }
            let inner = app.clone();
            app.tasks.spawn("connect", async move {
                tokio::select! {
                    () = inner.tasks.shutdown_token().cancelled() => {}
                    _ = inner.tools.pool.open(&inner, user, &server) => {}
                }
            });
        }
        Ok(())
    }

    /// Connects to one server anew, whatever is known of it, and lists its tools.
    pub async fn refresh(&self, app: &App, user: UserId, server: &store::servers::Server) -> ConnectionView {
        self.pool.reset(user, server).await;
        drop(self.pool.open(app, user, server).await);
        self.pool.view(server, self)
    }

    /// Lists the tools of one server again, over the connection that there is.
    pub async fn list_again(&self, app: &App, user: UserId, server: &store::servers::Server) -> ConnectionView {
        self.pool.list_again(app, user, server).await;
        self.pool.view(server, self)
    }

    /// Lets go of connections whose rows are gone, and tells the pages.
    pub async fn reconcile(&self, app: &App, user: UserId) -> Result<(), store::Error> {
        let servers = app.store.list_servers(user).await?;
        for id in self.pool.retain(user, &servers).await {
            app.events.publish(user, &platform::UserEvent::ConnectionRemoved { id });
        }
        self.end_orphaned_sign_ins(app, user).await?;
        self.wake(app, user).await
    }

    /// The tools of a selection that can be used now. What cannot be used is named in the notices.
    pub async fn open(&self, app: &App, user: UserId, selection: &Selection) -> Toolset {
        let opened = join_all(selection.servers().into_iter().map(|server| async move {
            let opened = self.pool.open_in_time(app, user, &server).await;
            (server, opened)
        }));
        Toolset::bind(selection, opened.await)
    }

    /// The tools of all of a person's connections that are switched on, as far as is known, without asking anybody.
    pub fn known(&self, servers: &[store::servers::Server]) -> Toolset {
        let mut wanted = Vec::new();
        for server in servers {
            let tools = self.pool.tools(server);
            let usable = tools.iter().filter(|tool| !server.disabled_tools.contains(&tool.name));
            let wish =
                |tool: &ToolDefinition| Wanted { name: tool.name.clone(), server_name: Some(server.name.clone()) };
            wanted.extend(usable.map(wish));
        }
        let Ok(selection) = Selection::resolve(&wanted, servers, |_| Vec::new()) else { return Toolset::default() };
        let opened = selection.servers().into_iter().map(|server| {
            let tools = self.pool.tools(&server);
            (server, Ok(Opened { connection: None, tools, origin: Origin::Server, reason: None, about: None }))
        });
        Toolset::bind(&selection, opened.collect()).for_model()
    }

    /// The same for a person who asks for a tool by hand, and may know better than we do that its server is there again:
    /// one that failed is tried at once, unless it fails again and again.
    pub async fn open_by_hand(&self, app: &App, user: UserId, selection: &Selection) -> Toolset {
        selection.servers().iter().for_each(|server| self.pool.rouse(user, server));
        self.open(app, user, selection).await
    }

    /// Closes every connection, after the sign-ins that are being renewed are stored.
    pub async fn stop(&self) {
        self.oauth.close().await;
        self.pool.close().await;
    }

    /// Whether an app may name an address, or with `and_below` all hosts below its own: like a server's, but never ours.
    fn may_be_reached_by_apps(&self, url: &Url, and_below: bool) -> bool {
        let host = format!(".{}", url.host_str().unwrap_or_default());
        let covers = |own: &String| own.rsplit_once(':').is_some_and(|(name, _)| name.ends_with(&host));
        let is_ours = self.is_own(url) || and_below && self.own.iter().any(covers);
        !is_ours && self.guard.policy().check_url(url).is_ok()
    }

    /// Whether an address is this server's.
    fn is_own(&self, url: &Url) -> bool {
        self.own.iter().any(|own| *own == host_and_port(url))
    }

    /// An address with its headers, checked. Our own servers get the person's identity with it.
    fn target(
        &self,
        app: &App,
        user: UserId,
        url: &str,
        headers: &[(String, String)],
    ) -> Result<ConnectionTarget, ProbeError> {
        let url = Url::parse(url.trim()).map_err(|_| {
            ProbeError::BadUrl(
                "This is not an address. It should begin with http://, https://, ws:// or wss://.".into(),
            )
        })?;
        let is_own = self.is_own(&url);
        let mut target = ConnectionTarget::new(url);
        for (name, value) in headers {
            target = target.with_header(name, value)?;
        }
        if is_own
            && !has_authorization(headers)
            && let Ok(token) = app.accounts.issue_internal(user, Audience::Mcp, IDENTITY)
        {
            target = target.with_header("authorization", &format!("Bearer {token}"))?;
        }
        Ok(target)
    }
}

/// Whether the person entered who they are.
fn has_authorization(headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
}

/// An open connection and what it offers.
#[derive(Debug, Clone)]
pub struct Opened {
    /// `None` when the fallback stands in, or when the person has to sign in before a tool can be called.
    pub connection: Option<mcp::Connection>,
    /// What it offers.
    pub tools: Arc<Vec<ToolDefinition>>,
    /// Who runs them.
    pub origin: Origin,
    /// Why the fallback stands in; reads on from the server's name.
    pub reason: Option<String>,
    /// What the server says of itself.
    pub about: Option<mcp::ServerInfo>,
}

impl Opened {
    /// What the server says about how it wants to be used; empty where it says nothing, or something stands in for it.
    pub fn instructions(&self) -> String {
        let about = self.about.as_ref().filter(|_| self.origin == Origin::Server);
        without_nul(about.and_then(|about| about.instructions.clone()).unwrap_or_default())
    }
}
