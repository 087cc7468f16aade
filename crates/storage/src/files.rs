//! Files of chats. Each is stored once, as long as a message, a queued message or a share (its holder) refers to it by
//! its id.

use bytes::Bytes;
use domain::file::FileRef;
use domain::message::Part;
use domain::text::without_nul;
use domain::tool::ToolResult;
use domain::{ChatId, FileId, MessageId, Timestamp, UserId};
use uuid::Uuid;

use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::{Error, FileRepository, object_storage, users};

/// The input of [`FileRepository::insert`](crate::FileRepository::insert).
#[derive(Debug, Clone, Copy)]
pub struct NewFile<'a> {
    /// Its id.
    pub id: FileId,
    /// Media type, such as `image/png`.
    pub media_type: &'a str,
    /// File name given by the user.
    pub name: Option<&'a str>,
    /// Content.
    pub bytes: &'a [u8],
}

/// The metadata of a stored file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// Reference to the file.
    pub file: FileRef,
    /// Chat that it belongs to; `None` until its message is sent.
    pub chat: Option<ChatId>,
}

#[derive(sqlx::FromRow)]
struct FileRow {
    id: Uuid,
    session_id: Option<Uuid>,
    media_type: String,
    name: Option<String>,
    size: i64,
}

impl From<FileRow> for StoredFile {
    fn from(row: FileRow) -> Self {
        let size = row.size.unsigned_abs();
        let file = FileRef { media_type: row.media_type, filename: row.name, id: FileId(row.id), size };
        Self { file, chat: row.session_id.map(ChatId) }
    }
}

/// The place of a file's content, with the content if it is in the database.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct ContentRow {
    pub size: i64,
    pub object_key: Option<String>,
    pub sha256_hash: Option<Vec<u8>>,
    pub bytes: Option<Vec<u8>>,
}

/// Reader of a file.
#[derive(Debug, Clone, Copy)]
enum Reader<'a> {
    /// Its owner.
    Owner(UserId),
    /// The bearer of the token of a share, of which this is the hash.
    Share(&'a [u8]),
}

/// Where the content of a new file is put: in object storage under a key, or with the row.
#[derive(Debug, Default)]
pub(crate) struct PlacedContent {
    pub object_key: Option<String>,
    pub sha256: Option<Vec<u8>>,
}

/// Number of times that a content is looked for while it is moved from one place to another.
const MAX_READS: usize = 3;

pub(crate) const SUM: &str = "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM files WHERE user_id = $1";

// `(1 = 0)` is false in the type that either database uses for booleans.
pub(crate) const INSERT: &str = "INSERT INTO files
      (id, user_id, session_id, media_type, name, size, maybe_orphaned, created_at, object_key, sha256_hash)
    VALUES (:id, :owner, NULL, :media_type, :name, :size, (1 = 0), :now, :object_key, :sha256)
    ON CONFLICT (id) DO NOTHING";

pub(crate) const INSERT_BYTES: &str = "INSERT INTO file_bytes (file_id, bytes) VALUES ($1, $2)";

/// Assigns an unsent file to a chat.
pub(crate) const ASSIGN_TO_CHAT: &str = "UPDATE files SET session_id = $3
    WHERE id = $1 AND user_id = $2 AND session_id IS NULL
      AND EXISTS (SELECT 1 FROM existing_chats s WHERE s.id = $3 AND s.user_id = $2)";

/// Records that a holder refers to a file. Only files of the same chat can be used in it.
pub(crate) const INSERT_USE: &str = "INSERT INTO file_uses (holder_id, file_id)
    SELECT $4, id FROM files WHERE id = $1 AND user_id = $2 AND session_id = $3
    ON CONFLICT (holder_id, file_id) DO NOTHING";

const GET: &str = "SELECT id, session_id, media_type, name, size FROM files WHERE id = $1 AND user_id = $2";

const GET_CONTENT: &str = "SELECT f.size, f.object_key, f.sha256_hash, b.bytes
    FROM files f LEFT JOIN file_bytes b ON b.file_id = f.id WHERE f.id = $1 AND f.user_id = $2";

const LIST: &str = "SELECT id, session_id, media_type, name, size FROM files
    WHERE session_id = $1 AND user_id = $2 ORDER BY created_at, id";

const DELETE_WAITING: &str = "DELETE FROM files WHERE id = $1 AND user_id = $2 AND session_id IS NULL";

