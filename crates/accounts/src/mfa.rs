//! Second factors: codes of an authenticator app.
//!
//! A factor guards nothing before its person has sent a right code once. From then on each sign-in has to be raised to
//! `aal2` with a code before it opens more than the account itself. A code is good for its own time step and the two beside
//! it, once: the newest step that was used is kept with the factor.

use std::net::IpAddr;

use domain::text::without_nul;
use domain::{ChallengeId, FactorId, Timestamp, UserId};
use storage::factors::{Factor, NewFactor};
use storage::users::User;
use url::Url;

use super::gotrue_error::{
    CHALLENGE_ADDRESS_MISMATCH, CHALLENGE_NOT_FOUND, ENROLL_NEEDS_AAL2, FACTOR_NOT_FOUND, GoTrueError,
    MFA_CODE_INVALID, MFA_CODE_MISSING, TOO_MANY_FACTORS, UNENROLL_NEEDS_AAL2, USER_NOT_FOUND,
};
use super::login_throttle::CredentialKind;
use super::sessions::UserSession;
use super::totp::TotpSecret;
use super::{AccountService, AuthError, Claims, qr};
use platform::UserEvent;

/// Maximum number of factors per user. The value is GoTrue's default.
const MAX_FACTORS: u8 = 10;
/// How long a factor that was begun waits for its first code, and a challenge for its answer, in seconds: the protocol's.
const CHALLENGE_LIFETIME_SECONDS: i64 = 300;
/// Time for which an expired challenge is reported as expired instead of unknown, in seconds.
const EXPIRED_CHALLENGE_SECONDS: i64 = 24 * 3600;
/// Maximum length of the name of a factor or its issuer, in characters. Both are part of a QR code.
const MAX_NAME_CHARS: usize = 100;

/// A factor that was begun.
#[derive(Debug)]
pub struct EnrolledFactor {
    /// Its id.
    pub id: FactorId,
    /// What the person calls it.
    pub friendly_name: String,
    /// A picture of `uri`, as SVG.
    pub qr_code: String,
    /// The secret in base32.
    pub secret: String,
    /// What an authenticator app reads.
    pub uri: String,
}

/// An invitation to send a code.
#[derive(Debug)]
pub struct IssuedChallenge {
    /// Its id.
    pub id: ChallengeId,
    /// From when on it is void, in seconds since 1970.
    pub expires_at: i64,
}

/// A code, and the invitation that it answers.
#[derive(Debug)]
pub struct ChallengeAnswer {
    /// The invitation.
    pub challenge: ChallengeId,
    /// What the person typed.
    pub code: String,
}

impl AccountService {
    /// Begins an authenticator app as a factor of the person who asks. `issuer` is what the app shows; this server's name
    /// when it is empty.
    pub async fn enroll_factor(
        &self,
        claims: Claims,
        user: &User,
        friendly_name: String,
        issuer: &str,
    ) -> Result<EnrolledFactor, AuthError> {
        if [&friendly_name, issuer].iter().any(|name| name.chars().count() > MAX_NAME_CHARS) {
            return Err(GoTrueError::validation_failed("friendly_name and issuer have at most 100 characters").into());
        }
        // PostgreSQL cannot store NUL in a text.
        let friendly_name = without_nul(friendly_name);
        let now = self.clock.now();
        // An enrollment that was never completed must not block its name, or count for the limit, for ever.
        let abandoned = now.plus_seconds(-CHALLENGE_LIFETIME_SECONDS);
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
        let secret = TotpSecret::fresh().map_err(AuthError::internal)?;
        let issuer = if issuer.is_empty() { host_of(&self.settings.site_url) } else { issuer.to_owned() };
        let uri = secret.to_uri(&issuer, user.email.as_deref().unwrap_or_default());
        let qr_code = qr::svg(&uri).ok_or_else(|| anyhow::anyhow!("a QR code could not be drawn"));
        let id = FactorId::fresh();
        // Encrypted with the factor's id as context, so that a copied row does not make another factor's secret valid.
        let sealed = self.secrets.seal(&seal_context(id), secret.as_bytes()).map_err(AuthError::internal)?;
        let factor = NewFactor { id, friendly_name: friendly_name.clone(), secret: sealed };
        match self.storage.factors().insert(user.id, &factor, i64::from(MAX_FACTORS), abandoned, now).await {
            Ok(true) => {}
            // Concurrent enrollments passed the checks above with the same list of factors. The insertion decides.
            Ok(false) => return Err(TOO_MANY_FACTORS.into()),
            Err(storage::Error::Conflict(_)) => return Err(name_conflict(&friendly_name)),
            Err(error) => return Err(error.into()),
        }
        let qr_code = qr_code.map_err(AuthError::internal)?;
        Ok(EnrolledFactor { id, friendly_name, qr_code, secret: secret.to_base32(), uri })
    }

