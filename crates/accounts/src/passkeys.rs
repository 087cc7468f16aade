//! Passkeys: sign-in with a credential of the user's device or security key instead of an address and a password. The
//! behavior is GoTrue's, except that the authenticator has to verify its user.

use std::net::IpAddr;

use domain::text::without_nul;
use domain::{ChallengeId, PasskeyId, UserId};
use platform::UserEvent;
use platform::secret_sealing::random_bytes;
use serde_json::Value;
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::passkeys::{Passkey, PasskeyChallenge};
use storage::users::User;

use super::audit::RequestOrigin;
use super::gotrue_error::{
    EMAIL_NOT_CONFIRMED_PASSKEY, GoTrueError, PASSKEY_CHALLENGE_EXPIRED, PASSKEY_CHALLENGE_UNKNOWN, PASSKEY_EXISTS,
    PASSKEY_NOT_FOUND, PASSKEY_NOT_VERIFIED, PASSKEY_RESPONSE_INVALID, PASSKEYS_DISABLED, PASSKEYS_NEED_AAL2,
    TOO_MANY_PASSKEYS,
};
use super::login_throttle::log_failed_sign_in;
use super::mailer::SecurityNotice;
use super::sessions::UserSession;
use super::webauthn::ceremony::{
    AuthenticationResponse, CeremonyError, CredentialPurpose, KnownCredential, Registration, RegistrationResponse,
    RelyingParty,
};
use super::webauthn::{log_rejection, parse_response};
use super::{AccountService, AuthError, Claims};

/// Maximum number of passkeys per user. The value is GoTrue's default.
const MAX_PASSKEYS: i64 = 10;
/// Lifetime of a challenge, in seconds. The value is GoTrue's default.
const CHALLENGE_LIFETIME_SECONDS: i64 = 300;
/// Time for which an expired challenge is reported as expired instead of unknown, in seconds.
const EXPIRED_CHALLENGE_SECONDS: i64 = 24 * 3600;
/// Maximum length of the name of a passkey, in bytes. The value is GoTrue's.
pub const MAX_NAME_BYTES: usize = 120;
/// Name of a new passkey. The value is GoTrue's for an unknown authenticator; none is known without attestation.
const DEFAULT_NAME: &str = "Passkey";
/// Method of the proof of identity in the access token's `amr`, as in GoTrue.
const AMR_METHOD: &str = "passkey";

/// A ceremony that waits for the authenticator.
#[derive(Debug)]
pub struct PendingCeremony {
    /// Id of the challenge.
    pub challenge: ChallengeId,
    /// Options for the browser's WebAuthn API, as JSON.
    pub options: Value,
    /// Expiry of the challenge, in seconds since 1970.
    pub expires_at: i64,
}

impl AccountService {
    /// Returns whether users can sign in with passkeys: the site has a domain name, and its identity provider is not the
    /// only way to sign in.
    pub fn has_passkeys(&self) -> bool {
        self.relying_party().is_ok()
    }

    /// Returns the domain for which passkeys are created; `None` without [passkeys](Self::has_passkeys). Browsers refuse
    /// to use them on pages of other domains.
    pub fn passkey_domain(&self) -> Option<String> {
        self.relying_party().ok().map(|site| site.domain().to_owned())
    }

    fn relying_party(&self) -> Result<RelyingParty, GoTrueError> {
        let site = self.webauthn_site().filter(|_| self.has_own_sign_in());
        site.ok_or(PASSKEYS_DISABLED)
    }

    /// Begins the registration of a passkey of the caller.
    pub async fn begin_passkey_registration(&self, claims: Claims, user: &User) -> Result<PendingCeremony, AuthError> {
        let site = self.relying_party()?;
        self.check_passkey_management(claims, user).await?;
        let known = self.storage.passkeys().list(user.id).await?;
        if i64::try_from(known.len()).is_ok_and(|number| number >= MAX_PASSKEYS) {
            return Err(TOO_MANY_PASSKEYS.into());
        }
        let challenge = self.store_challenge(Some(user.id)).await?;
        let known: Vec<Vec<u8>> = known.into_iter().map(|passkey| passkey.credential_id).collect();
        let options = site.creation_options(&Registration {
            purpose: CredentialPurpose::SignIn,
            user_handle: &user_handle(user.id),
            name: user.email.as_deref().unwrap_or_default(),
            known: &known,
            challenge: &challenge.challenge,
            lifetime_seconds: CHALLENGE_LIFETIME_SECONDS,
        });
        Ok(PendingCeremony { challenge: challenge.id, options, expires_at: challenge.expires_at.as_seconds() })
    }

