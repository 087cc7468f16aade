//! OAuth client: what every step of a sign-in needs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use domain::clock::Clock;
use tokio_util::task::TaskTracker;

use super::credentials::{CredentialOwner, CredentialStore};
use super::error::CredentialStoreError;
use super::metadata::ClientMetadata;
use crate::net::GuardedHttp;

/// OAuth client that signs users in to MCP servers. Clones share it.
#[derive(Debug, Clone)]
pub struct OAuthClient(Arc<ClientState>);

#[derive(Debug)]
struct ClientState {
    http: GuardedHttp,
    metadata: ClientMetadata,
    store: Arc<dyn CredentialStore>,
    clock: Arc<dyn Clock>,
    /// Locks on the credentials of each owner, within this process.
    owner_locks: Mutex<HashMap<CredentialOwner, Weak<tokio::sync::Mutex<()>>>>,
    renewals: TaskTracker,
}

impl OAuthClient {
    /// Creates a client that reaches what `http` permits and keeps credentials in `store`.
    pub fn new(
        http: GuardedHttp,
        metadata: ClientMetadata,
        store: Arc<dyn CredentialStore>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (owner_locks, renewals) = (Mutex::default(), TaskTracker::new());
        Self(Arc::new(ClientState { http, metadata, store, clock, owner_locks, renewals }))
    }

    /// Returns the metadata of the product.
    pub fn metadata(&self) -> &ClientMetadata {
        &self.0.metadata
    }

    /// Waits for renewals in progress, so that no new token is lost.
    pub async fn close(&self) {
        self.0.renewals.close();
        self.0.renewals.wait().await;
    }

    pub(super) fn http(&self) -> &GuardedHttp {
        &self.0.http
    }

    pub(super) fn store(&self) -> &dyn CredentialStore {
        self.0.store.as_ref()
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        self.0.clock.as_ref()
    }

    /// Returns the tracker of renewals, which are not cancelled with their callers.
    pub(super) fn renewals(&self) -> &TaskTracker {
        &self.0.renewals
    }

    /// Locks the credentials of an owner, in this process and in every other that uses the store.
    pub(super) async fn lock_credentials(
        &self,
        owner: CredentialOwner,
    ) -> Result<impl Send + use<>, CredentialStoreError> {
        let lock = {
            let mut locks = self.0.owner_locks.lock().unwrap_or_else(PoisonError::into_inner);
            // Weak references, so that the map does not grow with every user who ever signed in.
            locks.retain(|_, lock| lock.strong_count() > 0);
            let lock = locks.get(&owner).and_then(Weak::upgrade).unwrap_or_default();
            locks.insert(owner, Arc::downgrade(&lock));
            lock
        };
        // The local lock first: then the store's lock is never waited for twice by one process.
        let local = lock.lock_owned().await;
        let shared = self.0.store.lock(owner).await?;
        Ok((shared, local))
    }
}
