//! Models that users selected for a chat (`chat_settings`), and their favorite models (`model_favourites`).

use domain::{ChatId, Timestamp, UserId};

use crate::db_macros::{read, write};
use crate::{Error, ModelChoiceRepository};

const GET: &str = "SELECT k.model FROM chat_settings k
    JOIN existing_chats s ON s.id = k.session_id AND s.user_id = k.user_id
    WHERE k.user_id = $1 AND k.session_id = $2";

// The row also holds the chat's marks and settings, which stay unchanged.
pub(crate) const SET: &str = "INSERT INTO chat_settings (user_id, session_id, model)
    SELECT user_id, id, $3 FROM existing_chats WHERE user_id = $1 AND id = $2
    ON CONFLICT (user_id, session_id) DO UPDATE SET model = excluded.model";

const FAVOURITES: &str = "SELECT model FROM model_favourites WHERE user_id = $1 ORDER BY created_at, model";

const ADD: &str = "INSERT INTO model_favourites (user_id, model, created_at)
    SELECT $1, $2, $3 WHERE (SELECT COUNT(*) FROM model_favourites WHERE user_id = $1) < $4
    ON CONFLICT (user_id, model) DO NOTHING";

const REMOVE: &str = "DELETE FROM model_favourites WHERE user_id = $1 AND model = $2";

impl ModelChoiceRepository<'_> {
    /// Returns the selected model of a chat as `provider/name`, or `None` if none is selected.
    pub async fn get_of_chat(self, owner: UserId, chat: ChatId) -> Result<Option<String>, Error> {
        let row: Option<Option<String>> =
            read!(self.storage, |c| sqlx::query_scalar(GET).bind(owner.0).bind(chat.0).fetch_optional(c).await)?;
        Ok(row.flatten())
    }

    /// Selects the model of a chat, or clears the selection.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the chat does not belong to the owner.
    pub async fn set_of_chat(self, owner: UserId, chat: ChatId, model: Option<&str>) -> Result<(), Error> {
        let set = write!(self.storage, |c| sqlx::query(SET)
            .bind(owner.0)
            .bind(chat.0)
            .bind(model)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        if set == 0 { Err(Error::NotFound) } else { Ok(()) }
    }

    /// Returns the favorite models of a user, in the order in which they were added.
    pub async fn list_favourites(self, owner: UserId) -> Result<Vec<String>, Error> {
        Ok(read!(self.storage, |c| sqlx::query_scalar(FAVOURITES).bind(owner.0).fetch_all(c).await)?)
    }

    /// Adds a favorite model, unless the user already has `most`. Idempotent.
    pub async fn add_favourite(self, owner: UserId, model: &str, most: i64, now: Timestamp) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(ADD)
            .bind(owner.0)
            .bind(model)
            .bind(now.0)
            .bind(most)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }

    /// Removes a favorite model. Idempotent.
    pub async fn remove_favourite(self, owner: UserId, model: &str) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(REMOVE).bind(owner.0).bind(model).execute(c).await.map(|_| ()))?;
        Ok(())
    }
}
