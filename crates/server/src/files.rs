//! Files of users and of answers: which are accepted, where they are stored, and how models receive them.

pub mod kind;
pub mod results;
pub mod sight;

use domain::file::FileRef;
use domain::text::is_invisible;
use domain::{ChatId, FileId, UserId};
use store::Store;
use store::files::{NewFile, StoredFile};

use crate::app::App;
use kind::Kind;

/// Maximum size of an uploaded file, in bytes.
pub const LARGEST: usize = 10 * 1024 * 1024;
/// Maximum size of all files of a temporary chat, in bytes. Its in-memory database is limited to 32 MiB.
const IN_MEMORY: u64 = 24 * MEBIBYTE;
/// Bytes of one mebibyte.
pub const MEBIBYTE: u64 = 1024 * 1024;
/// Time in seconds after which an uploaded file is deleted if no message refers to it.
pub const WAITS: i64 = 24 * 3600;
/// Maximum length of a file name, in characters.
const NAME: usize = 200;

/// Reason for which a file was not stored.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file has no content.
    #[error("the file is empty")]
    Empty,
    /// The type is not supported.
    #[error("this kind of file cannot be attached; pictures (PNG, JPEG, WebP, GIF), PDF and text in UTF-8 can")]
    Kind,
    /// The user's quota for files is used up. The quota in MiB is given.
    #[error(
        "there is no room for the file: yours may come to {0} MiB together. Delete chats that have files, and try again"
    )]
    Full(u64),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Returns the quota for all files of a user in a store, in bytes.
pub fn room(app: &App, home: &Store) -> u64 {
    if home.is_lasting() { app.config.limits.files_bytes as u64 } else { IN_MEMORY }
}

/// Stores an uploaded file until a message refers to it, in the store of the temporary chat that it is for, if it is
/// for one. The type is detected from the bytes; the client's media type, the second of the pair, only distinguishes
/// types of text.
///
/// # Errors
///
/// See [`FileError`].
pub async fn keep(
    app: &App,
    owner: UserId,
    chat: Option<ChatId>,
    (name, said): (Option<&str>, Option<&str>),
    bytes: &[u8],
) -> Result<FileRef, FileError> {
    if bytes.is_empty() {
        return Err(FileError::Empty);
    }
    let kind = Kind::of(bytes).ok_or(FileError::Kind)?;
    let name = name.map(clean_name).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| format!("file.{}", kind.ending()));
    // A file for a temporary chat must not reach the disk.
    let home = chat.map_or_else(|| app.store.clone(), |chat| app.home(owner, chat));
    let (id, media_type) = (FileId::fresh(), kind.media_type(said));
    let file = NewFile { id, media_type, name: Some(&name), bytes };
    let most = room(app, &home);
    if !home.insert_file(owner, &file, most, app.clock.now()).await? {
        return Err(FileError::Full(most / MEBIBYTE));
    }
    Ok(FileRef { media_type: media_type.to_owned(), filename: Some(name), id, size: bytes.len() as u64 })
}

/// Returns a user's [file](StoredFile) and the store that contains it.
pub async fn find(app: &App, owner: UserId, id: FileId) -> Result<Option<(Store, StoredFile)>, store::Error> {
    // Temporary chats first: they are few and in memory.
    for home in app.temporary.homes(owner).into_iter().chain([app.store.clone()]) {
        if let Some(file) = home.get_file(owner, id).await? {
            return Ok(Some((home, file)));
        }
    }
    Ok(None)
}

/// Returns a file that a message of a chat may refer to: one that was uploaded and not used yet, or one of the same
/// chat.
pub async fn for_message(
    home: &Store,
    owner: UserId,
    chat: ChatId,
    id: FileId,
) -> Result<Option<FileRef>, store::Error> {
    let known = home.get_file(owner, id).await?;
    Ok(known.filter(|known| known.chat.is_none_or(|of| of == chat)).map(|known| known.file))
}

/// Returns a file name that is safe to display and to use in a header: the last component of a path, without control
/// and invisible characters.
fn clean_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown = last.chars().filter(|one| !one.is_control() && !is_invisible(*one)).take(NAME);
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
        assert_eq!(clean_name(&"x".repeat(9_000)).len(), NAME);
    }
}
