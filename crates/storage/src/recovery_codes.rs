//! Recovery codes (`recovery_code_sets`, `recovery_codes`): each replaces the code of an authenticator once.

use domain::{AuthSessionId, FactorId, Timestamp, UserId};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::auth_sessions::AuthSession;
use crate::db_macros::{read, transaction};
use crate::factors::{RECOVERY_CODE, lower_sessions, raise_session};
use crate::{Error, RecoveryCodeRepository, users};

/// The recovery codes of a user, without the codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryCodeSet {
    /// Its id, which GoTrue's clients regard as that of a factor.
    pub id: FactorId,
    /// Name that a client has given it.
    pub friendly_name: String,
    /// Number of codes.
    pub total: i64,
    /// Number of codes that were not used yet.
    pub remaining: i64,
}

/// The input of [`RecoveryCodeRepository::insert`](crate::RecoveryCodeRepository::insert).
#[derive(Debug)]
pub struct NewRecoveryCodes<'a> {
    /// Id of the set.
    pub id: FactorId,
    /// Name of the set.
    pub friendly_name: &'a str,
    /// Hashes of the codes.
    pub hashes: &'a [Vec<u8>],
}

/// The result of [`RecoveryCodeRepository::insert`](crate::RecoveryCodeRepository::insert).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryCodesInsertion {
    /// The codes are stored.
    Inserted,
    /// The user has codes already.
    AlreadyExist,
    /// The user has no verified factor, which the codes could replace.
    NoFactor,
}

const GET: &str = "SELECT s.id, s.friendly_name, COUNT(*), COUNT(*) - COUNT(c.used_at)
    FROM recovery_code_sets s JOIN recovery_codes c ON c.user_id = s.user_id
    WHERE s.user_id = $1 GROUP BY s.id, s.friendly_name";

const HAS_FACTOR: &str = "SELECT COUNT(*) FROM mfa_factors WHERE user_id = $1 AND status = 'verified'";

const INSERT_SET: &str = "INSERT INTO recovery_code_sets (user_id, id, friendly_name, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $4) ON CONFLICT (user_id) DO NOTHING";

const UPDATE_SET: &str = "UPDATE recovery_code_sets SET updated_at = $2 WHERE user_id = $1";

const INSERT_CODE: &str = "INSERT INTO recovery_codes (user_id, hash) VALUES ($1, $2)";

const DELETE_CODES: &str = "DELETE FROM recovery_codes WHERE user_id = $1";

pub(crate) const DELETE_SET: &str = "DELETE FROM recovery_code_sets WHERE user_id = $1 RETURNING id";

pub(crate) const DELETE_USELESS_SET: &str = "DELETE FROM recovery_code_sets WHERE user_id = $1
    AND NOT EXISTS (SELECT 1 FROM mfa_factors f WHERE f.user_id = $1 AND f.status = 'verified') RETURNING id";

// A factor is required, so that codes that an older release has left behind are of no use. Compare and swap: of
// parallel requests with the same code, one succeeds.
const USE_CODE: &str = "UPDATE recovery_codes SET used_at = $3 WHERE user_id = $1 AND hash = $2 AND used_at IS NULL
    AND EXISTS (SELECT 1 FROM mfa_factors f WHERE f.user_id = $1 AND f.status = 'verified')";

const GET_SET_ID: &str = "SELECT id FROM recovery_code_sets WHERE user_id = $1";

impl RecoveryCodeRepository<'_> {
    /// Returns the [`RecoveryCodeSet`] of a user.
    pub async fn get(self, owner: UserId) -> Result<Option<RecoveryCodeSet>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, (Uuid, String, i64, i64)>(GET)
            .bind(owner.0)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(|(id, friendly_name, total, remaining)| RecoveryCodeSet {
            id: FactorId(id),
            friendly_name,
            total,
            remaining,
        }))
    }

    /// Stores the first codes of a user, with audit events.
    pub async fn insert(
        self,
        owner: UserId,
        codes: &NewRecoveryCodes<'_>,
        now: Timestamp,
        events: &[NewAuditEvent],
    ) -> Result<RecoveryCodesInsertion, Error> {
        transaction!(self.storage, |tx| {
            // The lock keeps the factor until the codes are stored.
            sqlx::query(users::LOCK).bind(owner.0).execute(&mut *tx).await?;
            let (factors,): (i64,) = sqlx::query_as(HAS_FACTOR).bind(owner.0).fetch_one(&mut *tx).await?;
            if factors == 0 {
                return Ok(RecoveryCodesInsertion::NoFactor);
            }
            let set = sqlx::query(INSERT_SET).bind(owner.0).bind(codes.id.0).bind(codes.friendly_name).bind(now.0);
            if set.execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(RecoveryCodesInsertion::AlreadyExist);
            }
            for hash in codes.hashes {
                sqlx::query(INSERT_CODE).bind(owner.0).bind(hash).execute(&mut *tx).await?;
            }
            insert_events!(tx, events);
            Ok(RecoveryCodesInsertion::Inserted)
        })
    }

    /// Replaces the codes of a user, and stores audit events. Returns whether the user had codes; otherwise nothing is
    /// stored.
    pub async fn replace(
        self,
        owner: UserId,
        hashes: &[Vec<u8>],
        now: Timestamp,
        events: &[NewAuditEvent],
    ) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            if sqlx::query(UPDATE_SET).bind(owner.0).bind(now.0).execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(false);
            }
            sqlx::query(DELETE_CODES).bind(owner.0).execute(&mut *tx).await?;
            for hash in hashes {
                sqlx::query(INSERT_CODE).bind(owner.0).bind(hash).execute(&mut *tx).await?;
            }
            insert_events!(tx, events);
            Ok(true)
        })
    }

    /// Uses up a code, completely or not at all: the session is raised to `aal2` and returned, the user's other sessions
    /// below `aal2` are deleted, and audit events are stored. Returns `None` if the code is wrong or used, or the session
    /// has ended.
    pub async fn verify(
        self,
        owner: UserId,
        session: AuthSessionId,
        hash: &[u8],
        now: Timestamp,
        events: &[NewAuditEvent],
    ) -> Result<Option<AuthSession>, Error> {
        let raised = transaction!(self.storage, |tx| {
            let used = sqlx::query(USE_CODE).bind(owner.0).bind(hash).bind(now.0).execute(&mut *tx).await?;
            if used.rows_affected() == 0 {
                return Err(Error::NotFound);
            }
            let (set,): (Uuid,) = sqlx::query_as(GET_SET_ID).bind(owner.0).fetch_one(&mut *tx).await?;
            // The error for an ended session rolls back the use of the code.
            let raised = raise_session!(tx, owner, session, set, RECOVERY_CODE, now);
            insert_events!(tx, events);
            Ok(raised)
        });
        match raised {
            Ok(raised) => Ok(Some(raised.into())),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes the codes of a user, and stores audit events. Sessions that they raised return to `aal1`. Returns the id of
    /// the set; `None` if there was none, and then no event is stored.
    pub async fn delete(self, owner: UserId, events: &[NewAuditEvent]) -> Result<Option<FactorId>, Error> {
        transaction!(self.storage, |tx| {
            let deleted: Option<(Uuid,)> = sqlx::query_as(DELETE_SET).bind(owner.0).fetch_optional(&mut *tx).await?;
            let Some((set,)) = deleted else { return Ok(None) };
            lower_sessions!(tx, owner, set);
            insert_events!(tx, events);
            Ok(Some(FactorId(set)))
        })
    }
}
