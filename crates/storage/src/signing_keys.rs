//! Keys that sign access tokens (`signing_keys`), encrypted.

use domain::Timestamp;

use crate::db_macros::{read, write};
use crate::{Error, SigningKeyRepository, Storage};

/// An encrypted signing key. The id under which it is published is part of the encrypted value.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct SealedKey {
    /// Sequence number: 1 for the first key.
    pub number: i64,
    /// Private key, encrypted.
    pub private_key: Vec<u8>,
}

/// A [`SealedKey`] and the time at which it began to sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSigningKey {
    /// The key.
    pub key: SealedKey,
    /// Time at which it was stored. The previous key signs nothing from then on.
    pub created_at: Timestamp,
}

const LIST: &str = "SELECT number, private_key, created_at FROM signing_keys ORDER BY number DESC";

pub(crate) const INSERT: &str = "INSERT INTO signing_keys (number, private_key, created_at) VALUES ($1, $2, $3)
    ON CONFLICT (number) DO NOTHING";

impl SigningKeyRepository<'_> {
    /// Returns all keys, newest first. The newest one signs.
    pub async fn list(self) -> Result<Vec<StoredSigningKey>, Error> {
        type Row = (i64, Vec<u8>, i64);
        let rows = read!(self.storage, |c| sqlx::query_as::<_, Row>(LIST).fetch_all(c).await)?;
        let stored = |(number, private_key, created_at)| StoredSigningKey {
            key: SealedKey { number, private_key },
            created_at: Timestamp(created_at),
        };
        Ok(rows.into_iter().map(stored).collect())
    }

    /// Stores a key unless its number is taken. Of several nodes that start together one succeeds, and all of them read
    /// its key afterwards.
    pub async fn insert(self, key: &SealedKey, now: Timestamp) -> Result<(), Error> {
        insert_key(self.storage, INSERT, key, now).await
    }
}

/// Returns the [`SealedKey`]s that a statement selects.
pub(crate) async fn list_keys(storage: &Storage, select: &'static str) -> Result<Vec<SealedKey>, Error> {
    Ok(read!(storage, |c| sqlx::query_as::<_, SealedKey>(select).fetch_all(c).await)?)
}

/// Stores a key by a statement that takes its number, its value and the time.
pub(crate) async fn insert_key(
    storage: &Storage,
    insert: &'static str,
    key: &SealedKey,
    now: Timestamp,
) -> Result<(), Error> {
    write!(storage, |c| sqlx::query(insert)
        .bind(key.number)
        .bind(&key.private_key)
        .bind(now.0)
        .execute(c)
        .await
        .map(|_| ()))?;
    Ok(())
}
