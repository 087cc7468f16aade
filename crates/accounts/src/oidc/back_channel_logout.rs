//! Back-channel logout: the provider reports that a user has signed out there (OpenID Connect Back-Channel Logout 1.0).

use domain::{Timestamp, UserId};
use platform::UserEvent;
use serde::Deserialize;
use serde_json::Value;
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::auth_sessions::ProviderSession;

use super::IdentityProvider;
use super::discovery::IssuerMetadata;
use super::error::OidcError;
use super::id_token::{Audiences, CLOCK_LEEWAY_SECONDS, Seconds};
use super::profile::is_session_id;
use super::sign_in::AMR_METHOD;
use crate::{AccountService, AuthError};

/// Member of the claim `events` that makes a token a logout token (section 2.4).
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Claims of a logout token.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: Audiences,
    iat: Seconds,
    exp: Seconds,
    sub: Option<String>,
    sid: Option<String>,
    nonce: Option<Value>,
    #[serde(default)]
    events: Value,
}

/// A verified logout token. It names the user, the session, or both.
#[derive(Debug, PartialEq, Eq)]
struct Logout {
    /// User at the provider.
    subject: Option<String>,
    /// Session at the provider that has ended; without it, all sessions of the user have.
    session_id: Option<String>,
    issued_at: Timestamp,
}

/// Result of a [logout](AccountService::end_provider_sessions).
#[derive(Debug)]
pub enum LogoutOutcome {
    /// The sessions are ended, if there were any.
    Ended,
    /// The token is not valid, or the provider cannot be asked for its keys.
    Rejected(OidcError),
    /// There is no identity provider.
    NoProvider,
}

impl AccountService {
    /// Ends sessions that a user began through the provider, by a logout token of the provider: those in the session that
    /// it names, or all of them. Sessions that began after the token was issued stay, so that a replayed token does not end
    /// later ones.
    ///
    /// # Errors
    ///
    /// The database fails.
    pub async fn end_provider_sessions(&self, token: &str) -> Result<LogoutOutcome, AuthError> {
        let Some(provider) = &self.identity_provider else { return Ok(LogoutOutcome::NoProvider) };
        let logout = match provider.verify_logout_token(token).await {
            Ok(logout) => logout,
            Err(error) => {
                tracing::warn!(%error, "a logout token of the identity provider was rejected");
                return Ok(LogoutOutcome::Rejected(error));
            }
        };
        let issuer = &provider.settings.issuer;
        let session = logout.session_id.map(|id| ProviderSession { issuer: issuer.clone(), id });
        let until = logout.issued_at.plus_seconds(CLOCK_LEEWAY_SECONDS);
        if let Some(subject) = &logout.subject {
            if let Some(identity) = self.storage.identities().get(issuer, subject).await? {
                self.end_sessions_of(identity.user, session.as_ref(), until).await?;
            }
        } else if let Some(session) = &session {
            for user in self.storage.auth_sessions().list_provider_session_owners(session).await? {
                self.end_sessions_of(user, Some(session), until).await?;
            }
        }
        Ok(LogoutOutcome::Ended)
    }

    /// Ends the sessions that a user began through the provider by `until`, or only those within one session there.
    async fn end_sessions_of(
        &self,
        user: UserId,
        session: Option<&ProviderSession>,
        until: Timestamp,
    ) -> Result<(), AuthError> {
        let events = self.audit(user, AuditActor::System, AuditEventKind::SignOut);
        let sessions = self.storage.auth_sessions();
        let count = match session {
            // A session from before the provider's were stored may have begun in any of them, so it ends as well.
            Some(session) => sessions.delete_by_provider_session(user, session, AMR_METHOD, until, &events).await?,
            None => sessions.delete_by_method(user, AMR_METHOD, until, &events).await?,
        };
        if count > 0 {
            self.events.publish(user, &UserEvent::Devices);
            tracing::info!(user_id = %user, "the identity provider ended a user's sessions");
        }
        Ok(())
    }
}

