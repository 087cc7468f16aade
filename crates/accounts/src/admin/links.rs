//! Invitations, and links that an administrator generates to send them by other means.

use platform::config::SignUps;
use serde_json::{Map, Value};
use storage::audit_events::{AuditActor, AuditEventKind, NewAuditEvent};
use storage::one_time_tokens::TokenKind;
use storage::users::{Along, User};
use url::Url;

use super::merge_metadata;
use crate::account_updates::map_email_conflict;
use crate::emails::{LinkType, record_sent};
use crate::gotrue_error::{CONFLICT, EMAIL_EXISTS, GoTrueError, SIGNUP_DISABLED, USER_WITH_EMAIL_NOT_FOUND};
use crate::mailer::EmailKind;
use crate::one_time_tokens::IssuedToken;
use crate::{AccountService, AuthError, email_address, sign_up};

/// Parameters of [`AccountService::generate_link`].
#[derive(Debug, Default)]
pub struct GenerateLinkParams {
    /// GoTrue's name of the link type.
    pub purpose: String,
    /// Email address of the account.
    pub email: String,
    /// New email address, for a change of address.
    pub new_email: Option<String>,
    /// Password of a new account.
    pub password: Option<String>,
    /// `user_metadata` of a new account.
    pub data: Map<String, Value>,
    /// Requested redirect URLs, of which the first allowed one is used.
    pub redirects: Vec<String>,
}

/// A generated link.
#[derive(Debug)]
pub struct GeneratedLink {
    /// Account.
    pub user: User,
    /// URL of the link.
    pub link: Url,
    /// Code that can be used instead of the link.
    pub code: String,
    /// Secret of the link, for clients that verify it themselves.
    pub token: String,
    /// GoTrue's name of the link type. A magic link for an unknown address becomes a sign-up link.
    pub purpose: &'static str,
    /// Redirect URL.
    pub redirect: Url,
}

/// Type of a generated link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ActionLinkPurpose {
    Signup,
    Invite,
    MagicLink,
    Recovery,
    EmailChangeCurrent,
    EmailChangeNew,
}

impl ActionLinkPurpose {
    const ALL: [Self; 6] =
        [Self::Signup, Self::Invite, Self::MagicLink, Self::Recovery, Self::EmailChangeCurrent, Self::EmailChangeNew];

    fn word(self) -> &'static str {
        match self {
            Self::Signup => "signup",
            Self::Invite => "invite",
            Self::MagicLink => "magiclink",
            Self::Recovery => "recovery",
            Self::EmailChangeCurrent => "email_change_current",
            Self::EmailChangeNew => "email_change_new",
        }
    }

    fn from_word(word: &str) -> Result<Self, AuthError> {
        Self::ALL.into_iter().find(|known| known.word() == word).ok_or_else(|| AuthError::GoTrueWithMessage {
            status: 400,
            code: "validation_failed",
            message: format!("Invalid email action link type requested: {word}"),
        })
    }

    fn kind(self) -> TokenKind {
        match self {
            Self::Signup | Self::Invite => TokenKind::Confirmation,
            Self::MagicLink | Self::Recovery => TokenKind::Recovery,
            Self::EmailChangeCurrent => TokenKind::EmailChangeCurrent,
            Self::EmailChangeNew => TokenKind::EmailChangeNew,
        }
    }

    fn link(self) -> LinkType {
        match self {
            Self::Signup => LinkType::Signup,
            Self::Invite => LinkType::Invite,
            Self::MagicLink => LinkType::MagicLink,
            Self::Recovery => LinkType::Recovery,
            Self::EmailChangeCurrent | Self::EmailChangeNew => LinkType::EmailChange,
        }
    }

    fn creates_account(self) -> bool {
        matches!(self, Self::Signup | Self::Invite)
    }
}

