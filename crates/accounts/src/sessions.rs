//! Sessions: creation at sign-in, refresh token rotation, and sign-out.
//!
//! A refresh token contains the rotation counter of its session. The current token rotates: the counter is incremented,
//! and the response contains the next token. The previous token returns the current one again until the client has used
//! the new tokens, because a client that lost the response has no other token. Any older token returns the current one
//! for ten seconds, because tabs that wake up at the same time all send the token that they remember.
//! Any other use means that the token was copied, and ends the session.

use domain::{AuthSessionId, Timestamp, UserId};
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::auth_sessions::{AuthMethod, AuthSession, ProviderSession};
use storage::users::User;

use super::audit::RequestOrigin;
use super::gotrue_error::{
    BANNED_REFRESH, GoTrueError, REFRESH_CONFLICT, REFRESH_TOKEN_ALREADY_USED, REFRESH_TOKEN_NOT_FOUND, USER_BANNED,
    USER_NOT_FOUND,
};
use super::refresh_token::has_token_format;
use super::session_end::SessionEnd;
use super::tokens::AccessTokenPayload;
use super::{AccountService, AuthError, Claims};
use platform::UserEvent;

/// Time after a rotation in which any older token returns the current one, in seconds. The value is that of hosted
/// Supabase.
const REUSE_INTERVAL_SECONDS: i64 = 10;
/// Maximum number of attempts to rotate a token. A request that loses the race once normally succeeds with the second
/// attempt; it loses again only if another client uses the winner's token at the same moment.
const MAX_ROTATION_ATTEMPTS: usize = 5;

/// A session with new tokens.
#[derive(Debug)]
pub struct UserSession {
    /// User.
    pub user: User,
    /// Access token.
    pub access_token: String,
    /// Refresh token.
    pub refresh_token: String,
    /// Lifetime of the access token, in seconds.
    pub expires_in: i64,
    /// Expiry of the access token, in seconds since 1970.
    pub expires_at: i64,
}

/// Scope of a sign-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignOutScope {
    /// All sessions of the user.
    Global,
    /// Only the caller's session.
    Local,
    /// All sessions except the caller's.
    Others,
}

impl SignOutScope {
    /// Parses GoTrue's name of the scope; the default is global.
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
    /// Creates a session for a user who has just authenticated with `method`, the value for the `amr` claim.
    pub(super) async fn create_session(
        &self,
        user: User,
        method: &str,
        origin: RequestOrigin,
    ) -> Result<UserSession, AuthError> {
        self.create_session_within(user, method, None, origin).await
    }

    /// Creates a session as [`create_session`](Self::create_session), within one at the identity provider, whose end is also
    /// the end of this one.
    pub(super) async fn create_session_within(
        &self,
        mut user: User,
        method: &str,
        provider_session: Option<&ProviderSession>,
        origin: RequestOrigin,
    ) -> Result<UserSession, AuthError> {
        let now = self.clock.now();
        if user.is_banned(now) {
            self.audit_failed_sign_in(Some(user.id), &origin).await?;
            return Err(USER_BANNED.into());
        }
        let notice = self.find_new_device(&user, &origin).await?;
        let events = self.audit_request(Some(user.id), AuditActor::User, AuditEventKind::SignIn, &origin);
        let session = AuthSession {
            id: AuthSessionId::fresh(),
            user: user.id,
            refresh_counter: 0,
            refreshed_at: now,
            confirmed_at: now,
            aal: "aal1".to_owned(),
            amr: vec![AuthMethod { method: method.to_owned(), timestamp: now.as_seconds() }],
            user_agent: origin.user_agent,
            created_at: now,
        };
        self.storage.auth_sessions().insert(&session, provider_session, &events).await?;
        if let Some(notice) = notice {
            self.notify(&user, notice);
        }
        user.last_sign_in_at = Some(now);
        self.issue_tokens(user, &session, now)
    }

