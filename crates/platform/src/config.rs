//! Configuration: all settings with their defaults and meanings. They are read once at the start; an unknown name or
//! invalid value is rejected.

mod admin_listener;
mod backups;
mod files;
mod host_name;
mod limits;
mod model_access;
mod oidc;
mod origin;
mod providers;
mod quotas;
mod report;
mod sessions;
mod sign_ups;
mod source;
mod traces;

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use domain::model::{ModelRules, QuotaLimits};
use domain::network_allowlist::AllowlistEntry;
use domain::provider::Provider;
use lettre::message::Mailbox;
use secrecy::SecretString;
use storage::object_storage::FileStorageSettings;
use url::Url;

use crate::client_address::TrustedProxy;
use crate::url_host::is_loopback;
use model_access::RulePolicy;
use oidc::AccountPolicy;

pub use admin_listener::AdminListener;
pub use backups::BackupSchedule;
pub use host_name::{HostName, InvalidHostName};
pub use limits::Limits;
pub use oidc::{OidcSettings, is_protected};
pub use origin::{NotAnOrigin, Origin};
pub use providers::OPENAI_HOST;
pub use quotas::{InvalidDollars, Nanodollars};
pub use report::{SettingProblem, SettingStatus, SettingsReport};
pub use sessions::SessionLifetimes;
pub use sign_ups::{PROVE_ADDRESSES, SignUps};
pub use source::{ConfigError, SETTINGS_FILE_NAME, SettingOrigin, Source};
pub use traces::{OtlpProtocol, TraceSampler, TraceSettings};

/// Minimum length of the service role key, in characters, so that it cannot be guessed.
const SHORTEST_SERVICE_ROLE_KEY: usize = 32;

/// Default time after which the unused built-in model is unloaded.
const DEFAULT_MODEL_IDLE_TIME: Duration = Duration::from_mins(10);
/// Default maximum age of the last proof of identity.
const REAUTHENTICATION_AFTER: Duration = Duration::from_mins(15);

/// Default time for which the audit log is kept.
const DEFAULT_AUDIT_LIFETIME: Duration = Duration::from_hours(24 * 90);

