//! Recently deleted chats. A deleted chat keeps its row and its messages until it is restored or deleted permanently.
//!
//! Statements read the view `existing_chats`, in which deleted chats are missing, and messages only in a join with it.
//! Only the statements here, and the deletion in the crate `postgrest`, name deleted rows.

use domain::{ChatId, Timestamp, UserId};

use crate::db_macros::{transaction, write};
use crate::{ChatRepository, Error};

const RESTORE_CHAT: &str = "UPDATE ai_chat_sessions SET deleted_at = NULL
    WHERE user_id = $1 AND id = $2 AND deleted_at >= $3";

/// Permanently deletes the deleted chat `$2` of the user `$1`, because its id is used again. More conditions can be
/// appended.
pub const PURGE_CHAT: &str = "DELETE FROM ai_chat_sessions WHERE user_id = $1 AND id = $2 AND deleted_at IS NOT NULL";

/// Permanently deletes the message `$2` of a deleted chat of the user `$1`, because its id is used again. More
/// conditions can be appended.
pub const PURGE_MESSAGE: &str = "DELETE FROM ai_chat_messages
    WHERE id = $2 AND session_id IN (SELECT id FROM ai_chat_sessions WHERE user_id = $1 AND deleted_at IS NOT NULL)";

/// Deletes what belongs to chats that are about to be deleted permanently.
macro_rules! purge_with {
    ($table:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE EXISTS (SELECT 1 FROM ai_chat_sessions s WHERE s.id = ",
            $table,
            ".session_id AND s.user_id = ",
            $table,
            ".user_id AND s.deleted_at < $1)"
        )
    };
}

// The chats themselves are last, because the other statements look for them.
const PURGE_CHATS: [&str; 3] =
    [purge_with!("chat_settings"), purge_with!("chat_shares"), "DELETE FROM ai_chat_sessions WHERE deleted_at < $1"];

impl ChatRepository<'_> {
    /// Restores a chat that was deleted at `since` or later, with its messages.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is none.
    pub async fn restore(self, owner: UserId, chat: ChatId, since: Timestamp) -> Result<(), Error> {
        let restored = write!(self.storage, |c| sqlx::query(RESTORE_CHAT)
            .bind(owner.0)
            .bind(chat.0)
            .bind(since.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        if restored == 0 { Err(Error::NotFound) } else { Ok(()) }
    }

    /// Permanently deletes the chats that were deleted before `before`. Not limited to one owner; for background jobs.
    pub async fn purge_deleted(self, before: Timestamp) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            for statement in PURGE_CHATS {
                sqlx::query(statement).bind(before.0).execute(&mut *tx).await?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    fn source_files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { source_files(&path) } else { vec![path] }).collect()
    }

    /// Returns the statement, or the part of it, that follows in the source: up to the end of the string literal.
    fn statement(text: &str) -> &str {
        text.split_once('"').map_or(text, |(statement, _)| statement)
    }

    // New statements must not see deleted chats, so that the table is read here and in `soft_delete` only.
    #[test]
    fn no_other_statement_sees_deleted_chats() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let files = [crates.join("storage/src"), crates.join("postgrest/src")];
        for path in files.iter().flat_map(|folder| source_files(folder)) {
            // The rows that cannot be read are counted in deleted chats, too.
            let allowed = ["storage/src/trash.rs", "storage/src/unreadable.rs", "postgrest/src/soft_delete.rs"];
            if allowed.iter().any(|file| path.ends_with(file)) {
                continue;
            }
            let source = fs::read_to_string(&path).unwrap();
            for (start, _) in source.match_indices("ai_chat_sessions") {
                let before = source[..start].trim_end();
                assert!(
                    !["FROM", "JOIN", ","].iter().any(|word| before.ends_with(word)),
                    "{} reads `ai_chat_sessions` in place of `existing_chats`",
                    path.display()
                );
                assert!(
                    !before.ends_with("UPDATE") || statement(&source[start..]).contains("deleted_at IS NULL"),
                    "{} changes deleted chats",
                    path.display()
                );
            }
            // A message is reached through its chat. Holders of files are compared by id, whatever chat they are in.
            for (start, _) in source.match_indices("FROM ai_chat_messages") {
                let from = source[..start].rfind("const ").unwrap_or(0);
                let to = source[start..].find(";\n").map_or(source.len(), |end| start + end);
                assert!(
                    ["existing_chats", "WHERE session_id = $1)"].iter().any(|chat| source[from..to].contains(chat)),
                    "{} reads messages without their chat",
                    path.display()
                );
            }
        }
    }
}
