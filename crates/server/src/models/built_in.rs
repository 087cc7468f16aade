//! The model that is part of the program.

use std::path::{Path, PathBuf};

use domain::UserId;
use domain::model::{ModelError, ModelEvent, Request};
use futures_util::stream::BoxStream;
use local_model::weights::{DEFAULT_WEIGHTS, find_default_weights};
use local_model::{Engine, EngineSettings, EngineState};
use tokio_util::sync::CancellationToken;

use super::weights::verify_length;
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
        let Some(path) = path_of(config) else { return Ok(None) };
        let is_default = config.local_model == LocalModel::Default;
        let engine = Engine::start(EngineSettings {
            weights_path: path.clone(),
            subprocess_program: config.local_program.clone(),
            verify_checksum: is_default,
            threads: config.local_threads,
            idle_timeout: config.local_idle,
        })?;
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

    /// Has the beginning of questions with these tools read while nobody waits.
    pub fn prepare(&self, request: Request) {
        self.engine.prepare(request);
    }

    /// Has what all questions begin with read while nobody waits, the first time.
    pub fn prepare_once(&self) {
        self.engine.prepare_once();
    }

    /// What the page shows.
    pub fn view(&self) -> ModelView {
        let reason = match self.engine.state() {
            EngineState::Missing => Some(format!(
                "The weights are not there. Run `ai-chat-mcp model fetch` or `cargo xtask model`, which put them where the \
                 program looks ({}).",
                self.path.display()
            )),
            EngineState::Failed(reason) => Some(reason),
            EngineState::Idle if self.is_default => verify_length(&DEFAULT_WEIGHTS, &self.path).err(),
            _ => None,
        };
        let about = self.is_default.then(|| About {
            license: DEFAULT_WEIGHTS.license.to_owned(),
            origin: DEFAULT_WEIGHTS.origin.to_owned(),
            size_bytes: DEFAULT_WEIGHTS.size,
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

/// The file that the settings mean, which need not be there; `None` when the model is switched off.
pub fn path_of(config: &Config) -> Option<PathBuf> {
    match &config.local_model {
        LocalModel::Off => None,
        LocalModel::File(path) => Some(path.clone()),
        LocalModel::Default => Some(default_path(config)),
    }
}

/// Where the default weights are, or where they will be looked for again with the next question.
fn default_path(config: &Config) -> PathBuf {
    let data = config.data_dir.as_path();
    // The cache setting names the folder of models itself; the lookup wants the one above it.
    let cache = config.model_cache.as_deref().and_then(Path::parent).unwrap_or(data);
    find_default_weights(data, cache).unwrap_or_else(|| DEFAULT_WEIGHTS.path_in(cache))
}
