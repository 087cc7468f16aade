//! Deletion of objects that no file needs: those of deleted files, and those whose file was never stored.
//!
//! A trigger records the object of every deleted file in `object_deletions`, in the transaction that deletes the file.
//! The object is deleted afterwards, as often as it takes. While a backup copies objects, a hold keeps all of them.

use domain::{Timestamp, ids};
use futures_util::StreamExt;
use uuid::Uuid;

use crate::db_macros::{read, write};
use crate::object_storage::{ObjectStorage, StoredObject};
use crate::{Error, FileRepository};

/// Maximum number of objects that one call deletes.
const DELETIONS_PER_BATCH: i64 = 200;
/// Age in seconds from which an object without a file is deleted. The file is stored seconds after its object, if at all.
const ORPHAN_AGE_SECONDS: i64 = 24 * 3600;
/// Number of objects that are compared with the database at once.
const OBJECTS_PER_COMPARISON: usize = 1_000;

/// Also the check of holds, so that every listed object was unused before a hold began.
const LIST_DELETIONS: &str = "SELECT object_key FROM object_deletions
    WHERE NOT EXISTS (SELECT 1 FROM object_holds WHERE expires_at > $1) ORDER BY object_key LIMIT $2";

const DELETE_DELETION: &str = "DELETE FROM object_deletions WHERE object_key = $1";

/// Keys of objects that are needed, or deleted by [`LIST_DELETIONS`].
const LIST_KNOWN: &str = "SELECT object_key FROM files WHERE object_key BETWEEN $1 AND $2
    UNION ALL SELECT object_key FROM object_deletions WHERE object_key BETWEEN $1 AND $2";

const SET_HOLD: &str = "INSERT INTO object_holds (id, expires_at) VALUES ($1, $2)
    ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at";

const DELETE_HOLD: &str = "DELETE FROM object_holds WHERE id = $1";

const PURGE_HOLDS: &str = "DELETE FROM object_holds WHERE expires_at <= $1";

/// A hold that keeps all objects, see [`FileRepository::set_hold`].
#[derive(Debug, Clone, Copy)]
pub struct ObjectHold(Uuid);

impl ObjectHold {
    /// Creates a hold that is not set yet.
    pub fn fresh() -> Self {
        Self(ids::fresh())
    }
}

impl FileRepository<'_> {
    /// Deletes objects of deleted files, as many as fit into a batch. Returns whether more may be left. Not limited to
    /// one owner; for background jobs.
    ///
    /// # Errors
    ///
    /// [`Error::FileStorage`] if the object storage fails. The objects remain recorded.
    pub async fn delete_unused_objects(self, now: Timestamp) -> Result<bool, Error> {
        let Some(objects) = &self.storage.objects else { return Ok(false) };
        let keys: Vec<String> = read!(self.storage, |c| sqlx::query_scalar(LIST_DELETIONS)
            .bind(now.0)
            .bind(DELETIONS_PER_BATCH)
            .fetch_all(c)
            .await)?;
        for key in &keys {
            objects.bucket.delete(key).await?;
            write!(self.storage, |c| sqlx::query(DELETE_DELETION)
                .bind(key)
                .execute(c)
                .await
                .map(|done| done.rows_affected()))?;
        }
        Ok(keys.len() as i64 == DELETIONS_PER_BATCH)
    }

    /// Deletes objects of this installation that are older than a day and have no file. Returns their number. Not
    /// limited to one owner; for background jobs.
    ///
    /// # Errors
    ///
    /// [`Error::FileStorage`] if the object storage fails.
    pub async fn delete_orphaned_objects(self, now: Timestamp) -> Result<u64, Error> {
        let Some(objects) = &self.storage.objects else { return Ok(0) };
        write!(self.storage, |c| sqlx::query(PURGE_HOLDS)
            .bind(now.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        let newest = now.plus_seconds(-ORPHAN_AGE_SECONDS);
        let mut listed = objects.bucket.list(&objects.installation.to_string())?.chunks(OBJECTS_PER_COMPARISON);
        let mut count = 0;
        while let Some(chunk) = listed.next().await {
            let chunk = chunk.into_iter().collect::<Result<Vec<StoredObject>, Error>>()?;
            let old = chunk.into_iter().filter(|object| object.written_at < newest).map(|object| object.key);
            count += self.delete_unknown(objects, old.collect()).await?;
        }
        Ok(count)
    }

    async fn delete_unknown(self, objects: &ObjectStorage, mut keys: Vec<String>) -> Result<u64, Error> {
        keys.sort_unstable();
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Ok(0) };
        let mut known: Vec<String> =
            read!(self.storage, |c| sqlx::query_scalar(LIST_KNOWN).bind(first).bind(last).fetch_all(c).await)?;
        known.sort_unstable();
        let mut count = 0;
        for key in keys.iter().filter(|key| known.binary_search(key).is_err()) {
            objects.bucket.delete(key).await?;
            count += 1;
        }
        Ok(count)
    }

    /// Keeps all objects until `expires_at`, although their files are deleted. May be repeated to extend the time.
    pub async fn set_hold(self, hold: ObjectHold, expires_at: Timestamp) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(SET_HOLD)
            .bind(hold.0)
            .bind(expires_at.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(())
    }

    /// Ends a hold.
    pub async fn delete_hold(self, hold: ObjectHold) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(DELETE_HOLD)
            .bind(hold.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(())
    }
}
