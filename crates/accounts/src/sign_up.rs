//! Sign-up, sign-in with a password, and changes of the user's own account.

use std::net::IpAddr;

use domain::{AuthSessionId, Timestamp, UserId};
use serde_json::{Map, Value, json};
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::one_time_tokens::OneTimeToken;
use storage::users::{Along, User};
use url::Url;
use uuid::Uuid;

use super::account_updates::{self, AddressProof, confirm_email};
use super::audit::RequestOrigin;
use super::email_change::{self, EmailChangeMode};
use super::emails::LinkTarget;
use super::gotrue_error::{
    BANNED_LOGIN, EMAIL_NOT_CONFIRMED, GoTrueError, INVALID_CREDENTIALS, NOT_ADMIN, PASSWORD_NEEDS_EMAIL,
    PHONE_CHANGE_DISABLED, REAUTHENTICATION_NOT_VALID, SAME_PASSWORD, UPDATE_NEEDS_AAL2, USER_ALREADY_EXISTS,
};
use super::login_throttle::CredentialKind;
use super::reauthentication::SuppliedProof;
use super::registration_tokens::{self, map_insert_error};
use super::sessions::UserSession;
use super::{AccountService, AuthError, Claims, email_address, phone, pkce};
use platform::UserEvent;

/// Maximum size of `user_metadata` as JSON, in bytes. The metadata is part of every access token, and a token that is
/// too large for an HTTP header would lock the user out.
const MAX_METADATA_BYTES: usize = 8 * 1024;

/// A request to create an account.
#[derive(Debug)]
pub struct SignUpRequest {
    /// Email address.
    pub email: String,
    /// Password.
    pub password: String,
    /// Initial `user_metadata`, and the registration token, which is not stored.
    pub data: Map<String, Value>,
    /// Target of the emailed link.
    pub link_target: LinkTarget,
}

/// Result of [`AccountService::sign_up`].
#[derive(Debug)]
pub enum SignUpOutcome {
    /// The account is confirmed, and the user is signed in.
    SignedIn(UserSession),
    /// The address has to be confirmed by email. If the address already has an account, the user is a made-up one, so
    /// that the response does not disclose that.
    ConfirmationPending(User),
}

/// A change of the user's own account (`PUT /user`). Fields that are `None` stay unchanged.
#[derive(Debug)]
pub struct UserUpdate {
    /// New email address.
    pub email: Option<String>,
    /// New phone number, which this server does not support.
    pub phone: Option<String>,
    /// Channel for messages to the phone.
    pub channel: String,
    /// New password.
    pub password: Option<String>,
    /// Current password. It is optional, but has to be correct if it is present.
    pub current_password: Option<String>,
    /// Emailed reauthentication code.
    pub nonce: Option<String>,
    /// Fields of `user_metadata` to set; a null removes the field.
    pub data: Option<Map<String, Value>>,
    /// True if the request contains `app_metadata`, which only administrators may change.
    pub sets_app_metadata: bool,
    /// Redirect target of the emailed links.
    pub redirect: Url,
    /// PKCE challenge and method, unvalidated.
    pub challenge: (Option<String>, Option<String>),
    /// Network address of the request.
    pub from: IpAddr,
}

impl AccountService {
    /// Creates an account. Signs in if addresses need no confirmation; otherwise sends a confirmation email, and
    /// neither the result nor its timing discloses whether the address already has an account. Where sign-up is by
    /// invitation, the metadata contains a [registration token](registration_tokens).
    pub async fn sign_up(&self, account: SignUpRequest, origin: RequestOrigin) -> Result<SignUpOutcome, AuthError> {
        let email = email_address::normalize(&account.email)?;
        let mut data = account.data;
        let token = registration_tokens::take_token(&mut data);
        let token = self.admit_sign_up(&email, token.as_deref(), origin.address).await?;
        let registration = self.use_of(token.as_ref());
        let autoconfirm = self.settings.autoconfirm;
        // Saves the password hash and reports this error first, as GoTrue does. The unique index decides about
        // concurrent sign-ups.
        if autoconfirm && self.storage.users().get_by_email(&email).await?.is_some() {
            return Err(USER_ALREADY_EXISTS.into());
        }
        let password_hash = self.password_hasher.hash(account.password).await?;
        let mut user = self.unconfirmed_user(email.clone(), Some(password_hash), data)?;
        if !autoconfirm {
            return Ok(SignUpOutcome::ConfirmationPending(
                self.sign_up_by_email(user, &email, account.link_target, registration).await?,
            ));
        }
        confirm_email(&mut user, AddressProof::Assumed, self.clock.now());
        let created = AuditEventKind::AccountCreated;
        let events = self.audit_request(Some(user.id), AuditActor::User, created, &origin);
        let events = registration_tokens::with_token(events, registration);
        let stored = self.storage.users().insert_with(&user, &[], registration, &events).await;
        stored.map_err(|error| map_insert_error(error, USER_ALREADY_EXISTS))?;
        Ok(SignUpOutcome::SignedIn(self.create_session(user, "password", origin).await?))
    }

