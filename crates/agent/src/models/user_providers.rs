//! Model providers that users add for themselves, with their encrypted keys. Their addresses are reached through the
//! guarded HTTP client. Every lookup takes the user's id, so that no user is served by another one's provider.

mod provider_kind;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::model::ModelError;
use domain::{ModelProviderId, Timestamp, UserId};
use futures_util::future::join_all;
use llm::{Client, Provider};
use mcp::net::{GuardedHttp, PolicyViolation};
use secrecy::SecretString;
use storage::Storage;
use storage::model_providers::ModelProvider;
use url::Url;

use super::model_list_cache::ModelListCache;
use platform::secret_sealing::{SealError, SecretSealer};

pub use provider_kind::ProviderKind;

/// Prefix of the names of users' own providers, so that they cannot be mistaken for configured ones.
pub const USER_PROVIDER_PREFIX: &str = "my-";
/// Maximum length of a slug without the prefix, in characters.
const MAX_SLUG_CHARS: usize = 40;
/// Maximum number of open providers. Each is an HTTP client with its connections and a list of models.
const MAX_OPEN_PROVIDERS: usize = 2_000;

/// Returns whether the name is that of a user's own provider.
pub fn is_user_provider(provider: &str) -> bool {
    provider.starts_with(USER_PROVIDER_PREFIX)
}

/// A user's own provider, ready to use.
#[derive(Debug)]
pub struct UserProvider {
    /// Name that the user gave it.
    pub name: String,
    /// Provider with its list of models.
    pub listing: ModelListCache,
    /// HTTP client that reaches its address and no other.
    pub client: Client,
    /// Last change of its row when it was opened.
    as_of: Timestamp,
}

/// Reason why the address of a provider is rejected; a predicate of "The server …".
#[derive(Debug, thiserror::Error)]
pub enum ProviderUrlError {
    /// The network policy does not allow it.
    #[error(transparent)]
    Policy(#[from] PolicyViolation),
    /// A scheme that providers do not have.
    #[error("has a URL that does not start with http:// or https://")]
    Scheme,
    /// The key would be sent unencrypted.
    #[error("has an unencrypted URL, to which no key is sent; use https")]
    Unencrypted,
}

/// [Own providers](UserProvider) of all users.
#[derive(Debug)]
pub struct UserProviders {
    storage: Storage,
    secrets: Arc<SecretSealer>,
    guard: GuardedHttp,
    /// Open providers. The row is read on each use: it checks the owner, and shows whether the provider has changed.
    open: Mutex<HashMap<ModelProviderId, Arc<UserProvider>>>,
}

impl UserProviders {
    /// Creates the registry. `guard` is the HTTP client that enforces the network policy.
    pub fn new(storage: Storage, secrets: Arc<SecretSealer>, guard: GuardedHttp) -> Self {
        Self { storage, secrets, guard, open: Mutex::default() }
    }

    /// Encrypts an API key for its row in the database.
    ///
    /// # Errors
    ///
    /// Fails if the key cannot be encrypted.
    pub fn seal(&self, owner: UserId, id: ModelProviderId, key: &str) -> Result<Vec<u8>, SealError> {
        self.secrets.seal(&seal_context(owner, id), key.as_bytes())
    }

    /// Checks an address before it is stored, without resolving its name.
    pub fn check(&self, url: &Url, has_key: bool) -> Result<(), ProviderUrlError> {
        let policy = self.guard.policy();
        policy.check_url(url)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(ProviderUrlError::Scheme);
        }
        if has_key && !policy.is_confidential(url) {
            return Err(ProviderUrlError::Unencrypted);
        }
        Ok(())
    }

    /// Returns the model that the user chose for all chats.
    pub async fn chosen_for_all(&self, owner: UserId) -> Result<Option<String>, storage::Error> {
        Ok(self.storage.models().get_defaults(owner).await?.model)
    }

    /// Returns whether the user has a provider of that name.
    pub async fn has(&self, owner: UserId, slug: &str) -> Result<bool, storage::Error> {
        Ok(is_user_provider(slug) && self.storage.model_providers().find(owner, slug).await?.is_some())
    }

    /// Returns the user's provider with a slug.
    ///
    /// # Errors
    ///
    /// [`ModelError::Unavailable`] if it does not exist, cannot be opened, or the database fails.
    pub async fn find(&self, owner: UserId, slug: &str) -> Result<Arc<UserProvider>, ModelError> {
        let row = self.storage.model_providers().find(owner, slug).await.map_err(|error| database_failed(&error))?;
        let row = row.ok_or_else(|| {
            ModelError::Unavailable(format!("There is no provider {slug} among yours any more. Choose another model."))
        })?;
        self.open(owner, &row)
    }

