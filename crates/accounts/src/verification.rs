//! Showing a link or a code that was mailed.
//!
//! A token is used up in the transaction that does what it allows. With it go all other tokens of the person, but for the
//! first half of a change of address.

use std::net::IpAddr;

use domain::Timestamp;
use storage::one_time_tokens::{OneTimeToken, TokenKind};
use storage::users::{Along, EmailHalf, User};

use super::account_updates::{clear_email_change, confirm_email, set_email};
use super::emails::LinkType;
use super::gotrue_error::{GoTrueError, LINK_EXPIRED, OTP_EXPIRED, USER_BANNED};
use super::login_throttle::CredentialKind;
use super::one_time_tokens::{MAX_CODE_ATTEMPTS, link_hash};
use super::sessions::UserSession;
use super::{AccountService, AuthError};

/// Fields of the metadata that the server writes itself.
const SERVER_METADATA_FIELDS: [&str; 4] = ["sub", "email", "email_verified", "phone_verified"];

/// The secret of an email, as the client presents it.
#[derive(Debug, Clone)]
pub enum PresentedToken {
    /// What the link carries.
    Link(String),
    /// The code, and the address it was sent to, in lower case.
    Code {
        /// The address.
        email: String,
        /// The six digits.
        code: String,
    },
}

impl PresentedToken {
    /// The protocol has other words for each.
    fn not_found_error(&self) -> GoTrueError {
        match self {
            Self::Link(_) => LINK_EXPIRED,
            Self::Code { .. } => OTP_EXPIRED,
        }
    }
}

/// What showing it came to.
#[derive(Debug)]
pub enum VerificationOutcome {
    /// The person is signed in.
    SignedIn(Box<UserSession>),
    /// The program that asked for the link can sign in with this code and its verifier.
    AuthCode(String),
    /// The other address has to confirm too.
    FirstConfirmed,
}

impl AccountService {
    /// Does what a link or code allows, and signs in. A code that is presented from a network address counts as an attempt at
    /// its account.
    pub async fn verify_otp(
        &self,
        link: LinkType,
        presented: PresentedToken,
        from: IpAddr,
        user_agent: Option<String>,
    ) -> Result<VerificationOutcome, AuthError> {
        let attempt = match &presented {
            PresentedToken::Code { email, .. } => {
                Some(self.rate_limits.begin_attempt(CredentialKind::EmailedCode, email, from)?)
            }
            // Nobody guesses what a link carries.
            PresentedToken::Link(_) => None,
        };
        let token = self.find_token(link, &presented).await?;
        if let Some(attempt) = attempt {
            attempt.succeeded();
        }
        match self.redeem_token(&token, presented.not_found_error()).await? {
            Some(user) => {
                Ok(VerificationOutcome::SignedIn(Box::new(self.create_session(user, "otp", user_agent).await?)))
            }
            None => Ok(VerificationOutcome::FirstConfirmed),
        }
    }

    /// The same for a link that a browser follows: with PKCE it ends with a code for the program that asked for it.
    pub async fn follow_link(
        &self,
        link: LinkType,
        link_token: &str,
        user_agent: Option<String>,
    ) -> Result<VerificationOutcome, AuthError> {
        let presented = PresentedToken::Link(link_token.to_owned());
        let token = self.find_token(link, &presented).await?;
        let Some(user) = self.redeem_token(&token, presented.not_found_error()).await? else {
            return Ok(VerificationOutcome::FirstConfirmed);
        };
        match token.challenge.clone() {
            Some(challenge) => {
                let code = self.issue_auth_code(user.id, amr_method(link, token.kind), challenge).await?;
                Ok(VerificationOutcome::AuthCode(code))
            }
            None => Ok(VerificationOutcome::SignedIn(Box::new(self.create_session(user, "otp", user_agent).await?))),
        }
    }