    /// Creates an anonymous account and signs in to it.
    pub async fn sign_in_anonymously(
        &self,
        data: Map<String, Value>,
        origin: RequestOrigin,
    ) -> Result<UserSession, AuthError> {
        let mut user = User { is_anonymous: true, ..User::new(UserId::fresh(), self.clock.now()) };
        user.user_metadata = data;
        // No token permits an anonymous account. It is not stored all the same.
        registration_tokens::take_token(&mut user.user_metadata);
        user.user_metadata.retain(|_, value| !value.is_null());
        check_metadata_size(&user.user_metadata)?;
        let created = AuditEventKind::AccountCreated;
        let events = self.audit_request(Some(user.id), AuditActor::User, created, &origin);
        self.storage.users().insert_with(&user, &[], None, &events).await?;
        self.create_session(user, "anonymous", origin).await
    }

    /// Signs in with an email address and a password. An unknown email address takes as long as a wrong password and is
    /// throttled in the same way, so that the response does not disclose which accounts exist. `from` is the network
    /// address of the client.
    pub async fn sign_in(
        &self,
        email: &str,
        password: String,
        from: IpAddr,
        user_agent: Option<String>,
    ) -> Result<UserSession, AuthError> {
        // Counted for the text as typed, even if it is not an email address, so that throttling looks the same for
        // both.
        let (origin, account) = (RequestOrigin { address: Some(from), user_agent }, email.to_ascii_lowercase());
        let attempt = self.begin_attempt(CredentialKind::Password, &account, None, &origin, from).await?;
        let user = match email_address::normalize(email) {
            Ok(email) => self.storage.users().get_by_email(&email).await?,
            Err(_) => None,
        };
        let hash = user.as_ref().and_then(|user| user.password_hash.clone());
        let matches = self.password_hasher.matches(password, hash).await?;
        let known = user.as_ref().map(|user| user.id);
        let Some(user) = user.filter(|_| matches) else {
            self.audit_failed_sign_in(known, &origin).await?;
            return Err(INVALID_CREDENTIALS.into());
        };
        attempt.succeeded().await?;
        // Checked after the password: only the user may learn of a ban or that the address is unconfirmed.
        if user.is_banned(self.clock.now()) {
            self.audit_failed_sign_in(known, &origin).await?;
            return Err(BANNED_LOGIN.into());
        }
        if user.email_confirmed_at.is_none() {
            self.audit_failed_sign_in(known, &origin).await?;
            return Err(EMAIL_NOT_CONFIRMED.into());
        }
        self.create_session(user, "password", origin).await
    }

    /// Changes the caller's account. A new password ends all other sessions of the user. The checks are in GoTrue's
    /// order, so that a request with several faults gets the same error as there.
    pub async fn update_user(&self, claims: Claims, change: UserUpdate) -> Result<User, AuthError> {
        let email = change.email.as_deref().map(email_address::normalize).transpose()?;
        change.check_phone()?;
        let user = self.current_user(claims).await?;
        if let Some(password) = &change.password {
            let emails: Vec<&str> = user.email.as_deref().into_iter().chain(email.as_deref()).collect();
            self.password_rules().check_new(password, &emails)?;
        }
        // Clients send the whole form back. The current address is not a change and needs no reauthentication.
        let email = email.filter(|email| user.email.as_ref() != Some(email));
        change.check_permission(&user, claims, email.is_some())?;
        let mode = match &email {
            Some(email) => Some(self.email_change_mode(&user, email).await?),
            None => None,
        };
        if change.phone.is_some() {
            return Err(PHONE_CHANGE_DISABLED.into());
        }
        let spend = if change.password.is_some() || email.is_some() {
            // The current password proves only a change of the password, as in GoTrue.
            let current = change.current_password.as_deref().filter(|_| change.password.is_some());
            let proof = SuppliedProof { nonce: change.nonce.as_deref(), password: current };
            self.check_reauthentication(&user, claims, change.password.is_some(), proof, change.from).await?
        } else {
            None
        };
        // Outside of `update_account`, which may repeat the edit: a hash takes tens of milliseconds.
        let password_hash = self.hash_new_password(&user, change.password).await?;
        let keep = password_hash.is_some().then_some(claims.session);
        let mut checked =
            CheckedUpdate { email, mode, password_hash, data: change.data, keep, spend, issue: Vec::new() };
        // A trial run, so that an invalid change is rejected before any email is sent.
        checked.apply(&mut user.clone(), self.clock.now())?;
        if let (Some(email), Some(EmailChangeMode::AfterConfirmation)) = (&checked.email, mode) {
            let (challenge, method) = change.challenge;
            let link_target =
                LinkTarget { redirect: change.redirect, challenge: pkce::parse_challenge(challenge, method)? };
            checked.issue = self.send_email_change(&user, email, &link_target).await?;
        }
        let edit = |user: &mut User| checked.apply(user, self.clock.now());
        let user = self.update_account(user, REAUTHENTICATION_NOT_VALID, edit).await?;
        if checked.keep.is_some() {
            self.events.publish(user.id, &UserEvent::Devices);
        }
        Ok(user)
    }

