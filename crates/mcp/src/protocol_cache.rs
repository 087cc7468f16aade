//! Cache of the protocol family per server address, which saves a failed discovery at each connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use crate::server_info::ProtocolFamily;

/// A full cache is cleared: each address is found again with one request.
const MAX_CACHED_ADDRESSES: usize = 4096;
/// Bounds the time until an upgraded server is noticed that still accepts the old handshake.
const ENTRY_LIFETIME: Duration = Duration::from_hours(1);

/// Cache of protocol families. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProtocolCache(Arc<Mutex<HashMap<String, (ProtocolFamily, Instant)>>>);

impl ProtocolCache {
    /// Returns the family of the server at `url`, unless the entry has expired.
    pub(crate) fn get(&self, url: &Url) -> Option<ProtocolFamily> {
        let now = Instant::now();
        self.with_entries(|entries| {
            let fresh = entries.get(&cache_key(url)).filter(|(_, since)| now - *since < ENTRY_LIFETIME);
            fresh.map(|(protocol, _)| *protocol)
        })
    }

    /// Records the family of the server at `url`.
    pub(crate) fn insert(&self, url: &Url, protocol: ProtocolFamily) {
        let now = Instant::now();
        self.with_entries(|entries| {
            if entries.len() >= MAX_CACHED_ADDRESSES {
                entries.clear();
            }
            // A fresh entry keeps its age, so that frequent use does not postpone the next discovery forever.
            match entries.get_mut(&cache_key(url)).filter(|(_, since)| now - *since < ENTRY_LIFETIME) {
                Some(entry) => entry.0 = protocol,
                None => drop(entries.insert(cache_key(url), (protocol, now))),
            }
        });
    }

    /// Removes the entry of the server at `url`.
    pub(crate) fn remove(&self, url: &Url) {
        self.with_entries(|entries| entries.remove(&cache_key(url)));
    }

    fn with_entries<T>(&self, work: impl FnOnce(&mut HashMap<String, (ProtocolFamily, Instant)>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the address without its query, which may hold a secret.
fn cache_key(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn entries_expire_even_when_used() {
        let (cache, url) = (ProtocolCache::default(), "https://a.example/mcp?key=1".parse().unwrap());
        cache.insert(&url, ProtocolFamily::Legacy);
        assert_eq!(cache.get(&"https://a.example/mcp?key=2".parse().unwrap()), Some(ProtocolFamily::Legacy));
        assert_eq!(cache.get(&"https://a.example/other".parse().unwrap()), None);
        tokio::time::advance(ENTRY_LIFETIME / 2).await;
        cache.insert(&url, ProtocolFamily::Legacy);
        tokio::time::advance(ENTRY_LIFETIME / 2).await;
        assert_eq!(cache.get(&url), None, "use does not extend the lifetime");
        cache.insert(&url, ProtocolFamily::Modern);
        cache.remove(&url);
        assert_eq!(cache.get(&url), None);
    }
}
