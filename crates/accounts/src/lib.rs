//! Accounts: passwords, sign-ins and the tokens that prove them.
//!
//! A person signs in once on each device. The sign-in is a row; an access token names it and is good for an hour, and only
//! as long as the row is there. A refresh token names it too, with a counter: see [`sessions`].
//!
//! What is mailed: [`emails`] writes links, [`one_time_tokens`] makes what they carry, [`verification`] takes it back.

mod account_updates;
pub mod admin;
pub mod api_keys;
pub mod confirmation;
pub mod deletion;
pub mod email_address;
mod email_change;
mod email_cooldown;
pub mod emails;
pub mod error;
pub mod gotrue_error;
mod last_seen;
pub mod login_throttle;
pub mod mailer;
pub mod mfa;
pub mod one_time_tokens;
pub mod password;
pub mod phone;
pub mod pkce;
pub mod qr;
pub mod rate_limits;
pub mod reauthentication;
pub mod recovery;
pub mod redirects;
pub mod refresh_token;
pub mod sessions;
pub mod sign_up;
pub mod signing_keys;
#[cfg(test)]
mod test_clock;
pub mod tokens;
pub mod totp;
pub mod verification;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::{Clock, UserId};
use platform::config::Config;
use platform::{BackgroundTasks, SecretSealer, UserEventBus};
use secrecy::SecretString;
use serde_json::Value;
use storage::Storage;
use url::Url;

use admin::AdminKey;
use email_cooldown::Pauses;
use last_seen::Presence;
use mailer::Mailer;
use one_time_tokens::OneTime;
use password::{PasswordRules, Passwords};
use rate_limits::Limits;
use redirects::Redirects;
use refresh_token::RefreshTokens;
use signing_keys::Keys;

pub use error::AuthError;
use tokens::Issuer;
pub use tokens::{Audience, Claims};

/// Settings of [`AccountService`].
#[derive(Debug, Clone)]
pub struct AccountSettings {
    /// The public origin of the site.
    pub site_url: Url,
    /// Whether the operator chose the site URL. Otherwise its port is the one that the server listens on.
    pub is_site_url_configured: bool,
    /// Whether email addresses count as confirmed at once.
    pub autoconfirm: bool,
    /// Whether a new password needs an emailed code or a factor when the session is older than a day.
    pub password_reauthentication: bool,
    /// Maximum age of the last proof of identity for sensitive changes; `None` for no limit.
    pub reauthentication_after: Option<Duration>,
    /// Whether common passwords are rejected.
    pub refuse_common_passwords: bool,
    /// Whether requests, login attempts and emails are limited.
    pub rate_limits: bool,
    /// Patterns of addresses, besides the site's, that emailed links may redirect to.
    pub redirect_allow: Vec<String>,
    /// A file with the keys that sign tokens; `None` for keys in the database.
    pub jwt_keys: Option<PathBuf>,
    /// The key with which the administrator calls the auth API.
    pub service_role_key: Option<SecretString>,
}

impl AccountSettings {
    /// Takes the settings of accounts out of those of the process.
    pub fn new(config: &Config, site_url: &Url) -> Self {
        Self {
            site_url: site_url.clone(),
            is_site_url_configured: config.site_url.is_some(),
            autoconfirm: config.autoconfirm,
            password_reauthentication: config.password_reauthentication,
            reauthentication_after: config.reauthentication_after,
            refuse_common_passwords: config.refuse_common_passwords,
            rate_limits: config.rate_limits,
            redirect_allow: config.redirect_allow.clone(),
            jwt_keys: config.jwt_keys.clone(),
            service_role_key: config.service_role_key.clone(),
        }
    }
}

/// Infrastructure that [`AccountService`] uses.
#[derive(Debug)]
pub struct AccountDependencies {
    /// The database.
    pub storage: Storage,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// Encrypts secrets before they are stored.
    pub secrets: Arc<SecretSealer>,
    /// Background work.
    pub tasks: BackgroundTasks,
    /// Events for the users' open pages.
    pub events: UserEventBus,
    /// The mail server, if one is configured.
    pub mailer: Option<Mailer>,
}

/// Accounts, sessions and tokens. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AccountService {
    storage: Storage,
    clock: Arc<dyn Clock>,
    secrets: Arc<SecretSealer>,
    tasks: BackgroundTasks,
    events: UserEventBus,
    mailer: Option<Arc<Mailer>>,
    settings: Arc<AccountSettings>,
    issuer: Arc<Issuer>,
    keys: Arc<Keys>,
    refresh_tokens: Arc<RefreshTokens>,
    passwords: Passwords,
    limits: Arc<Limits>,
    presence: Presence,
    one_time: Arc<OneTime>,
    pauses: Arc<Pauses>,
    redirects: Arc<Redirects>,
    admin_key: Option<AdminKey>,
}

