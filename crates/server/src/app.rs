//! What a handler may use.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use builtin_servers::google_drive::GoogleDriveSettings;
use builtin_servers::{BuiltinServers, GoogleDrive};
use connections::{ConnectionService, ConnectionSettings, FallbackTools, ServiceDependencies, url_query};
use domain::{Clock, SystemClock};
use secrecy::ExposeSecret;
use store::Store;
use tokio::sync::Semaphore;
use url::Url;

use crate::data_folder;
use crate::threads;
use crate::wiring::{DriveFallback, McpTokenIssuer};
use accounts::mailer::Mailer;
use accounts::{AccountDependencies, AccountService, AccountSettings};
use agent::chats::maintenance::ChatMaintenance;
use agent::chats::temporary::TemporaryChats;
use agent::files::FileService;
use agent::models::ModelService;
use agent::openai_api::CompletionService;
use agent::turns::{TurnDependencies, TurnService, readiness};
use platform::config::Config;
use platform::{
    BackgroundTasks, Cluster, ClusterBus, ConcurrencyLimiter, InstanceLock, Limit, SecretSealer, UserEventBus,
};

/// The app: everything a handler may use. Cheap to clone.
#[derive(Debug, Clone)]
pub struct App(Arc<Parts>);

/// The parts of an app.
#[derive(Debug)]
pub struct Parts {
    /// The settings.
    pub config: Config,
    /// The public origin.
    pub site_url: Url,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// The database.
    pub store: Store,
    /// Seals what is stored and must not be read.
    pub secrets: Arc<SecretSealer>,
    /// Background work.
    pub tasks: BackgroundTasks,
    /// Accounts, sessions and tokens.
    pub accounts: AccountService,
    /// The models that can be asked.
    pub models: Arc<ModelService>,
    /// The users' connections to MCP servers.
    pub connections: ConnectionService,
    /// The built-in MCP servers.
    pub builtin_servers: BuiltinServers,
    /// What open pages are told.
    pub events: UserEventBus,
    /// Turns.
    pub runs: TurnService,
    /// Chats that are never stored on disk.
    pub temporary: TemporaryChats,
    /// Files of users and answers.
    pub files: FileService,
    /// Streams that are open.
    pub streams: ConcurrencyLimiter,
    /// Files that are taken in at a time: each is in memory as a whole.
    pub imports: Semaphore,
    /// The same of those that go with messages.
    pub uploads: ConcurrencyLimiter,
    /// Files that are sent at a time.
    pub downloads: ConcurrencyLimiter,
    /// Maintenance of chats, files and the search index.
    pub maintenance: Arc<ChatMaintenance>,
    /// The OpenAI-compatible API.
    pub completions: CompletionService,
    /// Servers that are asked once for their tools, per user.
    pub probes: ConcurrencyLimiter,
    /// The same per network address.
    pub probes_by_address: ConcurrencyLimiter<IpAddr>,
    /// Lock of the data folder, if the file system supports locks and no other process holds it.
    pub instance_lock: Option<InstanceLock>,
    /// Membership among the nodes on the same database.
    pub membership: Cluster,
}

/// Files that are taken in at a time.
const IMPORTS: usize = 2;
/// The same of those that go with messages, of 10 MiB at most.
const UPLOADS: Limit = Limit { per_user: 4, total: 16 };
/// Files that are sent at a time: more than a browser asks for in two tabs.
const DOWNLOADS: Limit = Limit { per_user: 16, total: 64 };

/// Servers that are asked at a time for their tools without being kept: each is a connection with an answer of up to 16 MiB.
const PROBES: Limit = Limit { per_user: 4, total: 64 };
/// The same for one network address.
const PROBES_BY_ADDRESS: Limit = Limit { per_user: 16, total: 64 };

impl std::ops::Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl App {
    /// Opens everything. `address` is where the server listens.
    pub async fn start(config: Config, address: SocketAddr) -> anyhow::Result<Self> {
        Self::start_at(config, address, Arc::new(SystemClock)).await
    }

