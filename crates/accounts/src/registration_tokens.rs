//! Registration tokens: with one of them a user signs up although sign-up is by invitation (`CHAT_SIGNUPS=invite`).
//!
//! A token has 256 random bits. A plain hash of it is sufficient for storage, because it cannot be reversed by guessing.
//! Clients send it within the metadata of a sign-up, where GoTrue's clients have room for fields of their own
//! (`signUp({ options: { data: { registration_token } } })`), or as a parameter of a sign-in at the identity provider. It is
//! never stored with the account. Who does not know a token learns only that a guess is not valid; who knows it is told why
//! it does not work.

use std::net::IpAddr;
use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{RegistrationTokenId, Timestamp};
use platform::AuditLog;
use platform::config::{HostName, SignUps};
use platform::secret_sealing::random_bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use storage::Storage;
use storage::audit_events::{AuditActor, AuditEventKind, NewAuditEvent};
use storage::registration_tokens::{RegistrationToken, RegistrationTokenState, RegistrationTokenUse};
use url::Url;

use super::account_updates::map_email_conflict;
use super::gotrue_error::{
    ADDRESS_NOT_AUTHORIZED, GoTrueError, REGISTRATION_TOKEN_EXPIRED, REGISTRATION_TOKEN_INVALID,
    REGISTRATION_TOKEN_USED_UP, SIGNUP_DISABLED,
};
use super::login_throttle::log_failed_sign_in;
use super::one_time_tokens::link_hash;
use super::{AccountService, AuthError};

/// Field of a sign-up's metadata, and of the link's fragment, that holds the token.
pub const TOKEN_FIELD: &str = "registration_token";
/// Lifetime of a token for which the operator names none, in seconds.
pub const DEFAULT_LIFETIME_SECONDS: u32 = 7 * 24 * 60 * 60;
/// Maximum length of a note, in characters.
const MAX_NOTE_CHARS: usize = 200;

/// A token to create, as the operator describes it.
#[derive(Debug)]
pub struct RegistrationTokenParams {
    /// Maximum number of uses.
    pub max_uses: NonZeroU32,
    /// Time from which it is invalid.
    pub expires_at: Timestamp,
    /// Domain of the email addresses that can sign up with it; `None` for any address.
    pub domain: Option<HostName>,
    /// Note of the operator, one line; may be empty.
    pub note: String,
}

/// Error of [`RegistrationTokenParams::create`].
#[derive(Debug, thiserror::Error)]
pub enum RegistrationTokenError {
    /// The token would be of no use, or its note is invalid.
    #[error("{0}")]
    Invalid(String),
    /// An internal error.
    #[error(transparent)]
    Internal(#[from] anyhow::Error),
}

/// A registration token as operators see it, without the token itself.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationTokenDto {
    id: RegistrationTokenId,
    /// `valid`, `used-up`, `expired` or `revoked`.
    state: &'static str,
    note: String,
    /// Domain of the email addresses that can sign up with it; null for any address.
    domain: Option<String>,
    max_uses: i64,
    uses: i64,
    created_at: Timestamp,
    expires_at: Timestamp,
    revoked_at: Option<Timestamp>,
}

impl RegistrationTokenDto {
    /// Describes a token at `now`.
    pub fn new(token: RegistrationToken, now: Timestamp) -> Self {
        let state = token.state(now).as_str();
        let RegistrationToken { id, note, domain, max_uses, uses, created_at, expires_at, revoked_at } = token;
        Self { id, state, note, domain, max_uses, uses, created_at, expires_at, revoked_at }
    }
}

/// A new registration token with its link, as its operator sees it once.
#[derive(Debug, Serialize)]
pub struct IssuedRegistrationTokenDto {
    #[serde(flatten)]
    stored: RegistrationTokenDto,
    token: String,
    link: String,
}

impl IssuedRegistrationTokenDto {
    /// Describes a new token at `now`.
    pub fn new(issued: IssuedRegistrationToken, link: Url, now: Timestamp) -> Self {
        let IssuedRegistrationToken { stored, token } = issued;
        Self { stored: RegistrationTokenDto::new(stored, now), token, link: link.into() }
    }
}