    async fn find_token(&self, link: LinkType, presented: &PresentedToken) -> Result<OneTimeToken, AuthError> {
        let kinds = link.kinds();
        let found = match presented {
            PresentedToken::Link(token) => {
                let token = self.storage.one_time_tokens().get(&link_hash(token)).await?;
                token.filter(|token| kinds.contains(&token.kind))
            }
            PresentedToken::Code { email, code } => {
                let tokens = self.storage.one_time_tokens().try_codes(email, kinds, MAX_CODE_ATTEMPTS).await?;
                tokens.into_iter().find(|token| self.one_time_tokens.is_code_of(code, token))
            }
        };
        let now = self.clock.now();
        Ok(found.filter(|token| token.expires_at > now).ok_or(presented.not_found_error())?)
    }

    /// Uses the token up. Returns the user, or `None` if the other address still has to confirm a change of address.
    async fn redeem_token(&self, token: &OneTimeToken, not_found: GoTrueError) -> Result<Option<User>, AuthError> {
        let now = self.clock.now();
        let user = self.storage.users().get(token.user).await?.ok_or(not_found)?;
        let user = self
            .update_account(user, not_found, |user| {
                if user.is_banned(now) {
                    return Err(USER_BANNED.into());
                }
                let is_first_confirmation =
                    user.email.is_some() && user.email_confirmed_at.is_none() && !user.is_anonymous;
                // This token proves the address but was not sent for the latest sign-up, whose password a stranger may
                // have chosen.
                if is_first_confirmation && !token.from_sign_up {
                    discard_unproven_sign_up(user);
                }
                let is_complete = apply_token(user, token.kind, now).ok_or(not_found)?;
                // Sessions of an unconfirmed account may belong to whoever signed up with the address, not to its
                // owner.
                Ok(Along {
                    spend: Some(token.id),
                    void: is_complete,
                    sign_out: is_first_confirmation,
                    ..Along::default()
                })
            })
            .await?;
        let is_change = matches!(token.kind, TokenKind::EmailChangeCurrent | TokenKind::EmailChangeNew);
        let is_pending = is_change && user.email_change_confirmed.is_some();
        Ok((!is_pending).then_some(user))
    }
}

/// Drops what a sign-up chose that may not have been its address's owner's: the password, and the metadata unless an
/// administrator wrote it.
fn discard_unproven_sign_up(user: &mut User) {
    user.password_hash = None;
    if user.invited_at.is_none() {
        user.user_metadata.retain(|name, _| SERVER_METADATA_FIELDS.contains(&name.as_str()));
    }
}

/// Does to the account what a token of this kind allows. Answers whether it was the is_complete of it; nothing when the account
/// does not wait for it.
fn apply_token(user: &mut User, kind: TokenKind, now: Timestamp) -> Option<bool> {
    match kind {
        TokenKind::Confirmation | TokenKind::Recovery => {
            if user.email_confirmed_at.is_none() {
                confirm_email(user, now);
            }
            // Its links are void from now on.
            clear_email_change(user);
        }
        TokenKind::EmailChangeCurrent => return confirm_email_change(user, EmailHalf::Current, now),
        TokenKind::EmailChangeNew => return confirm_email_change(user, EmailHalf::New, now),
        TokenKind::Reauthentication => return None,
    }
    Some(true)
}

fn confirm_email_change(user: &mut User, half: EmailHalf, now: Timestamp) -> Option<bool> {
    let new = user.new_email.clone()?;
    let is_other_confirmed = user.email_change_confirmed.is_some_and(|confirmed| confirmed != half);
    // An anonymous account has no current address, so the new one is sufficient.
    if user.email.is_some() && !is_other_confirmed {
        user.email_change_confirmed = Some(half);
        return Some(false);
    }
    set_email(user, new, now);
    Some(true)
}

/// The word of the access token's `amr` for a sign-in that ends with PKCE.
fn amr_method(link: LinkType, kind: TokenKind) -> &'static str {
    match link {
        LinkType::Signup => "email/signup",
        LinkType::Email if kind == TokenKind::Confirmation => "email/signup",
        LinkType::Email => LinkType::MagicLink.word(),
        other => other.word(),
    }
}