    /// Invites to send a code. Only the same address may answer.
    pub async fn challenge_factor(
        &self,
        owner: UserId,
        factor: FactorId,
        address: IpAddr,
    ) -> Result<IssuedChallenge, AuthError> {
        let now = self.clock.now();
        let id = ChallengeId::fresh();
        let forgotten = now.plus_seconds(-EXPIRED_CHALLENGE_SECONDS);
        // A dual-stack socket reports an IPv4 client as `::ffff:a.b.c.d`; another listener reports the plain address.
        let address = address.to_canonical().to_string();
        match self.storage.factors().insert_challenge(owner, factor, id, &address, forgotten, now).await {
            Ok(()) => Ok(IssuedChallenge { id, expires_at: now.plus_seconds(CHALLENGE_LIFETIME_SECONDS).as_seconds() }),
            Err(storage::Error::NotFound) => Err(FACTOR_NOT_FOUND.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes a code: the factor counts from now on, and the sign-in that asks is raised to `aal2`. The person's other
    /// sign-ins without a factor end.
    pub async fn verify_factor(
        &self,
        claims: Claims,
        user: &User,
        factor: FactorId,
        address: IpAddr,
        answer: ChallengeAnswer,
    ) -> Result<UserSession, AuthError> {
        if answer.code.is_empty() {
            return Err(MFA_CODE_MISSING.into());
        }
        let owner = claims.user;
        // The code of a factor that counts already is itself the proof; a new one beside it needs another.
        let is_verified = |known: &Factor| known.is_verified;
        if user.factors.iter().any(is_verified)
            && !user.factors.iter().any(|known| known.id == factor && is_verified(known))
        {
            self.require_recent_proof(user, claims).await?;
        }
        // Before the attempt is counted: an invalid challenge tells nothing about the code, and is no guess.
        self.check_challenge(owner, factor, answer.challenge, address).await?;
        let now = self.clock.now();
        let attempt = self.rate_limits.begin_attempt(CredentialKind::SecondFactor, &owner.to_string(), address)?;
        let sealed = self.storage.factors().get_secret(owner, factor).await?.ok_or(FACTOR_NOT_FOUND)?;
        let secret =
            TotpSecret::from_bytes(self.secrets.open(&seal_context(factor), &sealed).map_err(AuthError::internal)?);
        let step = secret.step_of(&answer.code, now.as_seconds()).ok_or(MFA_CODE_INVALID)?;
        let raised = self.storage.factors().verify(owner, claims.session, factor, answer.challenge, step, now).await?;
        // A code of a used step is rejected like a wrong one (RFC 6238 section 5.2), so that a copied code is worth
        // nothing.
        let session = raised.ok_or(MFA_CODE_INVALID)?;
        attempt.succeeded();
        self.events.publish(owner, &UserEvent::Devices);
        // Read again for the token: the factor is verified now.
        let user = self.storage.users().get(owner).await?.ok_or(USER_NOT_FOUND)?;
        self.issue_tokens(user, &session, now)
    }

    /// Whether an invitation is there, open, and for this address.
    async fn check_challenge(
        &self,
        owner: UserId,
        factor: FactorId,
        id: ChallengeId,
        address: IpAddr,
    ) -> Result<(), AuthError> {
        let challenge = self.storage.factors().get_challenge(owner, factor, id).await?.ok_or(CHALLENGE_NOT_FOUND)?;
        // GoTrue answers both cases with the code of an address mismatch.
        if challenge.is_verified || challenge.address != address.to_canonical().to_string() {
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
        Ok(())
    }

    /// Removes a factor. The sign-ins that were raised with it fall back.
    pub async fn unenroll_factor(&self, claims: Claims, user: &User, factor: FactorId) -> Result<(), AuthError> {
        // What was begun and never counted guards nothing.
        if user.factors.iter().any(|known| known.id == factor && known.is_verified) {
            if claims.lacks_factor {
                return Err(UNENROLL_NEEDS_AAL2.into());
            }
            self.require_recent_proof(user, claims).await?;
        }
        self.storage.factors().delete(claims.user, factor).await?;
        Ok(())
    }
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

fn seal_context(factor: FactorId) -> String {
    format!("mfa_factors/secret/{factor}")
}
