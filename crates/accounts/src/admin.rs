//! Administration of accounts, with the service role key or a token of an administrator's role.

mod ban_duration;
mod key;
mod links;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{FactorId, Timestamp, UserId};
use serde_json::{Map, Value};
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::users::{Along, User};
use uuid::Uuid;

use super::account_updates::{AddressProof, confirm_email};
use super::deletion::AccountDeletionHandler;
use super::gotrue_error::{
    ADMIN_REQUIRED, ADMIN_USER_NOT_FOUND, CONFLICT, EMAIL_EXISTS, GoTrueError, PASSWORD_HASH_UNSUPPORTED,
    PHONE_CHANGE_DISABLED, ROLE_NOT_SUPPORTED, USER_ALREADY_EXISTS,
};
use super::mailer::SecurityNotice;
use super::tokens::AUTHENTICATED_ROLE;
use super::{AccountService, AuthError, email_address, password, phone, sign_up, tokens};
use platform::UserEvent;

pub use key::AdminKey;
pub use links::{GenerateLinkParams, GeneratedLink};

/// Attributes of an account that an administrator creates or changes. Fields that are `None` stay unchanged.
#[derive(Debug, Default)]
pub struct AdminUserParams {
    /// Id of a new account.
    pub id: Option<String>,
    /// Email address. It takes effect at once.
    pub email: Option<String>,
    /// Phone number, which this server does not support.
    pub phone: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// Hash of a password, which this server does not support.
    pub password_hash: Option<String>,
    /// Role and audience.
    pub roles: Vec<String>,
    /// True to mark the address as confirmed.
    pub email_confirm: bool,
    /// Fields of `user_metadata` to set; a null removes the field.
    pub user_metadata: Map<String, Value>,
    /// Fields of `app_metadata` to set; a null removes the field.
    pub app_metadata: Map<String, Value>,
    /// Duration of a ban, such as `24h`; `none` lifts it.
    pub ban_duration: Option<String>,
}

impl AdminUserParams {
    /// Rejects fields that this server does not support, so that callers do not believe that they were stored.
    fn check_supported(&self) -> Result<(), GoTrueError> {
        if self.phone.is_some() {
            return Err(PHONE_CHANGE_DISABLED);
        }
        if self.roles.iter().any(|role| role != AUTHENTICATED_ROLE) {
            return Err(ROLE_NOT_SUPPORTED);
        }
        if self.password_hash.is_some() { Err(PASSWORD_HASH_UNSUPPORTED) } else { Ok(()) }
    }
}

/// Change of a ban.
#[derive(Debug, Clone, Copy)]
enum BanUpdate {
    /// Leave it unchanged.
    Keep,
    /// Lift the ban.
    Lift,
    /// Ban the user for a number of microseconds from now.
    Set(i64),
}

impl BanUpdate {
    fn apply(self, user: &mut User, now: Timestamp) {
        match self {
            Self::Keep => {}
            Self::Lift => user.banned_until = None,
            Self::Set(length) => user.banned_until = Some(Timestamp(now.0.saturating_add(length))),
        }
    }
}

impl AccountService {
    /// Checks that a token is an administrator's. Without a configured service role key, every token is rejected.
    pub async fn verify_admin(&self, token: &str) -> Result<(), AuthError> {
        if self.admin_key.as_ref().is_some_and(|key| key.matches(token)) {
            return Ok(());
        }
        let claims = tokens::verify_role(&self.signing_keys, token, self.clock.now())?;
        // For a token of a user's session the signature is not sufficient: the session may have ended, or the user may
        // be banned.
        if claims.has_session {
            self.verify_first_factor(token).await?;
        }
        if self.admin_key.is_some() && claims.is_admin { Ok(()) } else { Err(ADMIN_REQUIRED.into()) }
    }

