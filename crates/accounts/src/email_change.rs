//! Changes of the email address. Both the current and the new address have to confirm the change, in any order. An
//! attacker with a stolen session cannot take over the account, and no user can claim another person's address.

use storage::one_time_tokens::{OneTimeToken, TokenKind};
use storage::users::{Along, User};

use super::email_cooldown::EmailPurpose;
use super::emails::{LinkTarget, LinkType, record_sent};
use super::gotrue_error::{ADDRESS_NOT_AUTHORIZED, CONFLICT, EMAIL_CHANGE_DISABLED, EMAIL_EXISTS};
use super::one_time_tokens::IssuedToken;
use super::{AccountService, AuthError};
use crate::mailer::EmailKind;

/// The time at which a change of address takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EmailChangeMode {
    /// At once, without confirmation.
    Immediate,
    /// Once both addresses have confirmed it by email.
    AfterConfirmation,
}

/// Stores a new address in the account that awaits confirmation.
pub(super) fn set_pending_email(user: &mut User, new: &str, now: domain::Timestamp) {
    user.new_email = Some(new.to_owned());
    // A confirmation of an earlier new address must not count for this one.
    user.email_change_confirmed = None;
    record_sent(user, TokenKind::EmailChangeNew, now);
}

impl AccountService {
    /// Emails both addresses, and returns the tokens for the caller to store.
    pub(super) async fn send_email_change(
        &self,
        user: &User,
        new: &str,
        link_target: &LinkTarget,
    ) -> Result<Vec<OneTimeToken>, AuthError> {
        let account = user.id.to_string();
        // The cooldown is per account and not per new address. Otherwise one account could send emails to any number of
        // addresses.
        self.email_cooldown.start(EmailPurpose::EmailChange, &account).await?;
        let issued = self.issue_change_tokens(user, new, link_target)?;
        let sent = self.send_change_emails(&issued, new, link_target).await;
        if sent.is_err() {
            self.email_cooldown.cancel(EmailPurpose::EmailChange, &account).await;
        }
        sent.map(|()| issued.into_iter().map(|issued| issued.token).collect())
    }

    /// Emails both addresses again if the account with the address `email` has a pending change of address.
    pub async fn resend_email_change(&self, email: String, link_target: LinkTarget) -> Result<(), AuthError> {
        self.prepare_email(EmailPurpose::EmailChange, &email, &EmailKind::EmailChangeNew).await?;
        let service = self.clone();
        self.send_in_background(async move {
            let found = service.storage.users().get_by_email(&email).await?;
            let Some((user, new)) = found.and_then(|user| user.new_email.clone().map(|new| (user, new))) else {
                return Ok(());
            };
            let issued = service.issue_change_tokens(&user, &new, &link_target)?;
            let tokens: Vec<OneTimeToken> = issued.iter().map(|issued| issued.token.clone()).collect();
            service
                .update_account(user, CONFLICT, |user| {
                    set_pending_email(user, &new, service.clock.now());
                    Ok(Along { issue: &tokens, ..Along::default() })
                })
                .await?;
            service.send_change_emails(&issued, &new, &link_target).await
        });
        Ok(())
    }

    /// Issues a token for the current address, if there is one, and one for the new address.
    fn issue_change_tokens(
        &self,
        user: &User,
        new: &str,
        link_target: &LinkTarget,
    ) -> Result<Vec<IssuedToken>, AuthError> {
        let current = user.email.as_deref().map(|email| (TokenKind::EmailChangeCurrent, email));
        let both = current.into_iter().chain([(TokenKind::EmailChangeNew, new)]);
        both.map(|(kind, email)| self.issue_one_time_token(user.id, kind, email, link_target.challenge.clone()))
            .collect()
    }

    async fn send_change_emails(
        &self,
        issued: &[IssuedToken],
        new: &str,
        link_target: &LinkTarget,
    ) -> Result<(), AuthError> {
        for issued in issued {
            let kind = match issued.token.kind {
                TokenKind::EmailChangeCurrent => EmailKind::EmailChangeCurrent { new: new.to_owned() },
                _ => EmailKind::EmailChangeNew,
            };
            self.send_link_email(kind, issued, LinkType::EmailChange, &link_target.redirect).await?;
        }
        Ok(())
    }

    /// Returns when the change would take effect. Rejects an address that belongs to another account, or to a domain that
    /// may not sign up.
    pub(super) async fn email_change_mode(&self, user: &User, new: &str) -> Result<EmailChangeMode, AuthError> {
        // Adding an address to an anonymous account is equivalent to signing up, which autoconfirm applies to.
        if user.is_anonymous {
            self.check_sign_up(new)?;
        }
        // Otherwise an account could sign up with an address of the domains and change it to any other.
        if self.settings.sign_ups.restricts_domains() && !self.settings.sign_ups.admit(new) {
            return Err(ADDRESS_NOT_AUTHORIZED.into());
        }
        let is_immediate = self.settings.autoconfirm && (self.mailer.is_none() || user.is_anonymous);
        if !is_immediate && self.mailer.is_none() {
            return Err(EMAIL_CHANGE_DISABLED.into());
        }
        match self.storage.users().get_by_email(new).await? {
            Some(_) => Err(EMAIL_EXISTS.into()),
            None if is_immediate => Ok(EmailChangeMode::Immediate),
            None => Ok(EmailChangeMode::AfterConfirmation),
        }
    }
}
