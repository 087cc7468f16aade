//! Second factors (MFA): authenticator apps, whose TOTP codes users type, and [security keys](security_keys).
//!
//! A factor takes effect once the user has verified it. From then on each session has to be raised to `aal2` with a
//! factor before it has access to anything except the account itself. A code is valid for its time step and the two
//! adjacent ones, and only once: the last used step is stored with the factor.

pub mod security_keys;

use std::net::IpAddr;

use domain::text::without_nul;
use domain::{ChallengeId, FactorId, Timestamp, UserId};
use storage::audit_events::{AuditActor, AuditEventKind, NewAuditEvent};
use storage::auth_sessions::AuthSession;
use storage::factors::{AcceptedCode, Challenge, Factor, FactorKind, NewChallenge, NewFactor};
use storage::users::User;
use url::Url;

use super::audit::RequestOrigin;
use super::gotrue_error::{
    CHALLENGE_ADDRESS_MISMATCH, CHALLENGE_NOT_FOUND, ENROLL_NEEDS_AAL2, FACTOR_NOT_FOUND, GoTrueError,
    MFA_CODE_INVALID, MFA_CODE_MISSING, TOO_MANY_FACTORS, UNENROLL_NEEDS_AAL2, USER_NOT_FOUND,
};
use super::login_throttle::CredentialKind;
use super::mailer::SecurityNotice;
use super::sessions::UserSession;
use super::totp::TotpSecret;
use super::{AccountService, AuthError, Claims, qr};
use platform::UserEvent;
use security_keys::{ClientSite, KeyAnswer, KeyChallenge};

/// Maximum number of factors per user. The value is GoTrue's default.
const MAX_FACTORS: u8 = 10;
/// Lifetime of a challenge and of an unverified factor, in seconds. The value is GoTrue's.
const CHALLENGE_LIFETIME_SECONDS: i64 = 300;
/// Time for which an expired challenge is reported as expired instead of unknown, in seconds.
const EXPIRED_CHALLENGE_SECONDS: i64 = 24 * 3600;
/// Maximum length of the name of a factor or its issuer, in characters. Both are part of a QR code.
pub const MAX_NAME_CHARS: usize = 100;
/// A name that is longer.
const NAME_TOO_LONG: GoTrueError =
    GoTrueError::validation_failed("friendly_name and issuer have at most 100 characters");

/// A new factor that is not verified yet.
#[derive(Debug)]
pub struct EnrolledFactor {
    /// Id of the factor.
    pub id: FactorId,
    /// Name that the user has chosen.
    pub friendly_name: String,
    /// The secret of an authenticator app.
    pub totp: Option<EnrolledTotp>,
}

/// The secret of a new authenticator app, as text and picture.
#[derive(Debug)]
pub struct EnrolledTotp {
    /// QR code of `uri`, as SVG.
    pub qr_code: String,
    /// Secret in base32.
    pub secret: String,
    /// `otpauth:` URI for the authenticator app.
    pub uri: String,
}

/// A challenge, which a code or a security key has to answer.
#[derive(Debug)]
pub struct IssuedChallenge {
    /// Id of the challenge.
    pub id: ChallengeId,
    /// Kind of the factor.
    pub kind: FactorKind,
    /// Expiry, in seconds since 1970.
    pub expires_at: i64,
    /// What a security key has to do.
    pub webauthn: Option<KeyChallenge>,
}

/// Answer to a challenge.
#[derive(Debug)]
pub struct ChallengeAnswer {
    /// Id of the challenge.
    pub challenge: ChallengeId,
    /// Code that the user typed.
    pub code: String,
    /// Response of a security key.
    pub webauthn: Option<KeyAnswer>,
}

