//! Registration tokens (`registration_tokens`): each lets a number of users sign up where sign-up is by invitation. Only
//! hashes are stored.

use domain::{RegistrationTokenId, Timestamp};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::{Error, RegistrationTokenRepository};

/// A registration token, without the token itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrationToken {
    /// Its id.
    pub id: RegistrationTokenId,
    /// Note of the operator; may be empty.
    pub note: String,
    /// Domain of the email addresses that can sign up with it, in lower case; `None` for any address.
    pub domain: Option<String>,
    /// Maximum number of uses.
    pub max_uses: i64,
    /// Number of uses.
    pub uses: i64,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time from which it is invalid.
    pub expires_at: Timestamp,
    /// Time at which it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// Whether a [`RegistrationToken`] can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistrationTokenState {
    /// It can be used.
    Valid,
    /// It has no uses left.
    UsedUp,
    /// It has expired.
    Expired,
    /// It was revoked.
    Revoked,
}

impl RegistrationTokenState {
    /// Returns the name for operators.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::UsedUp => "used-up",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl RegistrationToken {
    /// Returns whether it can be used at `now`.
    pub fn state(&self, now: Timestamp) -> RegistrationTokenState {
        if self.revoked_at.is_some() {
            RegistrationTokenState::Revoked
        } else if self.uses >= self.max_uses {
            RegistrationTokenState::UsedUp
        } else if self.expires_at <= now {
            RegistrationTokenState::Expired
        } else {
            RegistrationTokenState::Valid
        }
    }
}

/// A use of a registration token, which is taken in the transaction of what it permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegistrationTokenUse {
    /// The token.
    pub id: RegistrationTokenId,
    /// Time of the use.
    pub at: Timestamp,
}

#[derive(sqlx::FromRow)]
struct TokenRow {
    id: Uuid,
    note: String,
    domain: Option<String>,
    max_uses: i64,
    uses: i64,
    created_at: i64,
    expires_at: i64,
    revoked_at: Option<i64>,
}

impl From<TokenRow> for RegistrationToken {
    fn from(row: TokenRow) -> Self {
        Self {
            id: RegistrationTokenId(row.id),
            note: row.note,
            domain: row.domain,
            max_uses: row.max_uses,
            uses: row.uses,
            created_at: Timestamp(row.created_at),
            expires_at: Timestamp(row.expires_at),
            revoked_at: row.revoked_at.map(Timestamp),
        }
    }
}

const INSERT: &str = "INSERT INTO registration_tokens
      (id, hash, note, domain, max_uses, uses, created_at, expires_at, revoked_at)
    VALUES (:id, :hash, :note, :domain, :max_uses, :uses, :created_at, :expires_at, :revoked_at)";

const FIND: &str = "SELECT id, note, domain, max_uses, uses, created_at, expires_at, revoked_at
    FROM registration_tokens WHERE hash = $1";

const LIST: &str = "SELECT id, note, domain, max_uses, uses, created_at, expires_at, revoked_at
    FROM registration_tokens ORDER BY id DESC";

const REVOKE: &str = "UPDATE registration_tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";

// Checks and counts in one statement, so that parallel sign-ups cannot exceed the limit: the second waits for the first
// and sees its count.
pub(crate) const TAKE_USE: &str = "UPDATE registration_tokens SET uses = uses + 1
    WHERE id = $1 AND revoked_at IS NULL AND expires_at > $2 AND uses < max_uses";

/// Takes a use of a token within a transaction. Evaluates to whether the token was still valid.
macro_rules! take_use {
    ($tx:ident, $registration:expr) => {{
        let registration: &$crate::registration_tokens::RegistrationTokenUse = $registration;
        let taken = sqlx::query($crate::registration_tokens::TAKE_USE).bind(registration.id.0).bind(registration.at.0);
        taken.execute(&mut *$tx).await?.rows_affected() > 0
    }};
}
pub(crate) use take_use;

impl RegistrationTokenRepository<'_> {
    /// Stores a new token under its hash, with audit events.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn insert(self, token: &RegistrationToken, hash: &[u8], events: &[NewAuditEvent]) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            query_named!(
                INSERT,
                id = token.id.0,
                hash = hash,
                note = &token.note,
                domain = token.domain.as_deref(),
                max_uses = token.max_uses,
                uses = token.uses,
                created_at = token.created_at.0,
                expires_at = token.expires_at.0,
                revoked_at = token.revoked_at.map(|at| at.0)
            )
            .execute(&mut *tx)
            .await?;
            insert_events!(tx, events);
            Ok(())
        })
    }

    /// Returns the token with a hash, whether it can be used or not.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn find(self, hash: &[u8]) -> Result<Option<RegistrationToken>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, TokenRow>(FIND).bind(hash).fetch_optional(c).await)?;
        Ok(row.map(RegistrationToken::from))
    }

    /// Returns all tokens, newest first, for the operator.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn list(self) -> Result<Vec<RegistrationToken>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, TokenRow>(LIST).fetch_all(c).await)?;
        Ok(rows.into_iter().map(RegistrationToken::from).collect())
    }

    /// Revokes a token and stores audit events. Returns whether there is such a token that was not revoked before;
    /// otherwise nothing is stored.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn revoke(
        self,
        id: RegistrationTokenId,
        now: Timestamp,
        events: &[NewAuditEvent],
    ) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            if sqlx::query(REVOKE).bind(id.0).bind(now.0).execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(false);
            }
            insert_events!(tx, events);
            Ok(true)
        })
    }

    /// Takes a use that belongs to no change of an account. Returns whether the token was still valid.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn take_use(self, registration: &RegistrationTokenUse) -> Result<bool, Error> {
        let taken = write!(self.storage, |c| sqlx::query(TAKE_USE)
            .bind(registration.id.0)
            .bind(registration.at.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(taken > 0)
    }
}
