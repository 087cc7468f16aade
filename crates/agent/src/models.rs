//! Models: those of the configured providers, of users' own providers, and the built-in one, behind one interface.

pub mod access;
#[cfg(feature = "local")]
pub mod built_in;
mod call_span;
pub mod catalogue;
mod error_help;
mod model_list_cache;
mod prewarm;
pub mod quota;
pub mod settings;
mod span_content;
pub mod transcription;
pub mod usage_recording;
pub mod user_providers;

use std::sync::Arc;

use domain::model::{ModelError, ModelEvent, Request};
use domain::{Clock, UserId};
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::BoxStream;
use llm::Provider;
use mcp::net::GuardedHttp;
use schemars::JsonSchema;
use serde::Serialize;
use storage::Storage;
use tokio_util::sync::CancellationToken;

use access::ModelAccess;
use catalogue::{Catalogue, ModelInfo, Price};
use model_list_cache::ModelListCache;
use platform::config::Config;
use platform::{BackgroundTasks, SecretSealer};
use quota::{QuotaError, QuotaService};
use transcription::TranscriptionModel;
use usage_recording::UsageRecorder;
use user_providers::UserProviders;

pub use error_help::{advise, with_advice};

/// Name of the provider of the built-in model.
pub(crate) const BUILT_IN: &str = "built-in";

/// Context size of the built-in model, in tokens.
const BUILT_IN_CONTEXT_TOKENS: u64 = 8_192;

/// Assumed context size, in tokens, of a model that the catalogue does not know. Such models are mostly local ones,
/// and the smallest of them silently cut off what does not fit.
const UNKNOWN_CONTEXT_TOKENS: usize = 32_000;

/// Reason for which a user has no model although some are configured.
const NO_ALLOWED_MODEL: &str = "You may use none of the models that are configured here. Add a model provider of your own \
                                in the settings, or ask whoever runs this service.";

/// Maximum length of a model's name, in characters.
pub const MAX_MODEL_NAME_CHARS: usize = 300;

/// Returns whether a text is acceptable as the name of a model.
pub fn is_name(text: &str) -> bool {
    text.chars().count() <= MAX_MODEL_NAME_CHARS && !text.chars().any(char::is_control)
}

/// Identifier of a model: its provider and the provider's name for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelId {
    /// Name of the provider, such as `openai`.
    pub provider: String,
    /// Name of the model at the provider.
    pub name: String,
}

impl std::fmt::Display for ModelId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)
    }
}

impl ModelId {
    /// Creates an identifier from its parts.
    fn new(provider: &str, name: impl Into<String>) -> Self {
        Self { provider: provider.to_owned(), name: name.into() }
    }

    /// Parses `provider/name`. The name may contain further slashes.
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, name) = text.split_once('/')?;
        (!provider.is_empty() && !name.is_empty()).then(|| Self::new(provider, name))
    }
}

/// A model in responses of the API.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Model")]
pub struct ModelView {
    /// Identifier, as [`ModelId`] prints it.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Name of the provider.
    pub provider: String,
    /// Name that the user gave their own provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_name: Option<String>,
    /// Whether it is the built-in model, which runs on this machine.
    pub built_in: bool,
    /// Whether it can be used now.
    pub available: bool,
    /// Reason for which it cannot be used, with advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Licence and origin of the built-in model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<ModelDetails>,
    /// Capabilities and prices from the [`Catalogue`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<ModelInfo>,
}

/// Licence and origin of the built-in model.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelDetails {
    /// Licence of the weights.
    pub license: String,
    /// Maker of the model.
    pub origin: String,
    /// Size of the weights on disk, in bytes.
    pub size_bytes: u64,
}

/// Abilities of a model with tools.
#[derive(Debug, Clone, Copy)]
pub struct ToolLimits {
    /// Context size in tokens.
    pub context_tokens: usize,
    /// Whether the model can search for tools and then call them.
    pub can_search: bool,
}

/// All models that the server can use.
#[derive(Debug)]
pub struct ModelService {
    client: llm::Client,
    /// Configured providers, with their cached lists of models.
    providers: Vec<ModelListCache>,
    /// Model that `CHAT_MODEL` names.
    chosen: Option<ModelId>,
    /// Model that transcribes.
    transcription: TranscriptionModel,
    /// Capabilities and prices of models.
    pub catalogue: Catalogue,
    /// Providers that users added for themselves.
    pub user_providers: Arc<UserProviders>,
    /// Access of users to the configured models.
    pub access: ModelAccess,
    /// Quotas of users.
    pub quotas: QuotaService,
    /// Writer of the usage of model calls.
    pub usage: UsageRecorder,
    #[cfg(feature = "local")]
    built_in: Option<built_in::BuiltIn>,
}