/// Settings of one process. [`Source`] says where they come from.
#[derive(Debug, Clone)]
pub struct Config {
    /// `CHAT_LISTEN`: the address to serve on. Default `127.0.0.1:3000`.
    pub listen: SocketAddr,
    /// `CHAT_SITE_URL`: the public origin, for links and redirects. Default `http://localhost:<port>`.
    pub site_url: Option<Url>,
    /// `CHAT_DATA_DIR`: database, keys and weights. Default `./data`.
    pub data_dir: PathBuf,
    /// `DATABASE_URL`. Default: SQLite in the data folder.
    pub database_url: String,
    /// `DATABASE_LISTEN_URL`: an address of the same PostgreSQL database for migrations and messages of the other nodes,
    /// where `DATABASE_URL` leads through a pooler.
    pub database_listen_url: Option<String>,
    /// `CHAT_FILES`, `CHAT_FILES_TIMEOUT`, `AWS_…`: where the content of files is stored. Default: in the database.
    pub files: FileStorageSettings,
    /// `CHAT_MODEL`: the default model, as `provider/name`. Default: a model of the first configured provider, or
    /// else the built-in one.
    pub model: Option<String>,
    /// `CHAT_TRANSCRIPTION_MODEL`: the model that transcribes what users dictate, as `provider/name`, or `off`. Default:
    /// one that a provider offers.
    pub transcription_model: Option<String>,
    /// `ANTHROPIC_API_KEY`, `OPENAI_BASE_URL` and the like: the configured model providers, in the order in which a
    /// default model is looked for.
    pub providers: Vec<Provider>,
    /// `CHAT_MODEL_CATALOGUE`: a file with the model catalogue, instead of the embedded one.
    pub model_catalogue: Option<PathBuf>,
    /// `CHAT_MODEL_ACCESS`: which users may use which of the configured models. `None`: all of them may use all.
    pub model_access: Option<ModelRules>,
    /// `CHAT_TOKENS_PER_DAY`, `CHAT_TOKENS_PER_MONTH`, `CHAT_COST_PER_DAY`, `CHAT_COST_PER_MONTH`,
    /// `CHAT_TURNS_PER_HOUR`, `CHAT_MAX_FILES_MIB_PER_USER`, `CHAT_MAX_SAVED_CONNECTIONS_PER_USER`: quotas
    /// of each user.
    pub quotas: QuotaLimits,
    /// `CHAT_LOCAL_MODEL`: a GGUF file, or `off`.
    pub local_model: LocalModel,
    /// `CHAT_LOCAL_THREADS`: threads of the built-in model. Default: the cores.
    pub local_threads: Option<NonZeroUsize>,
    /// `CHAT_LOCAL_IDLE`: the time in minutes after which the unused built-in model is unloaded, or `never`, which is
    /// `None`. Default: 10 minutes.
    pub local_idle: Option<Duration>,
    /// Path of this executable, which runs the built-in model in a subprocess. Without it, the model runs in this
    /// process: test binaries cannot act as the subprocess.
    pub local_program: Option<PathBuf>,
    /// Folder into which `cargo xtask run` puts weights: `$XDG_CACHE_HOME` or `~/.cache`, then `ai-chat-mcp/models`.
    pub model_cache: Option<PathBuf>,
    /// `CHAT_NETWORK_ALLOW`: private addresses that URLs of users may reach.
    pub network_allow: Vec<AllowlistEntry>,
    /// `CHAT_CORS_ORIGINS`: pages of other origins that may use the auth, data and functions APIs. Default: none.
    pub cors_origins: Vec<Origin>,
    /// `CHAT_ALLOWED_HOSTS`: host names of this server, in addition to that of the site URL. Default: none.
    pub allowed_hosts: Vec<HostName>,
    /// `CHAT_FALLBACK_TOOLS`: `google-drive` (default) or `off`.
    pub fallback_tools: bool,
    /// `CHAT_MCP_REGISTRY`: the registry in which users browse MCP servers, or `off`, which is `None`. Default: the
    /// official one.
    pub mcp_registry: Option<Url>,
    /// `GOOGLE_CLIENT_ID`, `GOOGLE_CLIENT_SECRET`: with both, users can link their Google Drive.
    pub google: Option<GoogleClient>,
    /// `GOOGLE_DRIVE_BASE_URL`, `GOOGLE_AUTHORIZE_URL`, `GOOGLE_TOKEN_URL`, `GOOGLE_REVOKE_URL`: addresses of
    /// Google's services, for tests.
    pub google_endpoints: GoogleEndpoints,
    /// `CHAT_JWT_KEYS`: a file with private JWKs. Default: an ES256 key, generated at the first start.
    pub jwt_keys: Option<PathBuf>,
    /// The files that settings with the ending `_FILE` name.
    pub secret_files: Vec<PathBuf>,
    /// `SMTP_URL`, `CHAT_MAIL_FROM`: the mail server.
    pub smtp: Option<Smtp>,
    /// `CHAT_REDIRECT_ALLOW`: patterns of addresses that links in emails may lead to, in addition to the site.
    pub redirect_allow: Vec<String>,
    /// `CHAT_REAUTHENTICATION_MINUTES`: the maximum age of a session's last proof of identity for changes of
    /// passwords, addresses, factors and API keys. Default: 15 minutes; 0 for no limit, which is `None`.
    pub reauthentication_after: Option<Duration>,
    /// `CHAT_PASSWORD_REAUTHENTICATION`: whether the current password is not accepted as proof. A new password then
    /// needs a code by email or of a second factor; if nothing else is required, only when the sign-in is older than
    /// a day.
    pub password_reauthentication: bool,
    /// `CHAT_REFUSE_COMMON_PASSWORDS`: whether common passwords are rejected. Default: if other machines can reach the
    /// server, because it listens on more than loopback or its site URL is not on loopback.
    pub refuse_common_passwords: bool,
    /// Whether users get an email about changes of their account and sign-ins with new devices.
    pub security_emails: bool,
    /// `CHAT_AUTOCONFIRM`: whether accounts are confirmed at once. Default: on without a mail server.
    pub autoconfirm: bool,
    /// `CHAT_SIGNUPS`, `CHAT_SIGNUP_DOMAINS`: the sign-up policy. Default: open.
    pub sign_ups: SignUps,
    /// `CHAT_AUDIT_DAYS`: the time for which the audit log is kept. Default: 90 days; 0 for no audit log, which is `None`.
    pub audit_lifetime: Option<Duration>,
    /// `CHAT_SESSION_IDLE`, `CHAT_SESSION_MAX`: the lifetimes of sign-ins. Default: no limits.
    pub session_lifetimes: SessionLifetimes,
    /// `CHAT_OIDC_…`: the identity provider at which users can sign in. Default: none.
    pub oidc: Option<OidcSettings>,
    /// `CHAT_ANONYMOUS_SIGN_IN`: whether users can sign in anonymously. Default: off.
    pub anonymous_sign_in: bool,
    /// `CHAT_RATE_LIMITS`: `on` (default) or `off`, for test suites on loopback.
    pub rate_limits: bool,
    /// `CHAT_MAX_…`: limits of concurrent work and of memory.
    pub limits: Limits,
    /// `CHAT_TRUSTED_PROXIES`: proxies with a trusted `X-Forwarded-For` header. Default: none.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// `CHAT_SERVICE_ROLE_KEY`: the key to the admin part of the auth API, which is disabled without it.
    pub service_role_key: Option<SecretString>,
    /// `CHAT_MASTER_KEY`: 32 bytes in base64. Default: a file in the data folder, generated at the first start.
    pub master_key: Option<SecretString>,
    /// `CHAT_ADMIN_LISTEN`, `CHAT_ADMIN_TOKEN`: the operator's listener. Default: none.
    pub admin_listener: Option<AdminListener>,
    /// `CHAT_BACKUP_DIR`, `CHAT_BACKUP_AT`, `CHAT_BACKUP_KEEP`: scheduled backups. Default: none.
    pub backups: Option<BackupSchedule>,
    /// `OTEL_…`: where traces are sent. Default: nowhere.
    pub traces: Option<TraceSettings>,
    /// `RUST_LOG`: filter of the log. Default: the binary's.
    pub log: Option<String>,
}

