//! User accounts: sign-up, sign-in, sessions, tokens, second factors, and the emails about them. The behavior is that
//! of GoTrue (Supabase Auth), which clients such as auth-js expect.
//!
//! Each sign-in creates a session, a row in the database. An access token is a JWT that names its session. It expires
//! after an hour, and is rejected earlier if the session has ended. A refresh token names the session, too, with a
//! rotation counter; see [`sessions`].
//!
//! Emails contain links and codes: [`one_time_tokens`] issues them, [`emails`] sends them, [`verification`] redeems
//! them.

mod account_updates;
pub mod admin;
pub mod api_keys;
mod audit;
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
pub mod oidc;
pub mod one_time_tokens;
pub mod passkeys;
pub mod password;
pub mod phone;
pub mod pkce;
pub mod qr;
pub mod rate_limits;
pub mod reauthentication;
pub mod recovery;
pub mod recovery_codes;
pub mod redirects;
pub mod refresh_token;
pub mod registration_tokens;
mod security_emails;
mod session_end;
pub mod sessions;
pub mod sign_up;
pub mod signing_keys;
#[cfg(test)]
mod test_clock;
pub mod tokens;
pub mod totp;
pub mod verification;
mod webauthn;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::{Clock, UserId};
use platform::config::{Config, OidcSettings, SessionLifetimes, SignUps};
use platform::{BackgroundTasks, SecretSealer, UserEventBus};
use secrecy::SecretString;
use serde_json::Value;
use storage::Storage;
use url::Url;

use admin::AdminKey;
use email_cooldown::EmailCooldown;
use gotrue_error::GoTrueError;
use last_seen::LastSeenWrites;
use mailer::Mailer;
use oidc::IdentityProvider;
use one_time_tokens::OneTimeTokens;
use password::{PasswordHasher, PasswordRules};
use rate_limits::RateLimits;
use redirects::RedirectAllowlist;
use refresh_token::RefreshTokenCodec;
use signing_keys::SigningKeys;

pub use audit::RequestOrigin;
pub use error::AuthError;
use tokens::IssuerUrl;
pub use tokens::{Audience, Claims};

/// Settings of [`AccountService`].
#[derive(Debug, Clone)]
pub struct AccountSettings {
    /// Public URL of the site.
    pub site_url: Url,
    /// True if the operator configured the site URL. Otherwise its port is the one that the server listens on.
    pub is_site_url_configured: bool,
    /// True if email addresses count as confirmed at once, without an email.
    pub autoconfirm: bool,
    /// Policy for the creation of accounts.
    pub sign_ups: SignUps,
    /// Time for which events of the audit log are kept; `None` if there is none.
    pub audit_lifetime: Option<Duration>,
    /// Lifetimes of sessions.
    pub session_lifetimes: SessionLifetimes,
    /// True if a new password needs an emailed code or a second factor when the session is older than a day.
    pub password_reauthentication: bool,
    /// Maximum age of the last proof of identity for sensitive changes; `None` for no limit.
    pub reauthentication_after: Option<Duration>,
    /// True if common passwords are rejected.
    pub refuse_common_passwords: bool,
    /// True if users get an email about changes of their account and sign-ins with new devices.
    pub security_emails: bool,
    /// True if requests, login attempts and emails are limited.
    pub rate_limits: bool,
    /// Patterns of URLs, besides the site's, that emailed links may redirect to.
    pub redirect_allow: Vec<String>,
    /// File with the keys that sign tokens; `None` for keys in the database.
    pub jwt_keys: Option<PathBuf>,
    /// API key of the administrator.
    pub service_role_key: Option<SecretString>,
    /// Identity provider at which users can sign in.
    pub oidc: Option<OidcSettings>,
}

impl AccountSettings {
    /// Selects the settings of accounts from the configuration of the process.
    pub fn new(config: &Config, site_url: &Url) -> Self {
        Self {
            site_url: site_url.clone(),
            is_site_url_configured: config.site_url.is_some(),
            autoconfirm: config.autoconfirm,
            sign_ups: config.sign_ups.clone(),
            audit_lifetime: config.audit_lifetime,
            session_lifetimes: config.session_lifetimes,
            password_reauthentication: config.password_reauthentication,
            reauthentication_after: config.reauthentication_after,
            refuse_common_passwords: config.refuse_common_passwords,
            security_emails: config.security_emails,
            rate_limits: config.rate_limits,
            redirect_allow: config.redirect_allow.clone(),
            jwt_keys: config.jwt_keys.clone(),
            service_role_key: config.service_role_key.clone(),
            oidc: config.oidc.clone(),
        }
    }
}