impl ModelService {
    /// Creates the models from the configuration. `guard` is the HTTP client for the addresses of users' own
    /// providers.
    ///
    /// # Errors
    ///
    /// Fails if `CHAT_MODEL` or `CHAT_TRANSCRIPTION_MODEL` names a provider that is not configured, if the catalogue is invalid, or if the built-in
    /// model cannot start.
    pub fn new(
        config: &Config,
        storage: &Storage,
        clock: &Arc<dyn Clock>,
        tasks: &BackgroundTasks,
        secrets: &Arc<SecretSealer>,
        guard: &GuardedHttp,
    ) -> anyhow::Result<Self> {
        #[cfg(feature = "local")]
        let built_in = built_in::BuiltIn::start(config)?;
        let chosen = match config.model.as_deref() {
            None => None,
            Some(text) => {
                let id = ModelId::parse(text);
                let id = id.ok_or_else(|| anyhow::anyhow!("CHAT_MODEL must look like provider/name, not {text:?}"))?;
                let mut known: Vec<&str> = config.providers.iter().map(|provider| provider.name.as_str()).collect();
                // Accepted even if the built-in model is disabled; using it then fails with a clear message.
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
            providers: config.providers.iter().cloned().map(ModelListCache::new).collect(),
            chosen,
            transcription: TranscriptionModel::new(config)?,
            catalogue: Catalogue::open(config.model_catalogue.as_deref())?,
            user_providers: Arc::new(UserProviders::new(storage.clone(), Arc::clone(secrets), guard.clone())),
            access: ModelAccess::new(storage.clone(), config.model_access.clone()),
            quotas: QuotaService::new(storage.clone(), Arc::clone(clock), config.quotas),
            usage: UsageRecorder::new(storage.clone(), Arc::clone(clock), tasks.clone()),
            #[cfg(feature = "local")]
            built_in,
        })
    }

    /// Returns the user's default model. In this order: the user's own choice, `CHAT_MODEL`, the first model of the
    /// first configured provider that responds, the same of the user's own providers, the built-in model.
    pub async fn default(&self, owner: UserId) -> Result<ModelId, ModelError> {
        let chosen = self.user_providers.chosen_for_all(owner).await.ok().flatten();
        self.default_of(owner, chosen.as_deref()).await
    }

    /// Returns the default model of a user whose own choice is already known; see [`default`](Self::default).
    ///
    /// # Errors
    ///
    /// Fails if there is no model that the user may use, or with the error of the first configured provider if none
    /// responds: using the built-in model instead would hide that error.
    pub async fn default_of(&self, owner: UserId, chosen: Option<&str>) -> Result<ModelId, ModelError> {
        // A choice whose provider was removed is ignored.
        if let Some(chosen) = chosen
            && let Ok(Some(chosen)) = self.find(owner, chosen).await
        {
            return Ok(chosen);
        }
        let allowed = self.access.allowed(owner).await.map_err(|error| access::database_failed(&error))?;
        let is_allowed = |model: &ModelId| allowed.contains(&model.to_string());
        // Not checked: the provider is configured, and a server without a list may have the model.
        if let Some(chosen) = self.chosen.as_ref().filter(|model| is_allowed(model)) {
            return Ok(chosen.clone());
        }
        let mut why = None;
        // One after another, in the configured order: a later provider is used only if those before it do not
        // respond.
        for listing in &self.providers {
            match listing.names(&self.client).await {
                Ok(names) if names.is_empty() => {
                    why.get_or_insert(ModelError::Unavailable(NO_MODELS.to_owned()));
                }
                Ok(names) => {
                    let mut models = names.into_iter().map(|name| ModelId::new(&listing.provider.name, name));
                    if let Some(first) = models.find(is_allowed) {
                        return Ok(first);
                    }
                }
                Err(error) => {
                    why.get_or_insert(error);
                }
            }
        }
        if let Some(why) = why {
            return Err(why);
        }
        let own = self.user_providers.list(owner).await.unwrap_or_default();
        let first = own.iter().find_map(|listed| Some((&listed.slug, listed.names.as_ref().ok()?.first()?)));
        if let Some((slug, name)) = first {
            return Ok(ModelId::new(slug, name));
        }
        let built_in = self.built_in_id()?;
        if is_allowed(&built_in) { Ok(built_in) } else { Err(ModelError::Unavailable(NO_ALLOWED_MODEL.to_owned())) }
    }

    #[cfg(feature = "local")]
    /// Returns the identifier of the built-in model, or an error if there is none.
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