/// Settings of the mail server.
#[derive(Debug, Clone)]
pub struct Smtp {
    /// Address with user name and password.
    pub url: SecretString,
    /// Sender of emails. Default: `no-reply` at the site's host.
    pub from: Option<Mailbox>,
}

/// Choice of the built-in model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocalModel {
    /// The product's own weights, if they are found.
    Default,
    /// A GGUF file.
    File(PathBuf),
    /// No built-in model.
    Off,
}

/// OAuth client of this installation at Google, used with [`GoogleEndpoints`].
#[derive(Debug, Clone)]
pub struct GoogleClient {
    /// OAuth client id.
    pub id: String,
    /// OAuth client secret.
    pub secret: SecretString,
}

/// Addresses of Google's services.
#[derive(Debug, Clone)]
pub struct GoogleEndpoints {
    /// Drive API; its paths begin with `drive/v3` and `upload/drive/v3`.
    pub drive: Url,
    /// Authorization page.
    pub authorize: Url,
    /// Token endpoint.
    pub token: Url,
    /// Revocation endpoint.
    pub revoke: Url,
}

impl Config {
    /// Returns the public origin: [`Self::site_url`], or this machine with the port of the listener.
    ///
    /// # Errors
    ///
    /// Never: such an origin is always valid.
    pub fn public_origin(&self, port: u16) -> Result<Url, url::ParseError> {
        match &self.site_url {
            Some(url) => Ok(url.clone()),
            None => Url::parse(&format!("http://localhost:{port}")),
        }
    }