/// Infrastructure that [`AccountService`] uses.
#[derive(Debug)]
pub struct AccountDependencies {
    /// The database.
    pub storage: Storage,
    /// Source of the time.
    pub clock: Arc<dyn Clock>,
    /// Encryption of secrets before they are stored.
    pub secrets: Arc<SecretSealer>,
    /// Background tasks.
    pub tasks: BackgroundTasks,
    /// Events for users' open clients.
    pub events: UserEventBus,
    /// Client of the mail server, if one is configured.
    pub mailer: Option<Mailer>,
}

/// Service for accounts, sessions and tokens. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AccountService {
    storage: Storage,
    clock: Arc<dyn Clock>,
    secrets: Arc<SecretSealer>,
    tasks: BackgroundTasks,
    events: UserEventBus,
    mailer: Option<Arc<Mailer>>,
    settings: Arc<AccountSettings>,
    issuer: Arc<IssuerUrl>,
    signing_keys: Arc<SigningKeys>,
    refresh_token_codec: Arc<RefreshTokenCodec>,
    password_hasher: PasswordHasher,
    rate_limits: Arc<RateLimits>,
    last_seen_writes: LastSeenWrites,
    one_time_tokens: Arc<OneTimeTokens>,
    email_cooldown: Arc<EmailCooldown>,
    redirect_allowlist: Arc<RedirectAllowlist>,
    admin_key: Option<AdminKey>,
    identity_provider: Option<Arc<IdentityProvider>>,
}

