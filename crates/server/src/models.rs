//! The models that can be asked, whatever their wire.

mod advice;
#[cfg(feature = "local")]
mod built_in;
mod listing;
pub mod meter;

use domain::UserId;
use domain::model::{ModelError, ModelEvent, Request};
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::BoxStream;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::tools::discovery::Capacity;
use listing::Listing;

pub use advice::with_advice;

/// The name of the provider that is built in.
const BUILT_IN: &str = "built-in";

/// A model by its provider and its name there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelId {
    /// Such as `openai`.
    pub provider: String,
    /// The provider's own name for it.
    pub name: String,
}

impl std::fmt::Display for ModelId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)
    }
}

impl ModelId {
    fn new(provider: &str, name: impl Into<String>) -> Self {
        Self { provider: provider.to_owned(), name: name.into() }
    }

    /// Reads `provider/name`.
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, name) = text.split_once('/')?;
        (!provider.is_empty() && !name.is_empty()).then(|| Self::new(provider, name))
    }
}

/// A model as the page shows it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelView {
    /// `provider/name`.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Its provider.
    pub provider: String,
    /// It runs on this machine, inside this program.
    pub built_in: bool,
    /// It can be asked now.
    pub available: bool,
    /// Why it cannot be asked, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it is and where it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
}

/// What a built-in model is and where it comes from.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// The licence of its weights.
    pub license: String,
    /// Who made it.
    pub origin: String,
    /// Bytes on disk.
    pub size_bytes: u64,
}

/// All of them.
#[derive(Debug)]
pub struct Models {
    client: llm::Client,
    /// The configured providers, each with what it offers.
    providers: Vec<Listing>,
    chosen: Option<ModelId>,
    #[cfg(feature = "local")]
    built_in: Option<built_in::BuiltIn>,
}

impl Models {
    /// From the settings. A chosen model of a provider that is not configured is refused.
    pub fn new(config: &Config) -> anyhow::Result<Self> {
        #[cfg(feature = "local")]
        let built_in = built_in::BuiltIn::start(config)?;
        let chosen = match config.model.as_deref() {
            None => None,
            Some(text) => {
                let id = ModelId::parse(text);
                let id = id.ok_or_else(|| anyhow::anyhow!("CHAT_MODEL must look like provider/name, not {text:?}"))?;
                let mut known: Vec<&str> = config.providers.iter().map(|provider| provider.name.as_str()).collect();
                known.push(BUILT_IN);
                if !known.contains(&id.provider.as_str()) {
                    let known = known.join(" and ");
                    anyhow::bail!(
                        "CHAT_MODEL names the provider {:?}, but configured are {known}; set its key or its base URL too",
                        id.provider
                    );
                }
                Some(id)
            }
        };
        Ok(Self {
            client: llm::Client::new(),
            providers: config.providers.iter().cloned().map(Listing::new).collect(),
            chosen,
            #[cfg(feature = "local")]
            built_in,
        })
    }

    /// The model that answers when nobody chose one: `CHAT_MODEL`, else the first of the first configured provider that
    /// answers, else, when none is configured, the built-in one.
    pub async fn default(&self) -> Result<ModelId, ModelError> {
        if let Some(chosen) = &self.chosen {
            return Ok(chosen.clone());
        }
        let mut why = None;
        for listing in &self.providers {
            match listing.names(&self.client).await {
                Ok(names) => {
                    if let Some(first) = names.into_iter().next() {
                        return Ok(ModelId::new(&listing.provider.name, first));
                    }
                    why.get_or_insert(ModelError::Unavailable(NO_MODELS.to_owned()));
                }
                Err(error) => {
                    why.get_or_insert(error);
                }
            }
        }
        why.map_or_else(|| self.built_in_id(), Err)
    }

    #[cfg(feature = "local")]
    fn built_in_id(&self) -> Result<ModelId, ModelError> {
        match &self.built_in {
            Some(built_in) => Ok(ModelId::new(BUILT_IN, built_in.name())),
            None => Err(no_model()),
        }
    }

