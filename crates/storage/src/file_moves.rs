//! Moves of the content of files between the database and object storage, while servers read them; and what backups
//! read and write.

use domain::{FileId, UserId};
use futures_util::StreamExt;
use uuid::Uuid;

use crate::db_macros::{read, transaction};
use crate::files::{ContentRow, INSERT_BYTES, PlacedContent};
use crate::object_storage::hash;
use crate::{Error, FileRepository};

/// A place for the content of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilePlace {
    /// The database.
    Database,
    /// Object storage.
    Bucket,
}

/// A file whose content is not where it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MisplacedFile {
    /// Id.
    pub id: FileId,
    /// Owner.
    pub owner: UserId,
    /// Size, in bytes.
    pub size: u64,
}

/// An object that a backup copies.
#[derive(Debug, sqlx::FromRow)]
pub struct ObjectEntry {
    /// Key of the object.
    #[sqlx(rename = "object_key")]
    pub key: String,
    /// Size of its file; `None` if the file is deleted.
    size: Option<i64>,
    sha256_hash: Option<Vec<u8>>,
}

impl ObjectEntry {
    /// Returns whether a file refers to the object, so that it must exist.
    pub fn is_needed(&self) -> bool {
        self.size.is_some()
    }
}

#[derive(sqlx::FromRow)]
struct FileOfObject {
    id: Uuid,
    user_id: Uuid,
    size: i64,
    sha256_hash: Option<Vec<u8>>,
}

const LIST_IN_DATABASE: &str = "SELECT f.id, f.user_id, f.size FROM files f JOIN file_bytes b ON b.file_id = f.id
    WHERE f.id > $1 ORDER BY f.id LIMIT $2";

const LIST_IN_BUCKET: &str = "SELECT id, user_id, size FROM files WHERE object_key IS NOT NULL AND id > $1
    ORDER BY id LIMIT $2";

const COUNT_IN_DATABASE: &str = "SELECT COUNT(*), CAST(COALESCE(SUM(f.size), 0) AS BIGINT)
    FROM files f JOIN file_bytes b ON b.file_id = f.id";

const COUNT_IN_BUCKET: &str =
    "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM files WHERE object_key IS NOT NULL";

const SET_OBJECT: &str = "UPDATE files SET object_key = $3, sha256_hash = $4
    WHERE id = $1 AND user_id = $2 AND object_key IS NULL";

const CLEAR_OBJECT: &str = "UPDATE files SET object_key = NULL, sha256_hash = NULL
    WHERE id = $1 AND user_id = $2 AND object_key = $3";

const DELETE_BYTES: &str = "DELETE FROM file_bytes WHERE file_id = $1";

const INSERT_DELETION: &str =
    "INSERT INTO object_deletions (object_key) VALUES ($1) ON CONFLICT (object_key) DO NOTHING";

/// Also objects of files that were deleted since the copy of the database began.
const LIST_OBJECTS: &str = "SELECT object_key, size, sha256_hash FROM files WHERE object_key > $1
    UNION ALL SELECT object_key, NULL, NULL FROM object_deletions WHERE object_key > $1
    ORDER BY object_key LIMIT $2";

const GET_BY_KEY: &str = "SELECT id, user_id, size, sha256_hash FROM files WHERE object_key = $1";

/// Statements that make a restored database one of a new installation, whose objects are its own.
const FORGET_INSTALLATION: [&str; 3] =
    ["DELETE FROM object_storage", "DELETE FROM object_holds", "DELETE FROM object_deletions"];

/// Marks files as lost whose objects are not of this installation: `$1` is the beginning of its keys.
const CLEAR_FOREIGN: &str = "UPDATE files SET object_key = NULL, sha256_hash = NULL
    WHERE object_key IS NOT NULL AND object_key NOT LIKE $1";

