//! Which era a server was found to be of, so that it is not asked again each time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use crate::connection::Era;

/// Addresses that are remembered. Beyond that everything is forgotten: each is found out again with one question.
const REMEMBERED: usize = 4096;
/// A server that was brought up to date is noticed after this time, even if it still speaks the old way as well.
const GOOD_FOR: Duration = Duration::from_hours(1);

/// What is known of addresses. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Eras(Arc<Mutex<HashMap<String, (Era, Instant)>>>);

impl Eras {
    pub(crate) fn get(&self, url: &Url) -> Option<Era> {
        let now = Instant::now();
        self.with(|eras| eras.get(&key(url)).filter(|(_, since)| now - *since < GOOD_FOR).map(|(era, _)| *era))
    }

    pub(crate) fn set(&self, url: &Url, era: Era) {
        let now = Instant::now();
        self.with(|eras| {
            if eras.len() >= REMEMBERED {
                eras.clear();
            }
            // Using it does not keep it good.
            match eras.get_mut(&key(url)).filter(|(_, since)| now - *since < GOOD_FOR) {
                Some(known) => known.0 = era,
                None => drop(eras.insert(key(url), (era, now))),
            }
        });
    }

    pub(crate) fn forget(&self, url: &Url) {
        self.with(|eras| eras.remove(&key(url)));
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<String, (Era, Instant)>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The address without its query, which may hold a secret.
fn key(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_era_is_known_for_a_while() {
        let (eras, url) = (Eras::default(), "https://a.example/mcp?key=1".parse().unwrap());
        eras.set(&url, Era::Legacy);
        assert_eq!(eras.get(&"https://a.example/mcp?key=2".parse().unwrap()), Some(Era::Legacy));
        assert_eq!(eras.get(&"https://a.example/other".parse().unwrap()), None);
        tokio::time::advance(GOOD_FOR / 2).await;
        eras.set(&url, Era::Legacy);
        tokio::time::advance(GOOD_FOR / 2).await;
        assert_eq!(eras.get(&url), None, "using it does not keep it");
        eras.set(&url, Era::Modern);
        eras.forget(&url);
        assert_eq!(eras.get(&url), None);
    }
}