    /// Returns the models of each of the user's providers, in the order in which they were added. The providers are
    /// asked in parallel.
    pub async fn list(&self, owner: UserId) -> Result<Vec<ListedProvider>, storage::Error> {
        let rows = self.storage.model_providers().list(owner).await?;
        let asked = rows.into_iter().map(|row| async move {
            let (names, provider) = match self.open(owner, &row) {
                Ok(provider) => (provider.names().await, Some(provider)),
                Err(error) => (Err(error), None),
            };
            ListedProvider { slug: row.slug, name: row.name, names, provider }
        });
        Ok(join_all(asked).await)
    }

    /// Asks a provider for its models without the cache, and returns their number.
    pub async fn test(&self, owner: UserId, row: &ModelProvider) -> Result<usize, ModelError> {
        // Drops the cached list of models with the open provider.
        self.forget(row.id);
        Ok(self.open(owner, row)?.names().await?.len())
    }

    /// Closes a provider that was removed or changed. Answers in progress continue.
    pub fn forget(&self, id: ModelProviderId) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// Returns the open provider of a row, and opens it first if it is new or has changed.
    fn open(&self, owner: UserId, row: &ModelProvider) -> Result<Arc<UserProvider>, ModelError> {
        // The lock is not held while a provider is opened; two requests at once may both open it, which is harmless.
        let known = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(&row.id).cloned();
        if let Some(known) = known.filter(|known| known.as_of == row.changed_at) {
            return Ok(known);
        }
        let of = |reason: &str| ModelError::Unavailable(format!("The server of your provider {} {reason}.", row.name));
        let base_url: Url = row.base_url.parse().map_err(|_| of("has an address that cannot be read"))?;
        let kind = ProviderKind::from_word(&row.kind).ok_or_else(|| of("speaks what this version does not know"))?;
        self.check(&base_url, row.secret.is_some()).map_err(|error| of(&error.to_string()))?;
        let client = self.guard.client_for(&base_url).map_err(|error| of(&error.to_string()))?;
        let key = row.secret.as_deref().map(|sealed| self.key(owner, row, sealed)).transpose()?;
        let provider = Provider { name: row.slug.clone(), api: kind.api(&base_url), base_url, key };
        let opened = Arc::new(UserProvider {
            name: row.name.clone(),
            listing: ModelListCache::new(provider),
            client: Client::with_http_client(client),
            as_of: row.changed_at,
        });
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // All are closed at once, which is simpler than finding the least used; open ones are only a cache.
        if open.len() >= MAX_OPEN_PROVIDERS {
            open.clear();
        }
        open.insert(row.id, Arc::clone(&opened));
        Ok(opened)
    }

    /// Decrypts the API key of a provider.
    fn key(&self, owner: UserId, row: &ModelProvider, sealed: &[u8]) -> Result<SecretString, ModelError> {
        let plain = self.secrets.open(&seal_context(owner, row.id), sealed).ok();
        plain.and_then(|plain| String::from_utf8(plain).ok()).map(SecretString::from).ok_or_else(|| {
            let reason = format!("The key of your provider {} cannot be read any more. Enter it again.", row.name);
            ModelError::Unavailable(reason)
        })
    }
}

impl UserProvider {
    /// Returns the names of its models, in the provider's order.
    pub async fn names(&self) -> Result<Vec<String>, ModelError> {
        self.listing.names(&self.client).await
    }
}

/// List of models of a user's provider, returned by [`UserProviders::list`].
#[derive(Debug)]
pub struct ListedProvider {
    /// Slug: the provider part of its models' names.
    pub slug: String,
    /// Name that the user gave it.
    pub name: String,
    /// Names of its models, or the reason for which they are unknown.
    pub names: Result<Vec<String>, ModelError>,
    /// Open provider; `None` if it cannot be opened.
    pub provider: Option<Arc<UserProvider>>,
}

/// Returns the slug of a new provider: [`USER_PROVIDER_PREFIX`] and its name in lowercase, made unique among `taken`.
pub fn slug_of(name: &str, taken: &[&str]) -> String {
    let mut slug = USER_PROVIDER_PREFIX.to_owned();
    for letter in name.chars().flat_map(char::to_lowercase).take(MAX_SLUG_CHARS) {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    // Nothing of the name can be typed, for example because it is in another script.
    let slug = if slug.len() < USER_PROVIDER_PREFIX.len() { "my-provider" } else { slug };
    let numbered = (2..).map(|number: u32| format!("{slug}-{number}"));
    let mut candidates = std::iter::once(slug.to_owned()).chain(numbered);
    candidates.find(|slug| !taken.contains(&slug.as_str())).unwrap_or_default()
}

/// Returns the context that an encrypted key is bound to, so that it is not accepted in another row.
fn seal_context(owner: UserId, id: ModelProviderId) -> String {
    format!("model_providers/secret/{owner}/{id}")
}

/// Logs a database error and returns what the user sees.
fn database_failed(error: &storage::Error) -> ModelError {
    tracing::error!(%error, "failed to read a user's model providers");
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
            assert!(is_user_provider(&slug));
        }
        assert!(slug_of(&"x".repeat(300), &[]).len() < 50);
    }
}