    /// Exchanges a refresh token for new tokens, by the rules in the documentation of this module.
    pub async fn refresh_session(&self, refresh_token: &str) -> Result<UserSession, AuthError> {
        if !has_token_format(refresh_token) {
            return Err(GoTrueError::validation_failed("Refresh token is not valid").into());
        }
        let (id, counter) = self.refresh_token_codec.decode(refresh_token).ok_or(REFRESH_TOKEN_NOT_FOUND)?;
        let now = self.clock.now();
        for _ in 0..MAX_ROTATION_ATTEMPTS {
            let mut session = self.storage.auth_sessions().get(id).await?.ok_or(REFRESH_TOKEN_NOT_FOUND)?;
            SessionEnd::new(self.settings.session_lifetimes, session.created_at, session.refreshed_at).check(now)?;
            match decide_refresh(session.refresh_counter - counter, &session, now) {
                RefreshDecision::Rotate => {
                    // Another request has rotated the token since the read. The next iteration reads the new counter
                    // and returns the same token as that request.
                    if !self.storage.auth_sessions().advance(session.user, id, counter, now).await? {
                        continue;
                    }
                    session.refresh_counter += 1;
                    session.refreshed_at = now;
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
                    let events = self.audit(session.user, AuditActor::System, AuditEventKind::SessionRevoked);
                    self.store_audit_events(&events).await?;
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

    /// Ends sessions of the caller.
    pub async fn sign_out(&self, claims: Claims, scope: SignOutScope) -> Result<(), AuthError> {
        match scope {
            SignOutScope::Global => self.storage.auth_sessions().delete_all(claims.user).await?,
            SignOutScope::Local => drop(self.storage.auth_sessions().delete(claims.user, claims.session).await?),
            SignOutScope::Others => self.storage.auth_sessions().delete_others(claims.user, claims.session).await?,
        }
        self.store_audit_events(&self.audit(claims.user, AuditActor::User, AuditEventKind::SignOut)).await?;
        self.events.publish(claims.user, &UserEvent::Devices);
        Ok(())
    }

    /// Ends one session of a user. Returns whether it existed.
    ///
    /// # Errors
    ///
    /// The database fails.
    pub async fn sign_out_device(&self, owner: UserId, session: AuthSessionId) -> Result<bool, storage::Error> {
        if !self.storage.auth_sessions().delete(owner, session).await? {
            return Ok(false);
        }
        self.store_audit_events(&self.audit(owner, AuditActor::User, AuditEventKind::SignOut)).await?;
        // Event streams of the ended session listen to this event and close.
        self.events.publish(owner, &UserEvent::Devices);
        Ok(true)
    }

    /// Returns the caller's account.
    pub async fn current_user(&self, claims: Claims) -> Result<User, AuthError> {
        Ok(self.storage.users().get(claims.user).await?.ok_or(USER_NOT_FOUND)?)
    }

    /// Issues an access token and the current refresh token of a session.
    pub(super) fn issue_tokens(
        &self,
        user: User,
        session: &AuthSession,
        now: Timestamp,
    ) -> Result<UserSession, AuthError> {
        let lifetimes = self.settings.session_lifetimes;
        let session_end = SessionEnd::new(lifetimes, session.created_at, session.refreshed_at).earliest();
        let claims = AccessTokenPayload::new(self.issuer.as_str(), &user, session, now).until(session_end);
        let expires_at = claims.expires_at();
        let access_token = self.signing_keys.sign(&claims).map_err(AuthError::internal)?;
        let refresh_token = self.refresh_token_codec.encode(session.id, session.refresh_counter);
        Ok(UserSession { user, access_token, refresh_token, expires_in: expires_at - now.as_seconds(), expires_at })
    }
}

/// Decision about a refresh token.
#[derive(Debug, PartialEq, Eq)]
enum RefreshDecision {
    /// The token is the current one: rotate it.
    Rotate,
    /// Return the current token again.
    Repeat,
    /// The token is newer than the current one: it was signed with this server's key for another database.
    NotIssuedHere,
    /// The token was reused after its successor was used.
    Reused,
}

/// Decides about a token that is `behind` rotations older than the current one.
fn decide_refresh(behind: i64, session: &AuthSession, now: Timestamp) -> RefreshDecision {
    // The absolute value, because the clock of another node may be ahead.
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
    fn decides_by_age_and_confirmation() {
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
        assert_eq!(decide(1, 100_000, false), RefreshDecision::Repeat, "a lost response, at any time");
        assert_eq!(decide(1, 9, true), RefreshDecision::Repeat, "concurrent tabs");
        assert_eq!(decide(1, 10, true), RefreshDecision::Reused, "its successor was used");
        assert_eq!(decide(2, 9, true), RefreshDecision::Repeat);
        assert_eq!(decide(2, 10, false), RefreshDecision::Reused);
        assert_eq!(decide(2, -11, false), RefreshDecision::Reused, "the clock was set back");
        assert_eq!(decide(-1, 0, false), RefreshDecision::NotIssuedHere);
    }
}