// A file is served under the same conditions as the share itself.
const GET_SHARED: &str = "SELECT f.id, f.session_id, f.media_type, f.name, f.size FROM files f
    JOIN file_uses u ON u.file_id = f.id
    JOIN chat_shares h ON h.id = u.holder_id AND h.user_id = f.user_id
    JOIN existing_chats s ON s.id = h.session_id AND s.user_id = h.user_id
    JOIN users p ON p.id = h.user_id AND p.deleted_at IS NULL
    WHERE f.id = $1 AND h.token_hash = $2";

// Runs only after `GET_SHARED` has checked the conditions.
const GET_SHARED_CONTENT: &str = "SELECT f.size, f.object_key, f.sha256_hash, b.bytes
    FROM files f LEFT JOIN file_bytes b ON b.file_id = f.id
    JOIN file_uses u ON u.file_id = f.id JOIN chat_shares h ON h.id = u.holder_id
    WHERE f.id = $1 AND h.token_hash = $2";

/// Deletes files that were never sent.
const PURGE_WAITING: &str = "DELETE FROM files WHERE session_id IS NULL AND created_at < $1";

/// Deletes candidates (`maybe_orphaned`) that no holder refers to. A running turn may have stored files for a message that is
/// not written yet, so that its chat is skipped. Messages of deleted chats are holders, too.
const PURGE_ORPHANED: &str = "DELETE FROM files WHERE maybe_orphaned
    AND NOT EXISTS (SELECT 1 FROM file_uses u JOIN ai_chat_messages m ON m.id = u.holder_id WHERE u.file_id = files.id)
    AND NOT EXISTS (SELECT 1 FROM file_uses u JOIN queued_messages q ON q.id = u.holder_id WHERE u.file_id = files.id)
    AND NOT EXISTS (SELECT 1 FROM file_uses u JOIN chat_shares h ON h.id = u.holder_id WHERE u.file_id = files.id)
    AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_id = files.session_id AND t.status = 'running')";

/// Clears the mark of candidates that a holder refers to.
const CLEAR_MAYBE_ORPHANED: &str = "UPDATE files SET maybe_orphaned = (1 = 0) WHERE maybe_orphaned AND (
      EXISTS (SELECT 1 FROM file_uses u JOIN ai_chat_messages m ON m.id = u.holder_id WHERE u.file_id = files.id)
      OR EXISTS (SELECT 1 FROM file_uses u JOIN queued_messages q ON q.id = u.holder_id WHERE u.file_id = files.id))";

/// Records, within a transaction, that a holder in a chat refers to these files, and assigns unsent ones to the chat.
macro_rules! hold_files {
    ($tx:ident, $owner:expr, $chat:expr, $holder:expr, $files:expr) => {
        for file in $files {
            // Has no effect on a file that already belongs to a chat.
            let assign = sqlx::query(crate::files::ASSIGN_TO_CHAT).bind(file.0).bind($owner.0).bind($chat.0);
            assign.execute(&mut *$tx).await?;
            let insert_use =
                sqlx::query(crate::files::INSERT_USE).bind(file.0).bind($owner.0).bind($chat.0).bind($holder);
            insert_use.execute(&mut *$tx).await?;
        }
    };
}
pub(crate) use hold_files;

/// Returns the files that message parts refer to, including those in tool results.
pub fn named_in(parts: &[Part]) -> Vec<FileId> {
    let mut files = Vec::new();
    for part in parts {
        match part {
            Part::File(file) => files.push(file.id),
            Part::ToolCall { call } => {
                files.extend(call.result.iter().flat_map(ToolResult::files).map(|file| file.id));
            }
            _ => {}
        }
    }
    files
}