    /// Completes the registration of a passkey of the caller.
    pub async fn finish_passkey_registration(
        &self,
        claims: Claims,
        user: &User,
        challenge: ChallengeId,
        credential: Value,
    ) -> Result<Passkey, AuthError> {
        let site = self.relying_party()?;
        self.check_passkey_management(claims, user).await?;
        let challenge = self.take_challenge(challenge, Some(user.id)).await?;
        let response: RegistrationResponse = parse_response(credential).ok_or(PASSKEY_RESPONSE_INVALID)?;
        let credential = site.verify_registration(CredentialPurpose::SignIn, &response, &challenge.challenge);
        let credential = credential.map_err(reject_response)?;
        let passkey = Passkey {
            id: PasskeyId::fresh(),
            user: user.id,
            credential_id: credential.id,
            public_key: credential.public_key,
            sign_count: credential.sign_count,
            is_backup_eligible: credential.is_backup_eligible,
            friendly_name: DEFAULT_NAME.to_owned(),
            created_at: self.clock.now(),
            last_used_at: None,
        };
        let events = self.audit(user.id, AuditActor::User, AuditEventKind::PasskeyAdded);
        match self.storage.passkeys().insert(&passkey, MAX_PASSKEYS, &events).await {
            Ok(true) => {}
            Ok(false) => return Err(TOO_MANY_PASSKEYS.into()),
            Err(storage::Error::Conflict(_)) => return Err(PASSKEY_EXISTS.into()),
            Err(error) => return Err(error.into()),
        }
        self.notify(user, SecurityNotice::PasskeyAdded);
        self.events.publish(user.id, &UserEvent::Devices);
        Ok(passkey)
    }

    /// Begins a sign-in. The browser offers all passkeys that it has for this site.
    pub async fn begin_passkey_sign_in(&self) -> Result<PendingCeremony, AuthError> {
        let site = self.relying_party()?;
        let challenge = self.store_challenge(None).await?;
        let options =
            site.request_options(CredentialPurpose::SignIn, &[], &challenge.challenge, CHALLENGE_LIFETIME_SECONDS);
        Ok(PendingCeremony { challenge: challenge.id, options, expires_at: challenge.expires_at.as_seconds() })
    }

    /// Completes a sign-in, and begins a session. A failure is logged with `address`.
    pub async fn finish_passkey_sign_in(
        &self,
        challenge: ChallengeId,
        credential: Value,
        address: IpAddr,
        user_agent: Option<String>,
    ) -> Result<UserSession, AuthError> {
        let origin = RequestOrigin { address: Some(address), user_agent };
        let user = match self.verify_passkey(challenge, credential).await {
            Ok(user) => user,
            Err(error) => {
                log_failed_sign_in(address.to_canonical(), "passkey rejected");
                self.audit_failed_sign_in(None, &origin).await?;
                return Err(error);
            }
        };
        self.create_session(user, AMR_METHOD, origin).await
    }

    /// Verifies the response to a sign-in, and returns the user of its passkey.
    async fn verify_passkey(&self, challenge: ChallengeId, credential: Value) -> Result<User, AuthError> {
        let site = self.relying_party()?;
        let challenge = self.take_challenge(challenge, None).await?;
        let response: AuthenticationResponse = parse_response(credential).ok_or(PASSKEY_RESPONSE_INVALID)?;
        let passkey = self.storage.passkeys().get_by_credential(&response.credential_id.0).await?;
        let passkey = passkey.ok_or(PASSKEY_NOT_VERIFIED)?;
        let known = KnownCredential {
            purpose: CredentialPurpose::SignIn,
            user_handle: &user_handle(passkey.user),
            public_key: &passkey.public_key,
            is_backup_eligible: passkey.is_backup_eligible,
        };
        let counter = site.verify_authentication(&response, &challenge.challenge, &known).map_err(reject_response)?;
        let user = self.storage.users().get(passkey.user).await?.ok_or(PASSKEY_NOT_VERIFIED)?;
        if user.email.is_some() && user.email_confirmed_at.is_none() {
            return Err(EMAIL_NOT_CONFIRMED_PASSKEY.into());
        }
        if !self.storage.passkeys().record_use(user.id, passkey.id, counter, self.clock.now()).await? {
            tracing::warn!(passkey = %passkey.id, "a passkey was rejected because its counter went back: it may be a copy");
            return Err(PASSKEY_NOT_VERIFIED.into());
        }
        Ok(user)
    }

