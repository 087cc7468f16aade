//! Showing once more that one is oneself, with a mailed code, before a new password counts.

use std::net::IpAddr;

use domain::Timestamp;
use store::one_time_tokens::TokenKind;
use store::users::User;
use uuid::Uuid;

use super::confirmation::keep;
use super::letters::deliver;
use super::limits::Proof;
use super::one_time::TRIES;
use super::pauses::Purpose;
use super::refusal::{
    ADDRESS_NOT_CONFIRMED, REAUTHENTICATION_NEEDED, REAUTHENTICATION_NOT_VALID, REAUTHENTICATION_WITHOUT_ADDRESS,
    SESSION_NOT_FOUND,
};
use super::{Auth, AuthError, Claims};
use crate::app::App;
use crate::mail::{Letter, Subject};

/// A sign-in that is younger has just been proven, in seconds: the protocol's.
const RECENT: i64 = 24 * 3600;

impl Auth {
    /// Mails a code to the person who asks.
    pub async fn reauthenticate(&self, app: &App, claims: Claims) -> Result<(), AuthError> {
        let user = self.user(app, claims).await?;
        let email = user.email.clone().ok_or(REAUTHENTICATION_WITHOUT_ADDRESS)?;
        if user.email_confirmed_at.is_none() {
            return Err(ADDRESS_NOT_CONFIRMED.into());
        }
        self.pauses.begin(Purpose::Reauthentication, &email)?;
        let issued = self.issue(app, user.id, TokenKind::Reauthentication, &email, None)?;
        let letter = Letter { subject: Subject::Reauthentication, link: None, code: Some(issued.code) };
        if let Err(error) = deliver(app, &email, letter).await {
            self.pauses.forget(Purpose::Reauthentication, &email);
            return Err(error);
        }
        keep(app, user, &issued.token).await?;
        Ok(())
    }

    /// Whether the person may choose a new password now, and the one-time token that is used up by it. A code that is sent
    /// along has to be right even where none is needed.
    pub(super) async fn check_reauthentication(
        &self,
        app: &App,
        user: &User,
        claims: Claims,
        nonce: Option<&str>,
        from: IpAddr,
    ) -> Result<Option<Uuid>, AuthError> {
        match nonce {
            Some(nonce) => {
                let account = user.email.as_deref().ok_or(REAUTHENTICATION_NOT_VALID)?;
                let attempt = self.limits.attempt(Proof::MailedCode, account, from)?;
                let token = self.token_of_nonce(app, user, nonce).await?;
                attempt.succeeded();
                Ok(Some(token))
            }
            None if app.config.password_reauthentication && !self.is_recent(app, claims).await? => {
                Err(REAUTHENTICATION_NEEDED.into())
            }
            None => Ok(None),
        }
    }

    async fn token_of_nonce(&self, app: &App, user: &User, nonce: &str) -> Result<Uuid, AuthError> {
        let email = user.email.as_deref().ok_or(REAUTHENTICATION_NOT_VALID)?;
        let tokens = app.store.try_one_time_codes(email, [TokenKind::Reauthentication; 2], TRIES).await?;
        let now: Timestamp = app.clock.now();
        let token = tokens
            .into_iter()
            .find(|token| token.user == user.id && token.expires_at > now && self.one_time.is_code_of(nonce, token));
        Ok(token.ok_or(REAUTHENTICATION_NOT_VALID)?.id)
    }

    async fn is_recent(&self, app: &App, claims: Claims) -> Result<bool, AuthError> {
        let session = app.store.get_auth_session(claims.session).await?.ok_or(SESSION_NOT_FOUND)?;
        Ok(session.created_at.plus_seconds(RECENT) >= app.clock.now())
    }
}
