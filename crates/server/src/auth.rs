//! Accounts: passwords, sign-ins and the tokens that prove them.
//!
//! A person signs in once on each device. The sign-in is a row; an access token names it and is good for an hour, and only
//! as long as the row is there. A refresh token names it too, with a counter: see [`sessions`].
//!
//! What is mailed: [`letters`] writes links, [`one_time`] makes what they carry, [`verification`] takes it back.

pub mod accounts;
pub mod admin;
pub mod api_keys;
mod changes;
pub mod confirmation;
pub mod deletion;
pub mod email;
mod email_change;
pub mod error;
pub mod factors;
pub mod keys;
pub mod letters;
pub mod limits;
pub mod one_time;
pub mod password;
mod pauses;
pub mod phone;
pub mod pkce;
pub mod presence;
pub mod qr;
pub mod reauthentication;
pub mod recovery;
pub mod redirects;
pub mod refresh_token;
pub mod refusal;
pub mod sessions;
pub mod token;
pub mod totp;
pub mod verification;

use std::sync::Arc;
use std::time::Duration;

use domain::{Clock, Timestamp, UserId};
use serde_json::Value;
use store::Store;
use url::Url;

use crate::app::App;
use platform::SecretSealer;
use platform::config::Config;

use admin::AdminKey;
use keys::Keys;
use limits::Limits;
use one_time::OneTime;
use password::{PasswordRules, Passwords};
use pauses::Pauses;
use presence::Presence;
use redirects::Redirects;
use refresh_token::RefreshTokens;

pub use error::AuthError;
use token::Issuer;
pub use token::{Audience, Claims};

/// Signs and verifies.
#[derive(Debug)]
pub struct Auth {
    issuer: Issuer,
    keys: Keys,
    refresh_tokens: RefreshTokens,
    password_rules: PasswordRules,
    passwords: Passwords,
    limits: Limits,
    presence: Presence,
    one_time: OneTime,
    pauses: Pauses,
    redirects: Redirects,
    admin_key: Option<AdminKey>,
}

impl Auth {
    /// Loads the keys that sign, or makes the first one.
    pub async fn start(
        config: &Config,
        site: &Url,
        store: &Store,
        secrets: &SecretSealer,
        clock: &Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        // Chosen by hand, because a second back end in the tree would make the library's own choice panic. A second app in
        // the same process finds it chosen already.
        let _already = jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER.install_default();
        let keys = match &config.jwt_keys {
            Some(path) => Keys::from_file(path)?,
            None => Keys::from_store(store, secrets, clock.now()).await?,
        };
        Ok(Self {
            issuer: Issuer::new(site, config.site_url.is_some())?,
            keys,
            refresh_tokens: RefreshTokens::new(&secrets.derive("refresh tokens")?),
            password_rules: PasswordRules { refuse_common: config.refuse_common_passwords },
            passwords: Passwords::default(),
            limits: Limits::new(config.rate_limits, clock),
            presence: Presence::default(),
            one_time: OneTime::new(&secrets.derive("one-time codes")?),
            pauses: Pauses::new(config.rate_limits, clock),
            redirects: Redirects::new(site, &config.redirect_allow),
            admin_key: config.service_role_key.as_ref().map(AdminKey::new),
        })
    }

    /// Checks an access token's signature and time, that its sign-in still exists and its person is not banned, and that it
    /// was made with a second factor where the person has one.
    pub async fn verify(&self, app: &App, token: &str) -> Result<Claims, AuthError> {
        let claims = self.verify_first_factor(app, token).await?;
        if claims.lacks_factor { Err(refusal::INSUFFICIENT_AAL.into()) } else { Ok(claims) }
    }

    /// The same without the second factor: for the calls with which a person sends it.
    pub async fn verify_first_factor(&self, app: &App, token: &str) -> Result<Claims, AuthError> {
        let claims = token::read_access(&self.keys, &self.issuer, token, app.clock.now())?;
        let standing = app.store.get_standing(claims.user, claims.session).await?;
        let standing = standing.ok_or(refusal::SESSION_NOT_FOUND)?;
        if standing.banned_until.is_some_and(|until| until > app.clock.now()) {
            return Err(refusal::USER_BANNED.into());
        }
        // The answer of the last refresh has arrived. At most once for each refresh.
        if !standing.is_confirmed && claims.issued_at >= standing.refreshed_at.as_seconds() {
            app.store.confirm_auth_session(claims.user, claims.session, app.clock.now()).await?;
        }
        self.presence.note(app, claims, standing);
        Ok(Claims { lacks_factor: standing.lacks_factor, ..claims })
    }

    /// A token with which this server calls another part of itself on behalf of a person. Whole seconds of `lifetime`
    /// count.
    pub fn issue_internal(
        &self,
        user: UserId,
        audience: Audience,
        lifetime: Duration,
        now: Timestamp,
    ) -> Result<String, AuthError> {
        let seconds = i64::try_from(lifetime.as_secs()).map_err(AuthError::internal)?;
        token::write_internal(&self.keys, user, audience, seconds, now).map_err(AuthError::internal)
    }

    /// On whose behalf a token of [`Auth::issue_internal`] calls.
    pub fn verify_internal(&self, token: &str, audience: Audience, now: Timestamp) -> Result<UserId, AuthError> {
        Ok(token::read_internal(&self.keys, token, audience, now)?)
    }

    /// The public keys, as a JWK set.
    pub fn published_keys(&self) -> &Value {
        self.keys.published()
    }

    /// Whether people can make accounts: their addresses are confirmed at once, or by mail.
    pub fn takes_new_accounts(&self, app: &App) -> bool {
        app.config.autoconfirm || app.mail.is_some()
    }

    /// Returns the rules for new passwords.
    pub fn password_rules(&self) -> PasswordRules {
        self.password_rules
    }

    /// How often one address may call, and one account be tried.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}
