//! Builds the services, runs their background work, and stops it.

use std::net::SocketAddr;
use std::sync::Arc;

use accounts::mailer::Mailer;
use accounts::{AccountDependencies, AccountService, AccountSettings};
use agent::chats::maintenance::ChatMaintenance;
use agent::chats::temporary::TemporaryChats;
use agent::files::FileService;
use agent::files::object_deletion::ObjectDeletion;
use agent::models::ModelService;
use agent::openai_api::CompletionService;
use agent::push::{PushDependencies, PushService};
use agent::turns::{TurnDependencies, TurnService, prewarm};
use anyhow::Context;
use api::AppState;
use api::admin_listener::OperatorAccess;
use api::limiters::{
    self, DownloadLimiter, ImportLimiter, ProbeAddressLimiter, ProbeLimiter, StreamLimiter, TranscriptionLimiter,
    UploadLimiter,
};
use api::state::{PublicSettings, SiteUrl};
use builtin_servers::google_drive::GoogleDriveSettings;
use builtin_servers::{BuiltinServers, GoogleDrive};
use connections::registry::ServerRegistry;
use connections::{ConnectionReady, ConnectionService, ConnectionSettings, FallbackTools, ServiceDependencies};
use domain::{Clock, SystemClock};
use http_server::extract::TrustedProxies;
use platform::config::Config;
use platform::metrics::MetricsRecorder;
use platform::{
    AuditLog, BackgroundTasks, Cluster, ClusterBus, ClusterOutbox, InstanceLock, SecretSealer, UserEventBus,
};
use secrecy::ExposeSecret;
use storage::Storage;
use tokio::sync::mpsc::UnboundedReceiver;
use url::Url;

use crate::operator_tools::ServerTools;
use crate::version::version;
use crate::wiring::{AccountCleanup, ClusterEvents, DriveFallback, McpTokenIssuer};
use crate::{data_folder, scheduled_backups, threads};

/// The started application: its services, and the background work that [`stop`](Self::stop) ends.
#[derive(Debug)]
pub struct App {
    /// The services and values that the HTTP API uses.
    pub state: AppState,
    /// Maintenance of chats, files and the search index.
    pub maintenance: Arc<ChatMaintenance>,
    membership: Cluster,
    /// Lock of the data folder, if the file system supports locks and no other process holds it.
    _instance_lock: Option<InstanceLock>,
}

impl App {
    /// Builds the services and starts background work. `address` is where the server listens.
    ///
    /// # Errors
    ///
    /// A setting is invalid, or the data folder or the database cannot be used.
    pub async fn start(config: Config, address: SocketAddr) -> anyhow::Result<Self> {
        Self::start_at(config, address, Arc::new(SystemClock)).await
    }

    /// Starts the application with another clock; see [`start`](Self::start).
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn start_at(config: Config, address: SocketAddr, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let (base, outbox) = Foundation::open(config, address, clock).await?;
        let accounts = base.start_accounts().await?;
        let drive = base.google_drive();
        let (connections, ready) = base.connections(&accounts, &drive)?;
        let models = Arc::new(base.models(&connections)?);
        let registry = base.registry()?;
        let temporary = TemporaryChats::new(base.storage.clone(), Arc::clone(&base.clock));
        let files = base.files(&temporary, &models);
        // Before the turns: the lock tells which turns of this folder's previous process can be recovered at once.
        let instance_lock = InstanceLock::acquire(&base.config.data_dir, base.storage.node());
        let push = base.push(&connections).await?;
        let dependencies = base.turn_dependencies(&connections, &models, &files, &temporary, &push);
        let previous_node = instance_lock.as_ref().and_then(|lock| lock.previous);
        let (turns, suspended) = TurnService::start(dependencies, previous_node).await?;
        let completions = base.completions(&connections, &models);
        let builtin_servers = BuiltinServers::new(drive, &base.clock);
        let account_deletion = AccountCleanup {
            turns: turns.clone(),
            connections: connections.clone(),
            builtin_servers: builtin_servers.clone(),
            tasks: base.tasks.clone(),
        };
        let maintenance = base.maintenance(&turns);
        base.tasks.spawn("deletion of objects", base.object_deletion().run());
        let membership = base.membership();
        let operator = base.operator_access()?;
        let streams = StreamLimiter::new(base.config.limits.streams);
        let public_settings = PublicSettings::from(&*base.config);
        let trusted_proxies = TrustedProxies(base.config.trusted_proxies.as_slice().into());
        let Foundation { config, site_url, clock, storage, secrets, tasks, audit, events, .. } = base;
        let state = AppState {
            config,
            site_url: SiteUrl(site_url),
            trusted_proxies,
            public_settings,
            clock,
            storage,
            secrets,
            tasks,
            audit,
            accounts,
            account_deletion: Arc::new(account_deletion),
            models,
            connections,
            registry,
            builtin_servers,
            events,
            turns,
            temporary,
            push,
            files,
            completions,
            operator,
            streams,
            imports: ImportLimiter::default(),
            uploads: UploadLimiter::new(limiters::UPLOADS),
            downloads: DownloadLimiter::new(limiters::DOWNLOADS),
            transcriptions: TranscriptionLimiter::new(limiters::TRANSCRIPTIONS),
            probes: ProbeLimiter::new(limiters::PROBES),
            probes_by_address: ProbeAddressLimiter::new(limiters::PROBES_BY_ADDRESS),
        };
        let app = Self { state, maintenance, membership, _instance_lock: instance_lock };
        // Last, when everything that a resumed tool call may need is there. Requests are accepted only after this
        // function.
        app.state.turns.resume(suspended);
        app.start_background_work(outbox, ready);
        tracing::info!(database = app.state.storage.kind(), address = %address, "started");
        Ok(app)
    }

