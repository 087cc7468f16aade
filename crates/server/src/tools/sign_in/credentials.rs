//! Where credentials are kept: sealed in the database, and changed by one node at a time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use domain::{Clock, ids};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::oauth::{CredentialOwner, CredentialStore, CredentialStoreError, Credentials};
use store::Store;
use store::server_sign_ins::{Lease, ServerCredential};
use uuid::Uuid;

use platform::BackgroundTasks;
use platform::SecretSealer;

/// A node that holds the lock longer is gone, in seconds. A renewal takes 10 s at most.
const LEASE: i64 = 30;
/// How often it is looked whether the lock is free.
const LOOK: Duration = Duration::from_millis(50);
/// How often it is looked at most: longer than a lease lasts.
const LOOKS: usize = 700;

/// The sealed credentials of everybody.
pub struct SealedCredentials {
    store: Store,
    secrets: Arc<SecretSealer>,
    clock: Arc<dyn Clock>,
    tasks: BackgroundTasks,
}

impl fmt::Debug for SealedCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealedCredentials")
    }
}

impl SealedCredentials {
    /// Keeps them in `store`.
    pub fn new(store: Store, secrets: Arc<SecretSealer>, clock: Arc<dyn Clock>, tasks: BackgroundTasks) -> Self {
        Self { store, secrets, clock, tasks }
    }

    async fn try_lock(&self, owner: CredentialOwner, holder: Uuid) -> Result<bool, CredentialStoreError> {
        let now = self.clock.now();
        let lease = Lease { holder, now, until: now.plus_seconds(LEASE) };
        self.store.lock_server_credentials(owner.user, owner.server, lease).await.map_err(failed)
    }
}

impl CredentialStore for SealedCredentials {
    fn load(&self, owner: CredentialOwner) -> BoxFuture<'_, Result<Vec<Credentials>, CredentialStoreError>> {
        async move {
            let sealed = self.store.list_server_credentials(owner.user, owner.server).await.map_err(failed)?;
            sealed.iter().map(|sealed| open(&self.secrets, owner, sealed)).collect()
        }
        .boxed()
    }

    fn save(
        &self,
        owner: CredentialOwner,
        credentials: Credentials,
    ) -> BoxFuture<'_, Result<(), CredentialStoreError>> {
        async move {
            let plain = serde_json::to_vec(&credentials).map_err(|_| unreadable())?;
            let place = place(owner, credentials.issuer());
            let sealed = self.secrets.seal(&place, &plain).map_err(|_| unreadable())?;
            let saved = self.store.set_server_credential(owner.user, owner.server, credentials.issuer(), &sealed).await;
            saved.map_err(failed)
        }
        .boxed()
    }

    fn delete(&self, owner: CredentialOwner) -> BoxFuture<'_, Result<(), CredentialStoreError>> {
        async move { self.store.delete_server_credentials(owner.user, owner.server).await.map_err(failed) }.boxed()
    }

    fn lock(&self, owner: CredentialOwner) -> BoxFuture<'_, Result<Box<dyn Send>, CredentialStoreError>> {
        async move {
            let holder = ids::fresh();
            for _ in 0..LOOKS {
                if self.try_lock(owner, holder).await? {
                    let (store, tasks) = (self.store.clone(), self.tasks.clone());
                    return Ok(Box::new(Held { store, tasks, owner, holder }) as Box<dyn Send>);
                }
                tokio::time::sleep(LOOK).await;
            }
            Err(CredentialStoreError("somebody else is changing them".to_owned()))
        }
        .boxed()
    }
}

/// The lock; given back when it is dropped.
struct Held {
    store: Store,
    tasks: BackgroundTasks,
    owner: CredentialOwner,
    holder: Uuid,
}

impl Drop for Held {
    fn drop(&mut self) {
        let (store, owner, holder) = (self.store.clone(), self.owner, self.holder);
        self.tasks.spawn("unlock credentials", async move {
            if let Err(error) = store.unlock_server_credentials(owner.user, owner.server, holder).await {
                tracing::warn!(%error, "a lock on credentials was not given back; it ends by itself");
            }
        });
    }
}

/// Opens a sealed set.
pub fn open(
    secrets: &SecretSealer,
    owner: CredentialOwner,
    sealed: &ServerCredential,
) -> Result<Credentials, CredentialStoreError> {
    let plain = secrets.open(&place(owner, &sealed.issuer), &sealed.secret).map_err(|_| unreadable())?;
    serde_json::from_slice(&plain).map_err(|_| unreadable())
}

fn place(owner: CredentialOwner, issuer: &str) -> String {
    format!("server_credentials/secret/{}/{}/{issuer}", owner.user, owner.server)
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn failed(error: store::Error) -> CredentialStoreError {
    tracing::error!(%error, "credentials could not be read or written");
    CredentialStoreError("the database failed".to_owned())
}

fn unreadable() -> CredentialStoreError {
    CredentialStoreError("they cannot be opened with this master key".to_owned())
}