impl AccountService {
    /// Enrolls an authenticator app as a factor of the caller. `issuer` is the name that the app shows; if it is empty,
    /// the host of the site.
    pub async fn enroll_authenticator_app(
        &self,
        claims: Claims,
        user: &User,
        friendly_name: String,
        issuer: &str,
    ) -> Result<EnrolledFactor, AuthError> {
        if issuer.chars().count() > MAX_NAME_CHARS {
            return Err(NAME_TOO_LONG.into());
        }
        let friendly_name = self.check_enrollment(claims, user, friendly_name).await?;
        let secret = TotpSecret::fresh().map_err(AuthError::internal)?;
        let issuer = if issuer.is_empty() { host_of(&self.settings.site_url) } else { issuer.to_owned() };
        let uri = secret.to_uri(&issuer, user.email.as_deref().unwrap_or_default());
        let qr_code = qr::svg(&uri).ok_or_else(|| anyhow::anyhow!("a QR code could not be drawn"));
        let id = FactorId::fresh();
        // Encrypted with the factor's id as context, so that a secret copied to another row cannot be decrypted.
        let sealed = self.secrets.seal(&seal_context(id), secret.as_bytes()).map_err(AuthError::internal)?;
        self.insert_factor(user.id, &NewFactor { id, friendly_name: friendly_name.clone(), secret: Some(sealed) })
            .await?;
        let qr_code = qr_code.map_err(AuthError::internal)?;
        Ok(EnrolledFactor { id, friendly_name, totp: Some(EnrolledTotp { qr_code, secret: secret.to_base32(), uri }) })
    }

    /// Checks that the caller may enroll a factor with this name, and returns the name as it is stored.
    async fn check_enrollment(&self, claims: Claims, user: &User, friendly_name: String) -> Result<String, AuthError> {
        if friendly_name.chars().count() > MAX_NAME_CHARS {
            return Err(NAME_TOO_LONG.into());
        }
        // PostgreSQL cannot store NUL in a text.
        let friendly_name = without_nul(friendly_name);
        // Enrollments that were never completed must not block their name or count towards the limit forever.
        let abandoned = self.clock.now().plus_seconds(-CHALLENGE_LIFETIME_SECONDS);
        let kept: Vec<&Factor> = user.factors.iter().filter(|factor| !is_abandoned(factor, abandoned)).collect();
        if kept.iter().any(|factor| factor.friendly_name == friendly_name) {
            return Err(name_conflict(&friendly_name));
        }
        if kept.len() >= usize::from(MAX_FACTORS) {
            return Err(TOO_MANY_FACTORS.into());
        }
        if claims.lacks_factor {
            return Err(ENROLL_NEEDS_AAL2.into());
        }
        self.require_recent_proof(user, claims).await?;
        Ok(friendly_name)
    }

