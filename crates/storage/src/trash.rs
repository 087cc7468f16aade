//! Recently deleted chats. They are moved to tables that no API serves, until they are restored or deleted permanently.

use domain::{ChatId, Timestamp, UserId};

use crate::db_macros::transaction;
use crate::{ChatRepository, Error};

const RESTORE_CHAT: &str = "INSERT INTO ai_chat_sessions (id, user_id, title, created_at, updated_at)
    SELECT id, user_id, title, created_at, updated_at FROM deleted_sessions
    WHERE user_id = $1 AND id = $2 AND deleted_at >= $3";

const RESTORE_MESSAGES: &str = "INSERT INTO ai_chat_messages
      (id, session_id, role, content, tool_calls, parts, status, error, model, created_at, parent_id, inactive_since)
    SELECT id, session_id, role, content, tool_calls, parts, status, error, model, created_at, parent_id, inactive_since
    FROM deleted_messages
    WHERE user_id = $1 AND session_id = $2 ORDER BY created_at, id";

const DELETE_FROM_TRASH: &str = "DELETE FROM deleted_sessions WHERE user_id = $1 AND id = $2";

/// Deletes what belongs to chats that are about to be deleted permanently, unless a chat with the same id exists again.
macro_rules! purge_with {
    ($table:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE EXISTS (SELECT 1 FROM deleted_sessions d WHERE d.id = ",
            $table,
            ".session_id AND d.user_id = ",
            $table,
            ".user_id AND d.deleted_at < $1)
             AND NOT EXISTS (SELECT 1 FROM ai_chat_sessions s WHERE s.id = ",
            $table,
            ".session_id AND s.user_id = ",
            $table,
            ".user_id)"
        )
    };
}

// The chats themselves are last, because the other statements look for them.
const PURGE_CHATS: [&str; 3] =
    [purge_with!("chat_settings"), purge_with!("chat_shares"), "DELETE FROM deleted_sessions WHERE deleted_at < $1"];

impl ChatRepository<'_> {
    /// Restores a chat that was deleted at `since` or later, with its messages.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is none, [`Error::Conflict`] if one of its ids has been taken in the meantime.
    pub async fn restore(self, owner: UserId, chat: ChatId, since: Timestamp) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            let restored = sqlx::query(RESTORE_CHAT)
                .bind(owner.0)
                .bind(chat.0)
                .bind(since.0)
                .execute(&mut *tx)
                .await?
                .rows_affected();
            if restored == 0 {
                return Err(Error::NotFound);
            }
            sqlx::query(RESTORE_MESSAGES).bind(owner.0).bind(chat.0).execute(&mut *tx).await?;
            sqlx::query(DELETE_FROM_TRASH).bind(owner.0).bind(chat.0).execute(&mut *tx).await?;
            Ok(())
        })
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
    use crate::Storage;
    use std::collections::BTreeSet;

    use super::*;
    use crate::Db;

    #[tokio::test]
    async fn what_is_kept_aside_has_every_column_that_is_served() {
        let folder = tempfile::TempDir::new().unwrap();
        let storage = Storage::open(&format!("sqlite://{}/test.db", folder.path().display())).await.unwrap();
        let Db::Sqlite { read, .. } = &storage.db else { unreachable!("it was opened as such") };
        let columns = async |table: &'static str| -> BTreeSet<String> {
            let sql = "SELECT name FROM pragma_table_info($1)";
            sqlx::query_scalar(sql)
                .bind(table)
                .fetch_all(&mut *read.acquire().await.unwrap())
                .await
                .unwrap()
                .into_iter()
                .collect()
        };
        for (served, kept, statement) in [
            ("ai_chat_sessions", "deleted_sessions", RESTORE_CHAT),
            ("ai_chat_messages", "deleted_messages", RESTORE_MESSAGES),
        ] {
            let kept = columns(kept).await;
            for column in columns(served).await {
                assert!(kept.contains(&column), "{served}.{column} would be lost with a deleted chat");
                assert!(statement.contains(&column), "{served}.{column} does not come back");
            }
        }
    }
}
