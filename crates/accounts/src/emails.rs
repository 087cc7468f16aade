//! The letters of the accounts: what a link looks like, and how it gets to a person.

use std::future::Future;
use std::time::Duration;

use domain::UserId;
use storage::auth_codes::Challenge;
use storage::one_time_tokens::TokenKind;
use storage::users::User;
use url::Url;

use super::error::AuthError;
use super::one_time_tokens::Issued;
use super::{AccountService, gotrue_error};
use crate::mailer::{Letter, Mailer, Subject};

/// Time for mails that are being sent when the server stops.
const STOP_GRACE_TIME: Duration = Duration::from_secs(3);

/// What a link or a code is for, in the words of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkType {
    /// A new account.
    Signup,
    /// A new account that an administrator made.
    Invite,
    /// A new password.
    Recovery,
    /// Being let in without one.
    MagicLink,
    /// Any of those: what a program says that knows only that it mailed a code.
    Email,
    /// Another address.
    EmailChange,
}

impl LinkType {
    const ALL: [Self; 6] =
        [Self::Signup, Self::Invite, Self::Recovery, Self::MagicLink, Self::Email, Self::EmailChange];

    /// The word of the protocol.
    pub fn word(self) -> &'static str {
        match self {
            Self::Signup => "signup",
            Self::Invite => "invite",
            Self::Recovery => "recovery",
            Self::MagicLink => "magiclink",
            Self::Email => "email",
            Self::EmailChange => "email_change",
        }
    }

    /// From the word of the protocol.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.word() == word)
    }

    /// What its tokens may prove.
    pub fn kinds(self) -> [TokenKind; 2] {
        match self {
            Self::Signup | Self::Invite => [TokenKind::Confirmation; 2],
            Self::Recovery | Self::MagicLink => [TokenKind::Recovery; 2],
            Self::Email => [TokenKind::Confirmation, TokenKind::Recovery],
            Self::EmailChange => [TokenKind::EmailChangeCurrent, TokenKind::EmailChangeNew],
        }
    }
}

/// Where the follower of a link comes out.
#[derive(Debug, Clone)]
pub struct Landing {
    /// The address, which is allowed.
    pub redirect: Url,
    /// Of the program that asked, if it uses PKCE.
    pub challenge: Option<Challenge>,
}

impl AccountService {
    /// Where links may lead: the first of the addresses asked for that is allowed, else the site.
    pub fn redirect_target<'a>(&self, asked: impl IntoIterator<Item = &'a str>) -> Url {
        self.redirects.target(asked)
    }

    /// A new one-time token, to be stored with the account (`UserRepository::update_with`, `UserRepository::insert_with`) and sent
    /// to `email`. It takes the place of an older one of its kind.
    pub fn issue(
        &self,

        user: UserId,
        kind: TokenKind,
        email: &str,
        challenge: Option<Challenge>,
    ) -> Result<Issued, AuthError> {
        self.one_time.issue(user, kind, email, challenge, self.clock.now())
    }

    /// The address of a link.
    pub fn action_link(&self, issued: &Issued, link: LinkType, redirect: &Url) -> Result<Url, AuthError> {
        let mut url = self.settings.site_url.join("/auth/v1/verify").map_err(AuthError::internal)?;
        url.query_pairs_mut()
            .append_pair("token", &issued.link_token)
            .append_pair("type", link.word())
            .append_pair("redirect_to", redirect.as_str());
        Ok(url)
    }

    /// Writes the letter with a token's link and code, and hands it in.
    pub async fn send_link(
        &self,

        subject: Subject,
        issued: &Issued,
        link: LinkType,
        redirect: &Url,
    ) -> Result<(), AuthError> {
        let link = self.action_link(issued, link, redirect)?;
        let letter = Letter { subject, link: Some(link.into()), code: Some(issued.code.clone()) };
        self.send_email(&issued.token.email, letter).await
    }

    /// Hands an email to the mail server.
    pub(super) async fn send_email(&self, to: &str, letter: Letter) -> Result<(), AuthError> {
        let what = failure_of(&letter.subject);
        let sent = self.mailer()?.send(to, &letter, self.clock.now()).await;
        sent.map_err(|source| AuthError::Undelivered { what, source })
    }

    /// Checks that a mail server for an email of this kind is configured and answers.
    pub(super) async fn check_mail_server(&self, subject: &Subject) -> Result<(), AuthError> {
        let what = failure_of(subject);
        self.mailer()?.reach().await.map_err(|source| AuthError::Undelivered { what, source })
    }

    /// Runs work that sends an email after the caller's response was sent. Failures are logged.
    pub(super) fn send_in_background(&self, work: impl Future<Output = Result<(), AuthError>> + Send + 'static) {
        let stopping = self.tasks.shutdown_token().clone();
        self.tasks.spawn("letter", async move {
            // A slow mail server must not delay the end of the process. Users can request the email again.
            let overdue = async {
                stopping.cancelled().await;
                tokio::time::sleep(STOP_GRACE_TIME).await;
            };
            tokio::select! {
                done = work => if let Err(error) = done {
                    tracing::warn!(error = error.detail(), "an email was not sent");
                },
                () = overdue => tracing::warn!("an email was not sent: the server is stopping"),
            }
        });
    }

    fn mailer(&self) -> Result<&Mailer, AuthError> {
        Ok(self.mailer.as_deref().ok_or(gotrue_error::NO_MAIL)?)
    }
}

/// Notes with the account that a token of this kind is on its way.
pub(super) fn note(user: &mut User, kind: TokenKind, now: domain::Timestamp) {
    let sent = match kind {
        TokenKind::Confirmation => &mut user.confirmation_sent_at,
        TokenKind::Recovery => &mut user.recovery_sent_at,
        TokenKind::EmailChangeCurrent | TokenKind::EmailChangeNew => &mut user.email_change_sent_at,
        TokenKind::Reauthentication => &mut user.reauthentication_sent_at,
    };
    *sent = Some(now);
}

/// The protocol's words for a letter that could not be sent.
fn failure_of(subject: &Subject) -> &'static str {
    match subject {
        Subject::Confirmation | Subject::AlreadyRegistered => "Error sending confirmation email",
        Subject::Recovery => "Error sending recovery email",
        Subject::MagicLink => "Error sending magic link email",
        Subject::Invite => "Error sending invite email",
        Subject::EmailChangeCurrent { .. } | Subject::EmailChangeNew => "Error sending email change email",
        Subject::Reauthentication => "Error sending reauthentication email",
    }
}
