//! Being let in without the password: a link to choose a new one, and links and codes to sign in with.
//!
//! Whether the address has an account is looked up after the answer, in the background, so neither the answer nor its time
//! can tell.

use serde_json::{Map, Value};
use store::one_time_tokens::TokenKind;
use store::users::User;

use super::accounts::new_user;
use super::confirmation::{keep, mail_again};
use super::letters::{Landing, LinkType, in_background, note};
use super::pauses::Purpose;
use super::refusal::NO_OTP;
use super::{Auth, AuthError};
use crate::app::App;
use crate::mail::Subject;

/// Somebody who wants to be let in.
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

impl Auth {
    /// Mails a link to choose a new password, if the address has an account.
    pub async fn recover(&self, app: &App, email: String, landing: Landing) -> Result<(), AuthError> {
        self.begin(app, Purpose::Recovery, &email, &Subject::Recovery).await?;
        let worker = app.clone();
        in_background(app, async move {
            match worker.store.get_user_by_email(&email).await? {
                Some(user) => mail(&worker, user, Subject::Recovery, LinkType::Recovery, &landing).await,
                None => Ok(()),
            }
        });
        Ok(())
    }

    /// Mails a link and a code to sign in with, to whoever has the address or is to have an account with it.
    ///
    /// A caller who wants no account to be made is told when there is none, because the protocol says so.
    pub async fn mail_sign_in(&self, app: &App, visitor: Visitor) -> Result<(), AuthError> {
        if !visitor.create && app.store.get_user_by_email(&visitor.email).await?.is_none() {
            return Err(NO_OTP.into());
        }
        let unconfirmed = new_user(app, visitor.email.clone(), None, visitor.data)?;
        self.begin(app, Purpose::Recovery, &visitor.email, &Subject::MagicLink).await?;
        let (worker, create) = (app.clone(), visitor.create);
        in_background(app, async move {
            let (app, landing) = (&worker, &visitor.landing);
            match app.store.get_user_by_email(&visitor.email).await? {
                Some(user) if user.email_confirmed_at.is_none() && !app.config.autoconfirm => {
                    mail_again(app, user, &visitor.email, landing, false).await
                }
                Some(user) => mail(app, user, Subject::MagicLink, LinkType::MagicLink, landing).await,
                None if create => mail_new(app, unconfirmed, &visitor.email, landing).await,
                None => Ok(()),
            }
        });
        Ok(())
    }
}

async fn mail(app: &App, user: User, subject: Subject, link: LinkType, landing: &Landing) -> Result<(), AuthError> {
    let Some(email) = user.email.clone() else { return Ok(()) };
    let issued = app.auth.issue(app, user.id, TokenKind::Recovery, &email, landing.challenge.clone())?;
    keep(app, user, &issued.token).await?;
    app.auth.send_link(app, subject, &issued, link, &landing.redirect).await
}

/// Makes an account without a password. Its owner confirms it by following the link.
async fn mail_new(app: &App, mut user: User, email: &str, landing: &Landing) -> Result<(), AuthError> {
    let (kind, subject, link) = if app.config.autoconfirm {
        (TokenKind::Recovery, Subject::MagicLink, LinkType::MagicLink)
    } else {
        (TokenKind::Confirmation, Subject::Confirmation, LinkType::Signup)
    };
    let mut issued = app.auth.issue(app, user.id, kind, email, landing.challenge.clone())?;
    issued.token.from_sign_up = kind == TokenKind::Confirmation;
    note(&mut user, kind, app.clock.now());
    app.store.insert_user_with(&user, std::slice::from_ref(&issued.token)).await?;
    let sent = app.auth.send_link(app, subject, &issued, link, &landing.redirect).await;
    if sent.is_err() {
        app.store.delete_unconfirmed_user(user.id, user.updated_at).await?;
        app.auth.pauses.forget(Purpose::Recovery, email);
    }
    sent
}
