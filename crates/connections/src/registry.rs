//! Browsing of the MCP registry, cached for all users.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{Clock, Timestamp};
use mcp::Error;
use mcp::registry::{RegistryClient, RegistryPage, RegistryServer};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::Semaphore;
use url::Url;

/// Time after which a part of the list is fetched again.
const TIME_TO_LIVE: Duration = Duration::from_mins(10);
/// Maximum number of cached parts. Each has at most a few hundred kB.
const MAX_CACHED_PARTS: usize = 64;
/// Maximum number of simultaneous requests to the registry, for all users together.
const MAX_REQUESTS: usize = 4;
/// Number of servers after which a part is complete.
const MIN_SERVERS: usize = 20;
/// Maximum number of pages of the registry that one part is made of. Most servers run only on the user's machine and
/// are left out, so that a page may be empty.
const MAX_PAGES: usize = 5;

/// The MCP registry. Clones share the cache.
#[derive(Debug, Clone)]
pub struct ServerRegistry {
    client: RegistryClient,
    clock: Arc<dyn Clock>,
    cache: Arc<Mutex<PageCache>>,
    requests: Arc<Semaphore>,
}

/// Search and position, by which parts of the list are cached.
type Query = (String, Option<String>);

/// Parts of the list, with the time of their fetch.
type PageCache = HashMap<Query, (Timestamp, Arc<RegistryPage>)>;

/// A part of the registry's list of servers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryListing {
    /// Host of the registry.
    pub registry: String,
    /// Servers that can be reached over HTTP.
    pub servers: Vec<RegistryServer>,
    /// Position of the next part. Absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl ServerRegistry {
    /// Creates the service for the registry at `base`.
    ///
    /// # Errors
    ///
    /// Fails if no HTTP client can be created.
    pub fn new(base: Url, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let requests = Arc::new(Semaphore::new(MAX_REQUESTS));
        Ok(Self { client: RegistryClient::new(base)?, clock, cache: Arc::default(), requests })
    }

    /// Lists the servers whose names contain `search`, from `cursor` on. If the registry cannot be reached, an older
    /// part from the cache is returned.
    ///
    /// # Errors
    ///
    /// An error of the registry, if the cache does not have the part either.
    pub async fn list(&self, search: &str, cursor: Option<&str>) -> Result<RegistryListing, Error> {
        let query = (search.trim().to_lowercase(), cursor.map(str::to_owned));
        // Also held while the cache is read: who waits for the same part as others finds it there.
        let _request = self.requests.acquire().await;
        let now = self.clock.now();
        let cached = self.cached().get(&query).cloned();
        let page = match cached {
            Some((fetched_at, page)) if is_fresh(fetched_at, now) => page,
            older => match self.fetch(&query).await {
                Ok(page) => self.insert(query, now, page),
                Err(error) => {
                    tracing::warn!(%error, "the MCP registry could not be read");
                    older.map(|(_, page)| page).ok_or(error)?
                }
            },
        };
        Ok(RegistryListing {
            registry: self.client.host().to_owned(),
            servers: page.servers.clone(),
            next_cursor: page.next_cursor.clone(),
        })
    }

    /// Fetches a part: pages until there are enough servers in it.
    async fn fetch(&self, (search, cursor): &Query) -> Result<RegistryPage, Error> {
        let mut part = self.client.list(search, cursor.as_deref()).await?;
        for _ in 1..MAX_PAGES {
            let Some(cursor) = part.next_cursor.clone().filter(|_| part.servers.len() < MIN_SERVERS) else { break };
            let next = self.client.list(search, Some(&cursor)).await?;
            // A registry that names the same position again would never end.
            part.next_cursor = next.next_cursor.filter(|next| *next != cursor);
            part.servers.extend(next.servers);
        }
        Ok(part)
    }

    fn insert(&self, query: Query, now: Timestamp, page: RegistryPage) -> Arc<RegistryPage> {
        let page = Arc::new(page);
        let mut cached = self.cached();
        if cached.len() >= MAX_CACHED_PARTS {
            // Simpler than evicting single ones; each costs a few requests to fetch again.
            cached.clear();
        }
        cached.insert(query, (now, Arc::clone(&page)));
        page
    }

    fn cached(&self) -> MutexGuard<'_, PageCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_fresh(fetched_at: Timestamp, now: Timestamp) -> bool {
    u128::from(now.millis_since(fetched_at)) < TIME_TO_LIVE.as_millis()
}
