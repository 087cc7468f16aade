//! Verification of emailed links and codes.
//!
//! A token is deleted in the same transaction as the change that it authorizes, together with all other tokens of the
//! user. The first confirmation of a change of address deletes only its own token.

use std::net::IpAddr;

use domain::Timestamp;
use storage::one_time_tokens::{OneTimeToken, TokenKind};
use storage::users::{Along, EmailHalf, User};

use super::account_updates::{AddressProof, clear_email_change, confirm_email, set_email};
use super::audit::RequestOrigin;
use super::emails::LinkType;
use super::gotrue_error::{GoTrueError, LINK_EXPIRED, OTP_EXPIRED, USER_BANNED};
use super::login_throttle::CredentialKind;
use super::one_time_tokens::{MAX_CODE_ATTEMPTS, link_hash};
use super::sessions::UserSession;
use super::{AccountService, AuthError};

/// Fields of `user_metadata` that the server writes.
const SERVER_METADATA_FIELDS: [&str; 4] = ["sub", "email", "email_verified", "phone_verified"];

/// The secret of an email, as the client presents it.
#[derive(Debug, Clone)]
pub enum PresentedToken {
    /// Secret of the link.
    Link(String),
    /// Code, with the address that it was sent to.
    Code {
        /// Email address in lower case.
        email: String,
        /// Code of six digits.
        code: String,
    },
}

impl PresentedToken {
    /// Returns GoTrue's error for an unknown or expired token.
    fn not_found_error(&self) -> GoTrueError {
        match self {
            Self::Link(_) => LINK_EXPIRED,
            Self::Code { .. } => OTP_EXPIRED,
        }
    }
}

/// Result of a verification.
#[derive(Debug)]
pub enum VerificationOutcome {
    /// The user is signed in.
    SignedIn(Box<UserSession>),
    /// Auth code that the client which requested the link can exchange for a session (PKCE).
    AuthCode(String),
    /// The first of the two addresses has confirmed the change; the other one still has to.
    FirstConfirmed,
}

impl AccountService {
    /// Verifies a link or code, applies the change that it authorizes, and signs in. Codes are throttled as login
    /// attempts from the network address `from`.
    pub async fn verify_otp(
        &self,
        link: LinkType,
        presented: PresentedToken,
        from: IpAddr,
        user_agent: Option<String>,
    ) -> Result<VerificationOutcome, AuthError> {
        let origin = RequestOrigin { address: Some(from), user_agent };
        let attempt = match &presented {
            PresentedToken::Code { email, .. } => {
                Some(self.begin_attempt(CredentialKind::EmailedCode, email, None, &origin, from).await?)
            }
            // The secret of a link is too long to guess.
            PresentedToken::Link(_) => None,
        };
        let found = self.find_token(link, &presented).await;
        if let (Err(AuthError::GoTrue(OTP_EXPIRED)), PresentedToken::Code { email, .. }) = (&found, &presented) {
            let user = self.storage.users().get_by_email(email).await?;
            self.audit_failed_sign_in(user.map(|user| user.id), &origin).await?;
        }
        let token = found?;
        if let Some(attempt) = attempt {
            attempt.succeeded().await?;
        }
        match self.redeem_token(&token, presented.not_found_error(), &origin).await? {
            Some(user) => Ok(VerificationOutcome::SignedIn(Box::new(self.create_session(user, "otp", origin).await?))),
            None => Ok(VerificationOutcome::FirstConfirmed),
        }
    }