impl FileRepository<'_> {
    /// Returns the number of files that are not in `place`, and their total size in bytes. Like the other functions for
    /// moves, it is not limited to one owner.
    pub async fn count_misplaced(self, place: FilePlace) -> Result<(u64, u64), Error> {
        let statement = if place == FilePlace::Bucket { COUNT_IN_DATABASE } else { COUNT_IN_BUCKET };
        let (count, bytes): (i64, i64) = read!(self.storage, |c| sqlx::query_as(statement).fetch_one(c).await)?;
        Ok((count.unsigned_abs(), bytes.unsigned_abs()))
    }

    /// Returns the next files after `last` that are not in `place`, in the order of their ids.
    pub async fn list_misplaced(
        self,
        place: FilePlace,
        last: Option<FileId>,
        limit: i64,
    ) -> Result<Vec<MisplacedFile>, Error> {
        let statement = if place == FilePlace::Bucket { LIST_IN_DATABASE } else { LIST_IN_BUCKET };
        let last = last.map_or(Uuid::nil(), |last| last.0);
        let rows: Vec<(Uuid, Uuid, i64)> =
            read!(self.storage, |c| sqlx::query_as(statement).bind(last).bind(limit).fetch_all(c).await)?;
        let file = |(id, owner, size): (Uuid, Uuid, i64)| MisplacedFile {
            id: FileId(id),
            owner: UserId(owner),
            size: size.unsigned_abs(),
        };
        Ok(rows.into_iter().map(file).collect())
    }

    /// Moves the content of a file. It can be read at every moment. Returns `false` if the file was deleted meanwhile or
    /// is there already.
    ///
    /// # Errors
    ///
    /// [`Error::MissingContent`] if the content is lost, [`Error::FileStorage`] if the object storage fails.
    pub async fn move_content(self, owner: UserId, id: FileId, place: FilePlace) -> Result<bool, Error> {
        let Some(row) = self.find_own_content(owner, id).await? else { return Ok(false) };
        match (place, &row.bytes, &row.object_key) {
            (FilePlace::Bucket, Some(bytes), _) => self.move_to_bucket(owner, id, bytes).await,
            (FilePlace::Database, None, Some(key)) => {
                let bytes = self.read_object(&row).await?.ok_or(Error::MissingContent)?;
                self.move_to_database(owner, id, key, &bytes).await
            }
            _ => Ok(false),
        }
    }

    async fn move_to_bucket(self, owner: UserId, id: FileId, bytes: &[u8]) -> Result<bool, Error> {
        let content = self.place_content(owner, bytes).await?;
        if content.object_key.is_none() {
            return Err(Error::FileStorage("it is not the place of new files".to_owned()));
        }
        let is_moved = transaction!(self.storage, |tx| {
            let set = sqlx::query(SET_OBJECT)
                .bind(id.0)
                .bind(owner.0)
                .bind(content.object_key.as_deref())
                .bind(content.sha256.as_deref());
            if set.execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(false);
            }
            sqlx::query(DELETE_BYTES).bind(id.0).execute(&mut *tx).await?;
            Ok(true)
        })?;
        if !is_moved {
            self.discard(&content).await;
        }
        Ok(is_moved)
    }

    async fn move_to_database(self, owner: UserId, id: FileId, key: &str, bytes: &[u8]) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            let cleared = sqlx::query(CLEAR_OBJECT).bind(id.0).bind(owner.0).bind(key).execute(&mut *tx).await?;
            if cleared.rows_affected() == 0 {
                return Ok(false);
            }
            sqlx::query(INSERT_BYTES).bind(id.0).bind(bytes).execute(&mut *tx).await?;
            sqlx::query(INSERT_DELETION).bind(key).execute(&mut *tx).await?;
            Ok(true)
        })
    }

    /// Returns the next objects after `last`, in the order of their keys, for a backup that has set a hold.
    pub async fn list_objects(self, last: &str, limit: i64) -> Result<Vec<ObjectEntry>, Error> {
        Ok(read!(self.storage, |c| sqlx::query_as(LIST_OBJECTS).bind(last).bind(limit).fetch_all(c).await)?)
    }

    /// Returns the content of an object; `None` if it is missing or damaged.
    pub async fn read_entry(self, entry: &ObjectEntry) -> Result<Option<Vec<u8>>, Error> {
        let Some(objects) = &self.storage.objects else { return Ok(None) };
        let Some(size) = entry.size else { return objects.bucket.get_any(&entry.key).await };
        let row = ContentRow {
            size,
            object_key: Some(entry.key.clone()),
            sha256_hash: entry.sha256_hash.clone(),
            bytes: None,
        };
        self.read_object(&row).await
    }

    /// Makes the database one of a new installation. Its files refer to objects of the old one until
    /// [`restore_object`](Self::restore_object). Returns the folder of the old one, if it had objects.
    pub async fn forget_installation(self) -> Result<Option<String>, Error> {
        let former = self.storage.installation().await?;
        transaction!(self.storage, |tx| {
            for statement in FORGET_INSTALLATION {
                sqlx::query(statement).execute(&mut *tx).await?;
            }
            Ok(())
        })?;
        Ok(former.map(|(id, location)| format!("{location}/{id}")))
    }

    /// Stores the content of a backed-up object for the file that refers to it, where new files are stored. Content that
    /// is not the file's is ignored.
    pub async fn restore_object(self, key: &str, bytes: &[u8]) -> Result<(), Error> {
        let file: Option<FileOfObject> =
            read!(self.storage, |c| sqlx::query_as(GET_BY_KEY).bind(key).fetch_optional(c).await)?;
        let Some(file) = file else { return Ok(()) };
        if file.size.unsigned_abs() != bytes.len() as u64 || file.sha256_hash != Some(hash(bytes)) {
            return Ok(());
        }
        let owner = UserId(file.user_id);
        let PlacedContent { object_key, sha256 } = self.place_content(owner, bytes).await?;
        transaction!(self.storage, |tx| {
            sqlx::query(CLEAR_OBJECT).bind(file.id).bind(owner.0).bind(key).execute(&mut *tx).await?;
            if object_key.is_some() {
                sqlx::query(SET_OBJECT)
                    .bind(file.id)
                    .bind(owner.0)
                    .bind(object_key.as_deref())
                    .bind(sha256.as_deref())
                    .execute(&mut *tx)
                    .await?;
            } else {
                sqlx::query(INSERT_BYTES).bind(file.id).bind(bytes).execute(&mut *tx).await?;
            }
            Ok(())
        })
    }

    /// Marks the files as lost whose objects were not restored. Returns their number.
    pub async fn clear_unrestored(self) -> Result<u64, Error> {
        let own = self.storage.objects.as_ref().map(|objects| format!("{}/%", objects.installation));
        let own = own.unwrap_or_default();
        transaction!(self.storage, |tx| {
            let cleared = sqlx::query(CLEAR_FOREIGN).bind(&own).execute(&mut *tx).await?;
            Ok(cleared.rows_affected())
        })
    }

    /// Deletes all objects of this installation, whose database is given up.
    pub async fn delete_all_objects(self) -> Result<(), Error> {
        let Some(objects) = &self.storage.objects else { return Ok(()) };
        let mut listed = objects.bucket.list(&objects.installation.to_string())?;
        while let Some(object) = listed.next().await {
            objects.bucket.delete(&object?.key).await?;
        }
        Ok(())
    }
}
