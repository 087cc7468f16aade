//! The end of an account.

use domain::UserId;

use super::Auth;
use crate::app::App;
use platform::UserEvent;

/// Why an account was not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// What was typed is not the address of the account.
    #[error("this is not the e-mail address of the account")]
    AnotherAddress,
    /// The database.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Auth {
    /// Deletes the account of the person who asks, with everything that belongs to it, if they have typed its address;
    /// an anonymous person has none to type.
    pub async fn delete_account(&self, app: &App, owner: UserId, typed: &str) -> Result<(), DeleteError> {
        let Some(user) = app.store.get_user(owner).await? else { return Ok(()) };
        if typed.trim().to_ascii_lowercase() != user.email.unwrap_or_default() {
            return Err(DeleteError::AnotherAddress);
        }
        Ok(self.remove_account(app, owner).await?)
    }

    /// Deletes an account with everything that belongs to it. Tokens and open pages end at once. Safe to repeat.
    pub async fn remove_account(&self, app: &App, owner: UserId) -> Result<(), store::Error> {
        app.runs.stop_all(owner).await;
        let authorisation = app.builtin_servers.google_drive().take_authorisation(owner).await?;
        let sign_ins = app.connections.take_sign_ins(owner).await?;
        app.store.delete_user(owner).await?;
        app.runs.close_temporary_chats(owner);
        // A turn that began between the two has no row to write to any more.
        app.runs.stop_all(owner).await;
        app.events.publish(owner, &UserEvent::Devices);
        app.events.disconnect(owner);
        let inner = app.clone();
        app.tasks.spawn("leave others", async move {
            if let Err(error) = inner.connections.reconcile(owner).await {
                tracing::error!(%error, "connections of a deleted account could not be closed");
            }
            inner.builtin_servers.google_drive().revoke_authorisation(owner, authorisation).await;
            inner.connections.revoke_sign_ins(owner, sign_ins).await;
        });
        Ok(())
    }
}
