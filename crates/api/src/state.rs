//! The state of the router: the services and values that extractors and handlers take.

use std::sync::Arc;

use accounts::AccountService;
use accounts::deletion::AccountDeletionHandler;
use agent::chats::temporary::TemporaryChats;
use agent::files::FileService;
use agent::models::ModelService;
use agent::openai_api::CompletionService;
use agent::push::PushService;
use agent::turns::TurnService;
use axum::extract::FromRef;
use builtin_servers::BuiltinServers;
use connections::ConnectionService;
use connections::registry::ServerRegistry;
use domain::Clock;
use http_server::extract::TrustedProxies;
use platform::config::Config;
use platform::{AuditLog, BackgroundTasks, SecretSealer, UserEventBus};
use storage::Storage;
use url::Url;

use crate::admin_listener::OperatorAccess;
use crate::limiters::{
    DownloadLimiter, ImportLimiter, ProbeAddressLimiter, ProbeLimiter, StreamLimiter, TranscriptionLimiter,
    UploadLimiter,
};

/// The services and values of the router. Each has a type of its own, by which handlers take it. Cheap to clone.
#[derive(Debug, Clone, FromRef)]
pub struct AppState {
    /// Settings of the router and of the connections of clients. Handlers take the values below.
    #[from_ref(skip)]
    pub config: Arc<Config>,
    /// Public origin.
    pub site_url: SiteUrl,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: TrustedProxies,
    /// Settings that clients may know.
    pub public_settings: PublicSettings,
    /// Clock.
    pub clock: Arc<dyn Clock>,
    /// Database.
    pub storage: Storage,
    /// Encryption of stored secrets.
    pub secrets: Arc<SecretSealer>,
    /// Background tasks.
    pub tasks: BackgroundTasks,
    /// Audit log.
    pub audit: AuditLog,
    /// Accounts, sessions and tokens.
    pub accounts: AccountService,
    /// What ends with an account outside of [`accounts`].
    pub account_deletion: Arc<dyn AccountDeletionHandler>,
    /// Models and their providers.
    pub models: Arc<ModelService>,
    /// Users' connections to MCP servers.
    pub connections: ConnectionService,
    /// Registry in which users browse MCP servers; `None` if it is switched off.
    pub registry: Option<ServerRegistry>,
    /// Built-in MCP servers.
    pub builtin_servers: BuiltinServers,
    /// Events for users' clients.
    pub events: UserEventBus,
    /// Turns.
    pub turns: TurnService,
    /// Temporary chats.
    pub temporary: TemporaryChats,
    /// Messages to users' browsers.
    pub push: PushService,
    /// Files of users and answers.
    pub files: FileService,
    /// The OpenAI-compatible API.
    pub completions: CompletionService,
    /// Access to the operator's listener; `None` if there is none.
    pub operator: Option<OperatorAccess>,
    /// Limiter of open event streams.
    pub streams: StreamLimiter,
    /// Limiter of imports.
    pub imports: ImportLimiter,
    /// Limiter of file uploads.
    pub uploads: UploadLimiter,
    /// Limiter of file downloads.
    pub downloads: DownloadLimiter,
    /// Limiter of transcriptions.
    pub transcriptions: TranscriptionLimiter,
    /// Limiter of `mcp-proxy` calls, per user.
    pub probes: ProbeLimiter,
    /// Limiter of `mcp-proxy` calls, per network address.
    pub probes_by_address: ProbeAddressLimiter,
}

/// Public origin of the server.
#[derive(Debug, Clone)]
pub struct SiteUrl(pub Url);

impl SiteUrl {
    /// Returns whether browsers reach the server over TLS.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }
}

/// Settings that clients may know.
#[derive(Debug, Clone, Copy)]
pub struct PublicSettings {
    /// Whether a new account needs no confirmation by email.
    pub autoconfirm: bool,
    /// Whether users may sign in without an account.
    pub anonymous_sign_in: bool,
    /// Whether servers without tools get the built-in Google Drive tools.
    pub fallback_tools: bool,
    /// Whether the server has a client at Google.
    pub google_drive: bool,
    /// Whether users can browse MCP servers in a registry.
    pub registry: bool,
}

impl From<&Config> for PublicSettings {
    fn from(config: &Config) -> Self {
        Self {
            autoconfirm: config.autoconfirm,
            anonymous_sign_in: config.anonymous_sign_in,
            fallback_tools: config.fallback_tools,
            google_drive: config.google.is_some(),
            registry: config.mcp_registry.is_some(),
        }
    }
}
