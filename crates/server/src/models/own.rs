//! Providers that people add for themselves: their keys, sealed, and their addresses, reached as the network policy
//! permits. Every look-up names the person, so that nobody is served by somebody else's.

mod kind;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::model::ModelError;
use domain::{ModelProviderId, Timestamp, UserId};
use futures_util::future::join_all;
use llm::{Client, Provider};
use mcp::net::GuardedHttp;
use secrecy::SecretString;
use store::Store;
use store::model_providers::ModelProvider;
use url::Url;

use super::listing::Listing;
use platform::secret_sealing::{SealError, SecretSealer};

pub use kind::Kind;

/// What stands before a person's providers in the names of their models, so that no provider of the settings is taken
/// for one of theirs.
pub const PREFIX: &str = "my-";
/// Letters of a provider's name that stand in the names of its models.
const SLUG: usize = 40;
/// Providers that are kept open: each is a few connections and a list of names.
const OPEN: usize = 2_000;

/// Whether a provider of that name is somebody's own.
pub fn is_own(provider: &str) -> bool {
    provider.starts_with(PREFIX)
}

/// A provider of a person's that can be asked.
#[derive(Debug)]
pub struct OwnProvider {
    /// The person's name for it.
    pub name: String,
    /// What it is, and what it lists.
    pub listing: Listing,
    /// Reaches its address and no other.
    pub client: Client,
    as_of: Timestamp,
}

/// The providers of everybody.
#[derive(Debug)]
pub struct OwnProviders {
    store: Store,
    secrets: Arc<SecretSealer>,
    guard: GuardedHttp,
    /// As they were when they were changed last. The rows say whose they are.
    open: Mutex<HashMap<ModelProviderId, Arc<OwnProvider>>>,
}

impl OwnProviders {
    /// Over the guarded client.
    pub fn new(store: Store, secrets: Arc<SecretSealer>, guard: GuardedHttp) -> Self {
        Self { store, secrets, guard, open: Mutex::default() }
    }

    /// Seals a key for its row.
    pub fn seal(&self, owner: UserId, id: ModelProviderId, key: &str) -> Result<Vec<u8>, SealError> {
        self.secrets.seal(&place(owner, id), key.as_bytes())
    }

