//! Credentials for as long as the program runs.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::oauth::{CredentialOwner, CredentialStore, CredentialStoreError, Credentials};

#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<CredentialOwner, Vec<Credentials>>>);

impl Memory {
    fn sets(&self) -> MutexGuard<'_, HashMap<CredentialOwner, Vec<Credentials>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CredentialStore for Memory {
    fn load(&self, owner: CredentialOwner) -> BoxFuture<'_, Result<Vec<Credentials>, CredentialStoreError>> {
        std::future::ready(Ok(self.sets().get(&owner).cloned().unwrap_or_default())).boxed()
    }

    fn save(
        &self,
        owner: CredentialOwner,
        credentials: Credentials,
    ) -> BoxFuture<'_, Result<(), CredentialStoreError>> {
        let mut sets = self.sets();
        let sets = sets.entry(owner).or_default();
        sets.retain(|set| set.issuer() != credentials.issuer());
        // The set in use comes first, as the trait demands.
        sets.insert(0, credentials);
        std::future::ready(Ok(())).boxed()
    }

    fn delete(&self, owner: CredentialOwner) -> BoxFuture<'_, Result<(), CredentialStoreError>> {
        self.sets().remove(&owner);
        std::future::ready(Ok(())).boxed()
    }
}