impl IdentityProvider {
    async fn verify_logout_token(&self, token: &str) -> Result<Logout, OidcError> {
        let metadata: &IssuerMetadata = &*self.metadata().await?;
        let (claims, _) = self.verify_signature(metadata, token).await.map_err(|error| match error {
            OidcError::IdToken(reason) => OidcError::LogoutToken(reason),
            error => error,
        })?;
        let claims = serde_json::from_value(Value::Object(claims));
        let claims = claims.map_err(|_| OidcError::LogoutToken("a required claim is missing"))?;
        check(claims, &self.settings.issuer, &self.settings.client_id, self.clock.now()).map_err(OidcError::LogoutToken)
    }
}

/// Checks the claims of a logout token (section 2.6).
fn check(claims: Claims, issuer: &str, client_id: &str, now: Timestamp) -> Result<Logout, &'static str> {
    let now = now.as_seconds();
    let checks = [
        (claims.iss == issuer, "it is of another issuer"),
        (claims.aud.as_slice().iter().any(|audience| audience == client_id), "it is for another audience"),
        (claims.exp.0.saturating_add(CLOCK_LEEWAY_SECONDS) > now, "it has expired"),
        (claims.iat.0 <= now.saturating_add(CLOCK_LEEWAY_SECONDS), "it was issued in the future"),
        (claims.events.get(LOGOUT_EVENT).is_some_and(Value::is_object), "it reports no logout"),
        // An ID token must not pass for a logout token.
        (claims.nonce.is_none(), "it has a nonce"),
    ];
    if let Some(&(_, reason)) = checks.iter().find(|(is_met, _)| !is_met) {
        return Err(reason);
    }
    // Without an id that can have been stored, the token is about all sessions of the user.
    let session_id = claims.sid.filter(|id| is_session_id(id));
    if claims.sub.is_none() && session_id.is_none() {
        return Err("it names neither a user nor a session");
    }
    Ok(Logout { subject: claims.sub, session_id, issued_at: Timestamp(claims.iat.0.saturating_mul(1_000_000)) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn checks_every_claim() {
        let check = |changes: Value| {
            let mut claims = json!({
                "iss": "https://id.example.com", "aud": ["chat"], "iat": 1_000, "exp": 1_120, "sub": "ann", "sid": "s",
                "events": { LOGOUT_EVENT: {} }
            });
            for (name, value) in changes.as_object().unwrap() {
                claims[name] = value.clone();
            }
            let claims = serde_json::from_value(claims).map_err(|_| "unreadable")?;
            super::check(claims, "https://id.example.com", "chat", Timestamp(1_060_000_000))
        };
        let logout = |subject: Option<&str>, session_id: Option<&str>| {
            let (subject, session_id) = (subject.map(str::to_owned), session_id.map(str::to_owned));
            Ok(Logout { subject, session_id, issued_at: Timestamp(1_000_000_000) })
        };
        for (changes, expected) in [
            (json!({}), logout(Some("ann"), Some("s"))),
            (json!({ "sub": null }), logout(None, Some("s"))),
            (json!({ "sid": null }), logout(Some("ann"), None)),
            (json!({ "sid": "" }), logout(Some("ann"), None)),
            (json!({ "sid": "s".repeat(1_001) }), logout(Some("ann"), None)),
        ] {
            assert_eq!(check(changes.clone()), expected, "{changes}");
        }
        for (changes, reason) in [
            (json!({ "iss": "https://evil.example" }), "it is of another issuer"),
            (json!({ "aud": "another" }), "it is for another audience"),
            (json!({ "exp": 999 }), "it has expired"),
            (json!({ "exp": null }), "unreadable"),
            (json!({ "iat": 1_121 }), "it was issued in the future"),
            (json!({ "events": null }), "it reports no logout"),
            (json!({ "events": { "http://schemas.openid.net/event/other": {} } }), "it reports no logout"),
            (json!({ "nonce": "n" }), "it has a nonce"),
            (json!({ "sid": 1 }), "unreadable"),
            (json!({ "sub": null, "sid": null }), "it names neither a user nor a session"),
            (json!({ "sub": null, "sid": "" }), "it names neither a user nor a session"),
        ] {
            assert_eq!(check(changes.clone()), Err(reason), "{changes}");
        }
    }
}
