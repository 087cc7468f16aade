//! Password recovery and sign-in by email.
//!
//! The account is looked up in the background, after the response. Therefore neither the response nor its timing
//! discloses whether the address has an account.

use serde_json::{Map, Value};
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::one_time_tokens::TokenKind;
use storage::users::User;

use super::email_cooldown::EmailPurpose;
use super::emails::{LinkTarget, LinkType, record_sent};
use super::gotrue_error::OTP_DISABLED;
use super::{AccountService, AuthError};
use crate::mailer::EmailKind;

/// A request to sign in by email.
#[derive(Debug)]
pub struct EmailSignInRequest {
    /// Email address in lower case.
    pub email: String,
    /// True if an account is created for an unknown address.
    pub create: bool,
    /// `user_metadata` of an account that is created.
    pub data: Map<String, Value>,
    /// Target of the emailed link.
    pub link_target: LinkTarget,
}

impl AccountService {
    /// Emails a link for choosing a new password if the address has an account.
    pub async fn send_recovery_email(&self, email: String, link_target: LinkTarget) -> Result<(), AuthError> {
        self.prepare_email(EmailPurpose::Recovery, &email, &EmailKind::Recovery).await?;
        let service = self.clone();
        self.send_in_background(async move {
            match service.storage.users().get_by_email(&email).await? {
                Some(user) => {
                    service.send_recovery_link(user, EmailKind::Recovery, LinkType::Recovery, &link_target).await
                }
                None => Ok(()),
            }
        });
        Ok(())
    }

    /// Sends an email with a link and a code to sign in, and creates the account first if there is none.
    ///
    /// If the request does not allow creating an account, an unknown address is an error, as in GoTrue.
    pub async fn send_sign_in_email(&self, request: EmailSignInRequest) -> Result<(), AuthError> {
        // Without sign-up, such a request only signs in, as in GoTrue.
        let creates = request.create && self.allows_sign_up() && self.settings.sign_ups.admit(&request.email);
        // This reveals whether the address has an account, which GoTrue accepts for `create_user: false`.
        if !creates && self.storage.users().get_by_email(&request.email).await?.is_none() {
            return Err(OTP_DISABLED.into());
        }
        // Created before the response and for every address, because oversized metadata has to be reported to the
        // caller.
        let unconfirmed = self.unconfirmed_user(request.email.clone(), None, request.data)?;
        self.prepare_email(EmailPurpose::Recovery, &request.email, &EmailKind::MagicLink).await?;
        let service = self.clone();
        self.send_in_background(async move {
            let link_target = &request.link_target;
            match service.storage.users().get_by_email(&request.email).await? {
                Some(user) if user.email_confirmed_at.is_none() && !service.settings.autoconfirm => {
                    service.resend_confirmation_link(user, &request.email, link_target, false).await
                }
                Some(user) => {
                    service.send_recovery_link(user, EmailKind::MagicLink, LinkType::MagicLink, link_target).await
                }
                None if creates => service.create_and_email(unconfirmed, &request.email, link_target).await,
                None => Ok(()),
            }
        });
        Ok(())
    }

    async fn send_recovery_link(
        &self,
        user: User,
        kind: EmailKind,
        link: LinkType,
        link_target: &LinkTarget,
    ) -> Result<(), AuthError> {
        let Some(email) = user.email.clone() else { return Ok(()) };
        let issued = self.issue_one_time_token(user.id, TokenKind::Recovery, &email, link_target.challenge.clone())?;
        self.store_token(user, &issued.token).await?;
        self.send_link_email(kind, &issued, link, &link_target.redirect).await
    }

    /// Creates an account without a password and emails a link, which signs in and confirms the address.
    async fn create_and_email(&self, mut user: User, email: &str, link_target: &LinkTarget) -> Result<(), AuthError> {
        let (token_kind, kind, link) = if self.settings.autoconfirm {
            (TokenKind::Recovery, EmailKind::MagicLink, LinkType::MagicLink)
        } else {
            (TokenKind::Confirmation, EmailKind::Confirmation, LinkType::Signup)
        };
        let mut issued = self.issue_one_time_token(user.id, token_kind, email, link_target.challenge.clone())?;
        issued.token.from_sign_up = token_kind == TokenKind::Confirmation;
        record_sent(&mut user, token_kind, self.clock.now());
        let events = self.audit(user.id, AuditActor::User, AuditEventKind::AccountCreated);
        self.storage.users().insert_with(&user, std::slice::from_ref(&issued.token), None, &events).await?;
        let sent = self.send_link_email(kind, &issued, link, &link_target.redirect).await;
        if sent.is_err() {
            // Nobody can confirm the account, so it is deleted again, unless another request has changed it in the
            // meantime.
            self.storage.users().delete_unconfirmed(user.id, user.updated_at).await?;
            self.email_cooldown.cancel(EmailPurpose::Recovery, email).await;
        }
        sent
    }
}