    /// Judges an address before it is stored: what can be judged without looking its name up. The words follow "the
    /// server".
    pub fn check(&self, url: &Url, has_key: bool) -> Result<(), String> {
        let policy = self.guard.policy();
        policy.check_url(url).map_err(|refused| refused.to_string())?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("has an address that does not start with http:// or https://".to_owned());
        }
        if has_key && !policy.is_confidential(url) {
            return Err("has an address without encryption, over which no key is sent; use https".to_owned());
        }
        Ok(())
    }

    /// The model that a person chose for all their chats.
    pub async fn chosen_for_all(&self, owner: UserId) -> Result<Option<String>, store::Error> {
        Ok(self.store.get_model_defaults(owner).await?.model)
    }

    /// Whether a person has a provider of that name.
    pub async fn has(&self, owner: UserId, slug: &str) -> Result<bool, store::Error> {
        Ok(is_own(slug) && self.store.find_model_provider(owner, slug).await?.is_some())
    }

    /// A person's provider by what stands before its models' names.
    pub async fn find(&self, owner: UserId, slug: &str) -> Result<Arc<OwnProvider>, ModelError> {
        let row = self.store.find_model_provider(owner, slug).await.map_err(|error| unread(&error))?;
        let row = row.ok_or_else(|| {
            ModelError::Unavailable(format!("There is no provider {slug} among yours any more. Choose another model."))
        })?;
        self.open(owner, &row)
    }

    /// What each of a person's providers lists, in the order in which they were added.
    pub async fn list(&self, owner: UserId) -> Result<Vec<Listed>, store::Error> {
        let rows = self.store.list_model_providers(owner).await?;
        let asked = rows.into_iter().map(|row| async move {
            let (names, provider) = match self.open(owner, &row) {
                Ok(provider) => (provider.names().await, Some(provider)),
                Err(error) => (Err(error), None),
            };
            Listed { slug: row.slug, name: row.name, names, provider }
        });
        Ok(join_all(asked).await)
    }

    /// Asks a person's provider anew for its models, and tells their number.
    pub async fn test(&self, owner: UserId, row: &ModelProvider) -> Result<usize, ModelError> {
        self.forget(row.id);
        Ok(self.open(owner, row)?.names().await?.len())
    }

    /// Lets a provider go that was removed. What it is writing goes on to its end.
    pub fn forget(&self, id: ModelProviderId) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    fn open(&self, owner: UserId, row: &ModelProvider) -> Result<Arc<OwnProvider>, ModelError> {
        let known = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(&row.id).cloned();
        if let Some(known) = known.filter(|known| known.as_of == row.changed_at) {
            return Ok(known);
        }
        let of = |reason: &str| ModelError::Unavailable(format!("The server of your provider {} {reason}.", row.name));
        let base_url: Url = row.base_url.parse().map_err(|_| of("has an address that cannot be read"))?;
        let kind = Kind::from_word(&row.kind).ok_or_else(|| of("speaks what this version does not know"))?;
        self.check(&base_url, row.secret.is_some()).map_err(|reason| of(&reason))?;
        let client = self.guard.client_for(&base_url).map_err(|error| of(&error.to_string()))?;
        let key = row.secret.as_deref().map(|sealed| self.key(owner, row, sealed)).transpose()?;
        let provider = Provider { name: row.slug.clone(), api: kind.api(&base_url), base_url, key };
        let opened = Arc::new(OwnProvider {
            name: row.name.clone(),
            listing: Listing::new(provider),
            client: Client::with_http_client(client),
            as_of: row.changed_at,
        });
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= OPEN {
            open.clear();
        }
        open.insert(row.id, Arc::clone(&opened));
        Ok(opened)
    }

    fn key(&self, owner: UserId, row: &ModelProvider, sealed: &[u8]) -> Result<SecretString, ModelError> {
        let plain = self.secrets.open(&place(owner, row.id), sealed).ok();
        plain.and_then(|plain| String::from_utf8(plain).ok()).map(SecretString::from).ok_or_else(|| {
            let reason = format!("The key of your provider {} cannot be read any more. Enter it again.", row.name);
            ModelError::Unavailable(reason)
        })
    }
}

impl OwnProvider {
    /// The names of its models, in its order.
    pub async fn names(&self) -> Result<Vec<String>, ModelError> {
        self.listing.names(&self.client).await
    }
}

/// What a provider of a person's offers.
#[derive(Debug)]
pub struct Listed {
    /// Stands before the names of its models.
    pub slug: String,
    /// The person's name for it.
    pub name: String,
    /// The provider's names for its models.
    pub names: Result<Vec<String>, ModelError>,
    /// The provider, where it can be asked.
    pub provider: Option<Arc<OwnProvider>>,
}

/// What stands before the names of a new provider's models: its name in small letters, unlike those that are `taken`.
pub fn slug_of(name: &str, taken: &[&str]) -> String {
    let mut slug = PREFIX.to_owned();
    for letter in name.chars().flat_map(char::to_lowercase).take(SLUG) {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    let slug = if slug.len() < PREFIX.len() { "my-provider" } else { slug };
    let numbered = (2..).map(|number: u32| format!("{slug}-{number}"));
    let mut candidates = std::iter::once(slug.to_owned()).chain(numbered);
    candidates.find(|slug| !taken.contains(&slug.as_str())).unwrap_or_default()
}

/// Where a key is sealed for.
fn place(owner: UserId, id: ModelProviderId) -> String {
    format!("model_providers/secret/{owner}/{id}")
}

fn unread(error: &store::Error) -> ModelError {
    tracing::error!(%error, "a person's model providers could not be read");
    ModelError::Unavailable("Your model providers could not be read from the database. Try again in a moment.".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_letters_that_a_program_can_type() {
        for (name, taken, want) in [
            ("Work", &[][..], "my-work"),
            ("  Über  den/Wolken!", &[], "my-ber-den-wolken"),
            ("日本", &[], "my-provider"),
            ("Work", &["my-work", "my-work-2"], "my-work-3"),
        ] {
            let slug = slug_of(name, taken);
            assert_eq!(slug, want);
            assert!(is_own(&slug));
        }
        assert!(slug_of(&"x".repeat(300), &[]).len() < 50);
    }
}
