//! New accounts whose address has to be confirmed.
//!
//! A letter goes out before the answer, whether or not the address has an account: to a confirmed one that it has one. So
//! neither the answer nor its time tells, and a mail server that is away is told alike. The account is stored after the
//! letter was taken: a sign-up that fails leaves nothing behind.

use serde_json::json;
use storage::one_time_tokens::{OneTimeToken, TokenKind};
use storage::users::{Along, User};

use super::account_updates::MAX_UPDATE_ATTEMPTS;
use super::email_cooldown::Purpose;
use super::emails::{Landing, LinkType, note};
use super::gotrue_error::CONFLICT;
use super::one_time_tokens::Issued;
use super::{AccountService, AuthError};
use crate::mailer::{Letter, Subject};

impl AccountService {
    /// Stores the account `new` and emails its owner. The caller's going away changes nothing.
    ///
    /// Returns the account as a stranger may see it. Where the address has an account already, confirmed or not, the answer
    /// looks the same and describes no account.
    pub(super) async fn sign_up_by_mail(&self, new: User, email: &str, landing: Landing) -> Result<User, AuthError> {
        self.pauses.begin(Purpose::Confirmation, email)?;
        let (service, address) = (self.clone(), email.to_owned());
        // In a task of its own: if the client disconnected after the email was handed in, its link would belong to no
        // account.
        let work = async move { service.settle_sign_up(new, address, landing).await };
        let settled = self.tasks.spawn_and_wait("sign-up", work).await.unwrap_or(Err(CONFLICT.into()));
        if settled.is_err() {
            self.pauses.forget(Purpose::Confirmation, email);
        }
        settled
    }

    /// Mails the owner of an unconfirmed account again, if there is one.
    pub async fn resend_confirmation(&self, email: String, landing: Landing) -> Result<(), AuthError> {
        self.begin(Purpose::Confirmation, &email, &Subject::Confirmation).await?;
        let service = self.clone();
        self.send_in_background(async move {
            match service.storage.users().get_by_email(&email).await? {
                Some(user) if user.email_confirmed_at.is_none() => {
                    service.mail_again(user, &email, &landing, true).await
                }
                _ => Ok(()),
            }
        });
        Ok(())
    }

    /// Starts the cooldown of an email that is sent in the background, and checks that the mail server is reachable. The
    /// result does not depend on whether the address has an account.
    pub(super) async fn begin(&self, purpose: Purpose, email: &str, subject: &Subject) -> Result<(), AuthError> {
        self.pauses.begin(purpose, email)?;
        // The email is sent after the response, so this is the only moment to report a mail server that is down.
        let reached = self.check_mail_server(subject).await;
        if reached.is_err() {
            self.pauses.forget(purpose, email);
        }
        reached
    }

    async fn settle_sign_up(&self, mut new: User, email: String, landing: Landing) -> Result<User, AuthError> {
        let found = self.storage.users().get_by_email(&email).await?;
        let id = found.as_ref().map_or(new.id, |user| user.id);
        note(&mut new, TokenKind::Confirmation, self.clock.now());
        // The owner learns of the attempt by email. The response stays that of a new account, so that nobody learns who
        // has one.
        if found.is_some_and(|user| user.email_confirmed_at.is_some()) {
            let link = Some(self.settings.site_url.to_string());
            self.send_email(&email, Letter { subject: Subject::AlreadyRegistered, link, code: None }).await?;
            return Ok(new);
        }
        let mut issued = self.issue(id, TokenKind::Confirmation, &email, landing.challenge.clone())?;
        issued.token.from_sign_up = true;
        self.send_confirmation(&issued, &landing).await?;
        for _ in 0..MAX_UPDATE_ATTEMPTS {
            // The account may have come to be, or may have been confirmed or deleted, while the letter was on its way.
            match self.storage.users().get_by_email(&email).await? {
                Some(user) if user.email_confirmed_at.is_some() => return Ok(new),
                Some(user) => {
                    issued.token.user = user.id;
                    self.replace_sign_up(user, &new, &issued.token).await?;
                    // Not the account itself: two sign-ups that are told the same id would say that the address is not confirmed.
                    return Ok(new);
                }
                None => {
                    issued.token.user = new.id;
                    match self.storage.users().insert_with(&new, std::slice::from_ref(&issued.token)).await {
                        Ok(()) => return Ok(new),
                        // A concurrent sign-up inserted the address first. The next round finds its account and treats
                        // it as an earlier sign-up.
                        Err(storage::Error::Conflict(_)) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
        Err(CONFLICT.into())
    }

    /// Replaces an earlier sign-up of an unconfirmed account, because the owner of the address is not proven yet and may
    /// be another user than the first one. The metadata of an invited account is from an administrator and stays.
    async fn replace_sign_up(&self, user: User, new: &User, token: &OneTimeToken) -> Result<(), AuthError> {
        let now = self.clock.now();
        self.update_account(user, CONFLICT, |user| {
            user.password_hash.clone_from(&new.password_hash);
            if user.invited_at.is_none() {
                user.user_metadata.clone_from(&new.user_metadata);
                // `sub` repeats the id of the account, and the copied metadata has that of the account that was not
                // created.
                user.user_metadata.insert("sub".to_owned(), json!(user.id));
            }
            note(user, token.kind, now);
            Ok(Along { issue: std::slice::from_ref(token), ..Along::default() })
        })
        .await
        .map(|_| ())
    }

    /// Gives an unconfirmed account a new token and emails it. `from_sign_up` says whether it confirms the latest sign-up, with
    /// its password, or the address alone.
    pub(super) async fn mail_again(
        &self,
        user: User,
        email: &str,
        landing: &Landing,
        from_sign_up: bool,
    ) -> Result<(), AuthError> {
        let mut issued = self.issue(user.id, TokenKind::Confirmation, email, landing.challenge.clone())?;
        issued.token.from_sign_up = from_sign_up;
        self.store_token(user, &issued.token).await?;
        self.send_confirmation(&issued, landing).await
    }

    async fn send_confirmation(&self, issued: &Issued, landing: &Landing) -> Result<(), AuthError> {
        self.send_link(Subject::Confirmation, issued, LinkType::Signup, &landing.redirect).await
    }

    /// Stores a token that was issued for an account.
    pub(super) async fn store_token(&self, user: User, token: &OneTimeToken) -> Result<User, AuthError> {
        let now = self.clock.now();
        self.update_account(user, CONFLICT, |user| {
            note(user, token.kind, now);
            Ok(Along { issue: std::slice::from_ref(token), ..Along::default() })
        })
        .await
    }
}