impl AccountService {
    /// Generates a link as it would be emailed, without sending it. A sign-up link or an invitation also creates the
    /// account.
    pub async fn generate_link(&self, params: GenerateLinkParams) -> Result<GeneratedLink, AuthError> {
        let email = email_address::normalize(&params.email)?;
        let mut purpose = ActionLinkPurpose::from_word(&params.purpose)?;
        let redirect = self.redirect_target(params.redirects.iter().map(String::as_str));
        let found = self.storage.users().get_by_email(&email).await?;
        let is_new = found.is_none();
        let user = match found {
            Some(user) if purpose.creates_account() && user.email_confirmed_at.is_some() => {
                return Err(EMAIL_EXISTS.into());
            }
            Some(user) => user,
            None => {
                let password = params.password.filter(|_| purpose == ActionLinkPurpose::Signup);
                match purpose {
                    // GoTrue's behavior: a magic link for an unknown address is a sign-up without a password.
                    ActionLinkPurpose::MagicLink => purpose = ActionLinkPurpose::Signup,
                    ActionLinkPurpose::Signup if password.as_deref().unwrap_or_default().is_empty() => {
                        return Err(GoTrueError::validation_failed("Signup requires a valid password").into());
                    }
                    ActionLinkPurpose::Signup | ActionLinkPurpose::Invite => {}
                    _ => return Err(USER_WITH_EMAIL_NOT_FOUND.into()),
                }
                let mut user = self.user_with_email(email.clone());
                if let Some(password) = password {
                    self.password_rules().check_new(&password, &[&email])?;
                    user.password_hash = Some(self.password_hasher.hash(password).await?);
                }
                user
            }
        };
        let new_email = match purpose {
            ActionLinkPurpose::EmailChangeCurrent | ActionLinkPurpose::EmailChangeNew => {
                let new_email = email_address::normalize(&params.new_email.unwrap_or_default())?;
                if self.storage.users().get_by_email(&new_email).await?.is_some_and(|other| other.id != user.id) {
                    return Err(EMAIL_EXISTS.into());
                }
                Some(new_email)
            }
            _ => None,
        };
        // A code is bound to the address that it is sent to, and a change of address has one code for each address.
        let sent_to =
            if purpose == ActionLinkPurpose::EmailChangeNew { new_email.as_ref() } else { None }.unwrap_or(&email);
        let mut issued = self.issue_one_time_token(user.id, purpose.kind(), sent_to, None)?;
        // Otherwise the confirmation would discard the password as unproven; see
        // `verification::discard_unproven_sign_up`.
        issued.token.from_sign_up = purpose == ActionLinkPurpose::Signup;
        let link = self.action_link(&issued, purpose.link(), &redirect)?;
        let data = if purpose.creates_account() && (is_new || purpose == ActionLinkPurpose::Signup) {
            params.data
        } else {
            Map::new()
        };
        let edit = |user: &mut User| {
            merge_metadata(&mut user.user_metadata, &data);
            if new_email.is_some() {
                user.new_email.clone_from(&new_email);
                user.email_change_confirmed = None;
            }
        };
        // Whoever has the link can sign in to the account. For a new one, its creation is recorded.
        let events = self.audit(user.id, AuditActor::Admin, AuditEventKind::SignInLinkCreated);
        let user = self.store_link_token(user, is_new, purpose, &issued, &edit, &events).await?;
        let IssuedToken { link_token, code, .. } = issued;
        Ok(GeneratedLink { user, link, code, token: link_token, purpose: purpose.word(), redirect })
    }

    /// Emails an invitation and creates the account. The account is stored after the mail server has accepted the
    /// email.
    pub async fn invite_user(
        &self,
        email: &str,
        data: Map<String, Value>,
        redirect: Option<&str>,
    ) -> Result<User, AuthError> {
        if self.settings.sign_ups == SignUps::Closed {
            return Err(SIGNUP_DISABLED.into());
        }
        let email = email_address::normalize(email)?;
        let found = self.storage.users().get_by_email(&email).await?;
        if found.as_ref().is_some_and(|user| user.email_confirmed_at.is_some()) {
            return Err(EMAIL_EXISTS.into());
        }
        let is_new = found.is_none();
        let user = found.unwrap_or_else(|| self.user_with_email(email.clone()));
        let issued = self.issue_one_time_token(user.id, TokenKind::Confirmation, &email, None)?;
        let redirect = self.redirect_target(redirect);
        // Sent before anything is stored, so that an invitation that was not delivered leaves no account behind.
        self.send_link_email(EmailKind::Invite, &issued, LinkType::Invite, &redirect).await?;
        let edit = |user: &mut User| {
            // Drop metadata of an earlier, unconfirmed sign-up, which may have been someone else's.
            if !is_new && user.invited_at.is_none() {
                user.user_metadata = Map::new();
            }
            if is_new || user.invited_at.is_none() {
                merge_metadata(&mut user.user_metadata, &data);
            }
        };
        self.store_link_token(user, is_new, ActionLinkPurpose::Invite, &issued, &edit, &[]).await
    }

    /// Stores a token together with the new account, or with the change of the existing one and the audit `events` about it.
    async fn store_link_token(
        &self,
        mut user: User,
        is_new: bool,
        purpose: ActionLinkPurpose,
        issued: &IssuedToken,
        edit: &(dyn Fn(&mut User) + Sync),
        events: &[NewAuditEvent],
    ) -> Result<User, AuthError> {
        let now = self.clock.now();
        let edit = |user: &mut User| {
            edit(user);
            record_sent(user, purpose.kind(), now);
            if purpose == ActionLinkPurpose::Invite {
                user.invited_at = Some(now);
            }
            sign_up::check_metadata_size(&user.user_metadata)
        };
        let issue = std::slice::from_ref(&issued.token);
        if is_new {
            edit(&mut user)?;
            let events = self.audit(user.id, AuditActor::Admin, AuditEventKind::AccountCreated);
            let stored = self.storage.users().insert_with(&user, issue, None, &events).await;
            return stored.map(|()| user).map_err(|error| map_email_conflict(error, EMAIL_EXISTS));
        }
        self.update_account_as(AuditActor::Admin, user, CONFLICT, |user| {
            edit(user)?;
            Ok(Along { issue, events, ..Along::default() })
        })
        .await
    }
}