    /// Reads the environment and `ai-chat-mcp.toml` in the working folder.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn load() -> Result<Self, ConfigError> {
        let config = Self::from_source(Source::of_process()?)?;
        Ok(Self { local_program: std::env::current_exe().ok(), ..config })
    }

    /// Reads the settings from a source.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`]. Unknown names that begin with `CHAT_` are rejected, so that a typo is not silently
    /// ignored.
    pub fn from_source(mut source: Source) -> Result<Self, ConfigError> {
        Self::read(&mut source)
    }

    /// Returns whether users can sign up with an address that they need not prove.
    pub fn admits_unproven_addresses(&self) -> bool {
        let is_oidc_only = self.oidc.as_ref().is_some_and(|oidc| oidc.is_only);
        self.sign_ups.admit_unproven_addresses(self.autoconfirm, is_oidc_only)
    }

    /// Reads the settings, and records their names in the source.
    fn read(source: &mut Source) -> Result<Self, ConfigError> {
        let data_dir: PathBuf = source.text("CHAT_DATA_DIR").unwrap_or_else(|| "./data".into()).into();
        let database_url = source
            .partly_secret("DATABASE_URL")?
            .unwrap_or_else(|| format!("sqlite://{}", data_dir.join("ai-chat-mcp.db").display()));
        let database_listen_url = source.partly_secret("DATABASE_LISTEN_URL")?;
        let providers = providers::read(source)?;
        let google = match (source.text("GOOGLE_CLIENT_ID"), source.secret("GOOGLE_CLIENT_SECRET")?) {
            (Some(id), Some(secret)) => Some(GoogleClient { id, secret }),
            (None, None) => None,
            (id, _) => {
                let name = if id.is_some() { "GOOGLE_CLIENT_ID" } else { "GOOGLE_CLIENT_SECRET" };
                let reason = "GOOGLE_CLIENT_ID and GOOGLE_CLIENT_SECRET go together".to_owned();
                return Err(ConfigError::Bad { name: name.to_owned(), reason });
            }
        };
        let from = source.parse("CHAT_MAIL_FROM", "an address such as Chat <chat@example.com>")?;
        let smtp = source.secret("SMTP_URL")?.map(|url| Smtp { url, from });
        let password_reauthentication = source.switch("CHAT_PASSWORD_REAUTHENTICATION")?.unwrap_or(false);
        // Rejected at the start: without a mail server, users could not change their passwords.
        if password_reauthentication && smtp.is_none() {
            let reason = "codes are mailed, so it needs SMTP_URL".to_owned();
            return Err(ConfigError::Bad { name: "CHAT_PASSWORD_REAUTHENTICATION".into(), reason });
        }
        let autoconfirm = source.switch("CHAT_AUTOCONFIRM")?.unwrap_or(smtp.is_none());
        let sign_ups = SignUps::read(source)?;
        let anonymous_sign_in = source.switch("CHAT_ANONYMOUS_SIGN_IN")?.unwrap_or(false);
        let oidc = OidcSettings::read(source, &AccountPolicy { autoconfirm, anonymous_sign_in, sign_ups: &sign_ups })?;
        let is_oidc_only = oidc.as_ref().is_some_and(|oidc| oidc.is_only);
        let rule_policy = RulePolicy {
            reads_groups: oidc.as_ref().is_some_and(|oidc| oidc.groups_claim.is_some()),
            admits_unproven_addresses: sign_ups.admit_unproven_addresses(autoconfirm, is_oidc_only),
        };
        let listen = source
            .parse("CHAT_LISTEN", "an address such as 127.0.0.1:3000")?
            .unwrap_or(SocketAddr::from(([127, 0, 0, 1], 3000)));
        let site_url = source.url("CHAT_SITE_URL")?;
        // Weak passwords are only a risk where others can try them.
        let is_reachable = !listen.ip().is_loopback() || site_url.as_ref().is_some_and(|url| !is_loopback(url));
        let config = Self {
            listen,
            site_url,
            database_url,
            database_listen_url,
            files: files::read(source)?,
            model: source.text("CHAT_MODEL"),
            transcription_model: source.text("CHAT_TRANSCRIPTION_MODEL"),
            providers,
            model_catalogue: source.text("CHAT_MODEL_CATALOGUE").map(PathBuf::from),
            model_access: model_access::read(source, &rule_policy)?,
            quotas: quotas::read(source)?,
            local_model: match source.text("CHAT_LOCAL_MODEL") {
                None => LocalModel::Default,
                Some(word) if word == "off" => LocalModel::Off,
                Some(path) => LocalModel::File(path.into()),
            },
            local_threads: source.parse("CHAT_LOCAL_THREADS", "a number of threads, at least 1")?,
            local_idle: match source.text("CHAT_LOCAL_IDLE") {
                None => Some(DEFAULT_MODEL_IDLE_TIME),
                Some(word) if word == "never" => None,
                Some(text) => Some(minutes("CHAT_LOCAL_IDLE", &text)?),
            },
            local_program: None,
            model_cache: source.cache_folder().map(|folder| folder.join("ai-chat-mcp/models")),
            network_allow: source
                .list("CHAT_NETWORK_ALLOW", "hosts, host:port pairs or networks such as 10.0.0.0/8")?,
            cors_origins: source.list("CHAT_CORS_ORIGINS", "origins such as https://app.example.com")?,
            allowed_hosts: source.list("CHAT_ALLOWED_HOSTS", "names of hosts such as chat.internal")?,
            fallback_tools: source
                .choice("CHAT_FALLBACK_TOOLS", &[("google-drive", true), ("off", false)])?
                .unwrap_or(true),
            mcp_registry: source.url_or_off("CHAT_MCP_REGISTRY", "https://registry.modelcontextprotocol.io/")?,
            google,
            google_endpoints: GoogleEndpoints {
                drive: source.url_or("GOOGLE_DRIVE_BASE_URL", "https://www.googleapis.com/")?,
                authorize: source.url_or("GOOGLE_AUTHORIZE_URL", "https://accounts.google.com/o/oauth2/v2/auth")?,
                token: source.url_or("GOOGLE_TOKEN_URL", "https://oauth2.googleapis.com/token")?,
                revoke: source.url_or("GOOGLE_REVOKE_URL", "https://oauth2.googleapis.com/revoke")?,
            },
            jwt_keys: source.text("CHAT_JWT_KEYS").map(PathBuf::from),
            autoconfirm,
            sign_ups,
            audit_lifetime: match source.parse::<u16>("CHAT_AUDIT_DAYS", "a number of days, at most 65535")? {
                None => Some(DEFAULT_AUDIT_LIFETIME),
                Some(0) => None,
                Some(days) => Some(Duration::from_hours(24 * u64::from(days))),
            },
            session_lifetimes: SessionLifetimes::read(source)?,
            oidc,
            anonymous_sign_in,
            smtp,
            redirect_allow: source.list("CHAT_REDIRECT_ALLOW", "addresses")?,
            refuse_common_passwords: source.switch("CHAT_REFUSE_COMMON_PASSWORDS")?.unwrap_or(is_reachable),
            security_emails: source.switch("CHAT_SECURITY_EMAILS")?.unwrap_or(true),
            reauthentication_after: match source.parse::<u32>("CHAT_REAUTHENTICATION_MINUTES", "a number of minutes")? {
                None => Some(REAUTHENTICATION_AFTER),
                Some(0) => None,
                Some(minutes) => Some(Duration::from_mins(minutes.into())),
            },
            password_reauthentication,
            rate_limits: source.switch("CHAT_RATE_LIMITS")?.unwrap_or(true),
            limits: Limits::read(source)?,
            trusted_proxies: source.list("CHAT_TRUSTED_PROXIES", "addresses or networks such as 10.0.0.0/8")?,
            service_role_key: source.long_secret("CHAT_SERVICE_ROLE_KEY", SHORTEST_SERVICE_ROLE_KEY)?,
            master_key: source.secret("CHAT_MASTER_KEY")?,
            admin_listener: AdminListener::read(source)?,
            backups: BackupSchedule::read(source)?,
            traces: TraceSettings::read(source)?,
            log: source.text("RUST_LOG"),
            data_dir,
            // After all secrets have been read.
            secret_files: source.secret_file_paths(),
        };
        // Last, because a name counts as known once it has been read.
        source.refuse_unknown()?;
        Ok(config)
    }
}

/// Parses a number of minutes.
fn minutes(name: &str, text: &str) -> Result<Duration, ConfigError> {
    let minutes = text.parse::<NonZeroU32>().map_err(|_| ConfigError::Bad {
        name: name.to_owned(),
        reason: format!("it must be a number of minutes, at least 1, or never; not {text:?}"),
    })?;
    Ok(Duration::from_mins(minutes.get().into()))
}