    /// Parses a model's name, and returns the model if its provider is configured and the user may use it, or the provider
    /// is the user's own. The provider is not asked whether it has the model.
    pub async fn find(&self, owner: UserId, name: &str) -> Result<Option<ModelId>, storage::Error> {
        let Some(model) = ModelId::parse(name) else { return Ok(None) };
        let is_known = if self.is_configured(&model.provider) {
            self.access.allows(owner, &model).await?
        } else {
            self.user_providers.has(owner, &model.provider).await?
        };
        Ok(is_known.then_some(model))
    }

    /// Returns whether the provider is configured for all users.
    fn is_configured(&self, provider: &str) -> bool {
        #[cfg(feature = "local")]
        if provider == BUILT_IN {
            return self.built_in.is_some();
        }
        self.providers.iter().any(|listing| listing.provider.name == provider)
    }

    /// Returns the number of requests that wait while the built-in model answers another one.
    pub fn built_in_queue(&self) -> usize {
        #[cfg(feature = "local")]
        let waiting = self.built_in.as_ref().map_or(0, built_in::BuiltIn::waiting_requests);
        #[cfg(not(feature = "local"))]
        let waiting = 0;
        waiting
    }

    /// Calls a model. Dropping the stream, or cancelling `cancel`, also ends the generation at the provider.
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
            // The built-in model reads text only.
            let messages = std::mem::take(&mut request.messages);
            request.messages = messages.into_iter().map(|message| message.with_files_in_words(|_| true)).collect();
            return built_in.stream(request, user, cancel);
        }
        // The provider is looked up with the user's id, so that no user can use another one's key.
        if user_providers::is_user_provider(&model.provider) {
            let (own, slug, known) = (Arc::clone(&self.user_providers), model.provider.clone(), self.catalogue.known());
            let asked = async move {
                match own.find(user, &slug).await {
                    Ok(provider) => {
                        // Images are requested only of models that are known to generate them; others reject such a
                        // request.
                        request.image_output = request.image_output
                            && known
                                .facts_at(&provider.listing.provider, &request.model)
                                .is_some_and(ModelInfo::image_output);
                        provider.client.stream(&provider.listing.provider, request).boxed()
                    }
                    Err(error) => futures_util::stream::once(async { Err(error) }).boxed(),
                }
            };
            return futures_util::stream::once(asked).flatten().take_until(cancel.cancelled_owned()).boxed();
        }
        match self.providers.iter().find(|listing| listing.provider.name == model.provider) {
            Some(listing) => {
                request.image_output = request.image_output
                    && self.facts_at(&listing.provider, &request.model).as_ref().is_some_and(ModelInfo::image_output);
                self.client.stream(&listing.provider, request).take_until(cancel.cancelled_owned()).boxed()
            }
            None => futures_util::stream::once(async { Err(no_model()) }).boxed(),
        }
    }

    /// Returns the context size of a model, as the catalogue states it, and whether the model can search for tools.
    pub async fn tool_limits(&self, owner: UserId, model: &ModelId) -> ToolLimits {
        let context = self.facts(owner, model).await.and_then(|facts| facts.context);
        let context = context.and_then(|tokens| usize::try_from(tokens).ok()).unwrap_or(UNKNOWN_CONTEXT_TOKENS);
        ToolLimits { context_tokens: context, can_search: model.provider != BUILT_IN }
    }

    /// Returns the models of a provider, or a placeholder for the provider if it lists none.
    fn views(
        &self,
        provider: &Provider,
        provider_name: Option<&str>,
        mut names: Vec<String>,
        reason: Option<&String>,
    ) -> Vec<ModelView> {
        if names.is_empty() {
            // The web app shows the provider itself, with the reason.
            names.push(String::new());
        }
        let view = |name: String| {
            let facts = self.facts_at(provider, &name);
            ModelView { facts, ..view(&provider.name, provider_name, name, reason) }
        };
        names.into_iter().map(view).collect()
    }

    /// Returns the catalogue's entry of a model that the user can use.
    pub async fn facts(&self, owner: UserId, model: &ModelId) -> Option<ModelInfo> {
        if model.provider == BUILT_IN {
            return Some(built_in_facts());
        }
        let configured = self.providers.iter().find(|listing| listing.provider.name == model.provider);
        match configured {
            Some(listing) => self.facts_at(&listing.provider, &model.name),
            None => self
                .facts_at(&self.user_providers.find(owner, &model.provider).await.ok()?.listing.provider, &model.name),
        }
    }

    /// Returns the price of a model: that of the catalogue, or zero for the built-in model and those of providers without a
    /// key. `None` if it is unknown.
    fn price(&self, model: &ModelId, facts: Option<&ModelInfo>) -> Option<Price> {
        let has_key =
            |listing: &ModelListCache| listing.provider.name == model.provider && listing.provider.key.is_some();
        let is_free = || !user_providers::is_user_provider(&model.provider) && !self.providers.iter().any(has_key);
        facts.and_then(|facts| facts.price).or_else(|| is_free().then_some(Price::FREE))
    }

    /// Checks that the quotas of a user permit a call of a model now, without a reservation.
    ///
    /// # Errors
    ///
    /// [`QuotaError`] if they do not.
    pub async fn check_quotas(&self, user: UserId, model: &ModelId) -> Result<(), QuotaError> {
        let price = self.price(model, self.facts(user, model).await.as_ref());
        self.quotas.check(user, model, price).await
    }

    /// Returns the catalogue's entry of a provider's model.
    fn facts_at(&self, provider: &Provider, model: &str) -> Option<ModelInfo> {
        self.catalogue.known().facts_at(provider, model).cloned()
    }

    /// Returns the user's default model and the models of all providers that they can use. A provider that does not
    /// respond is listed with the reason, and does not hide the others.
    ///
    /// # Errors
    ///
    /// Fails if the database is unreachable.
    pub async fn list(&self, owner: UserId) -> Result<(Option<String>, Vec<ModelView>), storage::Error> {
        let asked = self.providers.iter().map(|listing| async move { (listing, listing.names(&self.client).await) });
        let mut models = Vec::new();
        // All providers at once: the slowest one determines the time, not their sum.
        let (asked, own) = futures_util::join!(join_all(asked), self.user_providers.list(owner));
        for (listing, names) in asked {
            let provider = &listing.provider.name;
            let chosen = self.chosen.as_ref().filter(|chosen| chosen.provider == *provider);
            let (names, reason) = match names {
                Ok(names) if names.is_empty() && chosen.is_none() => (names, Some(NO_MODELS.to_owned())),
                Ok(names) => (names, None),
                // A server that does not list its models may still have the chosen one.
                Err(ModelError::Refused(_) | ModelError::Malformed(_)) if chosen.is_some() => (Vec::new(), None),
                Err(error) => (Vec::new(), Some(with_advice(&error))),
            };
            let unlisted = chosen.filter(|chosen| !names.contains(&chosen.name)).map(|chosen| chosen.name.clone());
            let names = unlisted.into_iter().chain(names).collect();
            models.extend(self.views(&listing.provider, None, names, reason.as_ref()));
        }
        for user_providers::ListedProvider { slug, name, names, provider } in own? {
            let (names, reason) = match names {
                Ok(names) if names.is_empty() => (names, Some("the server lists no models".to_owned())),
                Ok(names) => (names, None),
                Err(error) => (Vec::new(), Some(advise(&error, &slug))),
            };
            match provider {
                Some(own) => models.extend(self.views(&own.listing.provider, Some(&name), names, reason.as_ref())),
                None => models.push(view(&slug, Some(&name), String::new(), reason.as_ref())),
            }
        }
        #[cfg(feature = "local")]
        models.extend(self.built_in.as_ref().map(built_in::BuiltIn::view));
        let allowed = self.access.allowed(owner).await?;
        models.retain(|model| user_providers::is_user_provider(&model.provider) || allowed.contains(&model.id));
        Ok((self.default(owner).await.ok().map(|id| id.to_string()), models))
    }
}

