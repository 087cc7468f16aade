//! What is known of models: how much they read, what they can do and what they cost. The facts stand in a file with a
//! date, which the administrator can replace while the program runs.

mod facts;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use serde::Deserialize;

use crate::app::App;

pub use facts::{Facts, Price};

/// The facts that the program comes with.
const OWN: &str = include_str!("../../data/model-catalogue.json");
/// How often the administrator's file is looked at.
const PACE: Duration = Duration::from_secs(2);
/// Bytes of a file of facts.
const LARGEST: u64 = 4 * 1024 * 1024;

/// The facts that hold.
#[derive(Debug)]
pub struct Catalogue {
    /// In the place of our own.
    file: Option<PathBuf>,
    facts: RwLock<Arc<Known>>,
}

/// A file of facts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Of which day they are, as year, month and day.
    pub date: String,
    providers: Vec<Host>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    /// Where these models are served, without port: the same name elsewhere is another model at another price.
    hosts: Vec<String>,
    /// Where the facts were found.
    #[serde(default)]
    #[expect(dead_code, reason = "for people who read the file")]
    source: Option<String>,
    models: Vec<Facts>,
}

/// By what a change of a file is seen.
type Mark = Option<(SystemTime, u64)>;

impl Catalogue {
    /// With the facts of `file`, or our own. A file that cannot be understood is refused.
    pub fn open(file: Option<&Path>) -> anyhow::Result<Self> {
        let known = match file {
            Some(file) => read(file).with_context(|| format!("CHAT_MODEL_CATALOGUE: {}", file.display()))?,
            None => Known::parse(OWN)?,
        };
        Ok(Self { file: file.map(Path::to_owned), facts: RwLock::new(Arc::new(known)) })
    }

    /// The facts that hold now.
    pub fn known(&self) -> Arc<Known> {
        Arc::clone(&self.facts.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, known: Known) {
        *self.facts.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
    }

    /// Reads the administrator's file again whenever it has changed, until the app stops. What cannot be understood is
    /// logged, and what was known stays.
    pub async fn follow(app: App) {
        let catalogue = &app.models.catalogue;
        let Some(file) = &catalogue.file else { return };
        let mut seen = mark(file);
        loop {
            tokio::select! {
                () = app.tasks.shutdown_token().cancelled() => return,
                () = tokio::time::sleep(PACE) => {}
            }
            let now = mark(file);
            if now == seen {
                continue;
            }
            seen = now;
            match read(file) {
                Ok(known) => {
                    tracing::info!(date = known.date, "the catalogue of models was read again");
                    catalogue.replace(known);
                }
                Err(error) => tracing::warn!(
                    error = format!("{error:#}"),
                    "the changed catalogue of models cannot be used; what was known before stays"
                ),
            }
        }
    }
}

impl Known {
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

    /// What is known of a model of a provider.
    pub fn facts_at(&self, provider: &llm::Provider, model: &str) -> Option<&Facts> {
        self.facts(provider.base_url.host_str()?, model)
    }

    /// What is known of a model that is served at `host`. A name with a day, a number or `latest` behind it is the same
    /// model.
    pub fn facts(&self, host: &str, model: &str) -> Option<&Facts> {
        let hosts = self.providers.iter().filter(|provider| provider.hosts.iter().any(|one| one == host));
        hosts.flat_map(|provider| &provider.models).find(|facts| is_version_of(model, &facts.name))
    }
}

fn is_version_of(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else { return false };
    let is_number = |rest: &str| rest.len() >= 3 && rest.chars().all(|letter| letter.is_ascii_digit() || letter == '-');
    rest.is_empty() || rest.strip_prefix('-').is_some_and(|rest| rest == "latest" || is_number(rest))
}

fn read(file: &Path) -> anyhow::Result<Known> {
    let size = std::fs::metadata(file)?.len();
    anyhow::ensure!(size <= LARGEST, "it has more than {} MiB", LARGEST / (1024 * 1024));
    Known::parse(&std::fs::read_to_string(file)?)
}

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
            let error = format!("{:#}", Known::parse(&text).unwrap_err());
            assert!(error.contains(want), "{text}: {error}");
        }
        assert!(Known::parse(&model(r#""tools":false"#)).is_ok());
    }
}
