//! The keys that sign access tokens (`signing_keys`), encrypted.

use domain::Timestamp;

use crate::dispatch::{read, write};
use crate::{Error, Store};

/// A stored key. Which key it is stands in what is sealed.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct SealedKey {
    /// 1 for the first one; every later one is one more.
    pub number: i64,
    /// The private key, encrypted.
    pub private_key: Vec<u8>,
}

const LIST: &str = "SELECT number, private_key FROM signing_keys ORDER BY number DESC";

const INSERT: &str = "INSERT INTO signing_keys (number, private_key, created_at) VALUES ($1, $2, $3)
    ON CONFLICT (number) DO NOTHING";

impl Store {
    /// All keys, the newest, which signs, first.
    pub async fn list_signing_keys(&self) -> Result<Vec<SealedKey>, Error> {
        Ok(read!(self, |c| sqlx::query_as::<_, SealedKey>(LIST).fetch_all(c).await)?)
    }

    /// Stores a key unless there is one with its number: of several nodes that start at the same time one succeeds, and
    /// all of them read that one back.
    pub async fn insert_signing_key(&self, key: &SealedKey, now: Timestamp) -> Result<(), Error> {
        write!(self, |c| sqlx::query(INSERT)
            .bind(key.number)
            .bind(&key.private_key)
            .bind(now.0)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }
}