    #[cfg(not(feature = "local"))]
    #[expect(clippy::unused_self, reason = "the other build reads it")]
    fn built_in_id(&self) -> Result<ModelId, ModelError> {
        Err(no_model())
    }

    /// Whether there is a provider of that name.
    pub fn has_provider(&self, name: &str) -> bool {
        #[cfg(feature = "local")]
        if name == BUILT_IN {
            return self.built_in.is_some();
        }
        self.providers.iter().any(|listing| listing.provider.name == name)
    }

    /// Asks. Dropping the stream, or `cancel`, ends the answer at the model too.
    pub fn stream(
        &self,
        model: &ModelId,
        mut request: Request,
        user: UserId,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        request.model.clone_from(&model.name);
        #[cfg(feature = "local")]
        if model.provider == BUILT_IN
            && let Some(built_in) = &self.built_in
        {
            return built_in.stream(request, user, cancel);
        }
        #[cfg(not(feature = "local"))]
        let _ = user;
        match self.providers.iter().find(|listing| listing.provider.name == model.provider) {
            Some(listing) => {
                self.client.stream(&listing.provider, request).take_until(cancel.cancelled_owned()).boxed()
            }
            None => futures_util::stream::once(async { Err(no_model()) }).boxed(),
        }
    }

    /// What a model can do with tools. What providers' models read at once is not known from them; nearly all of today's
    /// read this much, and those that read more lose nothing but a search.
    pub fn capacity(model: &ModelId) -> Capacity {
        match model.provider.as_str() {
            BUILT_IN => Capacity { context: 8_192, searches: false },
            _ => Capacity { context: 128_000, searches: true },
        }
    }

    /// What the page shows: the models of all providers. One that is away is told as such and hides no other.
    pub async fn list(&self) -> (Option<String>, Vec<ModelView>) {
        let asked = self.providers.iter().map(|listing| async move { (listing, listing.names(&self.client).await) });
        let mut models = Vec::new();
        for (listing, names) in join_all(asked).await {
            let provider = &listing.provider.name;
            let chosen = self.chosen.as_ref().filter(|chosen| chosen.provider == *provider);
            let (names, reason) = match names {
                Ok(names) if names.is_empty() && chosen.is_none() => (names, Some(NO_MODELS.to_owned())),
                Ok(names) => (names, None),
                // A server without a list may have the model all the same.
                Err(ModelError::Refused(_) | ModelError::Malformed(_)) if chosen.is_some() => (Vec::new(), None),
                Err(error) => (Vec::new(), Some(with_advice(&error))),
            };
            let unlisted = chosen.filter(|chosen| !names.contains(&chosen.name)).map(|chosen| chosen.name.clone());
            let mut names: Vec<String> = unlisted.into_iter().chain(names).collect();
            if names.is_empty() {
                names.push(String::new());
            }
            models.extend(names.into_iter().map(|name| wire_view(&ModelId::new(provider, name), reason.clone())));
        }
        #[cfg(feature = "local")]
        models.extend(self.built_in.as_ref().map(built_in::BuiltIn::view));
        (self.default().await.ok().map(|id| id.to_string()), models)
    }
}

/// Why a provider that answers is of no use.
const NO_MODELS: &str = "the model server lists no models; set CHAT_MODEL";

fn no_model() -> ModelError {
    ModelError::Unavailable(
        "No model is configured. Run `cargo xtask model` to fetch the built-in one, or set the key or the base URL of a \
         provider, such as OPENAI_API_KEY or ANTHROPIC_API_KEY, and start again."
            .into(),
    )
}

fn wire_view(id: &ModelId, reason: Option<String>) -> ModelView {
    let name = if id.name.is_empty() { id.provider.clone() } else { id.name.clone() };
    ModelView {
        id: id.to_string(),
        name,
        provider: id.provider.clone(),
        built_in: false,
        available: reason.is_none(),
        reason,
        about: None,
    }
}
