//! Marks of chats: pinned, archived (`chat_settings`).

use domain::{ChatId, Timestamp, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::db_macros::{read, transaction};
use crate::{ChatSettingsRepository, Error};

/// The marks of a chat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChatMarks {
    /// Whether the chat is listed before the others.
    pub pinned: bool,
    /// Whether the chat is hidden from the list.
    pub archived: bool,
}

/// A change of [`ChatMarks`]. `None` leaves a mark unchanged.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChatMarksChange {
    /// New value of [`ChatMarks::pinned`].
    pub pinned: Option<bool>,
    /// New value of [`ChatMarks::archived`].
    pub archived: Option<bool>,
}

#[derive(sqlx::FromRow)]
struct MarkRow {
    session_id: Uuid,
    pinned_at: Option<i64>,
    archived_at: Option<i64>,
}

const LIST_MARKS: &str = "SELECT k.session_id, k.pinned_at, k.archived_at FROM chat_settings k
    JOIN existing_chats s ON s.id = k.session_id AND s.user_id = k.user_id
    WHERE k.user_id = $1 AND (k.pinned_at IS NOT NULL OR k.archived_at IS NOT NULL)";

const GET_MARKS: &str =
    "SELECT session_id, pinned_at, archived_at FROM chat_settings WHERE user_id = $1 AND session_id = $2";

// The row also holds the chat's model and settings, which stay unchanged.
pub(crate) const SET_MARKS: &str = "INSERT INTO chat_settings (user_id, session_id, pinned_at, archived_at)
    SELECT user_id, id, $3, $4 FROM existing_chats WHERE user_id = $1 AND id = $2
    ON CONFLICT (user_id, session_id) DO UPDATE SET pinned_at = excluded.pinned_at, archived_at = excluded.archived_at";

impl ChatSettingsRepository<'_> {
    /// Returns the chats of a user that have marks.
    pub async fn list(self, owner: UserId) -> Result<Vec<(ChatId, ChatMarks)>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, MarkRow>(LIST_MARKS).bind(owner.0).fetch_all(c).await)?;
        let marks = |row: MarkRow| {
            let marks = ChatMarks { pinned: row.pinned_at.is_some(), archived: row.archived_at.is_some() };
            (ChatId(row.session_id), marks)
        };
        Ok(rows.into_iter().map(marks).collect())
    }

    /// Returns the marks of a chat.
    pub async fn get(self, owner: UserId, chat: ChatId) -> Result<ChatMarks, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, MarkRow>(GET_MARKS)
            .bind(owner.0)
            .bind(chat.0)
            .fetch_optional(c)
            .await)?;
        Ok(row.map_or_else(ChatMarks::default, |row| ChatMarks {
            pinned: row.pinned_at.is_some(),
            archived: row.archived_at.is_some(),
        }))
    }

    /// Changes the marks of a chat and returns the new ones.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the chat does not belong to the owner.
    pub async fn set(
        self,
        owner: UserId,
        chat: ChatId,
        change: ChatMarksChange,
        now: Timestamp,
    ) -> Result<ChatMarks, Error> {
        // Setting a mark again keeps the time at which it was first set.
        let at = |wanted: Option<bool>, since: Option<i64>| match wanted {
            None => since,
            Some(true) => since.or(Some(now.0)),
            Some(false) => None,
        };
        transaction!(self.storage, |tx| {
            let row =
                sqlx::query_as::<_, MarkRow>(GET_MARKS).bind(owner.0).bind(chat.0).fetch_optional(&mut *tx).await?;
            let (pinned, archived) = row.map_or((None, None), |row| (row.pinned_at, row.archived_at));
            let (pinned, archived) = (at(change.pinned, pinned), at(change.archived, archived));
            let set = sqlx::query(SET_MARKS)
                .bind(owner.0)
                .bind(chat.0)
                .bind(pinned)
                .bind(archived)
                .execute(&mut *tx)
                .await?
                .rows_affected();
            if set == 0 {
                return Err(Error::NotFound);
            }
            Ok(ChatMarks { pinned: pinned.is_some(), archived: archived.is_some() })
        })
    }
}
