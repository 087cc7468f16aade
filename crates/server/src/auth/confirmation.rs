//! New accounts whose address has to be confirmed.
//!
//! A letter goes out before the answer, whether or not the address has an account: to a confirmed one that it has one. So
//! neither the answer nor its time tells, and a mail server that is away is told alike. The account is stored after the
//! letter was taken: a sign-up that fails leaves nothing behind.

use store::one_time_tokens::{OneTimeToken, TokenKind};
use store::users::{Along, User};

use super::changes::{ATTEMPTS, change};
use super::letters::{Landing, LinkType, deliver, in_background, note, reach};
use super::one_time::Issued;
use super::pauses::Purpose;
use super::refusal::CONFLICT;
use super::{Auth, AuthError};
use crate::app::App;
use crate::mail::{Letter, Subject};

/// What became of a sign-up that waits for its confirmation.
#[derive(Debug)]
pub enum Waiting {
    /// The account, which is new or was not confirmed before.
    Account(User),
    /// What a stranger may see: an account of nobody, because the address has a confirmed one already, or one that an
    /// administrator made.
    Hidden(User),
}

impl Auth {
    /// Makes the account `new` and mails its owner. The caller's going away changes nothing.
    pub(super) async fn sign_up_by_mail(
        &self,
        app: &App,
        new: User,
        email: &str,
        landing: Landing,
    ) -> Result<Waiting, AuthError> {
        self.pauses.begin(Purpose::Confirmation, email)?;
        let work = settle(app.clone(), new, email.to_owned(), landing);
        let settled = app.tasks.complete("sign-up", work).await.unwrap_or(Err(CONFLICT.into()));
        if settled.is_err() {
            self.pauses.forget(Purpose::Confirmation, email);
        }
        settled
    }

    /// Mails the owner of an unconfirmed account again, if there is one.
    pub async fn resend_confirmation(&self, app: &App, email: String, landing: Landing) -> Result<(), AuthError> {
        self.begin(app, Purpose::Confirmation, &email, &Subject::Confirmation).await?;
        let worker = app.clone();
        in_background(app, async move {
            match worker.store.get_user_by_email(&email).await? {
                Some(user) if user.email_confirmed_at.is_none() => mail_again(&worker, user, &email, &landing).await,
                _ => Ok(()),
            }
        });
        Ok(())
    }

    /// What every letter in the background begins with: nobody learns more from it than that the mail server is there.
    pub(super) async fn begin(
        &self,
        app: &App,
        purpose: Purpose,
        email: &str,
        subject: &Subject,
    ) -> Result<(), AuthError> {
        self.pauses.begin(purpose, email)?;
        let reached = reach(app, subject).await;
        if reached.is_err() {
            self.pauses.forget(purpose, email);
        }
        reached
    }
}

async fn settle(app: App, mut new: User, email: String, landing: Landing) -> Result<Waiting, AuthError> {
    let found = app.store.get_user_by_email(&email).await?;
    let id = found.as_ref().map_or(new.id, |user| user.id);
    if found.is_some_and(|user| user.email_confirmed_at.is_some()) {
        let link = Some(app.site_url.to_string());
        deliver(&app, &email, Letter { subject: Subject::AlreadyRegistered, link, code: None }).await?;
        return Ok(nobody(new, &app));
    }
    let mut issued = app.auth.issue(&app, id, TokenKind::Confirmation, &email, landing.challenge.clone())?;
    send(&app, &issued, &landing).await?;
    note(&mut new, TokenKind::Confirmation, app.clock.now());
    for _ in 0..ATTEMPTS {
        // The account may have come to be, or may have been confirmed or deleted, while the letter was on its way.
        match app.store.get_user_by_email(&email).await? {
            Some(user) if user.email_confirmed_at.is_some() => return Ok(nobody(new, &app)),
            Some(user) => {
                issued.token.user = user.id;
                let user = keep(&app, user, &issued.token).await?;
                return Ok(if user.invited_at.is_some() { nameless(user) } else { Waiting::Account(user) });
            }
            None => {
                issued.token.user = new.id;
                match app.store.insert_user_with(&new, std::slice::from_ref(&issued.token)).await {
                    Ok(()) => return Ok(Waiting::Account(new)),
                    Err(store::Error::Conflict(_)) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    Err(CONFLICT.into())
}

/// Gives an unconfirmed account a new token and mails it.
pub(super) async fn mail_again(app: &App, user: User, email: &str, landing: &Landing) -> Result<(), AuthError> {
    let issued = app.auth.issue(app, user.id, TokenKind::Confirmation, email, landing.challenge.clone())?;
    keep(app, user, &issued.token).await?;
    send(app, &issued, landing).await
}

async fn send(app: &App, issued: &Issued, landing: &Landing) -> Result<(), AuthError> {
    app.auth.send_link(app, Subject::Confirmation, issued, LinkType::Signup, &landing.redirect).await
}

/// The password of whoever signed up first stays: nobody has shown yet whose address it is.
pub(super) async fn keep(app: &App, user: User, token: &OneTimeToken) -> Result<User, AuthError> {
    let now = app.clock.now();
    change(app, user, CONFLICT, |user| {
        note(user, token.kind, now);
        Ok(Along { issue: std::slice::from_ref(token), ..Along::default() })
    })
    .await
}

fn nobody(mut user: User, app: &App) -> Waiting {
    note(&mut user, TokenKind::Confirmation, app.clock.now());
    Waiting::Hidden(user)
}

/// What an administrator wrote about an invited person is not a stranger's to read.
fn nameless(user: User) -> Waiting {
    Waiting::Hidden(User { user_metadata: serde_json::Map::new(), ..user })
}