impl AccountService {
    /// Creates the service. Loads the keys that sign tokens; the first start creates one.
    ///
    /// # Errors
    ///
    /// The signing keys cannot be read or stored.
    pub async fn start(settings: AccountSettings, dependencies: AccountDependencies) -> anyhow::Result<Self> {
        let AccountDependencies { storage, clock, secrets, tasks, events, mailer } = dependencies;
        // Chosen explicitly, because a second back end in the dependency tree would make the library's own choice panic.
        // A second app in the same process finds it chosen already.
        let _already = jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER.install_default();
        let keys = match &settings.jwt_keys {
            Some(path) => Keys::from_file(path)?,
            None => Keys::from_store(&storage, &secrets, clock.now()).await?,
        };
        Ok(Self {
            issuer: Arc::new(Issuer::new(&settings.site_url, settings.is_site_url_configured)?),
            keys: Arc::new(keys),
            refresh_tokens: Arc::new(RefreshTokens::new(&secrets.derive("refresh tokens")?)),
            passwords: Passwords::default(),
            limits: Arc::new(Limits::new(settings.rate_limits, &clock)),
            presence: Presence::default(),
            one_time: Arc::new(OneTime::new(&secrets.derive("one-time codes")?)),
            pauses: Arc::new(Pauses::new(settings.rate_limits, &clock)),
            redirects: Arc::new(Redirects::new(&settings.site_url, &settings.redirect_allow)),
            admin_key: settings.service_role_key.as_ref().map(AdminKey::new),
            storage,
            clock,
            secrets,
            tasks,
            events,
            mailer: mailer.map(Arc::new),
            settings: Arc::new(settings),
        })
    }

    /// Verifies an access token: signature, times, that its session exists, that its user is not banned, and that it was
    /// issued after a second factor if the user has one.
    ///
    /// # Errors
    ///
    /// A GoTrue error that says what is wrong with the token, or a failure of the database.
    pub async fn verify(&self, token: &str) -> Result<Claims, AuthError> {
        let claims = self.verify_first_factor(token).await?;
        if claims.lacks_factor { Err(gotrue_error::INSUFFICIENT_AAL.into()) } else { Ok(claims) }
    }

    /// Verifies an access token like [`AccountService::verify`], but accepts a missing second factor: for the requests
    /// with which a user proves it.
    ///
    /// # Errors
    ///
    /// Those of [`AccountService::verify`].
    pub async fn verify_first_factor(&self, token: &str) -> Result<Claims, AuthError> {
        let claims = tokens::read_access(&self.keys, &self.issuer, token, self.clock.now())?;
        // GoTrue checks the same. It makes sign-outs and deletions effective at once, and not when the token expires.
        let standing = self.storage.auth_sessions().get_standing(claims.user, claims.session).await?;
        let standing = standing.ok_or(gotrue_error::SESSION_NOT_FOUND)?;
        if standing.banned_until.is_some_and(|until| until > self.clock.now()) {
            return Err(gotrue_error::USER_BANNED.into());
        }
        // A token of the last refresh shows that its response has arrived. This is stored once per refresh.
        if !standing.is_confirmed && claims.issued_at >= standing.refreshed_at.as_seconds() {
            self.storage.auth_sessions().confirm(claims.user, claims.session, self.clock.now()).await?;
        }
        self.record_use(claims, standing);
        Ok(Claims { lacks_factor: standing.lacks_factor, ..claims })
    }

    /// Issues a token with which this server calls another part of itself on behalf of a user. `lifetime` counts in
    /// whole seconds.
    ///
    /// # Errors
    ///
    /// The token cannot be signed.
    pub fn issue_internal(&self, user: UserId, audience: Audience, lifetime: Duration) -> Result<String, AuthError> {
        let seconds = i64::try_from(lifetime.as_secs()).map_err(AuthError::internal)?;
        tokens::write_internal(&self.keys, user, audience, seconds, self.clock.now()).map_err(AuthError::internal)
    }

    /// Returns the user of a token of [`AccountService::issue_internal`].
    ///
    /// # Errors
    ///
    /// The token is invalid, expired or for another audience.
    pub fn verify_internal(&self, token: &str, audience: Audience) -> Result<UserId, AuthError> {
        Ok(tokens::read_internal(&self.keys, token, audience, self.clock.now())?)
    }

    /// Returns the public keys as a JWK set.
    pub fn published_keys(&self) -> &Value {
        self.keys.published()
    }

    /// Returns whether the server can send emails.
    pub fn can_send_email(&self) -> bool {
        self.mailer.is_some()
    }

    /// Returns whether users can create accounts: their addresses are confirmed at once, or by email.
    pub fn allows_sign_up(&self) -> bool {
        self.settings.autoconfirm || self.can_send_email()
    }

    /// Returns the rules for new passwords.
    pub fn password_rules(&self) -> PasswordRules {
        PasswordRules { refuse_common: self.settings.refuse_common_passwords }
    }

    /// Returns the limits for requests and login attempts.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}