    /// Creates an account. Its address is confirmed only if the parameters request it.
    pub async fn create_user(&self, params: AdminUserParams) -> Result<User, AuthError> {
        // The checks are in GoTrue's order, so that a request with several faults gets the same error as there.
        if params.email.is_none() && params.phone.is_none() {
            return Err(GoTrueError::validation_failed("Cannot create a user without either an email or phone").into());
        }
        let email = params.email.as_deref().map(email_address::normalize).transpose()?;
        if let Some(email) = &email
            && self.storage.users().get_by_email(email).await?.is_some()
        {
            return Err(EMAIL_EXISTS.into());
        }
        params.phone.as_deref().map_or(Ok(()), phone::check_number)?;
        if params.password.is_some() && params.password_hash.is_some() {
            return Err(GoTrueError::validation_failed("Only a password or a password hash should be provided").into());
        }
        params.check_supported()?;
        let email = email.ok_or(PHONE_CHANGE_DISABLED)?;
        let password_hash = match params.password.filter(|password| !password.is_empty()) {
            // As in GoTrue, only the length is checked; the administrator is responsible for the strength.
            Some(password) => {
                password::check_length(&password)?;
                Some(self.password_hasher.hash(password).await?)
            }
            None => None,
        };
        let id = params.id.as_deref().map(parse_new_id).transpose()?;
        let ban = parse_ban_duration(params.ban_duration.as_deref())?;
        let mut user = self.user_with_email(email);
        let now = user.created_at;
        user.id = id.unwrap_or(user.id);
        user.password_hash = password_hash;
        merge_metadata(&mut user.user_metadata, &params.user_metadata);
        merge_metadata(&mut user.app_metadata, &params.app_metadata);
        if params.email_confirm {
            confirm_email(&mut user, AddressProof::Proven, now);
        }
        ban.apply(&mut user, now);
        sign_up::check_metadata_size(&user.user_metadata)?;
        sign_up::check_metadata_size(&user.app_metadata)?;
        let events = self.audit(user.id, AuditActor::Admin, AuditEventKind::AccountCreated);
        self.storage.users().insert_with(&user, &[], None, &events).await.map_err(|error| match error {
            // Concurrent requests can pass the check above. The unique index decides, and its name tells whether the
            // email or the id conflicts.
            storage::Error::Conflict(rule) if rule.contains("email") => EMAIL_EXISTS.into(),
            storage::Error::Conflict(_) => USER_ALREADY_EXISTS.into(),
            other => AuthError::from(other),
        })?;
        Ok(user)
    }

    /// Changes an account. A new password ends all sessions of the user.
    pub async fn update_user_as_admin(&self, id: UserId, mut params: AdminUserParams) -> Result<User, AuthError> {
        let email = params.email.take().map(|email| email_address::normalize(&email)).transpose()?;
        params.phone.as_deref().map_or(Ok(()), phone::check_number)?;
        let ban = parse_ban_duration(params.ban_duration.as_deref())?;
        if let Some(password) = &params.password {
            self.password_rules().check_new(password, email.as_deref().as_slice())?;
        }
        params.check_supported()?;
        // Hashed before the account is read: a slow hash in between would make concurrent changes of the row likely.
        let password_hash = match params.password.take() {
            Some(password) => Some(self.password_hasher.hash(password).await?),
            None => None,
        };
        let new_password = password_hash.is_some();
        let user = self.storage.users().get(id).await?.ok_or(ADMIN_USER_NOT_FOUND)?;
        let user = self
            .update_account_as(AuditActor::Admin, user, CONFLICT, |user| {
                let now = self.clock.now();
                if let Some(email) = &email {
                    if user.is_anonymous && params.email_confirm {
                        user.is_anonymous = false;
                        user.app_metadata.extend(sign_up::email_provider_metadata());
                    }
                    user.email = Some(email.clone());
                }
                if params.email_confirm {
                    confirm_email(user, AddressProof::Proven, now);
                }
                if let Some(hash) = &password_hash {
                    user.password_hash = Some(hash.clone());
                }
                merge_metadata(&mut user.user_metadata, &params.user_metadata);
                merge_metadata(&mut user.app_metadata, &params.app_metadata);
                sign_up::check_metadata_size(&user.user_metadata)?;
                sign_up::check_metadata_size(&user.app_metadata)?;
                ban.apply(user, now);
                // Earlier emailed links become invalid: the administrator may have replaced the password because of
                // them.
                Ok(Along { sign_out: new_password, void: new_password || params.email_confirm, ..Along::default() })
            })
            .await?;
        // Event streams of sessions that have ended, or that a lock has stopped, listen to this event and close.
        if new_password || user.is_banned(self.clock.now()) {
            self.events.publish(id, &UserEvent::Devices);
        }
        Ok(user)
    }

