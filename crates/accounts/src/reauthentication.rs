//! Step-up authentication: a session whose last proof of identity is older than `CHAT_REAUTHENTICATION_MINUTES` needs a
//! new one before it may change credentials.
//!
//! A session's `amr` lists its proofs of identity with their times. Signing in and verifying a second factor are
//! proofs; in between, [`AccountService::prove_identity`] accepts a password or an emailed code. `PUT /user` accepts
//! them together with the change. Users who have no method to prove their identity are exempt: they have no credentials
//! to protect.

use std::net::IpAddr;
use std::time::Duration;

use domain::{AuthSessionId, Timestamp, UserId};
use storage::factors::FactorKind;
use storage::one_time_tokens::TokenKind;
use storage::users::{Along, User};
use uuid::Uuid;

use super::email_cooldown::EmailPurpose;
use super::gotrue_error::{
    ACTION_NEEDS_REAUTHENTICATION, CURRENT_PASSWORD_INVALID, GoTrueError, REAUTHENTICATION_EMAIL_NOT_CONFIRMED,
    REAUTHENTICATION_NEEDED, REAUTHENTICATION_NEEDS_EMAIL, REAUTHENTICATION_NOT_VALID, SESSION_NOT_FOUND,
    USER_NOT_FOUND,
};
use super::login_throttle::CredentialKind;
use super::one_time_tokens::MAX_CODE_ATTEMPTS;
use super::{AccountService, AuthError, Claims};
use crate::mailer::{Email, EmailKind};

/// Maximum age of the last proof of identity for a new password if only `CHAT_PASSWORD_REAUTHENTICATION` requires one.
/// The value is GoTrue's.
const PASSWORD_REAUTHENTICATION_AFTER: Duration = Duration::from_hours(24);

/// A method to prove one's identity again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProofMethod {
    /// Password of the account.
    Password,
    /// Code of an authenticator app, for a challenge as at sign-in.
    Totp,
    /// Security key, for a challenge as at sign-in.
    WebAuthn,
    /// Code that `GET /reauthenticate` sends by email.
    Email,
}

/// A proof of identity for [`AccountService::prove_identity`].
#[derive(Debug)]
pub enum IdentityProof {
    /// Password of the account.
    Password(String),
    /// Emailed code.
    EmailedCode(String),
}

/// Proofs of identity in a request that changes the account.
#[derive(Debug, Clone, Copy)]
pub(super) struct SuppliedProof<'a> {
    /// Emailed code.
    pub nonce: Option<&'a str>,
    /// Current password.
    pub password: Option<&'a str>,
}

impl AccountService {
    /// Emails a reauthentication code to the caller.
    pub async fn send_reauthentication_code(&self, claims: Claims) -> Result<(), AuthError> {
        let user = self.current_user(claims).await?;
        let email = user.email.clone().ok_or(REAUTHENTICATION_NEEDS_EMAIL)?;
        if user.email_confirmed_at.is_none() {
            return Err(REAUTHENTICATION_EMAIL_NOT_CONFIRMED.into());
        }
        self.email_cooldown.start(EmailPurpose::Reauthentication, &email).await?;
        let issued = self.issue_one_time_token(user.id, TokenKind::Reauthentication, &email, None)?;
        let message = Email { kind: EmailKind::Reauthentication, link: None, code: Some(issued.code) };
        if let Err(error) = self.send_email(&email, message).await {
            self.email_cooldown.cancel(EmailPurpose::Reauthentication, &email).await;
            return Err(error);
        }
        // Stored after the mail server has accepted the email: a failed email must not invalidate the previous code.
        self.store_token(user, &issued.token).await?;
        Ok(())
    }

    /// Returns the methods with which a user can prove their identity, the easiest first.
    pub fn proof_methods(&self, user: &User) -> Vec<ProofMethod> {
        // With that setting only an emailed code or a factor is a proof, as in GoTrue.
        let has_password = user.password_hash.is_some() && !self.settings.password_reauthentication;
        let has_factor = |kind| user.factors.iter().any(|factor| factor.is_verified && factor.kind == kind);
        let has_app = has_factor(FactorKind::Totp);
        let has_key = has_factor(FactorKind::WebAuthn) && self.webauthn_site().is_some();
        let has_mail = self.mailer.is_some() && user.email.is_some() && user.email_confirmed_at.is_some();
        let methods = [
            (has_password, ProofMethod::Password),
            (has_app, ProofMethod::Totp),
            (has_key, ProofMethod::WebAuthn),
            (has_mail, ProofMethod::Email),
        ];
        methods.into_iter().filter_map(|(has, method)| has.then_some(method)).collect()
    }

    /// Rejects a session whose last proof of identity is too old for changing credentials.
    pub async fn require_recent_proof(&self, user: &User, claims: Claims) -> Result<(), AuthError> {
        self.require_proof_since(user, claims.session, self.settings.reauthentication_after).await
    }

    /// Checks the same as [`AccountService::require_recent_proof`], for a user and session by id.
    pub async fn require_recent_proof_by_id(&self, user: UserId, session: AuthSessionId) -> Result<(), AuthError> {
        let user = self.storage.users().get(user).await?.ok_or(USER_NOT_FOUND)?;
        self.require_proof_since(&user, session, self.settings.reauthentication_after).await
    }

