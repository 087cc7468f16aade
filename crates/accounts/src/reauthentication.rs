//! Step-up: a sign-in whose last proof of identity is older than `CHAT_REAUTHENTICATION_MINUTES` has to give another one
//! before it changes what guards the account.
//!
//! The proofs of a sign-in and their times stand in its `amr`. A sign-in, and the code of a second factor, are proofs by
//! themselves; [`AccountService::prove_again`] takes a password or a mailed code in between. `PUT /user` takes them along with the
//! change. A user without any way to prove anything is not asked: nothing is guarded that a proof could protect.

use std::net::IpAddr;
use std::time::Duration;

use domain::{AuthSessionId, Timestamp, UserId};
use storage::one_time_tokens::TokenKind;
use storage::users::{Along, User};
use uuid::Uuid;

use super::email_cooldown::Purpose;
use super::gotrue_error::{
    ACTION_NEEDS_REAUTHENTICATION, ADDRESS_NOT_CONFIRMED, CURRENT_PASSWORD_INVALID, REAUTHENTICATION_NEEDED,
    REAUTHENTICATION_NOT_VALID, REAUTHENTICATION_WITHOUT_ADDRESS, Refusal, SESSION_NOT_FOUND, USER_NOT_FOUND,
};
use super::login_throttle::Proof;
use super::one_time_tokens::MAX_CODE_ATTEMPTS;
use super::{AccountService, AuthError, Claims};
use crate::mailer::{Letter, Subject};

/// How old the proof of a sign-in may be for a new password where only `CHAT_PASSWORD_REAUTHENTICATION` asks for one: the
/// protocol's.
const PASSWORD_REAUTHENTICATION_AFTER: Duration = Duration::from_hours(24);

/// A way to prove once more who one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProofMethod {
    /// The password of the account.
    Password,
    /// A code of a second factor, with a challenge as at a sign-in.
    Totp,
    /// A code that `GET /reauthenticate` mails.
    Email,
}

/// A proof that is shown to [`AccountService::prove_again`].
#[derive(Debug)]
pub enum ShownProof {
    /// The password of the account.
    Password(String),
    /// The mailed code.
    MailedCode(String),
}

/// The proofs that come along with a change of the account.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    /// The mailed code.
    pub nonce: Option<&'a str>,
    /// The present password.
    pub password: Option<&'a str>,
}

impl AccountService {
    /// Mails a code to the person who asks.
    pub async fn reauthenticate(&self, claims: Claims) -> Result<(), AuthError> {
        let user = self.user(claims).await?;
        let email = user.email.clone().ok_or(REAUTHENTICATION_WITHOUT_ADDRESS)?;
        if user.email_confirmed_at.is_none() {
            return Err(ADDRESS_NOT_CONFIRMED.into());
        }
        self.pauses.begin(Purpose::Reauthentication, &email)?;
        let issued = self.issue(user.id, TokenKind::Reauthentication, &email, None)?;
        let letter = Letter { subject: Subject::Reauthentication, link: None, code: Some(issued.code) };
        if let Err(error) = self.send_email(&email, letter).await {
            self.pauses.forget(Purpose::Reauthentication, &email);
            return Err(error);
        }
        // Stored after the email was accepted: a failed email must not replace the code that the user already has.
        self.store_token(user, &issued.token).await?;
        Ok(())
    }

    /// Returns the ways in which a user can prove who they are, the easiest first.
    pub fn proof_methods(&self, user: &User) -> Vec<ProofMethod> {
        // With that setting only an emailed code or a factor is a proof, as in GoTrue.
        let has_password = user.password_hash.is_some() && !self.settings.password_reauthentication;
        let has_factor = user.factors.iter().any(|factor| factor.is_verified);
        let has_mail = self.mailer.is_some() && user.email.is_some() && user.email_confirmed_at.is_some();
        [(has_password, ProofMethod::Password), (has_factor, ProofMethod::Totp), (has_mail, ProofMethod::Email)]
            .into_iter()
            .filter_map(|(has, method)| has.then_some(method))
            .collect()
    }

    /// Refuses a sign-in whose last proof of identity is too old for changing what guards the account.
    pub async fn require_recent_proof(&self, user: &User, claims: Claims) -> Result<(), AuthError> {
        self.require_proof_since(user, claims.session, self.settings.reauthentication_after).await
    }

    /// The same for a sign-in of `/api`.
    pub async fn require_recent_proof_of(&self, user: UserId, session: AuthSessionId) -> Result<(), AuthError> {
        let user = self.storage.users().get(user).await?.ok_or(USER_NOT_FOUND)?;
        self.require_proof_since(&user, session, self.settings.reauthentication_after).await
    }

    /// Takes a proof of identity: the sign-in is as good as new.
    pub async fn prove_again(
        &self,

        user: UserId,
        session: AuthSessionId,
        proof: ShownProof,
        from: IpAddr,
    ) -> Result<(), AuthError> {
        let user = self.storage.users().get(user).await?.ok_or(USER_NOT_FOUND)?;
        let method = match proof {
            ShownProof::Password(password) => {
                if !self.proof_methods(&user).contains(&ProofMethod::Password) {
                    return Err(REAUTHENTICATION_NOT_VALID.into());
                }
                self.check_password(&user, &password, from).await?;
                "password"
            }
            ShownProof::MailedCode(code) => {
                let spend = Some(self.check_mailed_code(&user, &code, from).await?);
                // No field of the user changes; the update only uses up the token in the same transaction that checks
                // it.
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

    /// Refuses a change of the address or the password without a proof that is recent or comes along, and returns the
    /// one-time token that the change uses up. A proof that comes along has to be right even where none is needed.
    pub(super) async fn check_reauthentication(
        &self,

        user: &User,
        claims: Claims,
        new_password: bool,
        given: Given<'_>,
        from: IpAddr,
    ) -> Result<Option<Uuid>, AuthError> {
        let token = match given.nonce {
            Some(nonce) => Some(self.check_mailed_code(user, nonce, from).await?),
            None => None,
        };
        let mut has_proof = token.is_some();
        if let Some(password) = given.password
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
            AuthError::Refused(ACTION_NEEDS_REAUTHENTICATION) => needed.into(),
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

    /// Checks the present password. Guesses count like those at a sign-in.
    async fn check_password(&self, user: &User, password: &str, from: IpAddr) -> Result<(), AuthError> {
        let account = user.email.clone().unwrap_or_else(|| user.id.to_string());
        let attempt = self.limits.attempt(Proof::Password, &account, from)?;
        if !self.passwords.matches(password.to_owned(), user.password_hash.clone()).await? {
            return Err(CURRENT_PASSWORD_INVALID.into());
        }
        attempt.succeeded();
        Ok(())
    }

    async fn check_mailed_code(&self, user: &User, code: &str, from: IpAddr) -> Result<Uuid, AuthError> {
        let email = user.email.as_deref().ok_or::<Refusal>(REAUTHENTICATION_NOT_VALID)?;
        let attempt = self.limits.attempt(Proof::MailedCode, email, from)?;
        let tokens = self
            .storage
            .one_time_tokens()
            .try_codes(email, [TokenKind::Reauthentication; 2], MAX_CODE_ATTEMPTS)
            .await?;
        let now: Timestamp = self.clock.now();
        let token = tokens
            .into_iter()
            // The lookup is by address, and the address may have moved to another account since the code was sent.
            .find(|token| token.user == user.id && token.expires_at > now && self.one_time.is_code_of(code, token));
        let token = token.ok_or(REAUTHENTICATION_NOT_VALID)?;
        attempt.succeeded();
        Ok(token.id)
    }
}
