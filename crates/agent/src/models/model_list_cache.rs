//! Cached list of a provider's models.

use std::time::Duration;

use domain::model::ModelError;
use llm::{Client, Provider};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// Time for which a list is cached.
const LIST_TTL: Duration = Duration::from_mins(10);
/// Time for which a failure is cached, so that a provider that is down is not asked again with every page load.
const FAILURE_TTL: Duration = Duration::from_secs(5);
/// Longest wait for a provider's response; the web app waits as long.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A [provider](Provider) with the cached names of its models.
#[derive(Debug)]
pub struct ModelListCache {
    /// Provider.
    pub provider: Provider,
    /// Cached response. The lock is held during a request, so that concurrent callers share one.
    known: Mutex<Option<CachedModelList>>,
}

#[derive(Debug)]
struct CachedModelList {
    names: Result<Vec<String>, ModelError>,
    until: Instant,
}

impl ModelListCache {
    /// Creates an empty cache for a provider.
    pub fn new(provider: Provider) -> Self {
        Self { provider, known: Mutex::default() }
    }

    /// Returns the names of the models, in the provider's order, and asks the provider if they are not cached.
    ///
    /// # Errors
    ///
    /// Returns the provider's error, or [`ModelError::StreamTimeout`] if it did not respond in time.
    pub async fn names(&self, client: &Client) -> Result<Vec<String>, ModelError> {
        let mut known = self.known.lock().await;
        if let Some(known) = known.as_ref().filter(|known| Instant::now() < known.until) {
            return known.names.clone();
        }
        let asked = timeout(RESPONSE_TIMEOUT, client.list_models(&self.provider)).await;
        let names = asked.unwrap_or(Err(ModelError::StreamTimeout(RESPONSE_TIMEOUT)));
        let until = Instant::now() + if names.is_ok() { LIST_TTL } else { FAILURE_TTL };
        *known = Some(CachedModelList { names: names.clone(), until });
        names
    }
}
