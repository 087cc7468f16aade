//! What a provider offers, asked for now and then.

use std::time::Duration;

use domain::model::ModelError;
use llm::{Client, Provider};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// How long a list counts.
const FRESH: Duration = Duration::from_mins(10);
/// How long a failure counts, so that a server which is away is not asked again with every look at the page.
const FAILED: Duration = Duration::from_secs(5);
/// The longest wait for a list; the page waits as long.
const PATIENCE: Duration = Duration::from_secs(5);

/// A provider and the names of its models.
#[derive(Debug)]
pub struct Listing {
    /// The provider.
    pub provider: Provider,
    /// Who comes while it is being asked waits for the same answer.
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    names: Result<Vec<String>, ModelError>,
    until: Instant,
}

impl Listing {
    /// Not asked yet.
    pub fn new(provider: Provider) -> Self {
        Self { provider, known: Mutex::default() }
    }

    /// The names, in the provider's order.
    pub async fn names(&self, client: &Client) -> Result<Vec<String>, ModelError> {
        let mut known = self.known.lock().await;
        if let Some(known) = known.as_ref().filter(|known| Instant::now() < known.until) {
            return known.names.clone();
        }
        let asked = timeout(PATIENCE, client.list_models(&self.provider)).await;
        let names = asked.unwrap_or(Err(ModelError::Silent(PATIENCE)));
        let until = Instant::now() + if names.is_ok() { FRESH } else { FAILED };
        *known = Some(Known { names: names.clone(), until });
        names
    }
}
