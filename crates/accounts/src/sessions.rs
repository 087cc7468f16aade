//! Sign-ins: opening one, keeping it alive with refresh tokens, ending it.
//!
//! A refresh token carries the counter of its sign-in. The newest one rotates: the counter goes up, the answer carries the
//! next token. The one before it is answered with the newest again until that answer is used, because a client that never
//! got it has nothing else. Every older token is answered for ten seconds, because tabs that wake together all send what
//! they remember. Any other is in two hands, and the sign-in ends.

use domain::{AuthSessionId, Timestamp};
use storage::auth_sessions::{AuthMethod, AuthSession};
use storage::users::User;

use super::gotrue_error::{
    BANNED_REFRESH, GoTrueError, REFRESH_CONFLICT, REFRESH_TOKEN_ALREADY_USED, REFRESH_TOKEN_NOT_FOUND, USER_BANNED,
    USER_NOT_FOUND,
};
use super::refresh_token::has_token_format;
use super::tokens::{ACCESS_TOKEN_SECONDS, AccessTokenPayload};
use super::{AccountService, AuthError, Claims};
use platform::UserEvent;

/// How long after a rotation any older token is answered with the newest, in seconds: what the hosted service has.
const REUSE_INTERVAL_SECONDS: i64 = 10;
/// A caller that loses the race to rotate once reads the winner's counter; more than one more try is never needed, unless
/// the winner's answer is used at once as well.
const MAX_ROTATION_ATTEMPTS: usize = 5;

/// A person's sign-in with fresh tokens.
#[derive(Debug)]
pub struct UserSession {
    /// The person.
    pub user: User,
    /// Proves the sign-in for an hour.
    pub access_token: String,
    /// Gets the next access token.
    pub refresh_token: String,
    /// How long the access token is good, in seconds.
    pub expires_in: i64,
    /// When it ends, in seconds since 1970.
    pub expires_at: i64,
}

/// Which sign-ins to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignOutScope {
    /// All of the person.
    Global,
    /// The one that asks.
    Local,
    /// All but the one that asks.
    Others,
}

impl SignOutScope {
    /// From the word of the protocol.
    pub fn from_word(word: Option<&str>) -> Result<Self, AuthError> {
        match word.unwrap_or_default() {
            "" | "global" => Ok(Self::Global),
            "local" => Ok(Self::Local),
            "others" => Ok(Self::Others),
            other => Err(AuthError::GoTrueWithMessage {
                status: 400,
                code: "validation_failed",
                message: format!("Unsupported logout scope {other:?}"),
            }),
        }
    }
}

impl AccountService {
    /// Opens a sign-in for a person who has just proved who they are, by `method`.
    pub(super) async fn create_session(
        &self,
        mut user: User,
        method: &str,
        user_agent: Option<String>,
    ) -> Result<UserSession, AuthError> {
        let now = self.clock.now();
        if user.is_banned(now) {
            return Err(USER_BANNED.into());
        }
        let session = AuthSession {
            id: AuthSessionId::fresh(),
            user: user.id,
            refresh_counter: 0,
            refreshed_at: now,
            confirmed_at: now,
            aal: "aal1".to_owned(),
            amr: vec![AuthMethod { method: method.to_owned(), timestamp: now.as_seconds() }],
            user_agent,
            created_at: now,
        };
        self.storage.auth_sessions().insert(&session).await?;
        user.last_sign_in_at = Some(now);
        self.issue_tokens(user, &session, now)
    }

    /// Answers a refresh token with fresh tokens, as this module's head says.
    pub async fn refresh_session(&self, refresh_token: &str) -> Result<UserSession, AuthError> {
        if !has_token_format(refresh_token) {
            return Err(GoTrueError::validation_failed("Refresh token is not valid").into());
        }
        let (id, counter) = self.refresh_token_codec.decode(refresh_token).ok_or(REFRESH_TOKEN_NOT_FOUND)?;
        let now = self.clock.now();
        for _ in 0..MAX_ROTATION_ATTEMPTS {
            let mut session = self.storage.auth_sessions().get(id).await?.ok_or(REFRESH_TOKEN_NOT_FOUND)?;
            match decide_refresh(session.refresh_counter - counter, &session, now) {
                RefreshDecision::Rotate => {
                    // Another request rotated the token since the read. The next round reads its counter and repeats
                    // its token.
                    if !self.storage.auth_sessions().advance(session.user, id, counter, now).await? {
                        continue;
                    }
                    session.refresh_counter += 1;
                }
                RefreshDecision::Repeat => {}
                RefreshDecision::NotIssuedHere => {
                    return Err(
                        GoTrueError::validation_failed("Invalid Refresh Token: Not Issued By This Server").into()
                    );
                }
                RefreshDecision::Reused => {
                    tracing::warn!(session = %id, "a used refresh token was presented again; its session was ended");
                    self.storage.auth_sessions().delete(session.user, id).await?;
                    self.events.publish(session.user, &UserEvent::Devices);
                    return Err(REFRESH_TOKEN_ALREADY_USED.into());
                }
            }
            let user = self.storage.users().get(session.user).await?.ok_or(REFRESH_TOKEN_NOT_FOUND)?;
            if user.is_banned(now) {
                return Err(BANNED_REFRESH.into());
            }
            return self.issue_tokens(user, &session, now);
        }
        Err(REFRESH_CONFLICT.into())
    }

