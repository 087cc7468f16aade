//! OAuth credentials in the database: sealed, and changed by one node at a time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use domain::{Clock, ids};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::oauth::{CredentialOwner, CredentialStore, CredentialStoreError, Credentials};
use platform::{BackgroundTasks, SecretSealer};
use storage::Storage;
use storage::server_sign_ins::{Lease, ServerCredential};
use uuid::Uuid;

/// Lease of the lock on credentials, in seconds. A node that holds it longer is dead: a renewal takes at most 10 s.
const LOCK_LEASE_SECONDS: i64 = 30;
/// Interval in which a waiting node tries to take the lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of attempts to take the lock. Together they take longer than a lease.
const MAX_LOCK_ATTEMPTS: usize = 700;

/// The [`CredentialStore`] of all users.
pub struct SealedCredentials {
    storage: Storage,
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
    /// Creates a store of credentials in the database.
    pub fn new(storage: Storage, secrets: Arc<SecretSealer>, clock: Arc<dyn Clock>, tasks: BackgroundTasks) -> Self {
        Self { storage, secrets, clock, tasks }
    }

    /// Tries to take the lock on a user's credentials of a server.
    async fn try_lock(&self, owner: CredentialOwner, holder: Uuid) -> Result<bool, CredentialStoreError> {
        let now = self.clock.now();
        let lease = Lease { holder, now, until: now.plus_seconds(LOCK_LEASE_SECONDS) };
        self.storage.server_sign_ins().lock(owner.user, owner.server, lease).await.map_err(store_failed)
    }
}

impl CredentialStore for SealedCredentials {
    fn load(&self, owner: CredentialOwner) -> BoxFuture<'_, Result<Vec<Credentials>, CredentialStoreError>> {
        async move {
            let sealed = self
                .storage
                .server_sign_ins()
                .list_credentials(owner.user, owner.server)
                .await
                .map_err(store_failed)?;
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
            let context = seal_context(owner, credentials.issuer());
            let sealed = self.secrets.seal(&context, &plain).map_err(|_| unreadable())?;
            let saved = self
                .storage
                .server_sign_ins()
                .set_credential(owner.user, owner.server, credentials.issuer(), &sealed)
                .await;
            saved.map_err(store_failed)
        }
        .boxed()
    }

    fn delete(&self, owner: CredentialOwner) -> BoxFuture<'_, Result<(), CredentialStoreError>> {
        async move {
            self.storage.server_sign_ins().delete_credentials(owner.user, owner.server).await.map_err(store_failed)
        }
        .boxed()
    }

    fn lock(&self, owner: CredentialOwner) -> BoxFuture<'_, Result<Box<dyn Send>, CredentialStoreError>> {
        async move {
            let holder = ids::fresh();
            // A row with a lease in place of a database lock: no connection is held during the request to the
            // authorization server.
            for _ in 0..MAX_LOCK_ATTEMPTS {
                if self.try_lock(owner, holder).await? {
                    let (storage, tasks) = (self.storage.clone(), self.tasks.clone());
                    return Ok(Box::new(LockGuard { storage, tasks, owner, holder }) as Box<dyn Send>);
                }
                tokio::time::sleep(LOCK_RETRY_INTERVAL).await;
            }
            Err(CredentialStoreError("they are being changed elsewhere".to_owned()))
        }
        .boxed()
    }
}

/// A held lock. It is released when it is dropped.
struct LockGuard {
    storage: Storage,
    tasks: BackgroundTasks,
    owner: CredentialOwner,
    holder: Uuid,
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        // `drop` cannot wait. Until the task has run, or if it fails, the lease ends the lock.
        let (storage, owner, holder) = (self.storage.clone(), self.owner, self.holder);
        self.tasks.spawn("unlock credentials", async move {
            if let Err(error) = storage.server_sign_ins().unlock(owner.user, owner.server, holder).await {
                tracing::warn!(%error, "could not release the lock on credentials; it expires by itself");
            }
        });
    }
}

/// Opens what [`SealedCredentials`] has sealed.
pub fn open(
    secrets: &SecretSealer,
    owner: CredentialOwner,
    sealed: &ServerCredential,
) -> Result<Credentials, CredentialStoreError> {
    let plain = secrets.open(&seal_context(owner, &sealed.issuer), &sealed.secret).map_err(|_| unreadable())?;
    serde_json::from_slice(&plain).map_err(|_| unreadable())
}

/// Returns the context that sealed credentials are bound to.
fn seal_context(owner: CredentialOwner, issuer: &str) -> String {
    format!("server_credentials/secret/{}/{}/{issuer}", owner.user, owner.server)
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn store_failed(error: storage::Error) -> CredentialStoreError {
    tracing::error!(%error, "could not read or write credentials");
    CredentialStoreError("the database failed".to_owned())
}

fn unreadable() -> CredentialStoreError {
    CredentialStoreError("they cannot be opened with this master key".to_owned())
}