    /// Starts what runs beside requests until shutdown.
    fn start_background_work(&self, outbox: ClusterOutbox, ready: UnboundedReceiver<ConnectionReady>) {
        let AppState { config, clock, tasks, storage, accounts, turns, connections, models, .. } = &self.state;
        tasks.spawn("database", watch_database(storage.clone(), tasks.clone()));
        let handler = ClusterEvents { turns: turns.clone(), connections: connections.clone() };
        self.membership.start(outbox, Arc::new(handler));
        tasks.spawn("chat maintenance", Arc::clone(&self.maintenance).run());
        tasks.spawn("account cleanup", accounts.clone().run_cleanup());
        tasks.spawn("threads", threads::renew(tasks.clone()));
        let (catalogue_owner, shutdown) = (Arc::clone(models), tasks.shutdown_token().clone());
        tasks.spawn("catalogue", async move { catalogue_owner.catalogue.reload_on_change(shutdown).await });
        connections.start_maintenance();
        tasks.spawn("prewarm models", prewarm::prewarm_on_ready(turns.clone(), ready));
        models.prepare_once();
        if let Some(schedule) = config.backups.clone() {
            let (config, clock) = (Arc::clone(config), Arc::clone(clock));
            tasks.spawn("scheduled backups", scheduled_backups::run(config, schedule, clock, tasks.clone()));
        }
    }

    /// Stops background work and closes the database.
    pub async fn stop(&self) {
        // In this order: tasks use the connections and the database, and the turns that are still open are released
        // before the database closes.
        self.state.tasks.stop().await;
        self.state.connections.close().await;
        self.membership.leave().await;
        self.state.storage.close().await;
    }
}

/// The common dependencies of the services: settings, database, secrets, clock, background tasks and events.
struct Foundation {
    config: Arc<Config>,
    address: SocketAddr,
    site_url: Url,
    clock: Arc<dyn Clock>,
    storage: Storage,
    secrets: Arc<SecretSealer>,
    tasks: BackgroundTasks,
    audit: AuditLog,
    cluster: ClusterBus,
    events: UserEventBus,
}

impl Foundation {
    /// Prepares the data folder and opens the database.
    async fn open(config: Config, address: SocketAddr, clock: Arc<dyn Clock>) -> anyhow::Result<(Self, ClusterOutbox)> {
        data_folder::prepare(&config.data_dir)
            .with_context(|| format!("cannot make the data folder {}", config.data_dir.display()))?;
        let secrets = match &config.master_key {
            Some(key) => SecretSealer::from_base64("CHAT_MASTER_KEY", key.expose_secret())?,
            None => SecretSealer::from_file(&config.data_dir.join("master.key"))?,
        };
        let site_url = config.public_origin(address.port())?;
        let storage = Storage::open_with(&config.database_url, config.database_listen_url.as_deref()).await?;
        let storage = storage.with_file_storage(&config.files).await?;
        // A new database is as open as the process's file mode mask says.
        data_folder::restrict(&config.data_dir);
        let (cluster, outbox) = ClusterBus::new();
        let foundation = Self {
            audit: AuditLog::new(config.audit_lifetime.is_some(), &clock),
            config: Arc::new(config),
            address,
            site_url,
            clock,
            storage,
            secrets: Arc::new(secrets),
            tasks: BackgroundTasks::default(),
            events: UserEventBus::new(cluster.clone()),
            cluster,
        };
        Ok((foundation, outbox))
    }

    async fn start_accounts(&self) -> anyhow::Result<AccountService> {
        let smtp = self.config.smtp.as_ref();
        let mailer = smtp.map(|smtp| Mailer::new(&smtp.url, smtp.from.as_ref(), &self.site_url)).transpose()?;
        let dependencies = AccountDependencies {
            storage: self.storage.clone(),
            clock: Arc::clone(&self.clock),
            secrets: Arc::clone(&self.secrets),
            tasks: self.tasks.clone(),
            events: self.events.clone(),
            mailer,
        };
        AccountService::start(AccountSettings::new(&self.config, &self.site_url), dependencies).await
    }

    fn google_drive(&self) -> GoogleDrive {
        let settings = GoogleDriveSettings {
            client: self.config.google.clone(),
            endpoints: self.config.google_endpoints.clone(),
            site_url: self.site_url.clone(),
        };
        GoogleDrive::new(settings, &self.storage, &self.secrets, &self.clock, &self.tasks, &self.audit)
    }

