//! Credentials in memory, for tests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::oauth::{CredentialOwner, CredentialStore, CredentialStoreError, Credentials};

/// Keeps credentials as text, as a database does, for all nodes that share it.
#[derive(Debug, Default)]
pub struct Memory {
    sets: Mutex<HashMap<CredentialOwner, Vec<String>>>,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl CredentialStore for Memory {
    fn load(&self, owner: CredentialOwner) -> BoxFuture<'_, Result<Vec<Credentials>, CredentialStoreError>> {
        let sets = self.sets.lock().unwrap();
        let sets = sets.get(&owner).into_iter().flatten().map(|set| serde_json::from_str(set).unwrap()).collect();
        std::future::ready(Ok(sets)).boxed()
    }

    fn save(
        &self,
        owner: CredentialOwner,
        credentials: Credentials,
    ) -> BoxFuture<'_, Result<(), CredentialStoreError>> {
        let of = |set: &String| serde_json::from_str::<Credentials>(set).unwrap().issuer().to_owned();
        let mut sets = self.sets.lock().unwrap();
        let sets = sets.entry(owner).or_default();
        sets.retain(|set| of(set) != credentials.issuer());
        sets.insert(0, serde_json::to_string(&credentials).unwrap());
        std::future::ready(Ok(())).boxed()
    }

    fn delete(&self, owner: CredentialOwner) -> BoxFuture<'_, Result<(), CredentialStoreError>> {
        self.sets.lock().unwrap().remove(&owner);
        std::future::ready(Ok(())).boxed()
    }

    fn lock(&self, _: CredentialOwner) -> BoxFuture<'_, Result<Box<dyn Send>, CredentialStoreError>> {
        let guard = self.lock.clone().lock_owned();
        async move { Ok(Box::new(guard.await) as Box<dyn Send>) }.boxed()
    }
}