    /// The same with a clock of one's own.
    pub async fn start_at(config: Config, address: SocketAddr, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        data_folder::prepare(&config.data_dir)
            .with_context(|| format!("cannot make the data folder {}", config.data_dir.display()))?;
        let secrets = match &config.master_key {
            Some(key) => SecretSealer::from_base64("CHAT_MASTER_KEY", key.expose_secret())?,
            None => SecretSealer::from_file(&config.data_dir.join("master.key"))?,
        };
        let secrets = Arc::new(secrets);
        let site_url = match &config.site_url {
            Some(url) => url.clone(),
            None => Url::parse(&format!("http://localhost:{}", address.port()))?,
        };
        let store = Store::open(&config.database_url).await?;
        // A new database is as open as the process's file mode mask says.
        data_folder::restrict(&config.data_dir);
        url_query::seal_stored(&store, &secrets).await.context("the URLs of connections cannot be sealed")?;
        let tasks = BackgroundTasks::default();
        let (cluster, outbox) = ClusterBus::new();
        let events = UserEventBus::new(cluster.clone());
        let mailer =
            config.smtp.as_ref().map(|smtp| Mailer::new(&smtp.url, smtp.from.as_ref(), &site_url)).transpose()?;
        let dependencies = AccountDependencies {
            store: store.clone(),
            clock: Arc::clone(&clock),
            secrets: Arc::clone(&secrets),
            tasks: tasks.clone(),
            events: events.clone(),
            mailer,
        };
        let accounts = AccountService::start(AccountSettings::new(&config, &site_url), dependencies).await?;
        let drive = GoogleDriveSettings {
            client: config.google.clone(),
            endpoints: config.google_endpoints.clone(),
            site_url: site_url.clone(),
        };
        let google_drive = GoogleDrive::new(drive, &store, &secrets, &clock, &tasks);
        let builtin_servers = BuiltinServers::new(google_drive.clone(), &clock);
        let connection_settings = ConnectionSettings {
            address,
            site_url: &site_url,
            network_allow: &config.network_allow,
            limit: config.limits.connections,
        };
        let fallback: Arc<dyn FallbackTools> = Arc::new(DriveFallback(google_drive));
        let dependencies = ServiceDependencies {
            store: store.clone(),
            secrets: Arc::clone(&secrets),
            clock: Arc::clone(&clock),
            events: events.clone(),
            tasks: tasks.clone(),
            cluster: cluster.clone(),
            token_issuer: Arc::new(McpTokenIssuer(accounts.clone())),
            fallback: Some(fallback).filter(|_| config.fallback_tools),
        };
        let (connections, ready) = ConnectionService::new(&connection_settings, dependencies)?;
        let models =
            Arc::new(ModelService::new(&config, &store, &clock, &tasks, &secrets, connections.guarded_http())?);
        let temporary = TemporaryChats::new(store.clone(), Arc::clone(&clock));
        let quota_bytes = config.limits.files_bytes as u64;
        let files = FileService::new(store.clone(), temporary.clone(), Arc::clone(&clock), quota_bytes);
        let instance_lock = InstanceLock::acquire(&config.data_dir, store.node());
        let previous = instance_lock.as_ref().and_then(|lock| lock.previous);
        let membership = Cluster::new(store.clone(), Arc::clone(&clock), tasks.clone(), events.clone());
        let dependencies = TurnDependencies {
            store: store.clone(),
            clock: Arc::clone(&clock),
            tasks: tasks.clone(),
            secrets: Arc::clone(&secrets),
            events: events.clone(),
            cluster,
            connections: connections.clone(),
            models: Arc::clone(&models),
            files: files.clone(),
            temporary: temporary.clone(),
            limits: config.limits,
        };
        let (runs, suspended) = TurnService::start(dependencies, previous).await?;
        let shutdown = tasks.shutdown_token().clone();
        let maintenance = Arc::new(ChatMaintenance::new(store.clone(), Arc::clone(&clock), runs.clone(), shutdown));
        let completions = CompletionService::new(
            store.clone(),
            &clock,
            tasks.clone(),
            Arc::clone(&models),
            connections.clone(),
            config.rate_limits,
        );
        let streams = ConcurrencyLimiter::new(config.limits.streams);
        let app = Self(Arc::new(Parts {
            config,
            site_url,
            clock,
            store,
            secrets,
            tasks,
            accounts,
            models,
            connections,
            builtin_servers,
            events,
            runs,
            temporary,
            files,
            streams,
            imports: Semaphore::new(IMPORTS),
            uploads: ConcurrencyLimiter::new(UPLOADS),
            downloads: ConcurrencyLimiter::new(DOWNLOADS),
            completions,
            maintenance,
            probes: ConcurrencyLimiter::new(PROBES),
            probes_by_address: ConcurrencyLimiter::new(PROBES_BY_ADDRESS),
            instance_lock,
            membership,
        }));
        app.runs.resume(suspended);
        app.tasks.spawn("database", watch_database(app.clone()));
        app.membership.start(outbox, Arc::new(app.clone()));
        app.tasks.spawn("chat maintenance", Arc::clone(&app.maintenance).run());
        app.tasks.spawn("threads", threads::renew(app.tasks.clone()));
        let (models, shutdown) = (Arc::clone(&app.models), app.tasks.shutdown_token().clone());
        app.tasks.spawn("catalogue", async move { models.catalogue.reload_on_change(shutdown).await });
        app.connections.start_maintenance();
        app.tasks.spawn("prewarm models", readiness::prewarm_on_ready(app.runs.clone(), ready));
        app.models.prepare_once();
        tracing::info!(database = app.store.kind(), address = %address, "started");
        Ok(app)
    }

    /// Ends background work and closes the database.
    pub async fn stop(&self) {
        self.tasks.stop().await;
        self.connections.close().await;
        self.membership.leave().await;
        self.store.close().await;
    }
}

/// Says when the database goes away, and when it is back.
async fn watch_database(app: App) {
    let mut is_down = app.store.is_down();
    let watch = async {
        let tell = async {
            while is_down.changed().await.is_ok() {
                if *is_down.borrow_and_update() {
                    tracing::error!("the database is away; what needs it is refused until it is back");
                } else {
                    tracing::info!("the database is back");
                }
            }
        };
        tokio::join!(app.store.monitor(), tell)
    };
    app.tasks.shutdown_token().run_until_cancelled(watch).await;
}