impl AccountService {
    /// Creates the service. Loads the keys that sign tokens; the first start creates one.
    ///
    /// # Errors
    ///
    /// The signing keys cannot be read or stored.
    pub async fn start(settings: AccountSettings, dependencies: AccountDependencies) -> anyhow::Result<Self> {
        let AccountDependencies { storage, clock, secrets, tasks, events, mailer } = dependencies;
        let keys = match &settings.jwt_keys {
            Some(path) => SigningKeys::from_file(path)?,
            None => SigningKeys::load_or_create(&storage, &secrets, clock.now()).await?,
        };
        let provider = settings.oidc.clone().map(|oidc| IdentityProvider::new(oidc, &settings.site_url, &clock));
        Ok(Self {
            identity_provider: provider.transpose()?.map(Arc::new),
            issuer: Arc::new(IssuerUrl::new(&settings.site_url, settings.is_site_url_configured)?),
            signing_keys: Arc::new(keys),
            refresh_token_codec: Arc::new(RefreshTokenCodec::new(&secrets.derive("refresh tokens")?)),
            password_hasher: PasswordHasher::default(),
            rate_limits: Arc::new(RateLimits::new(settings.rate_limits, &storage, &clock)),
            last_seen_writes: LastSeenWrites::default(),
            one_time_tokens: Arc::new(OneTimeTokens::new(&secrets.derive("one-time codes")?)),
            email_cooldown: Arc::new(EmailCooldown::new(settings.rate_limits, &storage, &clock)),
            redirect_allowlist: Arc::new(RedirectAllowlist::new(&settings.site_url, &settings.redirect_allow)),
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

    /// Verifies an access token: its signature and times, that its session exists, that its user is not banned, and
    /// that the session has passed the second factor if the user has one.
    ///
    /// # Errors
    ///
    /// A [`gotrue_error`] that describes what is wrong with the token, or a failure of the database.
    pub async fn verify(&self, token: &str) -> Result<Claims, AuthError> {
        let claims = self.verify_first_factor(token).await?;
        if claims.lacks_factor { Err(gotrue_error::INSUFFICIENT_AAL.into()) } else { Ok(claims) }
    }

    /// Verifies an access token like [`AccountService::verify`], but accepts a missing second factor. For the endpoints
    /// with which a user verifies it.
    ///
    /// # Errors
    ///
    /// Those of [`AccountService::verify`].
    pub async fn verify_first_factor(&self, token: &str) -> Result<Claims, AuthError> {
        let claims = tokens::verify_access_token(&self.signing_keys, &self.issuer, token, self.clock.now())?;
        // GoTrue checks this, too. Sign-outs and deletions take effect at once instead of when the token expires.
        let standing = self.storage.auth_sessions().get_standing(claims.user, claims.session).await?;
        let standing = standing.ok_or(gotrue_error::SESSION_NOT_FOUND)?;
        if standing.banned_until.is_some_and(|until| until > self.clock.now()) {
            return Err(gotrue_error::USER_BANNED.into());
        }
        // A token from the last refresh shows that the client received the response. From then on the previous refresh
        // token counts as reused. This is stored once per refresh.
        if !standing.is_confirmed && claims.issued_at >= standing.refreshed_at.as_seconds() {
            self.storage.auth_sessions().confirm(claims.user, claims.session, self.clock.now()).await?;
        }
        self.record_use(claims, standing);
        Ok(Claims { lacks_factor: standing.lacks_factor, ..claims })
    }

    /// Issues a token with which this server calls one of its own services on behalf of a user. Fractions of a second
    /// in
    /// `lifetime` are dropped.
    ///
    /// # Errors
    ///
    /// The token cannot be signed.
    pub fn issue_internal(&self, user: UserId, audience: Audience, lifetime: Duration) -> Result<String, AuthError> {
        let seconds = i64::try_from(lifetime.as_secs()).map_err(AuthError::internal)?;
        tokens::sign_internal_token(&self.signing_keys, user, audience, seconds, self.clock.now())
            .map_err(AuthError::internal)
    }

    /// Returns the user of a token of [`AccountService::issue_internal`].
    ///
    /// # Errors
    ///
    /// The token is invalid, expired or for another audience.
    pub fn verify_internal(&self, token: &str, audience: Audience) -> Result<UserId, AuthError> {
        Ok(tokens::verify_internal_token(&self.signing_keys, token, audience, self.clock.now())?)
    }

    /// Returns the public keys as a JWK set.
    pub fn jwk_set(&self) -> &Value {
        self.signing_keys.jwk_set()
    }

    /// Returns whether the server can send emails.
    pub fn can_send_email(&self) -> bool {
        self.mailer.is_some()
    }

    /// Returns whether users can create accounts without an invitation: sign-up is open, and their addresses are confirmed
    /// at once, or by email.
    pub fn allows_sign_up(&self) -> bool {
        self.settings.sign_ups.is_open() && self.can_confirm_addresses()
    }

    fn can_confirm_addresses(&self) -> bool {
        self.settings.autoconfirm || self.can_send_email()
    }

    /// Returns the policy for the creation of accounts.
    pub fn sign_ups(&self) -> &SignUps {
        &self.settings.sign_ups
    }

    /// Returns whether users can sign up with an address that they need not prove. Then no domain may be named to give its
    /// users access to something.
    pub fn admits_unproven_addresses(&self) -> bool {
        let is_oidc_only = self.oidc().is_some_and(|oidc| oidc.is_only);
        self.settings.sign_ups.admit_unproven_addresses(self.settings.autoconfirm, is_oidc_only)
    }

    /// Returns the settings of the identity provider at which users can sign in.
    pub fn oidc(&self) -> Option<&OidcSettings> {
        self.settings.oidc.as_ref()
    }

    /// Rejects a request with a password or an emailed secret, with `error`, where the identity provider is the only
    /// way to sign in.
    ///
    /// # Errors
    ///
    /// `error`.
    pub fn check_email_sign_in(&self, error: GoTrueError) -> Result<(), AuthError> {
        if self.oidc().is_some_and(|oidc| oidc.is_only) { Err(error.into()) } else { Ok(()) }
    }

    /// Rejects an address, in lower case, that may not create an account without an invitation.
    fn check_sign_up(&self, email: &str) -> Result<(), GoTrueError> {
        match self.settings.sign_ups {
            SignUps::Open(_) if self.settings.sign_ups.admit(email) => Ok(()),
            SignUps::Open(_) => Err(gotrue_error::ADDRESS_NOT_AUTHORIZED),
            SignUps::Invite | SignUps::Closed => Err(gotrue_error::SIGNUP_DISABLED),
        }
    }

    /// Returns the rules for new passwords.
    pub fn password_rules(&self) -> PasswordRules {
        PasswordRules { refuse_common: self.settings.refuse_common_passwords }
    }

    /// Returns the limits for requests and login attempts.
    pub fn rate_limits(&self) -> &RateLimits {
        &self.rate_limits
    }
}