impl FileRepository<'_> {
    /// Stores a file that is not sent yet. Returns `false` if the user's files would exceed `most` bytes in total.
    pub async fn insert(self, owner: UserId, file: &NewFile<'_>, most: u64, now: Timestamp) -> Result<bool, Error> {
        self.keep_file(owner, None, file, most, now).await
    }

    /// Stores a file for the assistant message `place` of a running turn. Returns `false` if the user's files would
    /// exceed `most` bytes in total.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the chat does not belong to the owner.
    pub async fn insert_for_message(
        self,
        owner: UserId,
        place: (ChatId, MessageId),
        file: &NewFile<'_>,
        most: u64,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.keep_file(owner, Some(place), file, most, now).await
    }

    async fn keep_file(
        self,
        owner: UserId,
        place: Option<(ChatId, MessageId)>,
        file: &NewFile<'_>,
        most: u64,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let size = i64::try_from(file.bytes.len()).unwrap_or(i64::MAX);
        let name = file.name.map(|name| without_nul(name.to_owned()));
        // Before the content is put into object storage in vain.
        if self.storage.objects.is_some()
            && self.count_bytes(owner).await?.saturating_add(file.bytes.len() as u64) > most
        {
            return Ok(false);
        }
        let content = match self.place_content(owner, file.bytes).await {
            // What a model or a tool made cannot be uploaded again.
            Err(Error::FileStorage(reason)) if place.is_some() => {
                tracing::warn!(file_id = %file.id, reason, "the file storage failed; a file of an answer is stored in the database");
                PlacedContent::default()
            }
            content => content?,
        };
        let inserted = transaction!(self.storage, |tx| {
            // Without the lock, parallel uploads could exceed the quota together.
            sqlx::query(users::LOCK).bind(owner.0).execute(&mut *tx).await?;
            let kept = sqlx::query_scalar::<_, i64>(SUM).bind(owner.0).fetch_one(&mut *tx).await?;
            if kept.saturating_add(size) > i64::try_from(most).unwrap_or(i64::MAX) {
                return Ok(false);
            }
            let inserted = query_named!(
                INSERT,
                id = file.id.0,
                owner = owner.0,
                media_type = file.media_type,
                name = name.as_deref(),
                size = size,
                now = now.0,
                object_key = content.object_key.as_deref(),
                sha256 = content.sha256.as_deref()
            )
            .execute(&mut *tx)
            .await?;
            // The id may belong to another user. Its file must not be overwritten or assigned.
            if inserted.rows_affected() == 0 {
                return Err(Error::Conflict("the id of another file".to_owned()));
            }
            if content.object_key.is_none() {
                sqlx::query(INSERT_BYTES).bind(file.id.0).bind(file.bytes).execute(&mut *tx).await?;
            }
            if let Some((chat, message)) = place {
                let given =
                    sqlx::query(ASSIGN_TO_CHAT).bind(file.id.0).bind(owner.0).bind(chat.0).execute(&mut *tx).await?;
                if given.rows_affected() == 0 {
                    return Err(Error::NotFound);
                }
                let used = sqlx::query(INSERT_USE).bind(file.id.0).bind(owner.0).bind(chat.0).bind(message.0);
                used.execute(&mut *tx).await?;
            }
            Ok(true)
        })?;
        if !inserted {
            self.discard(&content).await;
        }
        Ok(inserted)
    }

    /// Puts the content of a new file into object storage, if that is its place. The row is inserted afterwards: after a
    /// crash in between, the object has no row and is deleted a day later.
    pub(crate) async fn place_content(self, owner: UserId, bytes: &[u8]) -> Result<PlacedContent, Error> {
        match &self.storage.objects {
            Some(objects) if objects.is_for_new_files => {
                let (key, sha256) = (objects.new_key(owner), object_storage::hash(bytes));
                objects.bucket.put(&key, Bytes::copy_from_slice(bytes)).await?;
                Ok(PlacedContent { object_key: Some(key), sha256: Some(sha256) })
            }
            _ => Ok(PlacedContent::default()),
        }
    }

    /// Deletes the object of a file that was certainly not inserted. If that fails, it is deleted a day later.
    pub(crate) async fn discard(self, content: &PlacedContent) {
        if let (Some(objects), Some(key)) = (&self.storage.objects, &content.object_key) {
            let _is_deleted = objects.bucket.delete(key).await.is_ok();
        }
    }

    /// Returns the metadata of a file as a [`StoredFile`].
    pub async fn get(self, owner: UserId, id: FileId) -> Result<Option<StoredFile>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, FileRow>(GET)
            .bind(id.0)
            .bind(owner.0)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(StoredFile::from))
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    ///
    /// [`Error::MissingContent`] if the object storage has lost or damaged it, [`Error::FileStorage`] if the object
    /// storage cannot be used.
    pub async fn get_bytes(self, owner: UserId, id: FileId) -> Result<Option<Vec<u8>>, Error> {
        self.read_content(Reader::Owner(owner), id).await
    }

    async fn read_content(self, reader: Reader<'_>, id: FileId) -> Result<Option<Vec<u8>>, Error> {
        let mut last_key = None;
        for _ in 0..MAX_READS {
            let Some(row) = self.find_content(reader, id).await? else { return Ok(None) };
            if row.bytes.is_some() {
                return Ok(row.bytes);
            }
            // The object is not there, and the row still names it: otherwise the file was moved or deleted meanwhile.
            if row.object_key == last_key {
                break;
            }
            if let Some(bytes) = self.read_object(&row).await? {
                return Ok(Some(bytes));
            }
            last_key = row.object_key;
        }
        tracing::error!(file_id = %id, object_key = last_key, "the content of a file is missing");
        Err(Error::MissingContent)
    }

    /// Returns the content of a file in object storage; `None` if it is missing or damaged there.
    pub(crate) async fn read_object(self, row: &ContentRow) -> Result<Option<Vec<u8>>, Error> {
        let (Some(key), Some(sha256)) = (&row.object_key, &row.sha256_hash) else { return Ok(None) };
        let Some(objects) = &self.storage.objects else {
            let reason = "the file is in object storage, for which this server has no settings".to_owned();
            return Err(Error::FileStorage(reason));
        };
        objects.bucket.get(key, row.size.unsigned_abs(), sha256).await
    }

    /// Returns where the content of a file is, and the content if it is in the database.
    pub(crate) async fn find_own_content(self, owner: UserId, id: FileId) -> Result<Option<ContentRow>, Error> {
        self.find_content(Reader::Owner(owner), id).await
    }

    async fn find_content(self, reader: Reader<'_>, id: FileId) -> Result<Option<ContentRow>, Error> {
        Ok(match reader {
            Reader::Owner(owner) => {
                read!(self.storage, |c| sqlx::query_as(GET_CONTENT).bind(id.0).bind(owner.0).fetch_optional(c).await)
            }
            Reader::Share(token_hash) => read!(self.storage, |c| sqlx::query_as(GET_SHARED_CONTENT)
                .bind(id.0)
                .bind(token_hash)
                .fetch_optional(c)
                .await),
        }?)
    }

    /// Returns the files of a chat, oldest first.
    pub async fn list(self, owner: UserId, chat: ChatId) -> Result<Vec<StoredFile>, Error> {
        let rows =
            read!(self.storage, |c| sqlx::query_as::<_, FileRow>(LIST).bind(chat.0).bind(owner.0).fetch_all(c).await)?;
        Ok(rows.into_iter().map(StoredFile::from).collect())
    }

    /// Returns the total size of a user's files in bytes.
    pub async fn count_bytes(self, owner: UserId) -> Result<u64, Error> {
        let sum = read!(self.storage, |c| sqlx::query_scalar::<_, i64>(SUM).bind(owner.0).fetch_one(c).await)?;
        Ok(sum.unsigned_abs())
    }

    /// Deletes an unsent file. Returns whether it existed.
    pub async fn delete_unsent(self, owner: UserId, id: FileId) -> Result<bool, Error> {
        let deleted = write!(self.storage, |c| sqlx::query(DELETE_WAITING)
            .bind(id.0)
            .bind(owner.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(deleted == 1)
    }

    /// Returns a file of a shared chat and its content. The request carries no session: the token identifies the share.
    pub async fn get_shared(self, token_hash: &[u8], id: FileId) -> Result<Option<(FileRef, Vec<u8>)>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, FileRow>(GET_SHARED)
            .bind(id.0)
            .bind(token_hash)
            .fetch_optional(c)
            .await)?;
        let Some(row) = row else { return Ok(None) };
        let bytes = self.read_content(Reader::Share(token_hash), id).await?;
        Ok(bytes.map(|bytes| (StoredFile::from(row).file, bytes)))
    }

    /// Deletes unsent files from before `before`, and files without a holder. Not limited to one owner; for background
    /// jobs.
    pub async fn purge(self, before: Timestamp) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            sqlx::query(PURGE_WAITING).bind(before.0).execute(&mut *tx).await?;
            // In this order: what is left of the candidates is in use, or its chat has a running turn.
            for statement in [PURGE_ORPHANED, CLEAR_MAYBE_ORPHANED] {
                sqlx::query(statement).execute(&mut *tx).await?;
            }
            Ok(())
        })
    }
}