/// A new token, which nothing else contains.
#[derive(Debug)]
pub struct IssuedRegistrationToken {
    /// The stored row.
    pub stored: RegistrationToken,
    /// The token.
    pub token: String,
}

impl RegistrationTokenParams {
    /// Creates a token and stores its hash, with an audit event.
    ///
    /// # Errors
    ///
    /// The policy for sign-ups ignores tokens, the token would have expired, or the note is invalid; or there are no random
    /// bytes, or the database fails.
    pub async fn create(
        self,
        storage: &Storage,
        sign_ups: &SignUps,
        now: Timestamp,
        audit: &AuditLog,
    ) -> Result<IssuedRegistrationToken, RegistrationTokenError> {
        let note = self.validate(sign_ups, now).map_err(RegistrationTokenError::Invalid)?;
        let token = URL_SAFE_NO_PAD.encode(random_bytes::<32>().map_err(anyhow::Error::from)?);
        let stored = RegistrationToken {
            id: RegistrationTokenId::fresh(),
            note,
            domain: self.domain.map(|domain| domain.as_str().to_owned()),
            max_uses: i64::from(self.max_uses.get()),
            uses: 0,
            created_at: now,
            expires_at: self.expires_at,
            revoked_at: None,
        };
        let events = admin_event(audit, AuditEventKind::RegistrationTokenCreated, stored.id);
        let inserted = storage.registration_tokens().insert(&stored, &link_hash(&token), &events).await;
        inserted.map_err(anyhow::Error::from)?;
        Ok(IssuedRegistrationToken { stored, token })
    }

    /// Returns the note to store, or a message for the operator who learns otherwise from a user that the token is useless.
    fn validate(&self, sign_ups: &SignUps, now: Timestamp) -> Result<String, String> {
        let note = self.note.trim();
        if *sign_ups != SignUps::Invite {
            Err("registration tokens need CHAT_SIGNUPS=invite".to_owned())
        } else if self.expires_at <= now {
            Err("the token would have expired already".to_owned())
        } else if note.chars().count() > MAX_NOTE_CHARS {
            Err(format!("a note has at most {MAX_NOTE_CHARS} characters"))
        } else if note.contains(char::is_control) {
            Err("a note is one line of text".to_owned())
        } else {
            Ok(note.to_owned())
        }
    }
}

/// Revokes a token, with an audit event. Returns whether there is such a token that was not revoked before.
///
/// # Errors
///
/// The database fails.
pub async fn revoke(
    storage: &Storage,
    id: RegistrationTokenId,
    now: Timestamp,
    audit: &AuditLog,
) -> Result<bool, storage::Error> {
    let events = admin_event(audit, AuditEventKind::RegistrationTokenRevoked, id);
    storage.registration_tokens().revoke(id, now, &events).await
}

/// Returns the URL of the sign-up screen with a token. The token is in the fragment, which browsers send to no server, so
/// that it is in no access log.
///
/// # Errors
///
/// The site URL cannot be a base.
pub fn registration_link(site: &Url, token: &str) -> Result<Url, url::ParseError> {
    let mut link = site.join("/auth")?;
    link.set_fragment(Some(&format!("{TOKEN_FIELD}={token}")));
    Ok(link)
}

/// Takes the token out of the metadata of a sign-up.
pub(super) fn take_token(data: &mut Map<String, Value>) -> Option<String> {
    match data.remove(TOKEN_FIELD)? {
        Value::Null => None,
        Value::String(token) => Some(token).filter(|token| !token.is_empty()),
        // Not a token, so that it is rejected as a wrong one.
        other => Some(other.to_string()),
    }
}

/// Returns events with the token of the account that they report.
pub(super) fn with_token(events: Vec<NewAuditEvent>, registration: Option<RegistrationTokenUse>) -> Vec<NewAuditEvent> {
    let token = registration.map(|registration| registration.id);
    events.into_iter().map(|event| NewAuditEvent { registration_token: token, ..event }).collect()
}

/// Maps the failure to store an account that takes a use of a token: a parallel sign-up has taken the last one, or another
/// account has the address.
pub(super) fn map_insert_error(error: storage::Error, conflict: GoTrueError) -> AuthError {
    match error {
        storage::Error::NotFound => REGISTRATION_TOKEN_USED_UP.into(),
        other => map_email_conflict(other, conflict),
    }
}

