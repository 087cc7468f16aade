//! Warm-up of the built-in model: it reads the beginning of prompts while it is idle.

use domain::model::Request;

use super::{BUILT_IN, ModelId, ModelService};

impl ModelService {
    /// Returns the [built-in model](super::ModelView::built_in) if it is the default of users who have chosen
    /// nothing.
    pub fn built_in_by_default(&self) -> Option<ModelId> {
        let is_meant = match &self.chosen {
            Some(chosen) => chosen.provider == BUILT_IN,
            None => self.providers.is_empty(),
        };
        if is_meant { self.built_in_id().ok() } else { None }
    }

    /// Lets the built-in model read the beginning of prompts with these tools while it is idle.
    pub fn prepare(&self, request: Request) {
        #[cfg(feature = "local")]
        if let Some(built_in) = &self.built_in {
            built_in.prepare(request);
        }
        #[cfg(not(feature = "local"))]
        drop(request);
    }

    /// Lets the built-in model read the common beginning of all prompts, if it has never done so and is the default.
    /// See [`prepare`](Self::prepare).
    pub fn prepare_once(&self) {
        #[cfg(feature = "local")]
        if let (Some(built_in), Some(_)) = (&self.built_in, self.built_in_by_default()) {
            built_in.prepare_once();
        }
    }
}
