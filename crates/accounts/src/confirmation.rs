//! Sign-up with confirmation of the email address.
//!
//! An email is sent before the response, whether or not the address has an account. The owner of a confirmed account is
//! notified that the account exists. Thus neither the response, nor its timing, nor an outage of the mail server
//! discloses which accounts exist. The account is stored after the mail server has accepted the email, so a failed
//! sign-up leaves nothing behind.

use serde_json::json;
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::one_time_tokens::{OneTimeToken, TokenKind};
use storage::registration_tokens::RegistrationTokenUse;
use storage::users::{Along, User};

use super::account_updates::MAX_UPDATE_ATTEMPTS;
use super::email_cooldown::EmailPurpose;
use super::emails::{LinkTarget, LinkType, record_sent};
use super::gotrue_error::{CONFLICT, REGISTRATION_TOKEN_USED_UP};
use super::one_time_tokens::IssuedToken;
use super::registration_tokens;
use super::{AccountService, AuthError};
use crate::mailer::{Email, EmailKind};

impl AccountService {
    /// Emails the owner of the address and stores the account `new`, even if the client disconnects.
    ///
    /// Returns the account as any caller may see it: if the address already has an account, confirmed or not, the
    /// result has the same form and describes no existing account.
    pub(super) async fn sign_up_by_email(
        &self,
        new: User,
        email: &str,
        link_target: LinkTarget,
        registration: Option<RegistrationTokenUse>,
    ) -> Result<User, AuthError> {
        self.email_cooldown.start(EmailPurpose::Confirmation, email).await?;
        let (service, address) = (self.clone(), email.to_owned());
        // In a separate task: if the client disconnected after the email was sent, the link would belong to no account.
        let work = async move { service.complete_sign_up(new, address, link_target, registration).await };
        let outcome = self.tasks.spawn_and_wait("sign-up", work).await.unwrap_or(Err(CONFLICT.into()));
        if outcome.is_err() {
            self.email_cooldown.cancel(EmailPurpose::Confirmation, email).await;
        }
        outcome
    }

    /// Sends another confirmation email if the address has an unconfirmed account.
    pub async fn resend_confirmation(&self, email: String, link_target: LinkTarget) -> Result<(), AuthError> {
        self.prepare_email(EmailPurpose::Confirmation, &email, &EmailKind::Confirmation).await?;
        let service = self.clone();
        self.send_in_background(async move {
            match service.storage.users().get_by_email(&email).await? {
                Some(user) if user.email_confirmed_at.is_none() => {
                    service.resend_confirmation_link(user, &email, &link_target, true).await
                }
                _ => Ok(()),
            }
        });
        Ok(())
    }

    /// Starts the cooldown of an email that is sent in the background, and checks that the mail server is reachable.
    /// The result does not depend on whether the address has an account.
    pub(super) async fn prepare_email(
        &self,
        purpose: EmailPurpose,
        email: &str,
        kind: &EmailKind,
    ) -> Result<(), AuthError> {
        self.email_cooldown.start(purpose, email).await?;
        // The email itself is sent after the response, so an unreachable mail server can only be reported here.
        let reached = self.check_mail_server(kind).await;
        if reached.is_err() {
            self.email_cooldown.cancel(purpose, email).await;
        }
        reached
    }