    /// Ends all sessions of an account, on all nodes.
    ///
    /// # Errors
    ///
    /// A failure of the database.
    pub async fn sign_out_as_admin(&self, user: UserId) -> Result<(), AuthError> {
        self.storage.auth_sessions().delete_all(user).await?;
        self.store_audit_events(&self.audit(user, AuditActor::Admin, AuditEventKind::SignOut)).await?;
        self.events.publish(user, &UserEvent::Devices);
        self.events.disconnect(user);
        Ok(())
    }

    /// Deletes a second factor of an account, whose user is notified as if they had deleted it.
    ///
    /// # Errors
    ///
    /// A failure of the database.
    pub async fn remove_factor_as_admin(&self, user: &User, factor: FactorId) -> Result<(), AuthError> {
        let events = self.audit(user.id, AuditActor::Admin, AuditEventKind::FactorRemoved);
        let was_there = self.storage.factors().delete(user.id, factor, &events).await?;
        let verified = user.factors.iter().find(|known| known.id == factor && known.is_verified);
        if let Some(known) = verified.filter(|_| was_there) {
            self.notify(user, SecurityNotice::FactorRemoved(known.kind));
        }
        // Sessions that used the factor have fallen to `aal1`, which lists of devices show.
        self.events.publish(user.id, &UserEvent::Devices);
        Ok(())
    }

    /// Anonymizes an account: removes personal data and credentials, but keeps the row and its id (GoTrue's soft
    /// delete).
    pub async fn anonymize_user(&self, user: &User, handler: &dyn AccountDeletionHandler) -> Result<(), AuthError> {
        let events = self.audit(user.id, AuditActor::Admin, AuditEventKind::AccountDeleted);
        self.storage.users().anonymize(user.id, &anonymized_email(user), self.clock.now(), &events).await?;
        // After the update, which prevents further sign-ins, so that no new turn can start.
        handler.stop_turns(user.id).await;
        self.events.publish(user.id, &UserEvent::Devices);
        self.events.disconnect(user.id);
        Ok(())
    }
}

/// Returns the replacement for the address of an anonymized account, a hash that does not reveal the address.
fn anonymized_email(user: &User) -> String {
    let text = format!("{}{}", user.id, user.email.as_deref().unwrap_or_default());
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}

fn parse_new_id(text: &str) -> Result<UserId, GoTrueError> {
    let id =
        Uuid::parse_str(text).map_err(|_| GoTrueError::validation_failed("ID must conform to the uuid v4 format"))?;
    if id.is_nil() { Err(GoTrueError::validation_failed("ID cannot be a nil uuid")) } else { Ok(UserId(id)) }
}

fn parse_ban_duration(text: Option<&str>) -> Result<BanUpdate, AuthError> {
    match text {
        None => Ok(BanUpdate::Keep),
        Some("none") => Ok(BanUpdate::Lift),
        Some(text) => match ban_duration::parse(text) {
            Some(0) => Ok(BanUpdate::Lift),
            Some(length) => Ok(BanUpdate::Set(length)),
            None => Err(AuthError::GoTrueWithMessage {
                status: 400,
                code: "validation_failed",
                message: format!("invalid format for ban duration: time: invalid duration {text:?}"),
            }),
        },
    }
}

/// Applies a change to metadata; a null removes the field.
fn merge_metadata(metadata: &mut Map<String, Value>, change: &Map<String, Value>) {
    for (name, value) in change {
        if value.is_null() {
            metadata.remove(name);
        } else {
            metadata.insert(name.clone(), value.clone());
        }
    }
}
