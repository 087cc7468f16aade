//! Passkeys of users (`passkeys`), and the challenges that they sign (`passkey_challenges`).

use domain::{ChallengeId, PasskeyId, Timestamp, UserId};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::{Error, PasskeyRepository, users};

/// A passkey: a WebAuthn credential of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    /// Its id.
    pub id: PasskeyId,
    /// User whom it signs in.
    pub user: UserId,
    /// Id that its authenticator has chosen.
    pub credential_id: Vec<u8>,
    /// Public key, as a COSE key (RFC 9052).
    pub public_key: Vec<u8>,
    /// Signature counter of the last sign-in; 0 if the authenticator does not count.
    pub sign_count: u32,
    /// Whether the authenticator may copy it to other devices.
    pub is_backup_eligible: bool,
    /// Name that its owner sees.
    pub friendly_name: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last sign-in with it.
    pub last_used_at: Option<Timestamp>,
}

#[derive(sqlx::FromRow)]
pub(crate) struct PasskeyRow {
    id: Uuid,
    user_id: Uuid,
    credential_id: Vec<u8>,
    public_key: Vec<u8>,
    sign_count: i64,
    backup_eligible: bool,
    friendly_name: String,
    created_at: i64,
    last_used_at: Option<i64>,
}

/// Converts a stored signature counter.
pub(crate) fn read_sign_count(stored: i64) -> Result<u32, Error> {
    u32::try_from(stored).map_err(|_| Error::Corrupt(format!("{stored} is no signature counter")))
}

impl TryFrom<PasskeyRow> for Passkey {
    type Error = Error;

    fn try_from(row: PasskeyRow) -> Result<Self, Error> {
        Ok(Self {
            id: PasskeyId(row.id),
            user: UserId(row.user_id),
            credential_id: row.credential_id,
            public_key: row.public_key,
            sign_count: read_sign_count(row.sign_count)?,
            is_backup_eligible: row.backup_eligible,
            friendly_name: row.friendly_name,
            created_at: Timestamp(row.created_at),
            last_used_at: row.last_used_at.map(Timestamp),
        })
    }
}

/// A challenge that a passkey has to sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyChallenge {
    /// Its id.
    pub id: ChallengeId,
    /// User who registers a passkey; `None` for a sign-in.
    pub user: Option<UserId>,
    /// Random bytes.
    pub challenge: Vec<u8>,
    /// Time from which the challenge is invalid.
    pub expires_at: Timestamp,
}

const INSERT: &str = "INSERT INTO passkeys
      (id, user_id, credential_id, public_key, sign_count, backup_eligible, friendly_name, created_at)
    VALUES (:id, :owner, :credential_id, :public_key, :sign_count, :backup_eligible, :friendly_name, :now)";

const COUNT: &str = "SELECT COUNT(*) FROM passkeys WHERE user_id = $1";

const LIST: &str = "SELECT id, user_id, credential_id, public_key, sign_count, backup_eligible, friendly_name,
      created_at, last_used_at
    FROM passkeys WHERE user_id = $1 ORDER BY created_at, id";

const GET_BY_CREDENTIAL: &str = "SELECT id, user_id, credential_id, public_key, sign_count, backup_eligible,
      friendly_name, created_at, last_used_at
    FROM passkeys WHERE credential_id = $1";

/// Two sign-ins with the same counter come from two copies of the passkey, so only the first succeeds.
const RECORD_USE: &str = "UPDATE passkeys SET sign_count = $3, last_used_at = $4
    WHERE id = $1 AND user_id = $2 AND (sign_count < $3 OR (sign_count = 0 AND $3 = 0))";

const RENAME: &str = "UPDATE passkeys SET friendly_name = $3 WHERE id = $1 AND user_id = $2
    RETURNING id, user_id, credential_id, public_key, sign_count, backup_eligible, friendly_name, created_at, last_used_at";

const DELETE: &str = "DELETE FROM passkeys WHERE id = $1 AND user_id = $2";

pub(crate) const DELETE_ALL: &str = "DELETE FROM passkeys WHERE user_id = $1";

const INSERT_CHALLENGE: &str =
    "INSERT INTO passkey_challenges (id, user_id, challenge, expires_at) VALUES ($1, $2, $3, $4)";

// Runs with each insert, so that no background job is needed.
const DELETE_OLD_CHALLENGES: &str = "DELETE FROM passkey_challenges WHERE expires_at <= $1";

const TAKE_CHALLENGE: &str = "DELETE FROM passkey_challenges WHERE id = $1 RETURNING user_id, challenge, expires_at";

