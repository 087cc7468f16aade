//! Icons of servers, tools, prompts and resources, cached for all users.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::Timestamp;
use mcp::{IconError, IconImage};
use storage::servers::Server;
use url::Url;

use super::ConnectionService;

/// Maximum number of cached icons.
const MAX_ICONS: usize = 128;
/// Time after which an icon or a failure is fetched again.
const TIME_TO_LIVE: Duration = Duration::from_hours(1);

type Fetched = Result<IconImage, IconError>;

/// Fetched icons and failures, by origin and address. They are fetched without credentials, so they are the same for all
/// users. Clones share the cache.
#[derive(Debug, Clone, Default)]
pub struct IconCache(Arc<Mutex<HashMap<String, (Timestamp, Fetched)>>>);

impl ConnectionService {
    /// Returns an icon that a server names.
    pub async fn fetch_icon(&self, server: &Server, src: &str) -> Result<IconImage, IconError> {
        let url = Url::parse(&server.url).map_err(|_| IconError::Forbidden)?;
        // The rules depend on the origin of the server, so an icon of one server is not valid for another.
        let key = format!("{} {src}", url.origin().ascii_serialization());
        let now = self.clock.now();
        if let Some(cached) = self.icons.get(&key, now) {
            return cached;
        }
        let icon = self.client.fetch_icon(&url, src).await;
        self.icons.insert(key, now, icon.clone());
        icon
    }
}

impl IconCache {
    fn get(&self, key: &str, now: Timestamp) -> Option<Fetched> {
        let icons = self.lock();
        let (fetched_at, icon) = icons.get(key)?;
        (u128::from(now.millis_since(*fetched_at)) < TIME_TO_LIVE.as_millis()).then(|| icon.clone())
    }

    fn insert(&self, key: String, now: Timestamp, icon: Fetched) {
        let mut icons = self.lock();
        if icons.len() >= MAX_ICONS {
            // Simpler than evicting single ones; each costs one request to fetch again.
            icons.clear();
        }
        icons.insert(key, (now, icon));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Timestamp, Fetched)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