    async fn insert_factor(&self, owner: UserId, factor: &NewFactor) -> Result<(), AuthError> {
        let now = self.clock.now();
        let abandoned = now.plus_seconds(-CHALLENGE_LIFETIME_SECONDS);
        match self.storage.factors().insert(owner, factor, i64::from(MAX_FACTORS), abandoned, now).await {
            Ok(true) => Ok(()),
            // Concurrent enrollments may have passed the checks above. The insertion decides.
            Ok(false) => Err(TOO_MANY_FACTORS.into()),
            Err(storage::Error::Conflict(_)) => Err(name_conflict(&factor.friendly_name)),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a challenge for a factor. Only the same network address may answer it. `client` is the site that the
    /// client wants the response of a security key for.
    pub async fn challenge_factor(
        &self,
        user: &User,
        factor: FactorId,
        address: IpAddr,
        client: Option<ClientSite>,
    ) -> Result<IssuedChallenge, AuthError> {
        let factor = find_factor(user, factor)?;
        match factor.kind {
            FactorKind::Totp => self.store_challenge_of(user.id, factor, address, None).await,
            FactorKind::WebAuthn => self.challenge_security_key(user, factor, address, client).await,
        }
    }

    async fn store_challenge_of(
        &self,
        owner: UserId,
        factor: &Factor,
        address: IpAddr,
        bytes: Option<&[u8]>,
    ) -> Result<IssuedChallenge, AuthError> {
        let now = self.clock.now();
        let id = ChallengeId::fresh();
        let forgotten = now.plus_seconds(-EXPIRED_CHALLENGE_SECONDS);
        // A dual-stack socket reports an IPv4 client as `::ffff:a.b.c.d`; another listener reports the plain address.
        let address = address.to_canonical().to_string();
        let challenge = NewChallenge { id, address: &address, bytes };
        match self.storage.factors().insert_challenge(owner, factor.id, &challenge, forgotten, now).await {
            Ok(()) => {
                let expires_at = now.plus_seconds(CHALLENGE_LIFETIME_SECONDS).as_seconds();
                Ok(IssuedChallenge { id, kind: factor.kind, expires_at, webauthn: None })
            }
            Err(storage::Error::NotFound) => Err(FACTOR_NOT_FOUND.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Verifies the answer to a challenge: the factor becomes verified, and the caller's session is raised to `aal2`. The
    /// user's other sessions below `aal2` end.
    pub async fn verify_factor(
        &self,
        claims: Claims,
        user: &User,
        factor: FactorId,
        address: IpAddr,
        answer: ChallengeAnswer,
    ) -> Result<UserSession, AuthError> {
        let factor = find_factor(user, factor)?;
        if factor.kind == FactorKind::Totp && answer.code.is_empty() {
            return Err(MFA_CODE_MISSING.into());
        }
        // The answer of a verified factor is itself a proof of identity. Verifying an additional factor needs another
        // proof.
        if !factor.is_verified && user.factors.iter().any(|known| known.is_verified) {
            self.require_recent_proof(user, claims).await?;
        }
        let session = match factor.kind {
            FactorKind::Totp => self.verify_code(claims, factor, address, &answer).await?,
            FactorKind::WebAuthn => self.verify_security_key(claims, factor, address, answer).await?,
        };
        if !factor.is_verified {
            self.notify(user, SecurityNotice::FactorAdded(factor.kind));
        }
        self.events.publish(user.id, &UserEvent::Devices);
        // Read again, because the response contains the factors.
        let user = self.storage.users().get(user.id).await?.ok_or(USER_NOT_FOUND)?;
        self.issue_tokens(user, &session, self.clock.now())
    }

    /// Verifies the code of an authenticator app, and raises the session.
    async fn verify_code(
        &self,
        claims: Claims,
        factor: &Factor,
        address: IpAddr,
        answer: &ChallengeAnswer,
    ) -> Result<AuthSession, AuthError> {
        let owner = claims.user;
        // Before the attempt is counted: a request with an invalid challenge discloses nothing about the code.
        self.get_open_challenge(owner, factor.id, answer.challenge, address).await?;
        let now = self.clock.now();
        let (kind, origin) = (CredentialKind::SecondFactor, RequestOrigin { address: Some(address), user_agent: None });
        let attempt = self.begin_attempt(kind, &owner.to_string(), Some(owner), &origin, address).await?;
        let sealed = self.storage.factors().get_secret(owner, factor.id).await?.ok_or(FACTOR_NOT_FOUND)?;
        let secret =
            TotpSecret::from_bytes(self.secrets.open(&seal_context(factor.id), &sealed).map_err(AuthError::internal)?);
        let Some(step) = secret.step_of(&answer.code, now.as_seconds()) else {
            self.audit_failed_factor(owner, address).await?;
            return Err(MFA_CODE_INVALID.into());
        };
        let events = self.addition_events(owner, factor, address);
        let code = AcceptedCode { factor: factor.id, challenge: answer.challenge, step };
        let raised = self.storage.factors().verify(owner, claims.session, code, now, &events).await?;
        // A code of a used step is rejected like a wrong one, so that an observed code cannot be replayed (RFC 6238
        // section 5.2).
        let session = raised.ok_or(MFA_CODE_INVALID)?;
        attempt.succeeded().await?;
        Ok(session)
    }

    /// Returns the audit events of a verification: the first one adds the factor.
    fn addition_events(&self, owner: UserId, factor: &Factor, address: IpAddr) -> Vec<NewAuditEvent> {
        if factor.is_verified {
            return Vec::new();
        }
        let origin = RequestOrigin { address: Some(address), user_agent: None };
        self.audit_request(Some(owner), AuditActor::User, AuditEventKind::FactorAdded, &origin)
    }

    async fn audit_failed_factor(&self, owner: UserId, address: IpAddr) -> Result<(), AuthError> {
        let origin = RequestOrigin { address: Some(address), user_agent: None };
        let events = self.audit_request(Some(owner), AuditActor::User, AuditEventKind::FactorFailed, &origin);
        Ok(self.store_audit_events(&events).await?)
    }

    /// Returns a challenge that exists, is unanswered and not expired, and was created for this network address.
    async fn get_open_challenge(
        &self,
        owner: UserId,
        factor: FactorId,
        id: ChallengeId,
        address: IpAddr,
    ) -> Result<Challenge, AuthError> {
        let challenge = self.storage.factors().get_challenge(owner, factor, id).await?.ok_or(CHALLENGE_NOT_FOUND)?;
        // GoTrue returns the error of an address mismatch in both cases.
        if challenge.is_answered || challenge.address != address.to_canonical().to_string() {
            return Err(CHALLENGE_ADDRESS_MISMATCH.into());
        }
        if challenge.created_at.plus_seconds(CHALLENGE_LIFETIME_SECONDS) < self.clock.now() {
            self.storage.factors().delete_challenge(owner, id).await?;
            return Err(AuthError::GoTrueWithMessage {
                status: 422,
                code: "mfa_challenge_expired",
                message: format!(
                    "MFA challenge {id} has expired, verify against another challenge or create a new challenge."
                ),
            });
        }
        Ok(challenge)
    }

    /// Removes a factor. Sessions that were raised with it fall back to `aal1`.
    pub async fn unenroll_factor(&self, claims: Claims, user: &User, factor: FactorId) -> Result<(), AuthError> {
        let known = find_factor(user, factor)?;
        let mut events = Vec::new();
        // An unverified factor protects nothing and needs no proof.
        if known.is_verified {
            if claims.lacks_factor {
                return Err(UNENROLL_NEEDS_AAL2.into());
            }
            self.require_recent_proof(user, claims).await?;
            events = self.audit(claims.user, AuditActor::User, AuditEventKind::FactorRemoved);
        }
        if self.storage.factors().delete(claims.user, factor, &events).await? && known.is_verified {
            self.notify(user, SecurityNotice::FactorRemoved(known.kind));
        }
        Ok(())
    }
}

fn find_factor(user: &User, id: FactorId) -> Result<&Factor, GoTrueError> {
    user.factors.iter().find(|factor| factor.id == id).ok_or(FACTOR_NOT_FOUND)
}

/// Returns whether an unverified factor was neither created nor challenged since a time.
fn is_abandoned(factor: &Factor, since: Timestamp) -> bool {
    !factor.is_verified
        && factor.created_at < since
        && factor.last_challenged_at.is_none_or(|challenged| challenged < since)
}

fn name_conflict(name: &str) -> AuthError {
    AuthError::GoTrueWithMessage {
        status: 422,
        code: "mfa_factor_name_conflict",
        message: format!("A factor with the friendly name {name:?} for this user already exists"),
    }
}

fn host_of(site: &Url) -> String {
    let host = site.host_str().unwrap_or_default();
    site.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns the context in which a factor's secret is encrypted.
fn seal_context(factor: FactorId) -> String {
    format!("mfa_factors/secret/{factor}")
}