    /// Returns the hash of the new password. Rejects the current one.
    async fn hash_new_password(&self, user: &User, new: Option<String>) -> Result<Option<String>, AuthError> {
        let Some(new) = new else { return Ok(None) };
        if let Some(hash) = user.password_hash.clone()
            && self.password_hasher.matches(new.clone(), Some(hash)).await?
        {
            return Err(SAME_PASSWORD.into());
        }
        self.password_hasher.hash(new).await.map(Some)
    }
}

impl UserUpdate {
    /// Checks the format of the phone number and channel.
    fn check_phone(&self) -> Result<(), AuthError> {
        if let Some(number) = &self.phone {
            phone::check_number(number)?;
            phone::check_channel(&self.channel)?;
        }
        Ok(())
    }

    /// Checks that the user may make this change in this session.
    fn check_permission(&self, user: &User, claims: Claims, new_email: bool) -> Result<(), AuthError> {
        if self.sets_app_metadata {
            return Err(NOT_ADMIN.into());
        }
        if claims.lacks_factor && (new_email || self.phone.is_some() || self.password.is_some()) {
            return Err(UPDATE_NEEDS_AAL2.into());
        }
        if user.is_anonymous && !new_email && self.phone.is_none() && self.password.is_some() {
            return Err(PASSWORD_NEEDS_EMAIL.into());
        }
        Ok(())
    }
}

/// A change that passed all checks.
struct CheckedUpdate {
    email: Option<String>,
    mode: Option<EmailChangeMode>,
    password_hash: Option<String>,
    data: Option<Map<String, Value>>,
    /// Only session that a new password does not end.
    keep: Option<AuthSessionId>,
    /// One-time token that authorizes the change.
    spend: Option<Uuid>,
    /// Tokens that were emailed for the change of address.
    issue: Vec<OneTimeToken>,
}

impl CheckedUpdate {
    fn apply(&self, user: &mut User, now: Timestamp) -> Result<Along<'_>, AuthError> {
        if let Some(hash) = &self.password_hash {
            user.password_hash = Some(hash.clone());
            // A pending change of address may have been requested by an attacker who knew the old password.
            account_updates::clear_email_change(user);
        }
        match (&self.email, self.mode) {
            (Some(email), Some(EmailChangeMode::Immediate)) => {
                account_updates::set_email(user, email.clone(), AddressProof::Assumed, now);
            }
            (Some(email), Some(EmailChangeMode::AfterConfirmation)) => {
                email_change::set_pending_email(user, email, now);
            }
            _ => {}
        }
        for (name, value) in self.data.iter().flatten() {
            if value.is_null() {
                user.user_metadata.remove(name);
            } else {
                user.user_metadata.insert(name.clone(), value.clone());
            }
        }
        check_metadata_size(&user.user_metadata)?;
        let (keep, void) = (self.keep, self.keep.is_some());
        Ok(Along { keep, spend: self.spend, void, issue: &self.issue, ..Along::default() })
    }
}

impl AccountService {
    /// Creates a user with an unconfirmed address, without storing it.
    pub(super) fn unconfirmed_user(
        &self,
        email: String,
        password_hash: Option<String>,
        data: Map<String, Value>,
    ) -> Result<User, AuthError> {
        let id = UserId::fresh();
        let now = self.clock.now();
        let mut user_metadata = data;
        registration_tokens::take_token(&mut user_metadata);
        // In an update, a null removes a field, so a new account must not contain one either.
        user_metadata.retain(|_, value| !value.is_null());
        user_metadata.insert("sub".to_owned(), json!(id));
        user_metadata.insert("email".to_owned(), json!(email));
        user_metadata.insert("email_verified".to_owned(), json!(false));
        user_metadata.insert("phone_verified".to_owned(), json!(false));
        check_metadata_size(&user_metadata)?;
        Ok(User {
            email: Some(email),
            password_hash,
            user_metadata,
            app_metadata: email_provider_metadata(),
            ..User::new(id, now)
        })
    }

    /// Creates a user with an address and no metadata of its own, without storing it.
    pub(super) fn user_with_email(&self, email: String) -> User {
        User {
            email: Some(email),
            app_metadata: email_provider_metadata(),
            ..User::new(UserId::fresh(), self.clock.now())
        }
    }
}

/// Returns the `app_metadata` of a user who signs in with an email address.
pub(super) fn email_provider_metadata() -> Map<String, Value> {
    [("provider".to_owned(), json!("email")), ("providers".to_owned(), json!(["email"]))].into_iter().collect()
}

/// Rejects metadata larger than [`MAX_METADATA_BYTES`].
pub(super) fn check_metadata_size(metadata: &Map<String, Value>) -> Result<(), AuthError> {
    let size = serde_json::to_string(metadata).map_err(AuthError::internal)?.len();
    if size > MAX_METADATA_BYTES {
        return Err(GoTrueError::validation_failed("User metadata cannot be larger than 8 KiB").into());
    }
    Ok(())
}
