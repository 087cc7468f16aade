//! Security keys as second factors: their WebAuthn credentials (`factor_credentials`).

use domain::{AuthSessionId, ChallengeId, FactorId, Timestamp, UserId};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::auth_sessions::AuthSession;
use crate::db_macros::{read, transaction, write};
use crate::factors::{ANSWER, DELETE_UNVERIFIED, FactorKind, WEBAUTHN, raise_session};
use crate::passkeys::read_sign_count;
use crate::{Error, FactorRepository};

/// The credential of a security key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCredential {
    /// Factor whose key has it.
    pub factor: FactorId,
    /// Id that the key has chosen.
    pub credential_id: Vec<u8>,
    /// Public key, as a COSE key (RFC 9052).
    pub public_key: Vec<u8>,
    /// Signature counter of the last use; 0 if the key does not count.
    pub sign_count: u32,
    /// Whether the key may copy it to other devices.
    pub is_backup_eligible: bool,
}

const LIST: &str = "SELECT c.factor_id, c.credential_id, c.public_key, c.sign_count, c.backup_eligible
    FROM factor_credentials c JOIN mfa_factors f ON f.id = c.factor_id WHERE f.user_id = $1
    ORDER BY f.created_at, f.id";

const VERIFY: &str = "UPDATE mfa_factors SET status = 'verified', updated_at = $3
    WHERE id = $1 AND user_id = $2 AND factor_type = 'webauthn' AND status = 'unverified'";

const INSERT: &str = "INSERT INTO factor_credentials
      (factor_id, credential_id, public_key, sign_count, backup_eligible) VALUES ($1, $2, $3, $4, $5)";

/// Two uses with the same counter come from two copies of the credential, so only the first succeeds.
const RECORD_USE: &str = "UPDATE factor_credentials SET sign_count = $3
    WHERE factor_id = $1 AND (sign_count < $3 OR (sign_count = 0 AND $3 = 0))
      AND EXISTS (SELECT 1 FROM mfa_factors f WHERE f.id = factor_credentials.factor_id AND f.user_id = $2)";

impl FactorRepository<'_> {
    /// Returns the [`KeyCredential`]s of a user, the oldest factor first.
    pub async fn list_key_credentials(self, owner: UserId) -> Result<Vec<KeyCredential>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, (Uuid, Vec<u8>, Vec<u8>, i64, bool)>(LIST)
            .bind(owner.0)
            .fetch_all(c)
            .await)?;
        let read = rows.into_iter().map(|(factor, credential_id, public_key, sign_count, is_backup_eligible)| {
            let sign_count = read_sign_count(sign_count)?;
            Ok(KeyCredential { factor: FactorId(factor), credential_id, public_key, sign_count, is_backup_eligible })
        });
        read.collect()
    }

    /// Uses up a challenge of a factor. Returns `false` if it was answered before, or does not exist.
    pub async fn answer_challenge(
        self,
        owner: UserId,
        factor: FactorId,
        challenge: ChallengeId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let answered = write!(self.storage, |c| sqlx::query(ANSWER)
            .bind(challenge.0)
            .bind(factor.0)
            .bind(owner.0)
            .bind(now.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(answered == 1)
    }

    /// Stores the credential of an unverified security key, completely or not at all: the factor becomes verified, the
    /// session is raised to `aal2` and returned, the user's other sessions below `aal2` and unverified security keys are
    /// deleted, and audit events are stored. Returns `None` if the factor is gone or was verified before.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the credential is registered already, by whomever; [`Error::NotFound`] if the session has
    /// ended.
    pub async fn verify_key(
        self,
        owner: UserId,
        session: AuthSessionId,
        credential: &KeyCredential,
        now: Timestamp,
        events: &[NewAuditEvent],
    ) -> Result<Option<AuthSession>, Error> {
        let factor = credential.factor.0;
        let raised = transaction!(self.storage, |tx| {
            let verified = sqlx::query(VERIFY).bind(factor).bind(owner.0).bind(now.0).execute(&mut *tx).await?;
            if verified.rows_affected() == 0 {
                return Ok(None);
            }
            sqlx::query(INSERT)
                .bind(factor)
                .bind(&credential.credential_id)
                .bind(&credential.public_key)
                .bind(i64::from(credential.sign_count))
                .bind(credential.is_backup_eligible)
                .execute(&mut *tx)
                .await?;
            let raised = raise_session!(tx, owner, session, factor, WEBAUTHN, now);
            let unverified = sqlx::query(DELETE_UNVERIFIED).bind(owner.0).bind(FactorKind::WebAuthn.as_str());
            unverified.execute(&mut *tx).await?;
            insert_events!(tx, events);
            Ok(Some(raised))
        })?;
        Ok(raised.map(AuthSession::from))
    }

    /// Records the use of a security key, completely or not at all: the session is raised to `aal2` and returned, and the
    /// user's other sessions below `aal2` are deleted. Returns `None` if the counter of the key has not increased since
    /// the last use, unless the key does not count, or the factor is gone.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the session has ended.
    pub async fn record_key_use(
        self,
        owner: UserId,
        session: AuthSessionId,
        factor: FactorId,
        sign_count: u32,
        now: Timestamp,
    ) -> Result<Option<AuthSession>, Error> {
        let raised = transaction!(self.storage, |tx| {
            let used = sqlx::query(RECORD_USE).bind(factor.0).bind(owner.0).bind(i64::from(sign_count));
            if used.execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(None);
            }
            Ok(Some(raise_session!(tx, owner, session, factor.0, WEBAUTHN, now)))
        })?;
        Ok(raised.map(AuthSession::from))
    }
}
