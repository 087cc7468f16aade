//! The model that is part of the program.

use std::path::{Path, PathBuf};

use domain::UserId;
use domain::model::{ModelError, ModelEvent, Request};
use futures_util::stream::BoxStream;
use local::{Engine, Settings, State, weights};
use tokio_util::sync::CancellationToken;

use super::{About, BUILT_IN, ModelView};
use crate::config::{Config, LocalModel};

/// The engine, and what its weights are.
#[derive(Debug)]
pub struct BuiltIn {
    engine: Engine,
    path: PathBuf,
    is_default: bool,
}

impl BuiltIn {
    /// Starts the engine, unless it is switched off. Weights load with the first question; they need not be there yet.
    pub fn start(config: &Config) -> anyhow::Result<Option<Self>> {
        let (path, is_default) = match &config.local_model {
            LocalModel::Off => return Ok(None),
            LocalModel::File(path) => (path.clone(), false),
            LocalModel::Default => (default_path(config), true),
        };
        let engine = Engine::start(Settings { path: path.clone() })?;
        Ok(Some(Self { engine, path, is_default }))
    }

    /// Its name in `built-in/name`.
    pub fn name(&self) -> String {
        self.path.file_stem().map_or_else(|| "model".to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    /// Asks it.
    pub fn stream(
        &self,
        request: Request,
        user: UserId,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.engine.stream(request, user, cancel)
    }

    /// What the page shows.
    pub fn view(&self) -> ModelView {
        let reason = match self.engine.state() {
            State::Missing => Some(format!(
                "The weights are not there. Run `cargo xtask model`, which puts them where the program looks ({}).",
                self.path.display()
            )),
            State::Failed(reason) => Some(reason),
            _ => None,
        };
        let about = self.is_default.then(|| About {
            license: weights::DEFAULT.license.to_owned(),
            origin: weights::DEFAULT.origin.to_owned(),
            size_bytes: weights::DEFAULT.size,
        });
        ModelView {
            id: format!("{BUILT_IN}/{}", self.name()),
            name: if self.is_default { "Built-in 1.5B".to_owned() } else { self.name() },
            provider: BUILT_IN.to_owned(),
            provider_name: None,
            built_in: true,
            available: reason.is_none(),
            reason,
            about,
            facts: Some(super::built_in_facts()),
        }
    }
}

/// Where the default weights are, or where they will be looked for again with the next question.
fn default_path(config: &Config) -> PathBuf {
    let data = config.data_dir.as_path();
    // The cache setting names the folder of models itself; the lookup wants the one above it.
    let cache = config.model_cache.as_deref().and_then(Path::parent).unwrap_or(data);
    weights::find(data, cache).unwrap_or_else(|| weights::DEFAULT.path_in(cache))
}
