//! The built-in model, which runs on this machine.

use std::path::{Path, PathBuf};

use domain::UserId;
use domain::model::{ModelError, ModelEvent, Request};
use futures_util::stream::BoxStream;
use local_model::weights::{DEFAULT_WEIGHTS, WeightFile, find_default_weights};
use local_model::{Engine, EngineSettings, EngineState};
use tokio_util::sync::CancellationToken;

use super::{BUILT_IN, ModelDetails, ModelView};
use platform::config::{Config, LocalModel};

/// The built-in model: its [engine](Engine) and its weights.
#[derive(Debug)]
pub struct BuiltIn {
    engine: Engine,
    /// Path of the weights.
    path: PathBuf,
    /// Whether the weights are the product's own and not a file of the administrator.
    is_default: bool,
}

impl BuiltIn {
    /// Starts the engine. Returns `None` if the built-in model is disabled. The weights are loaded with the first
    /// request and need not exist yet.
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

    /// Returns its name, without the provider: the file name of the weights without extension.
    pub fn name(&self) -> String {
        self.path.file_stem().map_or_else(|| "model".to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    /// Generates an answer. `user` is used to share the model fairly among users.
    pub fn stream(
        &self,
        request: Request,
        user: UserId,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.engine.stream(request, user, cancel)
    }

    /// Returns the number of requests that wait while another one is answered.
    pub fn waiting_requests(&self) -> usize {
        self.engine.waiting_requests()
    }

    /// Lets the model read the beginning of prompts with these tools while it is idle.
    pub fn prepare(&self, request: Request) {
        self.engine.prepare(request);
    }

    /// Lets the model read the common beginning of all prompts while it is idle, if it has never done so.
    pub fn prepare_once(&self) {
        self.engine.prepare_once();
    }

    /// Returns the model as the API shows it, with the reason if it cannot be used.
    pub fn view(&self) -> ModelView {
        let reason = match self.engine.state() {
            EngineState::Missing => Some(format!(
                "The weights are not there. Run `ai-chat-mcp model fetch` or `cargo xtask model`, which put them where the \
                 program looks ({}).",
                self.path.display()
            )),
            EngineState::Failed(reason) => Some(reason),
            // Only the length: a hash of more than a gigabyte takes too long for a list of models.
            EngineState::Idle if self.is_default => {
                verify_length(&DEFAULT_WEIGHTS, &self.path).err().map(|mismatch| mismatch.to_string())
            }
            _ => None,
        };
        let about = self.is_default.then(|| ModelDetails {
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

/// Returns the configured path of the weights, which need not exist, or `None` if the model is disabled.
pub fn path_of(config: &Config) -> Option<PathBuf> {
    match &config.local_model {
        LocalModel::Off => None,
        LocalModel::File(path) => Some(path.clone()),
        LocalModel::Default => Some(default_path(config)),
    }
}

/// Returns the path of the default weights, or the path at which they are expected.
fn default_path(config: &Config) -> PathBuf {
    let data = config.data_dir.as_path();
    // `model_cache` is the folder of models itself, while the lookup expects its parent.
    let cache = config.model_cache.as_deref().and_then(Path::parent).unwrap_or(data);
    find_default_weights(data, cache).unwrap_or_else(|| DEFAULT_WEIGHTS.path_in(cache))
}

/// A file that is not the expected one. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum WeightsMismatch {
    /// Another length.
    #[error(
        "{} has {length} bytes and should have {expected}: it was cut short, or is another file. Delete it and fetch it \
         again with `ai-chat-mcp model fetch`.",
        path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        length: u64,
        /// Length of the expected file in bytes.
        expected: u64,
    },
    /// Other content.
    #[error(
        "{} is not {name}: {difference}. Delete it and fetch it again with `ai-chat-mcp model fetch`, or name it in \
         CHAT_LOCAL_MODEL if it is meant.",
        path.display()
    )]
    Content {
        /// The file.
        path: PathBuf,
        /// Name of the expected weights.
        name: &'static str,
        /// What differs.
        difference: String,
    },
}

/// Verifies the length of a file.
pub fn verify_length(weights: &WeightFile, path: &Path) -> Result<(), WeightsMismatch> {
    let length = path.metadata().map_or(0, |file| file.len());
    if length == weights.size {
        return Ok(());
    }
    Err(WeightsMismatch::Length { path: path.to_owned(), length, expected: weights.size })
}