impl PasskeyRepository<'_> {
    /// Returns the [`Passkey`]s of a user, oldest first.
    pub async fn list(self, owner: UserId) -> Result<Vec<Passkey>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, PasskeyRow>(LIST).bind(owner.0).fetch_all(c).await)?;
        rows.into_iter().map(Passkey::try_from).collect()
    }

    /// Returns the passkey with this id of its credential. The request carries no session: a signature with the passkey
    /// proves its user, who is in the result.
    pub async fn get_by_credential(self, credential_id: &[u8]) -> Result<Option<Passkey>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, PasskeyRow>(GET_BY_CREDENTIAL)
            .bind(credential_id)
            .fetch_optional(c)
            .await)?;
        row.map(Passkey::try_from).transpose()
    }

    /// Stores a passkey and audit events. Returns `false` and stores nothing if the user already has `most`.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the credential is registered already, by whomever.
    pub async fn insert(self, passkey: &Passkey, most: i64, events: &[NewAuditEvent]) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            // The lock makes the count below reliable.
            if sqlx::query(users::LOCK).bind(passkey.user.0).execute(&mut *tx).await?.rows_affected() == 0 {
                return Err(Error::NotFound);
            }
            let (count,): (i64,) = sqlx::query_as(COUNT).bind(passkey.user.0).fetch_one(&mut *tx).await?;
            if count >= most {
                return Ok(false);
            }
            query_named!(
                INSERT,
                id = passkey.id.0,
                owner = passkey.user.0,
                credential_id = &passkey.credential_id,
                public_key = &passkey.public_key,
                sign_count = i64::from(passkey.sign_count),
                backup_eligible = passkey.is_backup_eligible,
                friendly_name = &passkey.friendly_name,
                now = passkey.created_at.0
            )
            .execute(&mut *tx)
            .await?;
            insert_events!(tx, events);
            Ok(true)
        })
    }

    /// Records a sign-in with a passkey. Returns `false` if its counter has not increased since the last one, unless the
    /// authenticator does not count, or the passkey is gone.
    pub async fn record_use(
        self,
        owner: UserId,
        id: PasskeyId,
        sign_count: u32,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let changed = write!(self.storage, |c| sqlx::query(RECORD_USE)
            .bind(id.0)
            .bind(owner.0)
            .bind(i64::from(sign_count))
            .bind(now.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(changed == 1)
    }

    /// Renames a passkey and returns it; `None` if the user has no such passkey.
    pub async fn rename(self, owner: UserId, id: PasskeyId, friendly_name: &str) -> Result<Option<Passkey>, Error> {
        let row = write!(self.storage, |c| sqlx::query_as::<_, PasskeyRow>(RENAME)
            .bind(id.0)
            .bind(owner.0)
            .bind(friendly_name)
            .fetch_optional(c)
            .await)?;
        row.map(Passkey::try_from).transpose()
    }

    /// Deletes a passkey and stores audit events. Returns whether the user had it; otherwise nothing is stored.
    pub async fn delete(self, owner: UserId, id: PasskeyId, events: &[NewAuditEvent]) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            if sqlx::query(DELETE).bind(id.0).bind(owner.0).execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(false);
            }
            insert_events!(tx, events);
            Ok(true)
        })
    }

    /// Stores a challenge. Deletes those of all users that expired before `old`.
    pub async fn insert_challenge(self, challenge: &PasskeyChallenge, old: Timestamp) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            sqlx::query(DELETE_OLD_CHALLENGES).bind(old.0).execute(&mut *tx).await?;
            sqlx::query(INSERT_CHALLENGE)
                .bind(challenge.id.0)
                .bind(challenge.user.map(|user| user.0))
                .bind(&challenge.challenge)
                .bind(challenge.expires_at.0)
                .execute(&mut *tx)
                .await?;
            Ok(())
        })
    }

    /// Deletes a challenge and returns it, once. There may be no user yet; only the browser that asked for the challenge
    /// knows its id.
    pub async fn take_challenge(self, id: ChallengeId) -> Result<Option<PasskeyChallenge>, Error> {
        let row = write!(self.storage, |c| sqlx::query_as::<_, (Option<Uuid>, Vec<u8>, i64)>(TAKE_CHALLENGE)
            .bind(id.0)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(|(user, challenge, expires_at)| PasskeyChallenge {
            id,
            user: user.map(UserId),
            challenge,
            expires_at: Timestamp(expires_at),
        }))
    }
}
