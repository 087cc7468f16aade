//! Attachments of messages that are not sent yet.

use domain::attachment::Attachment;
use domain::{AttachmentId, Timestamp, UserId};

use crate::db_macros::{read, transaction};
use crate::{AttachmentRepository, Error, JsonText};

/// Maximum number of unsent attachments per user. Beyond it the oldest are deleted.
const MAX_UNSENT: i64 = 32;

const INSERT: &str = "INSERT INTO attachments (id, user_id, attachment, created_at) VALUES ($1, $2, $3, $4)";

const TRIM: &str = "DELETE FROM attachments WHERE user_id = $1 AND id NOT IN
    (SELECT id FROM attachments WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2)";

const GET: &str = "SELECT attachment FROM attachments WHERE id = $1 AND user_id = $2";

pub(crate) const DELETE: &str = "DELETE FROM attachments WHERE id = $1 AND user_id = $2";

impl AttachmentRepository<'_> {
    /// Stores an attachment until its message is sent. Deletes the oldest ones if the user has too many.
    pub async fn insert(self, owner: UserId, attachment: &Attachment, now: Timestamp) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            sqlx::query(INSERT)
                .bind(attachment.id.0)
                .bind(owner.0)
                .bind(JsonText(attachment))
                .bind(now.0)
                .execute(&mut *tx)
                .await?;
            sqlx::query(TRIM).bind(owner.0).bind(MAX_UNSENT).execute(&mut *tx).await?;
            Ok(())
        })
    }

    /// Returns an unsent attachment.
    pub async fn get(self, owner: UserId, id: AttachmentId) -> Result<Option<Attachment>, Error> {
        let row: Option<(JsonText<Attachment>,)> =
            read!(self.storage, |c| sqlx::query_as(GET).bind(id.0).bind(owner.0).fetch_optional(c).await)?;
        Ok(row.map(|(attachment,)| attachment.0))
    }
}
