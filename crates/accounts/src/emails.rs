//! Emails with links and codes: the format of links, and sending.

use std::future::Future;
use std::time::Duration;

use domain::UserId;
use storage::auth_codes::Challenge;
use storage::one_time_tokens::TokenKind;
use storage::users::User;
use url::Url;

use super::error::AuthError;
use super::one_time_tokens::IssuedToken;
use super::{AccountService, email_address, gotrue_error};
use crate::mailer::{Email, EmailKind, Mailer};

/// Grace time for emails that are being sent when the server stops.
const STOP_GRACE_TIME: Duration = Duration::from_secs(3);

/// Type of a link or code, as in GoTrue's `type` parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkType {
    /// Confirmation of a sign-up.
    Signup,
    /// Invitation by an administrator.
    Invite,
    /// Password recovery.
    Recovery,
    /// Sign-in without a password.
    MagicLink,
    /// Any type of code that signs in, for clients that do not know which one was sent.
    Email,
    /// Change of the email address.
    EmailChange,
}

impl LinkType {
    const ALL: [Self; 6] =
        [Self::Signup, Self::Invite, Self::Recovery, Self::MagicLink, Self::Email, Self::EmailChange];

    /// Returns GoTrue's name of the type.
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

    /// Parses GoTrue's name of the type.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.word() == word)
    }

    /// Returns the kinds of tokens that may be verified with this type.
    pub fn kinds(self) -> [TokenKind; 2] {
        match self {
            Self::Signup | Self::Invite => [TokenKind::Confirmation; 2],
            Self::Recovery | Self::MagicLink => [TokenKind::Recovery; 2],
            Self::Email => [TokenKind::Confirmation, TokenKind::Recovery],
            Self::EmailChange => [TokenKind::EmailChangeCurrent, TokenKind::EmailChangeNew],
        }
    }
}

/// Target of an emailed link.
#[derive(Debug, Clone)]
pub struct LinkTarget {
    /// Redirect URL, which has passed the allowlist.
    pub redirect: Url,
    /// PKCE challenge of the client that requested the email, if it uses PKCE.
    pub challenge: Option<Challenge>,
}

impl AccountService {
    /// Returns the first of the requested redirect URLs that is allowed, or the site URL.
    pub fn redirect_target<'a>(&self, asked: impl IntoIterator<Item = &'a str>) -> Url {
        self.redirect_allowlist.select(asked)
    }

    /// Issues a one-time token for `email`. The caller stores it with the account (`UserRepository::update_with` or
    /// `UserRepository::insert_with`), where it replaces the previous one of its kind, and sends it.
    pub fn issue_one_time_token(
        &self,
        user: UserId,
        kind: TokenKind,
        email: &str,
        challenge: Option<Challenge>,
    ) -> Result<IssuedToken, AuthError> {
        self.one_time_tokens.issue(user, kind, email, challenge, self.clock.now())
    }

    /// Returns the URL of a link, as it is emailed.
    pub fn action_link(&self, issued: &IssuedToken, link: LinkType, redirect: &Url) -> Result<Url, AuthError> {
        let mut url = self.settings.site_url.join("/auth/v1/verify").map_err(AuthError::internal)?;
        url.query_pairs_mut()
            .append_pair("token", &issued.link_token)
            .append_pair("type", link.word())
            .append_pair("redirect_to", redirect.as_str());
        Ok(url)
    }

    /// Sends the email with a token's link and code.
    pub async fn send_link_email(
        &self,
        kind: EmailKind,
        issued: &IssuedToken,
        link: LinkType,
        redirect: &Url,
    ) -> Result<(), AuthError> {
        let link = self.action_link(issued, link, redirect)?;
        let email = Email { kind, link: Some(link.into()), code: Some(issued.code.clone()) };
        self.send_email(&issued.token.email, email).await
    }

    /// Sends an email.
    pub(super) async fn send_email(&self, to: &str, email: Email) -> Result<(), AuthError> {
        let message = failure_message(&email.kind);
        let sent = self.mailer()?.send(to, &email, self.clock.now()).await;
        sent.map_err(|source| AuthError::EmailNotSent { message, source })
    }

    /// Sends an email that says that the mail settings work.
    ///
    /// # Errors
    ///
    /// The address is invalid, no mail server is configured, or it does not accept the email.
    pub async fn send_test_email(&self, to: &str) -> Result<(), AuthError> {
        let to = email_address::normalize(to)?;
        self.send_email(&to, Email { kind: EmailKind::Test, link: None, code: None }).await
    }

    /// Checks that a mail server is configured and reachable. `kind` selects the error message.
    pub(super) async fn check_mail_server(&self, kind: &EmailKind) -> Result<(), AuthError> {
        let message = failure_message(kind);
        self.mailer()?.check_connection().await.map_err(|source| AuthError::EmailNotSent { message, source })
    }

    /// Runs work that sends an email in the background, independently of the response. Failures are logged.
    pub(super) fn send_in_background(&self, work: impl Future<Output = Result<(), AuthError>> + Send + 'static) {
        let stopping = self.tasks.shutdown_token().clone();
        self.tasks.spawn("send email", async move {
            // A slow mail server must not delay the shutdown. Users can request the email again.
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
        Ok(self.mailer.as_deref().ok_or(gotrue_error::EMAIL_DISABLED)?)
    }
}

/// Sets the account's time of the last email of this kind.
pub(super) fn record_sent(user: &mut User, kind: TokenKind, now: domain::Timestamp) {
    let sent = match kind {
        TokenKind::Confirmation => &mut user.confirmation_sent_at,
        TokenKind::Recovery => &mut user.recovery_sent_at,
        TokenKind::EmailChangeCurrent | TokenKind::EmailChangeNew => &mut user.email_change_sent_at,
        TokenKind::Reauthentication => &mut user.reauthentication_sent_at,
    };
    *sent = Some(now);
}

/// Returns GoTrue's error message for an email that could not be sent.
fn failure_message(kind: &EmailKind) -> &'static str {
    match kind {
        EmailKind::Confirmation | EmailKind::AlreadyRegistered => "Error sending confirmation email",
        EmailKind::Recovery => "Error sending recovery email",
        EmailKind::MagicLink => "Error sending magic link email",
        EmailKind::Invite => "Error sending invite email",
        EmailKind::EmailChangeCurrent { .. } | EmailKind::EmailChangeNew => "Error sending email change email",
        EmailKind::Reauthentication => "Error sending reauthentication email",
        EmailKind::Security(_) => "Error sending notification email",
        EmailKind::Test => "Error sending test email",
    }
}