/// Reason for which a provider that responds cannot be used.
const NO_MODELS: &str = "the model server lists no models; set CHAT_MODEL";

/// Returns the error for a server without any model.
fn no_model() -> ModelError {
    ModelError::Unavailable(
        "No model is configured. Run `ai-chat-mcp model fetch` or `cargo xtask model` to fetch the built-in one, or set the key or the base URL of a \
         provider, such as OPENAI_API_KEY or ANTHROPIC_API_KEY, and start again."
            .into(),
    )
}

/// Creates the response for a model, or for a provider without models if `name` is empty.
fn view(provider: &str, provider_name: Option<&str>, name: String, reason: Option<&String>) -> ModelView {
    ModelView {
        id: ModelId::new(provider, name.clone()).to_string(),
        name: if name.is_empty() { provider_name.unwrap_or(provider).to_owned() } else { name },
        provider: provider.to_owned(),
        provider_name: provider_name.map(str::to_owned),
        built_in: false,
        available: reason.is_none(),
        reason: reason.cloned(),
        about: None,
        facts: None,
    }
}

/// Returns the capabilities of the built-in model, which is free of charge.
fn built_in_facts() -> ModelInfo {
    ModelInfo {
        context: Some(BUILT_IN_CONTEXT_TOKENS),
        tools: Some(true),
        images: Some(false),
        pdf: Some(false),
        image_output: Some(false),
        reasoning: Some(false),
        price: Some(catalogue::Price { input: 0.0, output: 0.0, cached_input: None, long: None }),
        ..ModelInfo::default()
    }
}
