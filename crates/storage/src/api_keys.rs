//! API keys of users (`api_keys`). Only hashes are stored.

use domain::api_key::Scope;
use domain::text::without_nul;
use domain::{ApiKeyId, Timestamp, UserId};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::{ApiKeyRepository, Error};

/// An API key as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its id, which is not secret.
    pub id: ApiKeyId,
    /// Name.
    pub name: String,
    /// Last characters of the key, to recognize it.
    pub hint: String,
    /// Scopes.
    pub scopes: Vec<Scope>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time from which it is invalid; `None` if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// Time of the last use, precise to the minute.
    pub last_used_at: Option<Timestamp>,
}

/// The API key of a request, and its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// Key.
    pub key: ApiKey,
    /// Owner.
    pub user: UserId,
}

#[derive(sqlx::FromRow)]
struct KeyRow {
    id: Uuid,
    user_id: Uuid,
    name: String,
    hint: String,
    scopes: String,
    created_at: i64,
    expires_at: Option<i64>,
    last_used_at: Option<i64>,
}

impl From<KeyRow> for Bearer {
    fn from(row: KeyRow) -> Self {
        let key = ApiKey {
            id: ApiKeyId(row.id),
            name: row.name,
            hint: row.hint,
            // A scope of a newer version grants nothing.
            scopes: row.scopes.split(' ').filter_map(Scope::from_word).collect(),
            created_at: Timestamp(row.created_at),
            expires_at: row.expires_at.map(Timestamp),
            last_used_at: row.last_used_at.map(Timestamp),
        };
        Self { key, user: UserId(row.user_id) }
    }
}

const INSERT: &str = "INSERT INTO api_keys (id, user_id, name, hint, hash, scopes, created_at, expires_at)
    SELECT :id, :owner, :name, :hint, :hash, :scopes, :created_at, :expires_at
    WHERE (SELECT COUNT(*) FROM api_keys WHERE user_id = :owner) < :most";

const LIST: &str = "SELECT id, user_id, name, hint, scopes, created_at, expires_at, last_used_at FROM api_keys
    WHERE user_id = $1 ORDER BY id DESC";

const DELETE_ALL: &str = "DELETE FROM api_keys WHERE user_id = $1";

const DELETE: &str = "DELETE FROM api_keys WHERE id = $1 AND user_id = $2";

const FIND: &str = "SELECT k.id, k.user_id, k.name, k.hint, k.scopes, k.created_at, k.expires_at, k.last_used_at
    FROM api_keys k JOIN users u ON u.id = k.user_id
    WHERE k.hash = $1 AND (u.banned_until IS NULL OR u.banned_until <= $2)
      AND (k.expires_at IS NULL OR k.expires_at > $2)";

const TOUCH: &str = "UPDATE api_keys SET last_used_at = $3 WHERE id = $1 AND user_id = $2";

impl ApiKeyRepository<'_> {
    /// Stores an API key and audit events. Returns `false` and stores nothing if the user already has `most`.
    pub async fn insert(
        self,
        owner: UserId,
        key: &ApiKey,
        hash: &[u8],
        most: i64,
        events: &[NewAuditEvent],
    ) -> Result<bool, Error> {
        let (name, scopes) = (without_nul(key.name.clone()), key.scopes.iter().map(|scope| scope.as_str()));
        let scopes = scopes.collect::<Vec<_>>().join(" ");
        transaction!(self.storage, |tx| {
            let added = query_named!(
                INSERT,
                id = key.id.0,
                owner = owner.0,
                name = &name,
                hint = &key.hint,
                hash = hash,
                scopes = &scopes,
                created_at = key.created_at.0,
                most = most,
                expires_at = key.expires_at.map(|at| at.0)
            )
            .execute(&mut *tx)
            .await?;
            if added.rows_affected() == 0 {
                return Ok(false);
            }
            insert_events!(tx, events);
            Ok(true)
        })
    }

    /// Returns the [`ApiKey`]s of a user, newest first.
    pub async fn list(self, owner: UserId) -> Result<Vec<ApiKey>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, KeyRow>(LIST).bind(owner.0).fetch_all(c).await)?;
        Ok(rows.into_iter().map(|row| Bearer::from(row).key).collect())
    }

    /// Deletes an API key and stores audit events. Returns whether it existed; otherwise nothing is stored.
    pub async fn delete(self, owner: UserId, key: ApiKeyId, events: &[NewAuditEvent]) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            if sqlx::query(DELETE).bind(key.0).bind(owner.0).execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(false);
            }
            insert_events!(tx, events);
            Ok(true)
        })
    }

    /// Deletes all API keys of a user and stores audit events. Returns how many there were; if none, nothing is stored.
    pub async fn delete_all(self, owner: UserId, events: &[NewAuditEvent]) -> Result<u64, Error> {
        transaction!(self.storage, |tx| {
            let deleted = sqlx::query(DELETE_ALL).bind(owner.0).execute(&mut *tx).await?.rows_affected();
            if deleted == 0 {
                return Ok(0);
            }
            insert_events!(tx, events);
            Ok(deleted)
        })
    }

    /// Returns the API key with this hash and its owner, or `None` if it has expired or the owner is banned.
    pub async fn find(self, hash: &[u8], now: Timestamp) -> Result<Option<Bearer>, Error> {
        let row =
            read!(self.storage, |c| sqlx::query_as::<_, KeyRow>(FIND).bind(hash).bind(now.0).fetch_optional(c).await)?;
        Ok(row.map(Bearer::from))
    }

    /// Records the use of an API key.
    pub async fn touch(self, owner: UserId, key: ApiKeyId, now: Timestamp) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(TOUCH)
            .bind(key.0)
            .bind(owner.0)
            .bind(now.0)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }
}
