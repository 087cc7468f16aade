//! What the server does when an account is deleted, beyond the account's own rows.

use domain::UserId;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::app::App;
use crate::auth::deletion::{AccountDeletionHandler, DeletionCleanup};

impl AccountDeletionHandler for App {
    fn stop_turns(&self, user: UserId) -> BoxFuture<'_, ()> {
        self.runs.stop_all(self, user).boxed()
    }

    fn before_deletion(&self, user: UserId) -> BoxFuture<'_, Result<DeletionCleanup, store::Error>> {
        async move {
            let authorization = self.builtin_servers.google_drive().take_authorisation(user).await?;
            let sign_ins = self.connections.take_sign_ins(user).await?;
            let app = self.clone();
            let cleanup = async move {
                app.runs.close_temporary_chats(&app, user);
                let inner = app.clone();
                // In the background, because servers of others are called and may take long to answer.
                app.tasks.spawn("leave others", async move {
                    if let Err(error) = inner.connections.reconcile(user).await {
                        tracing::error!(%error, "connections of a deleted account could not be closed");
                    }
                    inner.builtin_servers.google_drive().revoke_authorisation(user, authorization).await;
                    inner.connections.revoke_sign_ins(user, sign_ins).await;
                });
            };
            Ok(cleanup.boxed())
        }
        .boxed()
    }
}