    async fn complete_sign_up(
        &self,
        mut new: User,
        email: String,
        link_target: LinkTarget,
        registration: Option<RegistrationTokenUse>,
    ) -> Result<User, AuthError> {
        let found = self.storage.users().get_by_email(&email).await?;
        let id = found.as_ref().map_or(new.id, |user| user.id);
        record_sent(&mut new, TokenKind::Confirmation, self.clock.now());
        // The owner learns of the attempt by email. The response is that of a new account, so that it does not disclose
        // which accounts exist.
        if found.is_some_and(|user| user.email_confirmed_at.is_some()) {
            let link = Some(self.settings.site_url.to_string());
            self.send_email(&email, Email { kind: EmailKind::AlreadyRegistered, link, code: None }).await?;
            self.take_use(registration).await?;
            return Ok(new);
        }
        let mut issued =
            self.issue_one_time_token(id, TokenKind::Confirmation, &email, link_target.challenge.clone())?;
        issued.token.from_sign_up = true;
        self.send_confirmation(&issued, &link_target).await?;
        for _ in 0..MAX_UPDATE_ATTEMPTS {
            // Read again: the account may have been created, confirmed or deleted while the email was being sent.
            match self.storage.users().get_by_email(&email).await? {
                Some(user) if user.email_confirmed_at.is_some() => {
                    self.take_use(registration).await?;
                    return Ok(new);
                }
                Some(user) => {
                    issued.token.user = user.id;
                    self.replace_sign_up(user, &new, &issued.token, registration).await?;
                    // Not the existing account: if two sign-ups returned the same id, the caller would learn that the
                    // address has an unconfirmed account.
                    return Ok(new);
                }
                None => {
                    issued.token.user = new.id;
                    let events = self.audit(new.id, AuditActor::User, AuditEventKind::AccountCreated);
                    let events = registration_tokens::with_token(events, registration);
                    let issue = std::slice::from_ref(&issued.token);
                    match self.storage.users().insert_with(&new, issue, registration, &events).await {
                        Ok(()) => return Ok(new),
                        // A concurrent sign-up inserted the address first. The next iteration handles its account as an
                        // earlier sign-up.
                        Err(storage::Error::Conflict(_)) => {}
                        Err(storage::Error::NotFound) => return Err(REGISTRATION_TOKEN_USED_UP.into()),
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
        Err(CONFLICT.into())
    }

    /// Replaces the password and metadata of an unconfirmed account by those of the latest sign-up. The ownership of
    /// the address is not proven yet, and the earlier sign-up may have been someone else's. The metadata of an invited
    /// account is from an administrator and stays.
    async fn replace_sign_up(
        &self,
        user: User,
        new: &User,
        token: &OneTimeToken,
        registration: Option<RegistrationTokenUse>,
    ) -> Result<(), AuthError> {
        let now = self.clock.now();
        self.update_account(user, REGISTRATION_TOKEN_USED_UP, |user| {
            user.password_hash.clone_from(&new.password_hash);
            if user.invited_at.is_none() {
                user.user_metadata.clone_from(&new.user_metadata);
                // `sub` repeats the id of the account, and the copied metadata has that of the account that was not
                // created.
                user.user_metadata.insert("sub".to_owned(), json!(user.id));
            }
            record_sent(user, token.kind, now);
            Ok(Along { issue: std::slice::from_ref(token), registration, ..Along::default() })
        })
        .await
        .map(|_| ())
    }

    /// Issues a new token for an unconfirmed account and emails it. With `from_sign_up` the token confirms the latest
    /// sign-up including its password, otherwise only the address.
    pub(super) async fn resend_confirmation_link(
        &self,
        user: User,
        email: &str,
        link_target: &LinkTarget,
        from_sign_up: bool,
    ) -> Result<(), AuthError> {
        let mut issued =
            self.issue_one_time_token(user.id, TokenKind::Confirmation, email, link_target.challenge.clone())?;
        issued.token.from_sign_up = from_sign_up;
        self.store_token(user, &issued.token).await?;
        self.send_confirmation(&issued, link_target).await
    }

    async fn send_confirmation(&self, issued: &IssuedToken, link_target: &LinkTarget) -> Result<(), AuthError> {
        self.send_link_email(EmailKind::Confirmation, issued, LinkType::Signup, &link_target.redirect).await
    }

    /// Stores a token for an account, in place of the previous one of its kind.
    pub(super) async fn store_token(&self, user: User, token: &OneTimeToken) -> Result<User, AuthError> {
        let now = self.clock.now();
        self.update_account(user, CONFLICT, |user| {
            record_sent(user, token.kind, now);
            Ok(Along { issue: std::slice::from_ref(token), ..Along::default() })
        })
        .await
    }
}
