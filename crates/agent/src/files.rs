//! Files of users and of answers: which are accepted, where they are stored, and how models receive them.

pub mod file_type;
pub mod model_attachments;
pub mod object_deletion;
pub mod result_offload;

use std::sync::Arc;

use domain::file::FileRef;
use domain::model::BYTES_PER_MEBIBYTE;
use domain::text::is_invisible;
use domain::{ChatId, Clock, FileId, UserId};
use storage::Storage;
use storage::files::{NewFile, StoredFile};

use crate::chats::temporary::TemporaryChats;
use crate::models::quota::QuotaService;
use file_type::FileType;

/// Maximum size of an uploaded file, in bytes.
pub const MAX_UPLOAD_BYTES: usize = 10 * 1024 * 1024;
/// Maximum size of all files of a temporary chat, in bytes. Its in-memory database is limited to 32 MiB.
const TEMPORARY_QUOTA_BYTES: u64 = 24 * BYTES_PER_MEBIBYTE;
/// Time in seconds after which an uploaded file is deleted if no message refers to it.
pub const UNUSED_UPLOAD_TTL_SECONDS: i64 = 24 * 3600;
/// Maximum length of a file name, in characters.
const MAX_NAME_CHARS: usize = 200;

/// Reason for which a file was not stored.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file has no content.
    #[error("the file is empty")]
    Empty,
    /// The type is not supported.
    #[error("this kind of file cannot be attached; images (PNG, JPEG, WebP, GIF), PDF and UTF-8 text are supported")]
    Kind,
    /// The user's quota for files is used up. The quota in MiB is given.
    #[error(
        "there is no room for the file: yours may come to {0} MiB together. Delete chats that have files, and try again"
    )]
    Full(u64),
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

/// Storage of users' files, within each user's quota.
#[derive(Debug, Clone)]
pub struct FileService {
    storage: Storage,
    temporary: TemporaryChats,
    clock: Arc<dyn Clock>,
    quotas: QuotaService,
}

impl FileService {
    /// Creates the service.
    pub fn new(storage: Storage, temporary: TemporaryChats, clock: Arc<dyn Clock>, quotas: QuotaService) -> Self {
        Self { storage, temporary, clock, quotas }
    }

    /// Returns the quota for all files of a user in a store, in bytes.
    ///
    /// # Errors
    ///
    /// Fails if the database fails.
    pub async fn quota_bytes(&self, owner: UserId, storage: &Storage) -> Result<u64, storage::Error> {
        if storage.is_lasting() { self.quotas.get_stored_bytes(owner).await } else { Ok(TEMPORARY_QUOTA_BYTES) }
    }

    /// Stores an uploaded file until a message refers to it, in the store of the temporary chat that it is for, if it
    /// is for one. The type is detected from the bytes; the client's media type, the second of the pair, only
    /// distinguishes types of text.
    ///
    /// # Errors
    ///
    /// See [`FileError`].
    pub async fn store_upload(
        &self,
        owner: UserId,
        chat: Option<ChatId>,
        (name, declared_type): (Option<&str>, Option<&str>),
        bytes: &[u8],
    ) -> Result<FileRef, FileError> {
        if bytes.is_empty() {
            return Err(FileError::Empty);
        }
        let file_type = FileType::of(bytes).ok_or(FileError::Kind)?;
        let name = name.map(clean_name).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| format!("file.{}", file_type.ending()));
        // A file for a temporary chat must not reach the disk.
        let storage = chat.map_or_else(|| self.storage.clone(), |chat| self.temporary.store_for(owner, chat));
        let (id, media_type) = (FileId::fresh(), file_type.media_type(declared_type));
        let file = NewFile { id, media_type, name: Some(&name), bytes };
        let quota = self.quota_bytes(owner, &storage).await?;
        if !storage.files().insert(owner, &file, quota, self.clock.now()).await? {
            return Err(FileError::Full(quota / BYTES_PER_MEBIBYTE));
        }
        Ok(FileRef { media_type: media_type.to_owned(), filename: Some(name), id, size: bytes.len() as u64 })
    }

    /// Returns a user's [file](StoredFile) and the store that contains it.
    ///
    /// # Errors
    ///
    /// Fails if the database fails.
    pub async fn find(&self, owner: UserId, id: FileId) -> Result<Option<(Storage, StoredFile)>, storage::Error> {
        // Temporary chats first: they are few and in memory.
        for storage in self.temporary.stores(owner).into_iter().chain([self.storage.clone()]) {
            if let Some(file) = storage.files().get(owner, id).await? {
                return Ok(Some((storage, file)));
            }
        }
        Ok(None)
    }
}

/// Returns a file that a message of a chat may refer to: one that was uploaded and not used yet, or one of the same
/// chat.
pub async fn for_message(
    home: &Storage,
    owner: UserId,
    chat: ChatId,
    id: FileId,
) -> Result<Option<FileRef>, storage::Error> {
    let known = home.files().get(owner, id).await?;
    Ok(known.filter(|known| known.chat.is_none_or(|of| of == chat)).map(|known| known.file))
}

/// Returns a file name that is safe to display and to use in a header: the last component of a path, without control
/// and invisible characters.
fn clean_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown = last.chars().filter(|one| !one.is_control() && !is_invisible(*one)).take(MAX_NAME_CHARS);
    shown.collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_last_part_of_a_path_as_it_can_be_seen() {
        for (name, want) in [
            ("a.png", "a.png"),
            ("../../etc/passwd", "passwd"),
            ("C:\\pictures\\a b.png", "a b.png"),
            (" \u{202e}gnp.a\r\n\u{0} ", "gnp.a"),
            ("日本.md", "日本.md"),
            ("/", ""),
        ] {
            assert_eq!(clean_name(name), want);
        }
        assert_eq!(clean_name(&"x".repeat(9_000)).len(), MAX_NAME_CHARS);
    }
}
