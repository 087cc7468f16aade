//! The models that can be asked, whatever their wire.

#[cfg(feature = "local")]
mod built_in;

use domain::UserId;
use domain::model::{ModelError, ModelEvent, Request};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use serde::Serialize;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::config::Config;

/// The name of the provider behind `OPENAI_API_KEY` and `OPENAI_BASE_URL`.
const OPENAI: &str = "openai";
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
    openai: Option<llm::Provider>,
    chosen: Option<ModelId>,
    /// The first model an OpenAI-wire server lists, when nobody chose one.
    first_listed: OnceCell<ModelId>,
    #[cfg(feature = "local")]
    built_in: Option<built_in::BuiltIn>,
}

impl Models {
    /// From the settings. A chosen model of a provider that is not configured is refused.
    pub fn new(config: &Config) -> anyhow::Result<Self> {
        let openai = config.openai.as_ref().map(|openai| llm::Provider {
            name: OPENAI.to_owned(),
            wire: llm::Wire::OpenAiChat,
            base_url: openai.base_url.clone(),
            key: openai.key.clone(),
        });
        #[cfg(feature = "local")]
        let built_in = built_in::BuiltIn::start(config)?;
        let chosen = match config.model.as_deref() {
            None => None,
            Some(text) => {
                let id = ModelId::parse(text);
                let id = id.ok_or_else(|| anyhow::anyhow!("CHAT_MODEL must look like provider/name, not {text:?}"))?;
                match id.provider.as_str() {
                    OPENAI if openai.is_none() => {
                        anyhow::bail!("CHAT_MODEL is {id}: set OPENAI_API_KEY or OPENAI_BASE_URL too")
                    }
                    OPENAI | BUILT_IN => {}
                    other => {
                        anyhow::bail!("CHAT_MODEL names the provider {other:?}; known are {OPENAI} and {BUILT_IN}")
                    }
                }
                Some(id)
            }
        };
        Ok(Self {
            client: llm::Client::new(),
            openai,
            chosen,
            first_listed: OnceCell::new(),
            #[cfg(feature = "local")]
            built_in,
        })
    }

    /// The model that answers when nobody chose one: `CHAT_MODEL`, else the first of the configured provider, else the
    /// built-in one.
    pub async fn default(&self) -> Result<ModelId, ModelError> {
        if let Some(chosen) = &self.chosen {
            return Ok(chosen.clone());
        }
        if let Some(provider) = &self.openai {
            let first = self.first_listed.get_or_try_init(|| async {
                let names = self.client.list_models(provider).await?;
                let first = names.into_iter().next().map(|name| ModelId::new(OPENAI, name));
                first.ok_or_else(|| ModelError::Unavailable("the model server lists no models; set CHAT_MODEL".into()))
            });
            return first.await.cloned();
        }
        self.built_in_id()
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

    /// Asks. Dropping the stream, or `cancel`, ends the answer at the model too.
    pub fn stream(
        &self,
        model: &ModelId,
        mut request: Request,
        user: UserId,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        request.model.clone_from(&model.name);
        match (model.provider.as_str(), &self.openai) {
            (OPENAI, Some(provider)) => {
                self.client.stream(provider, request).take_until(cancel.cancelled_owned()).boxed()
            }
            #[cfg(feature = "local")]
            (BUILT_IN, _) if self.built_in.is_some() => match &self.built_in {
                Some(built_in) => built_in.stream(request, user, cancel),
                None => fail(no_model()),
            },
            _ => fail(no_model()),
        }
    }

    /// What the page shows.
    pub async fn list(&self) -> (Option<String>, Vec<ModelView>) {
        let mut models = Vec::new();
        let default = self.default().await;
        if self.openai.is_some() {
            models.push(match &default {
                Ok(id) if id.provider == OPENAI => wire_view(id, None),
                Ok(_) => wire_view(&ModelId::new(OPENAI, ""), None),
                Err(error) => wire_view(&ModelId::new(OPENAI, ""), Some(error.to_string())),
            });
        }
        #[cfg(feature = "local")]
        models.extend(self.built_in.as_ref().map(built_in::BuiltIn::view));
        (default.ok().map(|id| id.to_string()), models)
    }
}

fn no_model() -> ModelError {
    ModelError::Unavailable(
        "No model is configured. Run `cargo xtask model` to fetch the built-in one, or set OPENAI_API_KEY or \
         OPENAI_BASE_URL, and start again."
            .into(),
    )
}

fn fail(error: ModelError) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    futures_util::stream::once(async { Err(error) }).boxed()
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
