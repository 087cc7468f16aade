//! Catalogue of models: context sizes, capabilities and prices. It is a dated file, which the administrator can
//! replace while the server runs.

mod facts;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

pub use facts::{ModelInfo, Price};

/// Catalogue that is embedded in the binary.
const EMBEDDED_CATALOGUE: &str = include_str!("../../data/model-catalogue.json");
/// Interval at which the administrator's file is checked for changes.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum size of a catalogue file, in bytes.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The catalogue in use.
#[derive(Debug)]
pub struct Catalogue {
    /// File of the administrator, used instead of the embedded catalogue.
    file: Option<PathBuf>,
    facts: RwLock<Arc<CatalogueContents>>,
}

/// Content of a catalogue file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueContents {
    /// Date of the data, as `YYYY-MM-DD`.
    pub date: String,
    providers: Vec<Host>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    /// Host names of the provider, without port. A model of the same name at another host can differ in capabilities
    /// and price.
    hosts: Vec<String>,
    /// Source of the data.
    #[serde(default)]
    #[expect(dead_code, reason = "for people who read the file")]
    source: Option<String>,
    models: Vec<ModelInfo>,
}

/// Modification time and size of a file, by which a change is noticed.
type Mark = Option<(SystemTime, u64)>;

impl Catalogue {
    /// Loads the catalogue from `file`, or the embedded one.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or is invalid.
    pub fn open(file: Option<&Path>) -> anyhow::Result<Self> {
        let known = match file {
            Some(file) => read(file).with_context(|| format!("CHAT_MODEL_CATALOGUE: {}", file.display()))?,
            None => CatalogueContents::parse(EMBEDDED_CATALOGUE)?,
        };
        Ok(Self { file: file.map(Path::to_owned), facts: RwLock::new(Arc::new(known)) })
    }

    /// Returns the current content.
    pub fn known(&self) -> Arc<CatalogueContents> {
        Arc::clone(&self.facts.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the content for all later readers.
    fn replace(&self, known: CatalogueContents) {
        *self.facts.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
    }

    /// Reloads the administrator's file whenever it changes, until shutdown, as given to [`open`](Self::open). An
    /// invalid file is logged, and the previous content stays in use.
    pub async fn reload_on_change(&self, shutdown: CancellationToken) {
        let Some(file) = &self.file else { return };
        // Polled, because file notifications do not work on all network and container file systems.
        let mut seen = mark(file);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            let now = mark(file);
            if now == seen {
                continue;
            }
            seen = now;
            match read(file) {
                Ok(known) => {
                    tracing::info!(date = known.date, "reloaded the model catalogue");
                    self.replace(known);
                }
                Err(error) => tracing::warn!(
                    error = format!("{error:#}"),
                    "the changed model catalogue is invalid; keeping the previous one"
                ),
            }
        }
    }
}

impl CatalogueContents {
    /// Parses and validates a catalogue.
    fn parse(text: &str) -> anyhow::Result<Self> {
        let known: Self = serde_json::from_str(text).context("it is no catalogue of models")?;
        let is_date = known.date.len() == 10
            && known.date.char_indices().all(|(at, letter)| match at {
                4 | 7 => letter == '-',
                _ => letter.is_ascii_digit(),
            });
        anyhow::ensure!(is_date, "date must look like 2026-11-21, not {:?}", known.date);
        for facts in known.providers.iter().flat_map(|host| &host.models) {
            facts.check().with_context(|| format!("the model {:?}", facts.name))?;
        }
        Ok(known)
    }

    /// Returns the entry of a provider's model; see [`facts`](Self::facts).
    pub fn facts_at(&self, provider: &llm::Provider, model: &str) -> Option<&ModelInfo> {
        self.facts(provider.base_url.host_str()?, model)
    }

    /// Returns the entry of a model at `host`. A name with a date, a number or `latest` appended is a version of the
    /// same model.
    pub fn facts(&self, host: &str, model: &str) -> Option<&ModelInfo> {
        let hosts = self.providers.iter().filter(|provider| provider.hosts.iter().any(|one| one == host));
        hosts.flat_map(|provider| &provider.models).find(|facts| is_version_of(model, &facts.name))
    }
}

/// Returns whether `model` is the model `name` or one of its versions.
fn is_version_of(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else { return false };
    let is_number = |rest: &str| rest.len() >= 3 && rest.chars().all(|letter| letter.is_ascii_digit() || letter == '-');
    rest.is_empty() || rest.strip_prefix('-').is_some_and(|rest| rest == "latest" || is_number(rest))
}

/// Reads a catalogue file.
fn read(file: &Path) -> anyhow::Result<CatalogueContents> {
    let size = std::fs::metadata(file)?.len();
    anyhow::ensure!(size <= MAX_FILE_BYTES, "it has more than {} MiB", MAX_FILE_BYTES / (1024 * 1024));
    CatalogueContents::parse(&std::fs::read_to_string(file)?)
}

/// Returns the modification time and the size of a file, or `None` if it does not exist.
fn mark(file: &Path) -> Mark {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_facts_are_whole_and_found_by_host_and_name() {
        let known = Catalogue::open(None).unwrap().known();
        let facts = known.facts("api.openai.com", "gpt-5-2025-08-07").unwrap();
        assert_eq!((facts.name.as_str(), facts.context), ("gpt-5", Some(400_000)));
        assert_eq!(known.facts("api.openai.com", "gpt-5-mini").unwrap().name, "gpt-5-mini");
        assert_eq!(known.facts("api.anthropic.com", "claude-haiku-4-5-20251001").unwrap().name, "claude-haiku-4-5");
        for (host, model) in [
            ("api.openai.com", "gpt-5-search-api"),
            ("api.openai.com", "gpt-5.9"),
            ("api.anthropic.com", "claude-opus-5-7"),
            ("models.example", "gpt-5"),
        ] {
            assert!(known.facts(host, model).is_none(), "{host} {model}");
        }
    }

    #[test]
    fn what_is_no_catalogue_is_refused_with_the_place() {
        let model = |facts: &str| {
            format!(r#"{{"date":"2026-11-21","providers":[{{"hosts":["h"],"models":[{{"name":"a",{facts}}}]}}]}}"#)
        };
        for (text, want) in [
            (String::new(), "no catalogue"),
            ("{".to_owned(), "line 1"),
            (r#"{"date":"yesterday","providers":[]}"#.to_owned(), "2026-11-21"),
            (model(r#""contxt":3"#), "contxt"),
            (model(r#""context":0"#), "context"),
            (model(r#""price":{"input":-1,"output":2}"#), "price"),
            (model(r#""price":{"input":1}"#), "output"),
        ] {
            let error = format!("{:#}", CatalogueContents::parse(&text).unwrap_err());
            assert!(error.contains(want), "{text}: {error}");
        }
        assert!(CatalogueContents::parse(&model(r#""tools":false"#)).is_ok());
    }
}
