//! Account deletion.

use domain::UserId;
use futures_util::future::BoxFuture;
use platform::UserEvent;

use super::AccountService;
use storage::audit_events::{AuditActor, AuditEventKind};

/// Error of [`AccountService::delete_account`].
#[derive(Debug, thiserror::Error)]
pub enum DeletionError {
    /// The typed address differs from the account's.
    #[error("This is not the email address of the account.")]
    EmailMismatch,
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

/// Handler of account deletions in services that depend on this one. It stops the user's turns, closes connections and
/// revokes the access that the user granted to this server at other services.
pub trait AccountDeletionHandler: std::fmt::Debug + Send + Sync {
    /// Stops the user's turns.
    fn stop_turns(&self, user: UserId) -> BoxFuture<'_, ()>;

    /// Reads the data that the [`DeletionCleanup`] needs, before the account's rows are deleted.
    fn before_deletion(&self, user: UserId) -> BoxFuture<'_, Result<DeletionCleanup, storage::Error>>;
}

/// Remaining work of an [`AccountDeletionHandler`] after the account's rows are deleted.
pub type DeletionCleanup = BoxFuture<'static, ()>;

impl AccountService {
    /// Deletes the user's own account if `typed_email` is its address. For anonymous users, who have no address, it has
    /// to be empty.
    ///
    /// # Errors
    ///
    /// [`DeletionError::EmailMismatch`], or a failure of the database.
    pub async fn delete_account(
        &self,
        user: UserId,
        typed_email: &str,
        handler: &dyn AccountDeletionHandler,
    ) -> Result<(), DeletionError> {
        let Some(account) = self.storage.users().get(user).await? else { return Ok(()) };
        if typed_email.trim().to_ascii_lowercase() != account.email.unwrap_or_default() {
            return Err(DeletionError::EmailMismatch);
        }
        Ok(self.remove_account_as(AuditActor::User, user, handler).await?)
    }

    /// Deletes an account on behalf of an administrator, and everything that belongs to it. Tokens and event streams end at once. Safe to repeat.
    ///
    /// # Errors
    ///
    /// A failure of the database.
    pub async fn remove_account(
        &self,
        user: UserId,
        handler: &dyn AccountDeletionHandler,
    ) -> Result<(), storage::Error> {
        self.remove_account_as(AuditActor::Admin, user, handler).await
    }

    async fn remove_account_as(
        &self,
        actor: AuditActor,
        user: UserId,
        handler: &dyn AccountDeletionHandler,
    ) -> Result<(), storage::Error> {
        handler.stop_turns(user).await;
        let cleanup = handler.before_deletion(user).await?;
        self.storage.users().delete(user, &self.audit(user, actor, AuditEventKind::AccountDeleted)).await?;
        // Again, for turns that started in the meantime. Their chats are deleted, so they could not store anything.
        handler.stop_turns(user).await;
        cleanup.await;
        self.events.publish(user, &UserEvent::Devices);
        self.events.disconnect(user);
        Ok(())
    }
}