fn admin_event(audit: &AuditLog, kind: AuditEventKind, token: RegistrationTokenId) -> Vec<NewAuditEvent> {
    let events = audit.event(None, AuditActor::Admin, kind).into_iter();
    events.map(|event| NewAuditEvent { registration_token: Some(token), ..event }).collect()
}

impl AccountService {
    /// Rejects a sign-up that is not possible with any address, by the policy and the metadata of the request.
    ///
    /// # Errors
    ///
    /// [`SIGNUP_DISABLED`].
    pub fn check_accepts_sign_up(&self, data: Option<&Map<String, Value>>) -> Result<(), AuthError> {
        let has_token =
            data.and_then(|data| data.get(TOKEN_FIELD)).is_some_and(|token| !token.is_null() && token != "");
        let is_by_token = has_token && self.settings.sign_ups == SignUps::Invite && self.can_confirm_addresses();
        if self.allows_sign_up() || is_by_token { Ok(()) } else { Err(SIGNUP_DISABLED.into()) }
    }

    /// Decides whether an address, in lower case, may create an account. Returns the token that permits it, of which the
    /// caller takes a use; none where none is needed.
    ///
    /// # Errors
    ///
    /// The policy does not admit the address, or the token is not valid for it.
    pub(super) async fn admit_sign_up(
        &self,
        email: &str,
        token: Option<&str>,
        from: Option<IpAddr>,
    ) -> Result<Option<RegistrationToken>, AuthError> {
        let (SignUps::Invite, Some(token)) = (&self.settings.sign_ups, token) else {
            self.check_sign_up(email)?;
            return Ok(None);
        };
        let Some(found) = self.storage.registration_tokens().find(&link_hash(token)).await? else {
            if let Some(from) = from {
                log_failed_sign_in(from.to_canonical(), "wrong registration token");
            }
            return Err(REGISTRATION_TOKEN_INVALID.into());
        };
        match found.state(self.clock.now()) {
            RegistrationTokenState::Valid => {}
            RegistrationTokenState::Revoked => return Err(REGISTRATION_TOKEN_INVALID.into()),
            RegistrationTokenState::Expired => return Err(REGISTRATION_TOKEN_EXPIRED.into()),
            RegistrationTokenState::UsedUp => return Err(REGISTRATION_TOKEN_USED_UP.into()),
        }
        let is_admitted =
            found.domain.is_none() || found.domain.as_deref() == email.rsplit_once('@').map(|(_, domain)| domain);
        if is_admitted { Ok(Some(found)) } else { Err(ADDRESS_NOT_AUTHORIZED.into()) }
    }

    /// Returns the use of a token at this time.
    pub(super) fn use_of(&self, token: Option<&RegistrationToken>) -> Option<RegistrationTokenUse> {
        token.map(|token| RegistrationTokenUse { id: token.id, at: self.clock.now() })
    }

    /// Takes a use for a sign-up that creates no account. Without it, the uses that are left would disclose which addresses
    /// have one.
    pub(super) async fn take_use(&self, registration: Option<RegistrationTokenUse>) -> Result<(), AuthError> {
        match registration {
            Some(registration) if !self.storage.registration_tokens().take_use(&registration).await? => {
                Err(REGISTRATION_TOKEN_USED_UP.into())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn takes_the_token_out_of_the_metadata() {
        let take = |data: Value| {
            let Value::Object(mut data) = data else { panic!("not an object") };
            (take_token(&mut data), data.len())
        };
        assert_eq!(take(json!({ "name": "Ann", "registration_token": "abc" })), (Some("abc".to_owned()), 1));
        assert_eq!(take(json!({ "name": "Ann" })), (None, 1));
        for none in [json!(null), json!("")] {
            assert_eq!(take(json!({ "registration_token": none })), (None, 0));
        }
        assert_eq!(take(json!({ "registration_token": ["abc"] })), (Some("[\"abc\"]".to_owned()), 0), "a wrong one");
    }

    #[test]
    fn links_to_the_sign_up_screen() {
        let site = Url::parse("https://chat.example").unwrap();
        let link = registration_link(&site, "a-b_c").unwrap();
        assert_eq!(link.as_str(), "https://chat.example/auth#registration_token=a-b_c");
    }
}
