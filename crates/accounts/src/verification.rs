//! Showing a link or a code that was mailed.
//!
//! A token is used up in the transaction that does what it allows. With it go all other tokens of the person, but for the
//! first half of a change of address.

use std::net::IpAddr;

use domain::Timestamp;
use storage::one_time_tokens::{OneTimeToken, TokenKind};
use storage::users::{Along, EmailHalf, User};

use super::account_updates::{confirm, forget_email_change, set_email};
use super::emails::LinkType;
use super::gotrue_error::{LINK_EXPIRED, OTP_EXPIRED, Refusal, USER_BANNED};
use super::login_throttle::Proof;
use super::one_time_tokens::{MAX_CODE_ATTEMPTS, link_hash};
use super::sessions::SignIn;
use super::{AccountService, AuthError};

/// Fields of the metadata that the server writes itself.
const OWN_METADATA: [&str; 4] = ["sub", "email", "email_verified", "phone_verified"];

/// The secret of an email, as the client presents it.
#[derive(Debug, Clone)]
pub enum Shown {
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

impl Shown {
    /// The protocol has other words for each.
    fn refusal(&self) -> Refusal {
        match self {
            Self::Link(_) => LINK_EXPIRED,
            Self::Code { .. } => OTP_EXPIRED,
        }
    }
}

/// What showing it came to.
#[derive(Debug)]
pub enum Verified {
    /// The person is signed in.
    SignedIn(Box<SignIn>),
    /// The program that asked for the link can sign in with this code and its verifier.
    AuthCode(String),
    /// The other address has to confirm too.
    Half,
}

impl AccountService {
    /// Does what a link or code allows, and signs in. A code that is shown from a network address counts as an attempt at
    /// its account.
    pub async fn verify_shown(
        &self,

        link: LinkType,
        shown: Shown,
        from: IpAddr,
        user_agent: Option<String>,
    ) -> Result<Verified, AuthError> {
        let attempt = match &shown {
            Shown::Code { email, .. } => Some(self.limits.attempt(Proof::MailedCode, email, from)?),
            // Nobody guesses what a link carries.
            Shown::Link(_) => None,
        };
        let token = self.find(link, &shown).await?;
        if let Some(attempt) = attempt {
            attempt.succeeded();
        }
        match self.redeem(&token, shown.refusal()).await? {
            Some(user) => Ok(Verified::SignedIn(Box::new(self.open(user, "otp", user_agent).await?))),
            None => Ok(Verified::Half),
        }
    }

    /// The same for a link that a browser follows: with PKCE it ends with a code for the program that asked for it.
    pub async fn follow_link(
        &self,

        link: LinkType,
        link_token: &str,
        user_agent: Option<String>,
    ) -> Result<Verified, AuthError> {
        let shown = Shown::Link(link_token.to_owned());
        let token = self.find(link, &shown).await?;
        let Some(user) = self.redeem(&token, shown.refusal()).await? else { return Ok(Verified::Half) };
        match token.challenge.clone() {
            Some(challenge) => {
                let code = self.issue_auth_code(user.id, method_of(link, token.kind), challenge).await?;
                Ok(Verified::AuthCode(code))
            }
            None => Ok(Verified::SignedIn(Box::new(self.open(user, "otp", user_agent).await?))),
        }
    }

    async fn find(&self, link: LinkType, shown: &Shown) -> Result<OneTimeToken, AuthError> {
        let kinds = link.kinds();
        let found = match shown {
            Shown::Link(token) => {
                let token = self.storage.one_time_tokens().get(&link_hash(token)).await?;
                token.filter(|token| kinds.contains(&token.kind))
            }
            Shown::Code { email, code } => {
                let tokens = self.storage.one_time_tokens().try_codes(email, kinds, MAX_CODE_ATTEMPTS).await?;
                tokens.into_iter().find(|token| self.one_time.is_code_of(code, token))
            }
        };
        let now = self.clock.now();
        Ok(found.filter(|token| token.expires_at > now).ok_or(shown.refusal())?)
    }

    /// Uses the token up. Returns the user, or `None` if the other address still has to confirm a change of address.
    async fn redeem(&self, token: &OneTimeToken, gone: Refusal) -> Result<Option<User>, AuthError> {
        let now = self.clock.now();
        let user = self.storage.users().get(token.user).await?.ok_or(gone)?;
        let user = self
            .update_account(user, gone, |user| {
                if user.is_banned(now) {
                    return Err(USER_BANNED.into());
                }
                let is_first = user.email.is_some() && user.email_confirmed_at.is_none() && !user.is_anonymous;
                // This token proves the address but was not sent for the latest sign-up, whose password a stranger may
                // have chosen.
                if is_first && !token.from_sign_up {
                    drop_unproven(user);
                }
                let whole = apply(user, token.kind, now).ok_or(gone)?;
                // Sessions of an unconfirmed account may belong to whoever signed up with the address, not to its
                // owner.
                Ok(Along { spend: Some(token.id), void: whole, sign_out: is_first, ..Along::default() })
            })
            .await?;
        let change = matches!(token.kind, TokenKind::EmailChangeCurrent | TokenKind::EmailChangeNew);
        let half = change && user.email_change_confirmed.is_some();
        Ok((!half).then_some(user))
    }
}

/// Drops what a sign-up chose that may not have been its address's owner's: the password, and the metadata unless an
/// administrator wrote it.
fn drop_unproven(user: &mut User) {
    user.password_hash = None;
    if user.invited_at.is_none() {
        user.user_metadata.retain(|name, _| OWN_METADATA.contains(&name.as_str()));
    }
}

/// Does to the account what a token of this kind allows. Answers whether it was the whole of it; nothing when the account
/// does not wait for it.
fn apply(user: &mut User, kind: TokenKind, now: Timestamp) -> Option<bool> {
    match kind {
        TokenKind::Confirmation | TokenKind::Recovery => {
            if user.email_confirmed_at.is_none() {
                confirm(user, now);
            }
            // Its links are void from now on.
            forget_email_change(user);
        }
        TokenKind::EmailChangeCurrent => return confirm_half(user, EmailHalf::Current, now),
        TokenKind::EmailChangeNew => return confirm_half(user, EmailHalf::New, now),
        TokenKind::Reauthentication => return None,
    }
    Some(true)
}

fn confirm_half(user: &mut User, half: EmailHalf, now: Timestamp) -> Option<bool> {
    let new = user.new_email.clone()?;
    let other_is_there = user.email_change_confirmed.is_some_and(|confirmed| confirmed != half);
    // An anonymous account has no current address, so the new one is sufficient.
    if user.email.is_some() && !other_is_there {
        user.email_change_confirmed = Some(half);
        return Some(false);
    }
    set_email(user, new, now);
    Some(true)
}

/// The word of the access token's `amr` for a sign-in that ends with PKCE.
fn method_of(link: LinkType, kind: TokenKind) -> &'static str {
    match link {
        LinkType::Signup => "email/signup",
        LinkType::Email if kind == TokenKind::Confirmation => "email/signup",
        LinkType::Email => LinkType::MagicLink.word(),
        other => other.word(),
    }
}
