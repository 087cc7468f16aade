//! What the built-in model reads before anybody asks.

use domain::model::Request;

use super::{BUILT_IN, ModelId, Models};

impl Models {
    /// The built-in model, where it is the one that answers when nobody chose one.
    pub fn built_in_by_default(&self) -> Option<ModelId> {
        let is_meant = match &self.chosen {
            Some(chosen) => chosen.provider == BUILT_IN,
            None => self.providers.is_empty(),
        };
        if is_meant { self.built_in_id().ok() } else { None }
    }

    /// Has the built-in model read the beginning of questions with these tools while nobody waits for it.
    pub fn prepare(&self, request: Request) {
        #[cfg(feature = "local")]
        if let Some(built_in) = &self.built_in {
            built_in.prepare(request);
        }
        #[cfg(not(feature = "local"))]
        drop(request);
    }

    /// Has the built-in model read what all questions begin with, where it never has and is the one that answers when
    /// nobody chose one.
    pub fn prepare_once(&self) {
        #[cfg(feature = "local")]
        if let (Some(built_in), Some(_)) = (&self.built_in, self.built_in_by_default()) {
            built_in.prepare_once();
        }
    }
}