    /// Returns the caller's passkeys, oldest first.
    pub async fn list_own_passkeys(&self, claims: Claims) -> Result<Vec<Passkey>, AuthError> {
        check_second_factor(claims)?;
        self.list_passkeys(claims.user).await
    }

    /// Returns the passkeys of an account, oldest first, for the administrator.
    pub async fn list_passkeys(&self, owner: UserId) -> Result<Vec<Passkey>, AuthError> {
        Ok(self.storage.passkeys().list(owner).await?)
    }

    /// Renames a passkey of the caller.
    pub async fn rename_passkey(&self, claims: Claims, id: PasskeyId, name: String) -> Result<Passkey, AuthError> {
        check_second_factor(claims)?;
        if name.is_empty() {
            return Err(GoTrueError::validation_failed("friendly_name is required").into());
        }
        if name.len() > MAX_NAME_BYTES {
            return Err(GoTrueError::validation_failed("friendly_name must be 120 characters or less").into());
        }
        // PostgreSQL cannot store NUL in a text.
        let renamed = self.storage.passkeys().rename(claims.user, id, &without_nul(name)).await?;
        Ok(renamed.ok_or(PASSKEY_NOT_FOUND)?)
    }

    /// Deletes a passkey of the caller. Its sessions stay.
    pub async fn delete_passkey(&self, claims: Claims, user: &User, id: PasskeyId) -> Result<(), AuthError> {
        self.check_passkey_management(claims, user).await?;
        self.remove_passkey_as(AuditActor::User, user, id).await
    }

    /// Deletes a passkey of an account, for the administrator. Its user is notified as if they had deleted it.
    pub async fn remove_passkey_as_admin(&self, user: &User, id: PasskeyId) -> Result<(), AuthError> {
        self.remove_passkey_as(AuditActor::Admin, user, id).await
    }

    async fn remove_passkey_as(&self, actor: AuditActor, user: &User, id: PasskeyId) -> Result<(), AuthError> {
        let events = self.audit(user.id, actor, AuditEventKind::PasskeyRemoved);
        if !self.storage.passkeys().delete(user.id, id, &events).await? {
            return Err(PASSKEY_NOT_FOUND.into());
        }
        self.notify(user, SecurityNotice::PasskeyRemoved);
        self.events.publish(user.id, &UserEvent::Devices);
        Ok(())
    }

    /// Rejects a session that may not change credentials: it lacks the second factor, or its last proof of identity is
    /// too old.
    async fn check_passkey_management(&self, claims: Claims, user: &User) -> Result<(), AuthError> {
        check_second_factor(claims)?;
        self.require_recent_proof(user, claims).await
    }

    async fn store_challenge(&self, user: Option<UserId>) -> Result<PasskeyChallenge, AuthError> {
        let now = self.clock.now();
        let challenge = PasskeyChallenge {
            id: ChallengeId::fresh(),
            user,
            challenge: random_bytes::<32>().map_err(AuthError::internal)?.to_vec(),
            expires_at: now.plus_seconds(CHALLENGE_LIFETIME_SECONDS),
        };
        let old = now.plus_seconds(-EXPIRED_CHALLENGE_SECONDS);
        self.storage.passkeys().insert_challenge(&challenge, old).await?;
        Ok(challenge)
    }

    /// Uses up a challenge of a ceremony of `user`.
    async fn take_challenge(&self, id: ChallengeId, user: Option<UserId>) -> Result<PasskeyChallenge, AuthError> {
        let challenge = self.storage.passkeys().take_challenge(id).await?.filter(|challenge| challenge.user == user);
        let challenge = challenge.ok_or(PASSKEY_CHALLENGE_UNKNOWN)?;
        if challenge.expires_at <= self.clock.now() { Err(PASSKEY_CHALLENGE_EXPIRED.into()) } else { Ok(challenge) }
    }
}

fn check_second_factor(claims: Claims) -> Result<(), AuthError> {
    if claims.lacks_factor { Err(PASSKEYS_NEED_AAL2.into()) } else { Ok(()) }
}

fn reject_response(error: CeremonyError) -> AuthError {
    log_rejection(error);
    PASSKEY_NOT_VERIFIED.into()
}

/// Returns the bytes by which an authenticator knows the user, as in GoTrue.
fn user_handle(user: UserId) -> Vec<u8> {
    user.to_string().into_bytes()
}