    /// Verifies a proof of identity and records it in the session, which then counts as recently authenticated.
    pub async fn prove_identity(
        &self,
        user: UserId,
        session: AuthSessionId,
        proof: IdentityProof,
        from: IpAddr,
    ) -> Result<(), AuthError> {
        let user = self.storage.users().get(user).await?.ok_or(USER_NOT_FOUND)?;
        let method = match proof {
            IdentityProof::Password(password) => {
                if !self.proof_methods(&user).contains(&ProofMethod::Password) {
                    return Err(REAUTHENTICATION_NOT_VALID.into());
                }
                self.check_password(&user, &password, from).await?;
                "password"
            }
            IdentityProof::EmailedCode(code) => {
                let spend = Some(self.check_emailed_code(&user, &code, from).await?);
                // No field of the user changes. The update only checks and deletes the token in one transaction, so
                // that a code cannot be used twice.
                let spend = |_: &mut User| Ok(Along { spend, ..Along::default() });
                self.update_account(user.clone(), REAUTHENTICATION_NOT_VALID, spend).await?;
                "otp"
            }
        };
        if self.storage.auth_sessions().record_proof(user.id, session, method, self.clock.now()).await? {
            Ok(())
        } else {
            Err(SESSION_NOT_FOUND.into())
        }
    }

    /// Rejects a change of address or password unless the last proof of identity is recent or the request supplies one.
    /// Returns the one-time token that the change uses up. A supplied proof has to be correct even if none is needed.
    pub(super) async fn check_reauthentication(
        &self,
        user: &User,
        claims: Claims,
        new_password: bool,
        supplied: SuppliedProof<'_>,
        from: IpAddr,
    ) -> Result<Option<Uuid>, AuthError> {
        let token = match supplied.nonce {
            Some(nonce) => Some(self.check_emailed_code(user, nonce, from).await?),
            None => None,
        };
        let mut has_proof = token.is_some();
        if let Some(password) = supplied.password
            && user.password_hash.is_some()
        {
            self.check_password(user, password, from).await?;
            has_proof |= !self.settings.password_reauthentication;
        }
        if has_proof {
            return Ok(token);
        }
        let after = self.settings.reauthentication_after;
        let for_password =
            (new_password && self.settings.password_reauthentication).then_some(PASSWORD_REAUTHENTICATION_AFTER);
        let needed = if new_password { REAUTHENTICATION_NEEDED } else { ACTION_NEEDS_REAUTHENTICATION };
        let checked = self.require_proof_since(user, claims.session, after.or(for_password)).await;
        checked.map(|()| None).map_err(|error| match error {
            AuthError::GoTrue(ACTION_NEEDS_REAUTHENTICATION) => needed.into(),
            other => other,
        })
    }

    async fn require_proof_since(
        &self,
        user: &User,
        session: AuthSessionId,
        after: Option<Duration>,
    ) -> Result<(), AuthError> {
        let Some(after) = after else { return Ok(()) };
        let session = self.storage.auth_sessions().get(session).await?.ok_or(SESSION_NOT_FOUND)?;
        let last = session.amr.iter().map(|proof| proof.timestamp).max().unwrap_or_default();
        let is_recent = last.saturating_add_unsigned(after.as_secs()) >= self.clock.now().as_seconds();
        if is_recent || self.proof_methods(user).is_empty() {
            return Ok(());
        }
        Err(ACTION_NEEDS_REAUTHENTICATION.into())
    }

    /// Verifies the current password. Attempts are throttled as at sign-in.
    async fn check_password(&self, user: &User, password: &str, from: IpAddr) -> Result<(), AuthError> {
        let account = user.email.clone().unwrap_or_else(|| user.id.to_string());
        let attempt = self.rate_limits.begin_attempt(CredentialKind::Password, &account, from).await?;
        if !self.password_hasher.matches(password.to_owned(), user.password_hash.clone()).await? {
            return Err(CURRENT_PASSWORD_INVALID.into());
        }
        attempt.succeeded().await?;
        Ok(())
    }

    async fn check_emailed_code(&self, user: &User, code: &str, from: IpAddr) -> Result<Uuid, AuthError> {
        let email = user.email.as_deref().ok_or::<GoTrueError>(REAUTHENTICATION_NOT_VALID)?;
        let attempt = self.rate_limits.begin_attempt(CredentialKind::EmailedCode, email, from).await?;
        let tokens = self
            .storage
            .one_time_tokens()
            .try_codes(email, [TokenKind::Reauthentication; 2], MAX_CODE_ATTEMPTS)
            .await?;
        let now: Timestamp = self.clock.now();
        let token = tokens
            .into_iter()
            // The lookup is by address, and the address may have moved to another account since the code was sent.
            .find(|token| {
                token.user == user.id && token.expires_at > now && self.one_time_tokens.is_code_of(code, token)
            });
        let token = token.ok_or(REAUTHENTICATION_NOT_VALID)?;
        attempt.succeeded().await?;
        Ok(token.id)
    }
}
