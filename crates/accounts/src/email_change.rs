//! Another address for an account. Both addresses have to confirm it, in any order: whoever stole a sign-in cannot take the
//! account along, and nobody gets an account under a stranger's address.

use storage::one_time_tokens::{OneTimeToken, TokenKind};
use storage::users::{Along, User};

use super::email_cooldown::Purpose;
use super::emails::{Landing, LinkType, note};
use super::gotrue_error::{CONFLICT, EMAIL_CHANGE_DISABLED, EMAIL_EXISTS};
use super::one_time_tokens::Issued;
use super::{AccountService, AuthError};
use crate::mailer::Subject;

/// The time at which a new address takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// At once.
    AtOnce,
    /// When it is confirmed.
    ByMail,
}

/// Notes what waits for its confirmation.
pub(super) fn wait_for(user: &mut User, new: &str, now: domain::Timestamp) {
    user.new_email = Some(new.to_owned());
    // A confirmation of an earlier new address must not count for this one.
    user.email_change_confirmed = None;
    note(user, TokenKind::EmailChangeNew, now);
}

impl AccountService {
    /// Mails both addresses, and gives the tokens to be stored.
    pub(super) async fn mail_email_change(
        &self,

        user: &User,
        new: &str,
        landing: &Landing,
    ) -> Result<Vec<OneTimeToken>, AuthError> {
        let account = user.id.to_string();
        // Counted for the account and not for the new address, else one account could mail any number of strangers.
        self.pauses.begin(Purpose::EmailChange, &account)?;
        let issued = self.issue_both(user, new, landing)?;
        let sent = self.send_both(&issued, new, landing).await;
        if sent.is_err() {
            self.pauses.forget(Purpose::EmailChange, &account);
        }
        sent.map(|()| issued.into_iter().map(|issued| issued.token).collect())
    }

    /// Mails both addresses again, if the account at `email` waits for another one.
    pub async fn resend_email_change(&self, email: String, landing: Landing) -> Result<(), AuthError> {
        self.begin(Purpose::EmailChange, &email, &Subject::EmailChangeNew).await?;
        let service = self.clone();
        self.send_in_background(async move {
            let found = service.storage.users().get_by_email(&email).await?;
            let Some((user, new)) = found.and_then(|user| user.new_email.clone().map(|new| (user, new))) else {
                return Ok(());
            };
            let issued = service.issue_both(&user, &new, &landing)?;
            let tokens: Vec<OneTimeToken> = issued.iter().map(|issued| issued.token.clone()).collect();
            service
                .update_account(user, CONFLICT, |user| {
                    wait_for(user, &new, service.clock.now());
                    Ok(Along { issue: &tokens, ..Along::default() })
                })
                .await?;
            service.send_both(&issued, &new, &landing).await
        });
        Ok(())
    }

    /// One token for each address that the account has or wants.
    fn issue_both(&self, user: &User, new: &str, landing: &Landing) -> Result<Vec<Issued>, AuthError> {
        let current = user.email.as_deref().map(|email| (TokenKind::EmailChangeCurrent, email));
        let both = current.into_iter().chain([(TokenKind::EmailChangeNew, new)]);
        both.map(|(kind, email)| self.issue(user.id, kind, email, landing.challenge.clone())).collect()
    }

    async fn send_both(&self, issued: &[Issued], new: &str, landing: &Landing) -> Result<(), AuthError> {
        for issued in issued {
            let subject = match issued.token.kind {
                TokenKind::EmailChangeCurrent => Subject::EmailChangeCurrent { new: new.to_owned() },
                _ => Subject::EmailChangeNew,
            };
            self.send_link(subject, issued, LinkType::EmailChange, &landing.redirect).await?;
        }
        Ok(())
    }

    /// Which way the change goes here, if the address is free.
    pub(super) async fn email_change_way(&self, user: &User, new: &str) -> Result<Way, AuthError> {
        // Adding an address to an anonymous account is much like signing up.
        let at_once = self.settings.autoconfirm && (self.mailer.is_none() || user.is_anonymous);
        if !at_once && self.mailer.is_none() {
            return Err(EMAIL_CHANGE_DISABLED.into());
        }
        match self.storage.users().get_by_email(new).await? {
            Some(_) => Err(EMAIL_EXISTS.into()),
            None if at_once => Ok(Way::AtOnce),
            None => Ok(Way::ByMail),
        }
    }
}