    /// Builds the connections. The receiver tells which of them become ready.
    fn connections(
        &self,
        accounts: &AccountService,
        drive: &GoogleDrive,
    ) -> anyhow::Result<(ConnectionService, UnboundedReceiver<ConnectionReady>)> {
        let settings = ConnectionSettings {
            address: self.address,
            site_url: &self.site_url,
            network_allow: &self.config.network_allow,
            limit: self.config.limits.connections,
        };
        let fallback: Arc<dyn FallbackTools> = Arc::new(DriveFallback(drive.clone()));
        let dependencies = ServiceDependencies {
            storage: self.storage.clone(),
            secrets: Arc::clone(&self.secrets),
            clock: Arc::clone(&self.clock),
            events: self.events.clone(),
            tasks: self.tasks.clone(),
            audit: self.audit.clone(),
            cluster: self.cluster.clone(),
            token_issuer: Arc::new(McpTokenIssuer(accounts.clone())),
            fallback: Some(fallback).filter(|_| self.config.fallback_tools),
        };
        ConnectionService::new(&settings, dependencies)
    }

    fn registry(&self) -> anyhow::Result<Option<ServerRegistry>> {
        let Some(base) = self.config.mcp_registry.clone() else { return Ok(None) };
        Ok(Some(ServerRegistry::new(base, Arc::clone(&self.clock))?))
    }

    fn models(&self, connections: &ConnectionService) -> anyhow::Result<ModelService> {
        let guard = connections.guarded_http();
        ModelService::new(&self.config, &self.storage, &self.clock, &self.tasks, &self.secrets, guard)
    }

    fn files(&self, temporary: &TemporaryChats, models: &ModelService) -> FileService {
        FileService::new(self.storage.clone(), temporary.clone(), Arc::clone(&self.clock), models.quotas.clone())
    }

    async fn push(&self, connections: &ConnectionService) -> anyhow::Result<PushService> {
        let dependencies = PushDependencies {
            storage: self.storage.clone(),
            secrets: Arc::clone(&self.secrets),
            clock: Arc::clone(&self.clock),
            tasks: self.tasks.clone(),
            http: connections.guarded_http().clone(),
        };
        PushService::start(dependencies, &self.site_url).await
    }

    fn turn_dependencies(
        &self,
        connections: &ConnectionService,
        models: &Arc<ModelService>,
        files: &FileService,
        temporary: &TemporaryChats,
        push: &PushService,
    ) -> TurnDependencies {
        TurnDependencies {
            storage: self.storage.clone(),
            clock: Arc::clone(&self.clock),
            tasks: self.tasks.clone(),
            secrets: Arc::clone(&self.secrets),
            events: self.events.clone(),
            cluster: self.cluster.clone(),
            connections: connections.clone(),
            models: Arc::clone(models),
            files: files.clone(),
            temporary: temporary.clone(),
            push: push.clone(),
            limits: self.config.limits,
        }
    }

    fn completions(&self, connections: &ConnectionService, models: &Arc<ModelService>) -> CompletionService {
        CompletionService::new(
            self.storage.clone(),
            &self.clock,
            self.tasks.clone(),
            Arc::clone(models),
            connections.clone(),
            self.config.rate_limits,
        )
    }

    fn maintenance(&self, turns: &TurnService) -> Arc<ChatMaintenance> {
        let shutdown = self.tasks.shutdown_token().clone();
        Arc::new(ChatMaintenance::new(self.storage.clone(), Arc::clone(&self.clock), turns.clone(), shutdown))
    }

    fn object_deletion(&self) -> ObjectDeletion {
        let shutdown = self.tasks.shutdown_token().clone();
        ObjectDeletion::new(self.storage.clone(), Arc::clone(&self.clock), shutdown)
    }

    /// Starts to record metrics, if there is a listener that serves them.
    fn operator_access(&self) -> anyhow::Result<Option<OperatorAccess>> {
        let Some(settings) = &self.config.admin_listener else { return Ok(None) };
        let recorder = MetricsRecorder::install(version())?;
        self.tasks.spawn("metrics", recorder.clone().run_upkeep(self.tasks.shutdown_token().clone()));
        let tools = ServerTools::new(&self.config, &self.clock);
        Ok(Some(OperatorAccess::new(settings, recorder, Arc::new(tools))))
    }

    fn membership(&self) -> Cluster {
        Cluster::new(self.storage.clone(), Arc::clone(&self.clock), self.tasks.clone(), self.events.clone())
    }
}

/// Reports in the log when the database becomes unreachable and when it is back, until shutdown.
async fn watch_database(storage: Storage, tasks: BackgroundTasks) {
    let mut is_down = storage.is_down();
    let watch = async {
        let report = async {
            while is_down.changed().await.is_ok() {
                if *is_down.borrow_and_update() {
                    tracing::error!("the database is unreachable; requests that need it are refused");
                } else {
                    tracing::info!("the database is reachable again");
                }
            }
        };
        tokio::join!(storage.monitor(), report)
    };
    tasks.shutdown_token().run_until_cancelled(watch).await;
}
