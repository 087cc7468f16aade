//! Files beside chats: which are taken, where they are, and what a model gets of them.

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

/// Bytes of a file that a person brings.
pub const LARGEST: usize = 10 * 1024 * 1024;
/// Bytes of all files of a temporary chat, whose database has 32 MiB of memory.
const IN_MEMORY: u64 = 24 * MEBIBYTE;
/// In bytes.
pub const MEBIBYTE: u64 = 1024 * 1024;
/// Seconds for which a file waits for its message.
pub const WAITS: i64 = 24 * 3600;
/// Characters of a name.
const NAME: usize = 200;

/// Why a file is not kept.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// It is of a kind that nothing here can do anything with.
    #[error("this kind of file cannot be attached; pictures (PNG, JPEG, WebP, GIF), PDF and text in UTF-8 can")]
    Kind,
    /// The person's files come to as much as they may, in MiB.
    #[error(
        "there is no room for the file: yours may come to {0} MiB together. Delete chats that have files, and try again"
    )]
    Full(u64),
    /// The database.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// How many bytes the files in a place may come to.
pub fn room(app: &App, home: &Store) -> u64 {
    if home.is_lasting() { app.config.limits.files_bytes as u64 } else { IN_MEMORY }
}

/// Keeps what a person brings until it is sent, in the temporary chat that it is for, if it is for one. What it is, is told
/// by its bytes; `said` is what its sender takes it for.
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
    let home = chat.map_or_else(|| app.store.clone(), |chat| app.home(owner, chat));
    let (id, media_type) = (FileId::fresh(), kind.media_type(said));
    let file = NewFile { id, media_type, name: Some(&name), bytes };
    let most = room(app, &home);
    if !home.insert_file(owner, &file, most, app.clock.now()).await? {
        return Err(FileError::Full(most / MEBIBYTE));
    }
    Ok(FileRef { media_type: media_type.to_owned(), filename: Some(name), id, size: bytes.len() as u64 })
}

/// A file of a person's, and where it is.
pub async fn find(app: &App, owner: UserId, id: FileId) -> Result<Option<(Store, StoredFile)>, store::Error> {
    for home in app.temporary.homes(owner).into_iter().chain([app.store.clone()]) {
        if let Some(file) = home.get_file(owner, id).await? {
            return Ok(Some((home, file)));
        }
    }
    Ok(None)
}

/// A file that a message in a chat may name: one that waits where the chat is kept, or one of the chat's own.
pub async fn for_message(
    home: &Store,
    owner: UserId,
    chat: ChatId,
    id: FileId,
) -> Result<Option<FileRef>, store::Error> {
    let known = home.get_file(owner, id).await?;
    Ok(known.filter(|known| known.chat.is_none_or(|of| of == chat)).map(|known| known.file))
}

/// A name as it can be shown and written into a header: the last part of a path, without what cannot be seen.
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
