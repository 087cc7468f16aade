//! Being let in without the password: a link to choose a new one, and links and codes to sign in with.
//!
//! Whether the address has an account is looked up after the answer, in the background, so neither the answer nor its time
//! can tell.

use serde_json::{Map, Value};
use storage::one_time_tokens::TokenKind;
use storage::users::User;

use super::email_cooldown::Purpose;
use super::emails::{Landing, LinkType, note};
use super::gotrue_error::NO_OTP;
use super::{AccountService, AuthError};
use crate::mailer::Subject;

/// A request to sign in by email.
#[derive(Debug)]
pub struct Visitor {
    /// The address, in lower case.
    pub email: String,
    /// Whether an account is made when there is none.
    pub create: bool,
    /// The metadata of an account that is made.
    pub data: Map<String, Value>,
    /// Where the link leads.
    pub landing: Landing,
}

impl AccountService {
    /// Mails a link to choose a new password, if the address has an account.
    pub async fn recover(&self, email: String, landing: Landing) -> Result<(), AuthError> {
        self.begin(Purpose::Recovery, &email, &Subject::Recovery).await?;
        let service = self.clone();
        self.send_in_background(async move {
            match service.storage.users().get_by_email(&email).await? {
                Some(user) => service.mail_recovery(user, Subject::Recovery, LinkType::Recovery, &landing).await,
                None => Ok(()),
            }
        });
        Ok(())
    }

    /// Sends an email with a link and a code to sign in, and creates the account first if there is none.
    ///
    /// A caller who does not want an account created gets an error if there is none, as the protocol demands.
    pub async fn mail_sign_in(&self, visitor: Visitor) -> Result<(), AuthError> {
        // This reveals whether the address has an account, which GoTrue accepts for `create_user: false`.
        if !visitor.create && self.storage.users().get_by_email(&visitor.email).await?.is_none() {
            return Err(NO_OTP.into());
        }
        // Built before the response, for every address: oversized metadata has to be reported to the caller.
        let unconfirmed = self.new_user(visitor.email.clone(), None, visitor.data)?;
        self.begin(Purpose::Recovery, &visitor.email, &Subject::MagicLink).await?;
        let service = self.clone();
        self.send_in_background(async move {
            let landing = &visitor.landing;
            match service.storage.users().get_by_email(&visitor.email).await? {
                Some(user) if user.email_confirmed_at.is_none() && !service.settings.autoconfirm => {
                    service.mail_again(user, &visitor.email, landing, false).await
                }
                Some(user) => service.mail_recovery(user, Subject::MagicLink, LinkType::MagicLink, landing).await,
                None if visitor.create => service.mail_new(unconfirmed, &visitor.email, landing).await,
                None => Ok(()),
            }
        });
        Ok(())
    }

    async fn mail_recovery(
        &self,
        user: User,
        subject: Subject,
        link: LinkType,
        landing: &Landing,
    ) -> Result<(), AuthError> {
        let Some(email) = user.email.clone() else { return Ok(()) };
        let issued = self.issue(user.id, TokenKind::Recovery, &email, landing.challenge.clone())?;
        self.store_token(user, &issued.token).await?;
        self.send_link(subject, &issued, link, &landing.redirect).await
    }

    /// Makes an account without a password. Its owner confirms it by following the link.
    async fn mail_new(&self, mut user: User, email: &str, landing: &Landing) -> Result<(), AuthError> {
        let (kind, subject, link) = if self.settings.autoconfirm {
            (TokenKind::Recovery, Subject::MagicLink, LinkType::MagicLink)
        } else {
            (TokenKind::Confirmation, Subject::Confirmation, LinkType::Signup)
        };
        let mut issued = self.issue(user.id, kind, email, landing.challenge.clone())?;
        issued.token.from_sign_up = kind == TokenKind::Confirmation;
        note(&mut user, kind, self.clock.now());
        self.storage.users().insert_with(&user, std::slice::from_ref(&issued.token)).await?;
        let sent = self.send_link(subject, &issued, link, &landing.redirect).await;
        if sent.is_err() {
            // The account must not stay when nobody can confirm it. A change in the meantime shows that somebody did,
            // or tried.
            self.storage.users().delete_unconfirmed(user.id, user.updated_at).await?;
            self.pauses.forget(Purpose::Recovery, email);
        }
        sent
    }
}