    /// Ends sign-ins of the person who asks.
    pub async fn sign_out(&self, claims: Claims, scope: SignOutScope) -> Result<(), AuthError> {
        match scope {
            SignOutScope::Global => self.storage.auth_sessions().delete_all(claims.user).await?,
            SignOutScope::Local => drop(self.storage.auth_sessions().delete(claims.user, claims.session).await?),
            SignOutScope::Others => self.storage.auth_sessions().delete_others(claims.user, claims.session).await?,
        }
        self.events.publish(claims.user, &UserEvent::Devices);
        Ok(())
    }

    /// The account of the person who asks.
    pub async fn current_user(&self, claims: Claims) -> Result<User, AuthError> {
        Ok(self.storage.users().get(claims.user).await?.ok_or(USER_NOT_FOUND)?)
    }

    pub(super) fn issue_tokens(
        &self,
        user: User,
        session: &AuthSession,
        now: Timestamp,
    ) -> Result<UserSession, AuthError> {
        let claims = AccessTokenPayload::new(self.issuer.as_str(), &user, session, now);
        let expires_at = claims.expires_at();
        let access_token = self.signing_keys.sign(&claims).map_err(AuthError::internal)?;
        let refresh_token = self.refresh_token_codec.encode(session.id, session.refresh_counter);
        Ok(UserSession { user, access_token, refresh_token, expires_in: ACCESS_TOKEN_SECONDS, expires_at })
    }
}

#[derive(Debug, PartialEq, Eq)]
enum RefreshDecision {
    /// It is the newest.
    Rotate,
    /// Answer with the newest again.
    Repeat,
    /// It is newer than the newest: made here, but not for this database.
    NotIssuedHere,
    /// It was used, and its successor too.
    Reused,
}

fn decide_refresh(behind: i64, session: &AuthSession, now: Timestamp) -> RefreshDecision {
    // The absolute value, because another node's clock may be ahead of this one's.
    let is_within_reuse_interval = (now.0 - session.refreshed_at.0).abs() < REUSE_INTERVAL_SECONDS * 1_000_000;
    let is_confirmed = session.confirmed_at >= session.refreshed_at;
    match behind {
        0 => RefreshDecision::Rotate,
        ..0 => RefreshDecision::NotIssuedHere,
        _ if is_within_reuse_interval => RefreshDecision::Repeat,
        1 if !is_confirmed => RefreshDecision::Repeat,
        _ => RefreshDecision::Reused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_gets_its_verdict() {
        let rotated = Timestamp(1_000_000_000);
        let decide = |behind, seconds, is_confirmed| {
            let session = AuthSession {
                id: AuthSessionId::fresh(),
                user: domain::UserId::fresh(),
                refresh_counter: 0,
                refreshed_at: rotated,
                confirmed_at: if is_confirmed { rotated } else { Timestamp(0) },
                aal: String::new(),
                amr: Vec::new(),
                user_agent: None,
                created_at: rotated,
            };
            decide_refresh(behind, &session, rotated.plus_seconds(seconds))
        };
        assert_eq!(decide(0, 0, false), RefreshDecision::Rotate);
        assert_eq!(decide(0, 100_000, true), RefreshDecision::Rotate);
        assert_eq!(decide(1, 100_000, false), RefreshDecision::Repeat, "a lost answer, however late");
        assert_eq!(decide(1, 9, true), RefreshDecision::Repeat, "tabs that wake together");
        assert_eq!(decide(1, 10, true), RefreshDecision::Reused, "its successor was used");
        assert_eq!(decide(2, 9, true), RefreshDecision::Repeat);
        assert_eq!(decide(2, 10, false), RefreshDecision::Reused);
        assert_eq!(decide(2, -11, false), RefreshDecision::Reused, "the clock went back");
        assert_eq!(decide(-1, 0, false), RefreshDecision::NotIssuedHere);
    }
}