    /// Verifies a link that was opened in a browser. In a PKCE flow it returns an auth code instead of a session.
    pub async fn follow_link(
        &self,
        link: LinkType,
        link_token: &str,
        origin: RequestOrigin,
    ) -> Result<VerificationOutcome, AuthError> {
        let presented = PresentedToken::Link(link_token.to_owned());
        let token = self.find_token(link, &presented).await?;
        let Some(user) = self.redeem_token(&token, presented.not_found_error(), &origin).await? else {
            return Ok(VerificationOutcome::FirstConfirmed);
        };
        match token.challenge.clone() {
            Some(challenge) => {
                let code = self.issue_auth_code(user.id, amr_method(link, token.kind), None, challenge).await?;
                Ok(VerificationOutcome::AuthCode(code))
            }
            None => Ok(VerificationOutcome::SignedIn(Box::new(self.create_session(user, "otp", origin).await?))),
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

    /// Uses up a token and applies its change. Returns the user, or `None` if the other address still has to confirm a
    /// change of address. `not_found` is the error if the token no longer exists.
    async fn redeem_token(
        &self,
        token: &OneTimeToken,
        not_found: GoTrueError,
        origin: &RequestOrigin,
    ) -> Result<Option<User>, AuthError> {
        let now = self.clock.now();
        let user = self.storage.users().get(token.user).await?.ok_or(not_found)?;
        if user.is_banned(now) {
            self.audit_failed_sign_in(Some(user.id), origin).await?;
        }
        let user = self
            .update_account(user, not_found, |user| {
                if user.is_banned(now) {
                    return Err(USER_BANNED.into());
                }
                let is_first_confirmation =
                    user.email.is_some() && user.email_confirmed_at.is_none() && !user.is_anonymous;
                // The token proves the address, but was not sent for the latest sign-up, so the password may be an
                // attacker's who signed up with the address.
                if is_first_confirmation && !token.from_sign_up {
                    discard_unproven_sign_up(user);
                }
                let is_complete = apply_token(user, token.kind, now).ok_or(not_found)?;
                // Sessions of an unconfirmed account may belong to an attacker who signed up with the address.
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

/// Discards the data of a sign-up that may not have been made by the owner of the address: the password, and the
/// metadata unless an administrator wrote it.
pub(super) fn discard_unproven_sign_up(user: &mut User) {
    user.password_hash = None;
    if user.invited_at.is_none() {
        user.user_metadata.retain(|name, _| SERVER_METADATA_FIELDS.contains(&name.as_str()));
    }
}

/// Applies the change that a token of this kind authorizes. Returns whether the change is complete, or `None` if the
/// account has no pending change.
fn apply_token(user: &mut User, kind: TokenKind, now: Timestamp) -> Option<bool> {
    match kind {
        TokenKind::Confirmation | TokenKind::Recovery => {
            if user.email_confirmed_at.is_none() {
                confirm_email(user, AddressProof::Proven, now);
            }
            // A pending change of address may have been requested by an attacker.
            clear_email_change(user);
        }
        TokenKind::EmailChangeCurrent => return confirm_email_change(user, EmailHalf::Current, now),
        TokenKind::EmailChangeNew => return confirm_email_change(user, EmailHalf::New, now),
        TokenKind::Reauthentication => return None,
    }
    Some(true)
}

/// Records the confirmation of one address, and completes the change with the second one. Returns like [`apply_token`].
fn confirm_email_change(user: &mut User, half: EmailHalf, now: Timestamp) -> Option<bool> {
    let new = user.new_email.clone()?;
    let is_other_confirmed = user.email_change_confirmed.is_some_and(|confirmed| confirmed != half);
    // An anonymous account has no current address, so the new one is sufficient.
    if user.email.is_some() && !is_other_confirmed {
        user.email_change_confirmed = Some(half);
        return Some(false);
    }
    set_email(user, new, AddressProof::Proven, now);
    Some(true)
}

/// Returns the method for the `amr` claim of a session that a PKCE flow creates.
fn amr_method(link: LinkType, kind: TokenKind) -> &'static str {
    match link {
        LinkType::Signup => "email/signup",
        LinkType::Email if kind == TokenKind::Confirmation => "email/signup",
        LinkType::Email => LinkType::MagicLink.word(),
        other => other.word(),
    }
}
